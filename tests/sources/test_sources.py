"""Sources: what is read from files, what is refused, and in which order it arrives."""

from __future__ import annotations

import json
import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from continua.errors import DataError, SourceError
from continua.sources.convert import convert
from continua.sources.rejects import late_diagnostic, write_rejects
from continua.sources.source_spec import Late, Reject, SourceRow, SourceSpec
from continua.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    Value,
    array,
    decimal,
    map_of,
    struct,
)
from tests.sources.reading import arrivals, read_source

PAIR = (("id", INT), ("name", STRING))
NOON = datetime(2024, 1, 1, 12)


def spec_of(
    path: str,
    columns: tuple[tuple[str, DataType], ...] = PAIR,
    *,
    skip: bool = False,
    format: str | None = None,
    options: dict[str, object] | None = None,
) -> SourceSpec:
    known = format or Path(path).suffix.removeprefix(".")
    return SourceSpec(known, path, columns, tuple((options or {}).items()), skip, name="s")


def read_text(
    folder: Path, content: str | bytes, spec: SourceSpec
) -> tuple[list[tuple[int, tuple[Value, ...]]], list[tuple[int, str]]]:
    """(line, values) of the rows and (line, text) of the rejects of one file."""
    (folder / spec.path).write_bytes(content.encode() if isinstance(content, str) else content)
    rows, rejects = read_source(spec, folder)
    return [(r.line, r.values) for r in rows], [(r.line, r.text) for r in rejects]


def parameters_of_malformed(folder: Path, content: str | bytes, spec: SourceSpec) -> dict[str, object]:
    with pytest.raises(DataError) as caught:
        read_text(folder, content, spec)
    assert caught.value.condition == "MALFORMED_ROW"
    hint = caught.value.diagnostics[0].hint
    assert hint is not None and "ON ERROR SKIP" in hint
    return caught.value.parameters


GOOD: list[tuple[object, DataType, Value]] = [
    *[(text, BOOLEAN, True) for text in ("true", "T", "1", "Yes", " TRUE ", True)],
    *[(text, BOOLEAN, False) for text in ("false", "f", "0", "NO", False)],
    ("-128", TINYINT, -128),
    (127, TINYINT, 127),
    (" +32767 ", SMALLINT, 32767),
    ("-2147483648", INT, -(2**31)),
    ("9223372036854775807", BIGINT, 2**63 - 1),
    ("0000000000000000000000007", INT, 7),
    ("0.1", FLOAT, 0.10000000149011612),
    (0.5, FLOAT, 0.5),
    ("1e3", DOUBLE, 1000.0),
    (" -.5 ", DOUBLE, -0.5),
    (3, DOUBLE, 3.0),
    (Decimal("0.1"), DOUBLE, 0.1),
    ("inf", DOUBLE, math.inf),
    ("-Infinity", FLOAT, -math.inf),
    (math.inf, DOUBLE, math.inf),
    ("1.005", decimal(10, 2), Decimal("1.01")),
    ("-1.004", decimal(10, 2), Decimal("-1.00")),
    ("-0.001", decimal(10, 2), Decimal("0.00")),
    ("9" * 38, decimal(38, 0), Decimal("9" * 38)),
    ("1e2", decimal(3, 0), Decimal(100)),
    (7, decimal(3, 1), Decimal("7.0")),
    (0.1, decimal(3, 2), Decimal("0.10")),
    ("1e-999999", decimal(3, 2), Decimal("0.00")),
    ("", STRING, ""),
    (" as is ", STRING, " as is "),
    ("ä", BINARY, b"\xc3\xa4"),
    (b"\xff", BINARY, b"\xff"),
    (" 2024-02-29 ", DATE, date(2024, 2, 29)),
    (date(2024, 1, 1), DATE, date(2024, 1, 1)),
    ("2024-01-01 12:00:00", TIMESTAMP, NOON),
    ("2024-01-01T12:00:00Z", TIMESTAMP, NOON),
    ("2024-01-01T14:00:00.25+02:00", TIMESTAMP, NOON.replace(microsecond=250000)),
    ("2024-01-01", TIMESTAMP, datetime(2024, 1, 1)),
    (date(2024, 1, 1), TIMESTAMP, datetime(2024, 1, 1)),
    (NOON, TIMESTAMP, NOON),
    (NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, NOON),
    ("[1, null, 3]", array(INT), (1, None, 3)),
    ([Decimal("0.30")], array(decimal(3, 2)), (Decimal("0.30"),)),
    ('["2024-01-01T12:00:00Z"]', array(TIMESTAMP), (NOON,)),
    ('{"B": "x", "a": 1, "c": 0}', struct(("a", INT), ("b", STRING), ("d", INT)), (1, "x", None)),
    ('{"z": 1, "a": 2}', map_of(STRING, INT), (("z", 1), ("a", 2))),
    ([("2", 1), ("1", None)], map_of(INT, INT), ((2, 1), (1, None))),
    ([[{"a": [1]}]], array(array(struct(("a", array(INT))))), ((((1,),),),)),
    ("[0.1]", array(decimal(38, 30)), (Decimal("0.1" + "0" * 29),)),
    (None, INTERVAL, None),
]

