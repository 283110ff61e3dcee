"""Values and messages of PostgreSQL, without a server: exactly, or not at all."""

from __future__ import annotations

import struct
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from continua.algebra.schema import Field
from continua.catalog import LOG_TAG, LOG_TIME, RelationInfo
from continua.instants import TimeDomain
from continua.sources.logged import Modifications, as_stretch, content_after, differences
from continua.sources.postgres.pgoutput import Deleted, Unchanged, Updated, understood
from continua.sources.postgres.texts import column_of_texts, fits
from continua.types import BINARY, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType, array, decimal

MONEY = decimal(5, 2)


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (BOOLEAN, "f", False),
        (MONEY, "-0.10", Decimal("-0.10")),
        (MONEY, "0.100", Decimal("0.10")),
        (DOUBLE, "-Infinity", float("-inf")),
        (BINARY, "\\x", b""),
        (TIMESTAMP, "2024-05-01 12:00:00.5+00", datetime(2024, 5, 1, 12, 0, 0, 500_000)),
        (array(STRING), '{"a\\"b\\\\",NULL,"NULL",c d,""}', ['a"b\\', None, "NULL", "c d", ""]),
        (array(INT), "{}", []),
    ],
)
def test_a_text_is_a_value(of: DataType, text: str, value: object) -> None:
    wrong: list[str] = []
    found = column_of_texts([text, None], of, lambda _, reason: wrong.append(reason))
    assert found.to_pylist() == [value, None]
    assert not wrong


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (MONEY, "0.125"),
        (MONEY, "NaN"),
        (MONEY, "1000"),
        (INT, "2147483648"),
        (TIMESTAMP, "infinity"),
        (TIMESTAMP, "0044-03-15 12:00:00+00 BC"),
        (array(INT), "{{1},{2}}"),
        (array(INT), "[2:3]={1,2}"),
    ],
)
def test_what_would_be_another_value_is_none(of: DataType, text: str) -> None:
    wrong: list[int] = []
    assert column_of_texts([text], of, lambda row, _: wrong.append(row)).to_pylist() == [None]
    assert wrong == [0]


def test_types_fit_where_all_values_do() -> None:
    assert fits(MONEY, "numeric(12,4)")
    assert fits(array(STRING), "character varying(20)[]")
    assert not fits(INT, "bigint")
    assert not fits(STRING, "bytea")
    assert not fits(array(INT), "integer")


def test_messages_tell_old_rows_and_values_that_stay() -> None:
    def row(*values: bytes | None) -> bytes:
        parts = [b"n" if v is None else b"u" if v == b"?" else b"t" + struct.pack(">i", len(v)) + v for v in values]
        return struct.pack(">H", len(values)) + b"".join(parts)

    number = struct.pack(">I", 7)
    updated = understood(b"U" + number + b"O" + row(b"1", None) + b"N" + row(b"1", b"?"))
    assert updated == Updated(7, ("1", Unchanged.UNCHANGED), ("1", None), key_only=False)
    assert understood(b"D" + number + b"K" + row(b"1", None)) == Deleted(7, ("1", None), key_only=True)
    assert understood(b"Y" + number) is None


def changes(key: tuple[str, ...], *given: tuple[str, int, str | None]) -> tuple[RelationInfo, pa.Table]:
    """A relation, and changes of it."""
    hidden = (Field(LOG_TIME, TIMESTAMP, hidden=True), Field(LOG_TAG, STRING, hidden=True))
    columns = (Field("k", INT), Field("v", STRING, nullable=False), *hidden)
    info = RelationInfo("R", columns, key, LOG_TIME, LOG_TAG, TimeDomain.MICROSECONDS)
    tags, keys, values = zip(*given, strict=True)
    table = pa.table({"c0": pa.array(keys, pa.int32()), "c1": pa.array(values, pa.string())})
    found = as_stretch(info, Modifications(table, list(tags), np.arange(len(tags), dtype=np.int64)), "R", 0)
    assert not found.wrong
    return info, found.rows


def test_a_log_without_a_key_is_folded_into_as_many_rows_as_there_are() -> None:
    info, log = changes((), ("+", 1, "a"), ("+", 1, "a"), ("+", 2, "b"), ("-", 2, "b"), ("-", 1, "a"), ("+", 1, "a"))
    assert sorted(map(str, content_after(info, [log]).to_pylist())) == ["{'c0': 1, 'c1': 'a', 'c2': '+'}"] * 2


def test_a_log_with_a_key_is_folded_into_the_last_row_of_each_and_what_goes_is_known_by_its_key() -> None:
    info, log = changes(("k",), ("+", 1, "a"), ("u", 1, "b"), ("+", 2, "c"), ("-", 2, None), ("-", 3, None))
    assert content_after(info, [log]).to_pylist() == [{"c0": 1, "c1": "b", "c2": "+"}]


def test_differences_count_equal_rows() -> None:
    before, after = pa.table({"a": [1, 1, 2, None]}), pa.table({"a": [1, 3, None]})
    gone, new = differences(before, after)
    assert (sorted(gone.column("a").to_pylist()), new.column("a").to_pylist()) == ([1, 2], [3])
