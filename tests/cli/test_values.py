"""Values as JSON and as text."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from continua.answers.encoding.value_texts import duration_text, instant_json, instant_text, json_text, plain_text
from continua.instants import INFINITY, TimeDomain
from continua.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    DataType,
    Value,
    array,
    decimal,
    map_of,
    struct,
)
from tests.cli.helpers import continua, lines, write_script

TICKS, MICROSECONDS = TimeDomain.TICKS, TimeDomain.MICROSECONDS


@pytest.mark.parametrize(
    ("value", "of", "expected"),
    [
        (None, INT, "null"),
        (True, BOOLEAN, "true"),
        (False, BOOLEAN, "false"),
        (-(2**63), BIGINT, "-9223372036854775808"),
        (0.1, DOUBLE, "0.1"),
        (1e300, DOUBLE, "1e+300"),
        (float("nan"), DOUBLE, '"NaN"'),
        (float("inf"), DOUBLE, '"Infinity"'),
        (float("-inf"), DOUBLE, '"-Infinity"'),
        (Decimal("12345678901234567890.120"), decimal(30, 3), "12345678901234567890.120"),
        (Decimal("1E+3"), decimal(4, 0), "1000"),
        ('é"\n', STRING, '"é\\"\\n"'),
        (b"h\xc3", BINARY, '"aMM="'),
        (date(2024, 2, 29), DATE, '"2024-02-29"'),
        (datetime(2024, 2, 29, 1, 2, 3, 450000), TIMESTAMP, '"2024-02-29T01:02:03.45Z"'),
        (timedelta(hours=1), DataType("INTERVAL"), '"PT1H"'),
        ((1, None), array(INT), "[1, null]"),
        ((), array(INT), "[]"),
        ((1, ("a",)), struct(("x", INT), ("y", array(STRING))), '{"x": 1, "y": ["a"]}'),
        ((("k", Decimal("1.50")),), map_of(STRING, decimal(3, 2)), '{"k": 1.50}'),
        (((3, "z"), (4, None)), map_of(INT, STRING), '{"3": "z", "4": null}'),
        (((date(2024, 1, 1), True),), map_of(DATE, BOOLEAN), '{"2024-01-01": true}'),
        ((), map_of(INT, STRING), "{}"),
    ],
)
def test_json(value: Value, of: DataType, expected: str) -> None:
    assert json_text(value, of) == expected
    json.loads(expected)


def test_plain_text_has_no_quotes_around_it() -> None:
    assert plain_text('a"b', STRING) == 'a"b'
    assert plain_text(("a",), array(STRING)) == '["a"]'
    assert plain_text(float("nan"), DOUBLE) == "NaN"
    assert plain_text(date(2024, 2, 29), DATE) == "2024-02-29"


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (timedelta(), "PT0S"),
        (timedelta(microseconds=250_000), "PT0.25S"),
        (timedelta(days=1), "P1D"),
        (timedelta(days=10, hours=2, minutes=30, seconds=20), "P10DT2H30M20S"),
        (timedelta(minutes=-90), "-PT1H30M"),
    ],
)
def test_durations_are_iso(length: timedelta, expected: str) -> None:
    assert duration_text(length) == expected


def test_instants() -> None:
    assert instant_json(5, TICKS) == "5"
    assert instant_json(0, MICROSECONDS) == '"1970-01-01T00:00:00Z"'
    assert instant_json(INFINITY, TICKS) == instant_json(INFINITY, MICROSECONDS) == "null"
    assert instant_text(INFINITY, TICKS) is None


def test_years_beyond_four_digits_have_a_sign() -> None:
    last = 253_402_300_799 * 1_000_000
    assert instant_text(last, MICROSECONDS) == "9999-12-31T23:59:59Z"
    assert instant_text(last + 1_000_000, MICROSECONDS) == "+10000-01-01T00:00:00Z"
    assert instant_text(last + 1_000_000 + 1461 * 86_400_000_000, MICROSECONDS) == "+10004-01-01T00:00:00Z"


def test_every_type_comes_out_as_it_went_in(folder: Path) -> None:
    row = (
        '{"ts": 1, "b": true, "f": "NaN", "d": 12345678901234567890.123, "dt": "2024-02-29", '
        '"tm": "2024-05-01T12:00:00+02:00", "bin": "hé", "a": [1, null], "s": {"x": 1, "y": "é"}, "m": {"k": 1.5}}'
    )
    (folder / "t.jsonl").write_text(row + "\n", encoding="utf-8")
    script = (
        "CREATE STREAM T (ts BIGINT, b BOOLEAN, f DOUBLE, d DECIMAL(30, 3), dt DATE, tm TIMESTAMP, bin BINARY,"
        " a ARRAY<INT>, s STRUCT<x: INT, y: STRING>, m MAP<STRING, DOUBLE>)"
        " SOURCE jsonl('t.jsonl') ORDERED BY ts; SELECT * FROM T;"
    )
    assert lines(continua("run", write_script(folder, script))) == [
        '{"query": "q1", "t": 1, "row": {"b": true, "f": "NaN", "d": 12345678901234567890.123, "dt": "2024-02-29", '
        '"tm": "2024-05-01T10:00:00Z", "bin": "aMOp", "a": [1, null], "s": {"x": 1, "y": "é"}, "m": {"k": 1.5}}}'
    ]