BAD: list[tuple[DataType, list[object]]] = [
    (BOOLEAN, ["", "maybe", "y", 1, 0, 1.0]),
    (INT, ["", "1.0", "1e3", "1_000", "0x1", "٣", "- 1", "NaN", "2147483648", "9" * 5000]),
    (INT, [True, 1.0, [1], Decimal(1), b"1", 2**31, -(2**31) - 1]),
    (TINYINT, ["128", "-129", 128]),
    (SMALLINT, ["32768", -32769]),
    (BIGINT, ["9223372036854775808", -(2**63) - 1, 2**64]),
    (FLOAT, ["1e39", "x", "", True]),
    (DOUBLE, ["1e999", "1_0", "infinit", "", "１", True, 10**400, Decimal("1e999"), []]),
    (decimal(3, 1), ["100", "99.95", "nan", "inf", "", "1,5", "1e99999999", "1e9999999999999999999999"]),
    (decimal(3, 1), [True, 1e300, math.nan, math.inf, b"1", 10**9]),
    (STRING, [1, True, Decimal(1), b"x", [], {}, "\ud800"]),
    (BINARY, [1, [], "\ud800"]),
    (DATE, ["", "2023-02-29", "2024-01-01T00:00:00", NOON, 19723]),
    (TIMESTAMP, ["", "now", "2024-01-01T25:00:00", 0, 1.5, True]),
    (TIMESTAMP, ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"]),
    (array(INT), ["1", "[1", '["x"]', "{}", {}, 1, "[" * 100_000, "[" + "9" * 5000 + "]"]),
    (struct(("a", INT)), ["[]", "{", '{"a": "x"}', [("a", 1)], "1e9999999999999999999999"]),
    (map_of(INT, INT), ["[]x", '{"a": 1}', '{"1": 1, "01": 2}', [(None, 1)], [[1, 2]], 1]),
    (INTERVAL, ["1 DAY", 1]),
]


@pytest.mark.parametrize(("given_value", "of", "expected"), GOOD)
def test_a_value_that_fits_is_converted_exactly(given_value: object, of: DataType, expected: Value) -> None:
    converted = convert(given_value, of)
    assert converted == expected
    assert type(converted) is type(expected)
    assert str(converted) == str(expected)


@pytest.mark.parametrize(("of", "value"), [(of, value) for of, values in BAD for value in values])
def test_a_value_that_does_not_fit_is_refused_with_a_short_reason(of: DataType, value: object) -> None:
    with pytest.raises(ValueError) as caught:
        convert(value, of)
    assert type(caught.value) is ValueError
    assert 0 < len(str(caught.value)) < 200


@pytest.mark.parametrize("of", [FLOAT, DOUBLE])
@pytest.mark.parametrize("value", ["nan", "NaN", math.nan])
def test_nan_is_a_floating_point_number(value: object, of: DataType) -> None:
    converted = convert(value, of)
    assert isinstance(converted, float) and math.isnan(converted)


CSV_CASES: dict[str, tuple[str | bytes, dict[str, object], list[tuple[int, tuple[Value, ...]]]]] = {
    "no header": ("1,a\n2,b\n", {}, [(1, (1, "a")), (2, (2, "b"))]),
    "header found": ("id,name\n1,a\n", {}, [(2, (1, "a"))]),
    "header by name, any order, case and spaces": (" NAME ,x,Id\na,?,1\n", {}, [(2, (1, "a"))]),
    "header that lacks a name is data": (
        "7,name\n1,a\n",
        {},
        [(1, (7, "name")), (2, (1, "a"))],
    ),
    "header said": ("id,name\n1,a\n", {"header": True}, [(2, (1, "a"))]),
    "header said as text": ("id,name\n1,a\n", {"HEADER": "true"}, [(2, (1, "a"))]),
    "header denied": ("1,name\n2,id\n", {"header": "false"}, [(1, (1, "name")), (2, (2, "id"))]),
    "only a header": ("id,name\n", {}, []),
    "empty file": ("", {"header": True}, []),
    "byte order mark": (b"\xef\xbb\xbfid,name\n1,a\n", {}, [(2, (1, "a"))]),
    "byte order mark without header": (b"\xef\xbb\xbf1,a\n", {}, [(1, (1, "a"))]),
    "quoted newlines": ('1,"a\nb\r\nc"\n2,d\n', {}, [(1, (1, "a\nb\r\nc")), (4, (2, "d"))]),
    "quoted newline in the header": ('id,name,"x\ny"\n1,a,\n', {}, [(3, (1, "a"))]),
    "quotes and commas": ('1,"say ""hi"", you"\n', {}, [(1, (1, 'say "hi", you'))]),
    "blank lines": ("\n  \n1,a\n\r\n\n2,b", {}, [(3, (1, "a")), (6, (2, "b"))]),
    "line ends of all kinds": (b"1,a\r\n2,b\r3,c", {}, [(1, (1, "a")), (2, (2, "b")), (3, (3, "c"))]),
    "empty is NULL": (",\n", {}, [(1, (None, None))]),
    "another NULL": ("NA,\n1,NA\n", {"null": "NA"}, [(1, (None, "")), (2, (1, None))]),
    "semicolon": ("1;a,b\n", {"delimiter": ";"}, [(1, (1, "a,b"))]),
    "tab": ("\t\n1\ta\n", {"delimiter": "\t"}, [(1, (None, None)), (2, (1, "a"))]),
    "tab as written": ("1\ta\n", {"delimiter": "\\t"}, [(1, (1, "a"))]),
    "not ASCII": ("1,žluťoučký\u2028🐎\n", {}, [(1, (1, "žluťoučký\u2028🐎"))]),
}


@pytest.mark.parametrize("case", CSV_CASES)
def test_csv_rows_and_the_lines_where_they_start(case: str, tmp_path: Path) -> None:
    content, options, expected = CSV_CASES[case]
    assert read_text(tmp_path, content, spec_of("s.csv", options=options)) == (expected, [])


# content, options, (line, column, value, expected), the rows and the rejects under ON ERROR SKIP
MalformedCase = tuple[
    str | bytes,
    dict[str, object],
    tuple[int, str | None, object, str],
    list[tuple[int, tuple[Value, ...]]],
    list[tuple[int, str]],
]

CSV_MALFORMED: dict[str, MalformedCase] = {
    "wrong type": (
        "id,name\n1,a\nx,b\n3,c\n",
        {},
        (3, "id", "x", "INT"),
        [(2, (1, "a")), (4, (3, "c"))],
        [(3, "x,b")],
    ),
    "too few fields": ("1,a\n2\n", {}, (2, None, "2", "2 fields"), [(1, (1, "a"))], [(2, "2")]),
    "too many fields": ("1,a,b\n", {}, (1, None, "1,a,b", "2 fields"), [], [(1, "1,a,b")]),
    "other width than the header": (
        "id,name,x\n1,a\n2,b,\n",
        {},
        (2, None, "1,a", "3 fields"),
        [(3, (2, "b"))],
        [(2, "1,a")],
    ),
    "empty where NULL is another text": (
        ",a\n",
        {"null": "NA"},
        (1, "id", "", "INT"),
        [],
        [(1, ",a")],
    ),
    "bytes that are not UTF-8": (
        b"1,a\n2,\xff\n3,c\n",
        {},
        (2, None, "2,\\xff", "CSV in UTF-8"),
        [(1, (1, "a")), (3, (3, "c"))],
        [(2, "2,\\xff")],
    ),
    "NUL byte": (
        b"1,a\n2,b\0\n3,c\n",
        {},
        (2, None, "2,b\0", "CSV in UTF-8"),
        [(1, (1, "a")), (3, (3, "c"))],
        [(2, "2,b\0")],
    ),
    "after a quoted newline": (
        '1,"a\nb"\nx,"c\nd"\n3,e\n',
        {},
        (3, "id", "x", "INT"),
        [(1, (1, "a\nb")), (5, (3, "e"))],
        [(3, 'x,"c\nd"')],
    ),
    "quote never closed costs its own line": (
        '1,a\n2,"b\n3,c\n4,d\n',
        {},
        (2, None, '2,"b', "CSV in UTF-8"),
        [(1, (1, "a")), (3, (3, "c")), (4, (4, "d"))],
        [(2, '2,"b')],
    ),
    "text after a closing quote": (
        '1,"a"b\n2,c\n',
        {},
        (1, None, '1,"a"b', "CSV in UTF-8"),
        [(2, (2, "c"))],
        [(1, '1,"a"b')],
    ),
    "header denied": (
        "id,name\n1,a\n",
        {"header": False},
        (1, "id", "id", "INT"),
        [(2, (1, "a"))],
        [(1, "id,name")],
    ),
    "UTF-16": (
        "1,a\n".encode("utf-16"),
        {},
        (1, None, "\\xff\\xfe1\0,\0a\0", "CSV in UTF-8"),
        [],
        [(1, "\\xff\\xfe1\0,\0a\0"), (2, "\0")],
    ),
}


@pytest.mark.parametrize("case", CSV_MALFORMED)
def test_a_malformed_csv_row_is_told_or_kept_apart(case: str, tmp_path: Path) -> None:
    content, options, told, rows, rejects = CSV_MALFORMED[case]
    parameters = parameters_of_malformed(tmp_path, content, spec_of("s.csv", options=options))
    assert (parameters["line"], parameters["column"], parameters["value"], parameters["expected"]) == told
    assert (parameters["file"], parameters["source"]) == ("s.csv", "s")
    assert read_text(tmp_path, content, spec_of("s.csv", skip=True, options=options)) == (rows, rejects)


@pytest.mark.parametrize(
    ("text", "of", "expected"),
    [
        ("95000000000000000", decimal(20, 2), Decimal("95000000000000000.00")),
        ("95000000000000000", decimal(18, 2), None),
        ("950000000000000000e1", decimal(38, 0), Decimal("9500000000000000000")),
        ("9" * 18, decimal(18, 0), Decimal("9" * 18)),
        ("0e18", decimal(18, 2), Decimal("0.00")),
    ],
)
def test_large_decimals_are_exact_or_refused(text: str, of: DataType, expected: Value, tmp_path: Path) -> None:
    rows, rejects = read_text(tmp_path, f"{text},x\n", spec_of("s.csv", (("d", of), ("s", STRING)), skip=True))
    assert [values[0] for _, values in rows] == ([] if expected is None else [expected])
    assert len(rows) + len(rejects) == 1


def test_a_column_missing_from_a_header_that_was_said_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,nome\n1,a\n")
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("s.csv", options={"header": True}, skip=True), tmp_path)
    assert caught.value.condition == "MISSING_COLUMN"
    assert caught.value.parameters == {"source": "s", "column": "name", "file": "s.csv"}
    assert caught.value.diagnostics[0].hint == "did you mean nome?"


def test_arrays_structs_and_maps_are_json_in_csv(tmp_path: Path) -> None:
    columns = (("a", array(INT)), ("s", struct(("x", DOUBLE))), ("m", map_of(STRING, decimal(3, 2))))
    content = '"[1,2]","{""x"": 0.5}","{""k"": 1.10}"\n'
    rows, _ = read_text(tmp_path, content, spec_of("s.csv", columns))
    assert rows == [(1, ((1, 2), (0.5,), (("k", Decimal("1.10")),)))]


@pytest.mark.parametrize(
    ("format", "option", "value", "condition", "hint"),
    [
        ("csv", "delimeter", ";", "UNKNOWN_OPTION", "did you mean delimiter?"),
        ("csv", "zzz", 1, "UNKNOWN_OPTION", "csv has the options delimiter, header, null"),
        ("jsonl", "header", True, "UNKNOWN_OPTION", "jsonl has no options"),
        ("parquet", "header", True, "UNKNOWN_OPTION", "parquet has no options"),
        ("csv", "delimiter", ";;", "BAD_OPTION", None),
        ("csv", "delimiter", '"', "BAD_OPTION", None),
        ("csv", "delimiter", 1, "BAD_OPTION", None),
        ("csv", "header", "perhaps", "BAD_OPTION", None),
        ("csv", "null", 0, "BAD_OPTION", None),
    ],
)
def test_an_option_that_makes_no_sense_is_an_error(
    format: str, option: str, value: object, condition: str, hint: str | None, tmp_path: Path
) -> None:
    (tmp_path / "s").touch()
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("s", format=format, options={option: value}), tmp_path)
    assert caught.value.condition == condition
    assert caught.value.parameters["option"] == option
    assert hint is None or caught.value.diagnostics[0].hint == hint


def test_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("s", format="parket"), tmp_path)
    assert caught.value.condition == "UNKNOWN_FORMAT"
    assert caught.value.diagnostics[0].hint == "did you mean parquet?"


def folder_of_files(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "sub.csv").mkdir(parents=True)
    (folder / "sub.csv" / "deep.csv").write_text("9,deep\n")
    names = ("b.csv", "a.csv", "C.CSV", ".hidden.csv", "_part.csv", "notes.txt", "a.jsonl")
    for number, name in enumerate(names):
        (folder / name).write_text(f"{number},{name}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("data", ["data/C.CSV", "data/a.csv", "data/b.csv"]),
        ("data/", ["data/C.CSV", "data/a.csv", "data/b.csv"]),
        ("./data/a.csv", ["data/a.csv"]),
        ("data/_part.csv", ["data/_part.csv"]),
        ("data/*.csv", ["data/a.csv", "data/b.csv"]),
        ("data/[ab].*", ["data/a.csv", "data/a.jsonl", "data/b.csv"]),
        ("data/_*", ["data/_part.csv"]),
        ("data/**/*.csv", ["data/a.csv", "data/b.csv", "data/sub.csv/deep.csv"]),
        ("data/../data/a*.csv", ["data/../data/a.csv"]),
    ],
)
def test_a_path_is_a_file_a_folder_or_a_glob(path: str, files: list[str], tmp_path: Path) -> None:
    rows, _ = read_source(spec_of(path, format="csv"), folder_of_files(tmp_path))
    assert [row.file for row in rows] == files
    assert {row.line for row in rows} == {1}


def test_absolute_paths_and_globs_do_not_depend_on_the_base(tmp_path: Path) -> None:
    folder = folder_of_files(tmp_path) / "data"
    for path in (folder / "a.csv", folder / "a*.csv"):
        rows, _ = read_source(spec_of(str(path)), Path("/nowhere"))
        assert [row.file for row in rows] == [str(folder / "a.csv")]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    assert read_text(tmp_path, "1,a\n", spec_of("[x].csv")) == ([(1, (1, "a"))], [])


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("data/notes.text", "did you mean notes.txt?"),
        ("dato/a.csv", "did you mean data?"),
        ("zzzzzz", "relative"),
        ("data/*.parquet", "relative"),
        ("empty", ".csv"),
        ("", ".csv"),
        ("nul\0byte", "relative"),
    ],
)
def test_a_source_that_is_not_there_is_told_with_what_is(path: str, hint: str, tmp_path: Path) -> None:
    folder_of_files(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError) as caught:
        read_source(spec_of(path, format="csv"), tmp_path)
    assert caught.value.condition == "SOURCE_NOT_FOUND"
    assert caught.value.parameters == {"source": "s", "path": path}
    assert hint in (caught.value.diagnostics[0].hint or "")


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_file_that_the_system_does_not_let_us_read_is_told(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s").touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("s", format=format, skip=True), tmp_path)
    assert caught.value.condition == "SOURCE_NOT_READABLE"
    assert caught.value.parameters == {"source": "s", "path": "s", "file": "s"}


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ('{"id": 1, "name": "a"}\n\n{"id": 2}\n', PAIR, [(1, (1, "a")), (3, (2, None))]),
        ('{"NAME": "a", "Id": 1, "more": []}', PAIR, [(1, (1, "a"))]),
        ('{"ID": 1, "id": 2, "name": null}', PAIR, [(1, (2, None))]),
        (b'\xef\xbb\xbf{"id": 1}\r\n', PAIR, [(1, (1, None))]),
        ('{"id": "7"}', PAIR, [(1, (7, None))]),
        ("{}", PAIR, [(1, (None, None))]),
        ('{"x": 9007199254740993}', (("x", BIGINT),), [(1, (9007199254740993,))]),
        ('{"x": 0.12345678901234567}', (("x", decimal(38, 17)),), [(1, (Decimal("0.12345678901234567"),))]),
        ('{"x": 0.1}', (("x", DOUBLE),), [(1, (0.1,))]),
        ('{"x": -Infinity}', (("x", DOUBLE),), [(1, (-math.inf,))]),
        ('{"x": [{"a": 1.5}]}', (("x", array(struct(("a", DOUBLE)))),), [(1, (((1.5,),),))]),
        ('{"x": "a\\u0000\\u2028"}', (("x", STRING),), [(1, ("a\0\u2028",))]),
        ('{"x": true}', (("x", BOOLEAN),), [(1, (True,))]),
    ],
)
def test_jsonl_rows(
    content: str | bytes,
    columns: tuple[tuple[str, DataType], ...],
    expected: list[tuple[int, tuple[Value, ...]]],
    tmp_path: Path,
) -> None:
    assert read_text(tmp_path, content, spec_of("s.jsonl", columns)) == (expected, [])


@pytest.mark.parametrize(
    ("bad", "column", "value", "expected"),
    [
        (b'{"id": 1', None, '{"id": 1', "a JSON object"),
        (b"[1]", None, "[1]", "a JSON object"),
        (b"1", None, "1", "a JSON object"),
        (b'{"id": 1} {}', None, '{"id": 1} {}', "a JSON object"),
        (b'{"name": "\xff"}', None, '{"name": "\\xff"}', "a JSON object"),
        (b'{"name": "\0"}', None, '{"name": "\0"}', "a JSON object"),
        (b'{"id": true}', "id", True, "INT"),
        (b'{"id": 1.0}', "id", Decimal("1.0"), "INT"),
        (b'{"id": "x"}', "id", "x", "INT"),
        (b'{"id": 2147483648}', "id", 2147483648, "INT"),
        (b'{"name": 1}', "name", 1, "STRING"),
        (b'{"name": {"a": 1}}', "name", {"a": 1}, "STRING"),
        (b'{"name": "\\ud800"}', "name", "\ud800", "STRING"),
    ],
)
def test_a_malformed_jsonl_row_is_told_or_kept_apart(
    bad: bytes, column: str | None, value: object, expected: str, tmp_path: Path
) -> None:
    content = b'{"id": 0}\n\n' + bad + b'\n{"id": 2}\n'
    parameters = parameters_of_malformed(tmp_path, content, spec_of("s.jsonl"))
    assert parameters == {
        "source": "s",
        "file": "s.jsonl",
        "line": 3,
        "column": column,
        "value": value,
        "expected": expected,
    }
    rows, rejects = read_text(tmp_path, content, spec_of("s.jsonl", skip=True))
    assert rows == [(1, (0, None)), (4, (2, None))]
    assert rejects == [(3, bad.decode("utf-8", "backslashreplace"))]


PIECES = st.sampled_from(
    [b"1", b",", b'"', b"\n", b"\r", b"\xff", b"\0", b"a", b"{", b"}", b'"id":', b" ", b"\xc3\xa4"]
)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@given(pieces=st.lists(PIECES, max_size=25))
def test_whatever_the_bytes_every_line_is_a_row_a_reject_or_blank(
    format: str, pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz.{format}"
    path.write_bytes(b"".join(pieces))
    rows, rejects = read_source(spec_of(path.name, skip=True), path.parent)
    starts = [row.line for row in rows] + [reject.line for reject in rejects]
    assert len(set(starts)) == len(starts)
    if format == "jsonl":
        lines = b"".join(pieces).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        assert sorted(starts) == [n for n, line in enumerate(lines, start=1) if line.strip()]


def write_parquet(folder: Path, columns: dict[str, pa.Array]) -> None:
    pq.write_table(pa.table(columns), folder / "s.parquet")


def test_parquet_values_of_every_type(tmp_path: Path) -> None:
    nanos = int(NOON.replace(tzinfo=UTC).timestamp()) * 10**9 + 123_456_789
    fine = NOON.replace(microsecond=123456)
    cases: dict[str, tuple[pa.Array, DataType, Value]] = {
        "b": (pa.array([True]), BOOLEAN, True),
        "i": (pa.array([2**63 - 1]), BIGINT, 2**63 - 1),
        "u": (pa.array([5], pa.uint8()), INT, 5),
        "f": (pa.array([0.1], pa.float32()), FLOAT, 0.10000000149011612),
        "d": (pa.array([0.1]), DOUBLE, 0.1),
        "dec": (pa.array([Decimal("1.50")]), decimal(10, 2), Decimal("1.50")),
        "s": (pa.array(["ä"]), STRING, "ä"),
        "dict": (pa.array(["x"]).dictionary_encode(), STRING, "x"),
        "bin": (pa.array([b"\xff"]), BINARY, b"\xff"),
        "day": (pa.array([date(2024, 1, 1)]), DATE, date(2024, 1, 1)),
        "naive": (pa.array([NOON], pa.timestamp("us")), TIMESTAMP, NOON),
        "milli": (pa.array([NOON], pa.timestamp("ms")), TIMESTAMP, NOON),
        "nano": (pa.array([nanos], pa.timestamp("ns")), TIMESTAMP, fine),
        "utc": (pa.array([NOON], pa.timestamp("us", tz="UTC")), TIMESTAMP, NOON),
        "zone": (pa.array([nanos], pa.timestamp("ns", tz="+02:00")), TIMESTAMP, fine),
        "list": (pa.array([[1, None]]), array(INT), (1, None)),
        "large": (pa.array([["x"]], pa.large_list(pa.string())), array(STRING), ("x",)),
        "fixed": (pa.array([[nanos]], pa.list_(pa.timestamp("ns"), 1)), array(TIMESTAMP), (fine,)),
        "struct": (
            pa.array([([nanos], 1)], pa.struct([("B", pa.list_(pa.timestamp("ns"))), ("a", pa.int8())])),
            struct(("a", INT), ("b", array(TIMESTAMP)), ("c", INT)),
            (1, (fine,), None),
        ),
        "map": (
            pa.array([[("z", nanos), ("a", None)]], pa.map_(pa.string(), pa.timestamp("ns", tz="UTC"))),
            map_of(STRING, TIMESTAMP),
            (("z", fine), ("a", None)),
        ),
        "null": (pa.nulls(1), STRING, None),
    }
    write_parquet(tmp_path, {name: cells for name, (cells, _, _) in cases.items()})
    declared = tuple((name.upper(), of) for name, (_, of, _) in cases.items())
    rows, rejects = read_source(spec_of("s.parquet", declared), tmp_path)
    assert [dict(zip(cases, row.values, strict=True)) for row in rows] == [
        {name: value for name, (_, _, value) in cases.items()}
    ]
    assert (rows[0].file, rows[0].line, rejects) == ("s.parquet", 1, [])


def test_parquet_columns_go_by_name_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    names, ids = pa.array(["a", None, "c"]), pa.array([1, 2, 3])
    write_parquet(tmp_path, {"x": pa.nulls(3), "name": names, "ID": ids})
    rows, _ = read_source(spec_of("s.parquet"), tmp_path)
    assert [(r.line, r.values) for r in rows] == [(1, (1, "a")), (2, (2, None)), (3, (3, "c"))]


@pytest.mark.parametrize(
    ("cells", "of", "expected"),
    [
        (pa.array([1, 2**31, 3]), INT, [1, 3]),
        (pa.array([1.0, math.inf, 3.0]), decimal(3, 0), [1, 3]),
        (pa.array([0, 10**18, 0], pa.timestamp("us")), TIMESTAMP, [datetime(1970, 1, 1)] * 2),
        (pa.array([0, 10**15, 0], pa.timestamp("s")), TIMESTAMP, [datetime(1970, 1, 1)] * 2),
        (pa.array([b"a", b"\xff", b"c"]).view(pa.string()), STRING, ["a", "c"]),
        (pa.array([[0], [10**18], []], pa.list_(pa.timestamp("us"))), array(DATE), [()]),
    ],
)
def test_a_parquet_value_that_does_not_fit_is_told_or_kept_apart(
    cells: pa.Array, of: DataType, expected: list[Value], tmp_path: Path
) -> None:
    write_parquet(tmp_path, {"x": cells})
    with pytest.raises(DataError) as caught:
        read_source(spec_of("s.parquet", (("x", of),)), tmp_path)
    assert caught.value.condition == "MALFORMED_ROW"
    assert (caught.value.parameters["column"], caught.value.parameters["expected"]) == ("x", str(of))
    rows, rejects = read_source(spec_of("s.parquet", (("x", of),), skip=True), tmp_path)
    assert [row.values for row in rows] == [(value,) for value in expected]
    assert rejects[-1].line == 2 and list(json.loads(rejects[-1].text)) == ["x"]
    assert len(rows) + len(rejects) == 3


def test_a_column_missing_from_a_parquet_file_is_an_error(tmp_path: Path) -> None:
    write_parquet(tmp_path, {"id": pa.array([1]), "names": pa.array(["a"])})
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("s.parquet", skip=True), tmp_path)
    assert caught.value.condition == "MISSING_COLUMN"
    assert caught.value.parameters == {"source": "s", "column": "name", "file": "s.parquet"}
    assert caught.value.diagnostics[0].hint == "did you mean names?"


@pytest.mark.parametrize("content", [b"", b"id,name\n1,a\n", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_a_file_that_is_no_parquet_is_malformed_at_line_0(content: bytes, tmp_path: Path) -> None:
    parameters = parameters_of_malformed(tmp_path, content, spec_of("s.parquet"))
    assert (parameters["line"], parameters["column"], parameters["expected"]) == (0, None, "a Parquet file")
    assert read_text(tmp_path, content, spec_of("s.parquet", skip=True)) == ([], [(0, "")])


def test_a_parquet_file_damaged_inside_is_malformed_from_there_on(tmp_path: Path) -> None:
    write_parquet(tmp_path, {"id": pa.array(range(1000)), "name": pa.array([str(i) for i in range(1000)])})
    content = bytearray((tmp_path / "s.parquet").read_bytes())
    content[4:2000] = b"\xff" * 1996
    parameters = parameters_of_malformed(tmp_path, bytes(content), spec_of("s.parquet"))
    assert (parameters["line"], parameters["expected"]) == (1, "a Parquet file")


@pytest.mark.parametrize(
    ("instants", "slack", "accepted_lines", "late"),
    [
        ([], 0, [], []),
        ([1, 1, 2], 0, [1, 2, 3], []),
        ([5, 4, 5, 3], 0, [1, 3], [(2, 4), (4, 4)]),
        ([5, 4, 5, 3], 1, [2, 1, 3], [(4, 3)]),
        ([5, 4, 5, 3], 2, [4, 2, 1, 3], []),
        ([-5, -9, -7, 0], 2, [3, 1, 4], [(2, -8)]),
    ],
)
def test_C73_a_row_is_late_iff_it_is_more_than_the_slack_behind(
    instants: list[int], slack: int, accepted_lines: list[int], late: list[tuple[int, int]]
) -> None:
    kept, apart, rejects = arrivals(instants, slack)
    assert [a.line for a in kept] == accepted_lines
    assert [a.position for a in kept] == list(range(len(kept)))
    assert [(x.row.line, x.heartbeat) for x in apart] == late
    assert rejects == []


@given(st.lists(st.none() | st.integers(-20, 20), max_size=30), st.integers(0, 12))
def test_C73_late_rows_are_exactly_those_beyond_the_slack_and_nothing_is_lost(
    instants: list[int | None], slack: int
) -> None:
    kept, late, rejects = arrivals(instants, slack, skip=True)
    beyond = []
    for place, instant in enumerate(instants):
        before = [i for i in instants[:place] if i is not None]
        if instant is not None and before and instant < max(before) - slack:
            beyond.append(place + 1)
    assert [x.row.line for x in late] == beyond
    assert [r.line for r in rejects] == [n for n, i in enumerate(instants, start=1) if i is None]
    lines = [a.line for a in kept] + [x.row.line for x in late] + [r.line for r in rejects]
    assert Counter(lines) == Counter(range(1, len(instants) + 1))
    assert [(a.instant, a.line) for a in kept] == sorted((a.instant, a.line) for a in kept)
    assert all(x.instant <= x.heartbeat for x in late)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 10)), max_size=30), st.integers(10, 15))
def test_C73_delays_within_the_slack_change_no_instant(delayed: list[tuple[int, int]], slack: int) -> None:
    arriving = [instant for instant, _ in sorted(delayed, key=lambda pair: pair[0] + pair[1])]
    kept, late, _ = arrivals(arriving, slack)
    assert [a.instant for a in kept] == sorted(arriving)
    assert late == []


@given(st.data())
def test_C73_any_permutation_within_the_slack_gives_the_same_instants(data: st.DataObject) -> None:
    instants = data.draw(st.lists(st.integers(0, 8), max_size=20))
    shuffled = data.draw(st.permutations(instants))
    kept, late, _ = arrivals(shuffled, slack=8)
    assert ([a.instant for a in kept], late) == (sorted(instants), [])


def test_a_row_without_a_timestamp_is_an_error_or_a_reject() -> None:
    with pytest.raises(DataError) as caught:
        arrivals([3, None, 4], 0)
    assert caught.value.condition == "NULL_TIMESTAMP"
    assert (caught.value.parameters["file"], caught.value.parameters["line"]) == ("s.csv", 2)
    kept, late, rejects = arrivals([3, None, 4], 0, skip=True)
    assert [a.instant for a in kept] == [3, 4]
    assert (late, [(r.file, r.line, r.text) for r in rejects]) == ([], [("s.csv", 2, '[null, "1"]')])


@pytest.mark.parametrize(("instants", "count", "behind"), [([9, 5], 1, 4), ([9, 5, 2, 10, 9], 3, 7)])
def test_late_rows_are_told_with_the_slack_that_would_take_them_in(
    instants: list[int], count: int, behind: int
) -> None:
    late = arrivals(instants, 0)[1]
    told = late_diagnostic("s", late)
    assert told.condition == "TIMESTAMP_OUT_OF_ORDER"
    assert told.parameters == {"source": "s", "count": count, "file": "s.csv", "line": 2, "behind": behind}
    assert "SLACK" in (told.hint or "")
    assert arrivals(instants, behind)[1] == []
    assert arrivals(instants, behind - 1)[1] != []


def test_the_side_file_holds_every_row_left_out(tmp_path: Path) -> None:
    columns = (("t", TIMESTAMP), ("name", STRING))
    content = b"2024-01-02,a\nx,\xff\n2024-01-01,b\n\xc3\xa4,c\n2024-01-02,\n"
    (tmp_path / "s.csv").write_bytes(content)
    rows, rejects = read_source(spec_of("s.csv", columns, skip=True), tmp_path)
    late = [Late(rows[1], 0, 1)]
    path = write_rejects(tmp_path / "out" / "side", "s", rejects, late)
    assert path == tmp_path / "out" / "side" / "s.rejected.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(x["file"], x["line"], x.get("text"), x.get("values")) for x in lines] == [
        ("s.csv", 2, "x,\\xff", None),
        ("s.csv", 4, "ä,c", None),
        ("s.csv", 3, None, ["2024-01-01T00:00:00Z", "b"]),
    ]
    assert [x["reason"] == "late" for x in lines] == [False, False, True]


def test_values_of_late_rows_are_written_as_text(tmp_path: Path) -> None:
    numbers: tuple[Value, ...] = (None, True, 1, 0.5, Decimal("1.0"))
    values = (*numbers, b"\xffa", date(2024, 1, 1), NOON, ("x", (None,)))
    path = write_rejects(tmp_path, "a/b", [], [Late(SourceRow(values, "f", 1), 0, 0)])
    assert path is not None and path.name.startswith("a_b-") and path.parent == tmp_path
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["values"] == [
        None,
        "true",
        "1",
        "0.5",
        "1.0",
        "\\xffa",
        "2024-01-01",
        "2024-01-01T12:00:00Z",
        '["x", "[null]"]',
    ]


def test_nothing_left_out_writes_no_side_file(tmp_path: Path) -> None:
    assert write_rejects(tmp_path / "out", "s", [], []) is None
    assert not (tmp_path / "out").exists()


def test_the_side_file_can_name_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    path = write_rejects(tmp_path, "s", [Reject("\udcff.csv", 1, "reason", "text")], [])
    assert path is not None
    assert json.loads(path.read_text(encoding="utf-8"))["file"] == "\udcff.csv"
