"""Every value is read back as itself, whatever way it went."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from continua import Session
from continua.answers.encoding.column_texts import csv_texts, json_texts, plain_texts
from continua.answers.encoding.value_texts import csv_text, json_text, plain_text
from continua.sqltext.duckdb_types import arrow_type, from_duckdb, to_arrow, type_of
from continua.types import BINARY, INTERVAL, STRING, TIMESTAMP, DataType, Value, array, decimal, map_of, struct
from tests.cli.helpers import continua, lines, write_script
from tests.encoding.drawing import PLAIN, types, values
from tests.encoding.reading import csv_records, from_json, same, value_of, value_of_text

SCHEMA: dict[str, DataType] = {
    **{f"c{i}": of for i, of in enumerate(PLAIN) if of != INTERVAL},
    "n2": decimal(12, 2),
    "n9": decimal(30, 9),
    "l": array(PLAIN[7]),
    "r": struct(("a", PLAIN[3]), ("b", array(PLAIN[6]))),
    "m": map_of(PLAIN[7], decimal(8, 2)),
    "k": map_of(PLAIN[9], array(PLAIN[10])),
}
LENGTH = "at - TIMESTAMP '2000-01-01 00:00:00'"
TYPES = {**SCHEMA, "length": INTERVAL, "lengths": array(INTERVAL)}
"""What queries select: files have no lengths of time, so these are computed."""
FORMS = ("json", "csv", "parquet", "orc")
MICROSECONDS = pa.duration("us")
"""ORC has no lengths of time: they are numbers of microseconds there."""
rows_of_all_types = st.lists(
    st.tuples(*(values(of) for of in SCHEMA.values()), values(TIMESTAMP)), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(st.data(), types)
def test_columns_are_written_like_single_values_and_read_back(data: st.DataObject, of: DataType) -> None:
    drawn = data.draw(st.lists(values(of), min_size=1, max_size=6))
    column = pa.array([to_arrow(v, of) for v in drawn], arrow_type(of))
    assert type_of(column.type) == of
    chunks = pa.chunked_array([column[:1], column[1:]])
    jsons, fields, texts = (write(chunks).to_pylist() for write in (json_texts, csv_texts, plain_texts))
    assert jsons == [json_text(v, of) for v in drawn]
    assert fields == [csv_text(v, of) for v in drawn]
    assert texts == [None if v is None else plain_text(v, of) for v in drawn]
    assert_same(drawn, [value_of(from_json(text), of) for text in jsons])
    assert_same(drawn, [value_of_text(r[0], of) for r in csv_records("".join(f"{text},\n" for text in fields))])


@settings(max_examples=4, deadline=None, phases=[Phase.generate], derandomize=True)
@given(rows_of_all_types)
def test_every_way_out(drawn: list[tuple[Value, ...]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_source(folder, drawn)
        expected = [(*row[:-1], *_lengths(row[-1])) for row in drawn]
        query = f"SELECT {', '.join(SCHEMA)}, {LENGTH} AS length, ARRAY({LENGTH}) AS lengths FROM s"
        into = ";".join(
            f"REGISTER QUERY {form} AS {query} INTO {form}('{form}')" for form in ("json", "csv", "parquet")
        )
        script = write_script(folder, _stream("SOURCE parquet('s.parquet')") + into)
        assert lines(continua("run", script)) == []
        asked = write_script(folder, _stream("SOURCE parquet('s.parquet')") + f"REGISTER QUERY q AS {query};")
        printed = continua("run", asked).stdout_bytes.decode()
        _compare(expected, (_row(from_json(line), "row") for line in printed.split("\n")[:-1]))
        assert _live(query, drawn, expected) == printed
        content = continua("run", asked, "--at", "100").stdout_bytes.decode()
        _compare(
            sorted(expected, key=repr), sorted((_row(from_json(x), "row") for x in content.split("\n")[:-1]), key=repr)
        )
        _compare(expected, _fields(continua("run", asked, "--format", "csv").stdout_bytes.decode(), 3))
        text = next((folder / "json").iterdir()).read_bytes().decode()
        _compare(expected, (_row({"row": from_json(line)}, "row") for line in text.split("\n")[:-1]))
        with next((folder / "csv").iterdir()).open(encoding="utf-8", newline="") as file:
            _compare(expected, _fields(file.read(), 1))
        _compare(expected, _arrow_rows(pa.parquet.read_table(folder / "parquet")))


@settings(max_examples=3, deadline=None, phases=[Phase.generate], derandomize=True)
@given(rows_of_all_types)
def test_orc(drawn: list[tuple[Value, ...]]) -> None:
    """Arrow reads instants of ORC in nanoseconds, and hence of this century and those beside it only."""
    drawn = [tuple(map(_of_this_century, row)) for row in drawn]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_source(folder, drawn)
        query = f"REGISTER QUERY q AS SELECT {', '.join(SCHEMA)}, {LENGTH} AS length, ARRAY({LENGTH}) AS lengths FROM s"
        script = write_script(folder, _stream("SOURCE parquet('s.parquet')") + f"{query} INTO orc('orc');")
        assert lines(continua("run", script)) == []
        found = pa.orc.read_table(next((folder / "orc").iterdir())).select(list(TYPES))
        kinds = {name: arrow_type(of) for name, of in SCHEMA.items()}
        kinds |= {"length": MICROSECONDS, "lengths": pa.list_(MICROSECONDS)}
        _compare([(*row[:-1], *_lengths(row[-1])) for row in drawn], _arrow_rows(found.cast(pa.schema(kinds))))


@settings(max_examples=3, deadline=None, phases=[Phase.generate], derandomize=True)
@given(rows_of_all_types)
def test_what_a_folder_has_is_a_source(drawn: list[tuple[Value, ...]]) -> None:
    """Of CSV a NUL is refused; in CSV and JSON what is Base64 for others is a text for a source."""
    drawn = [tuple(_of_this_century(_without_nul(value)) for value in row) for row in drawn]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_source(folder, drawn)
        query = f"AS SELECT {', '.join(SCHEMA)} FROM s"
        into = "".join(f"REGISTER QUERY {form} {query} INTO {form}('{form}');" for form in FORMS)
        assert lines(continua("run", write_script(folder, _stream("SOURCE parquet('s.parquet')") + into))) == []
        back = ""
        for form in FORMS:
            kinds = {n: STRING if of == BINARY and form in ("json", "csv") else of for n, of in SCHEMA.items()}
            columns = ", ".join(f"{n} {of}" for n, of in kinds.items())
            source = "jsonl" if form == "json" else form
            back += f"CREATE STREAM {form}s ({columns}, t BIGINT) SOURCE {source}('{form}') ORDERED BY t;"
            back += f"REGISTER QUERY {form} AS SELECT * FROM {form}s;"
        printed = continua("run", write_script(folder, back)).stdout_bytes.decode()
        found = [from_json(line) for line in printed.split("\n")[:-1]]
        for form in FORMS:
            mine = [line["row"] for line in found if isinstance(line, dict) and line["query"] == form]
            rows = [tuple(value_of(row[n], of) for n, of in SCHEMA.items()) for row in mine]
            _compare([row[: len(SCHEMA)] for row in drawn], rows)


def _without_nul(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_without_nul, value))
    return value.replace("\0", "") if isinstance(value, str) else value


def _of_this_century(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_of_this_century, value))
    return value.replace(year=2000 + value.year % 100 // 4 * 4) if isinstance(value, datetime) else value


def assert_same(left: Iterable[Value], right: Iterable[Value]) -> None:
    for a, b in zip(left, right, strict=True):
        assert same(a, b), (a, b)


def _compare(expected: Iterable[tuple[Value, ...]], found: Iterable[tuple[Value, ...]]) -> None:
    for wanted, row in zip(expected, found, strict=True):
        assert_same(wanted, row)


def _stream(source: str) -> str:
    columns = ", ".join(f"{name} {of}" for name, of in SCHEMA.items())
    return f"CREATE STREAM s ({columns}, at TIMESTAMP, ts BIGINT) {source} ORDERED BY ts;"


def _write_source(folder: Path, drawn: list[tuple[Value, ...]]) -> None:
    kinds = {**SCHEMA, "at": TIMESTAMP}
    columns = {
        name: pa.array([to_arrow(row[i], of) for row in drawn], arrow_type(of))
        for i, (name, of) in enumerate(kinds.items())
    }
    columns["ts"] = pa.array(range(len(drawn)), pa.int64())
    pa.parquet.write_table(pa.table(columns), folder / "s.parquet")


def _lengths(at: Value) -> tuple[Value, Value]:
    length = at - datetime(2000, 1, 1) if isinstance(at, datetime) else None
    return length, (length,)


def _live(query: str, drawn: list[tuple[Value, ...]], expected: list[tuple[Value, ...]]) -> str:
    """What a live query tells the console, after what it tells Python was compared."""
    session = Session(master="none")
    out = StringIO()
    given: list[pa.Table] = []
    try:
        session.execute(_stream("") + f"REGISTER QUERY q AS {query} INTO console; REGISTER QUERY p AS {query};")
        with redirect_stdout(out):
            _, handle = session.start()
            handle.foreach(lambda _, table: given.append(table))
            session.insert("s", [(*row, ts) for ts, row in enumerate(drawn)])
            assert session.live is not None
            session.live.finish()
        _compare(expected, _arrow_rows(pa.concat_tables(given)))
        _compare(expected, _arrow_rows(handle.changes()))
        content = handle.snapshot(len(drawn) - 1)
        _compare(sorted(expected, key=repr), sorted(_arrow_rows(content), key=repr))
    finally:
        session.stop()
    return out.getvalue()


def _row(line: object, member: str) -> tuple[Value, ...]:
    assert isinstance(line, dict)
    return tuple(value_of(line[member][name], of) for name, of in TYPES.items())


def _fields(text: str, first: int) -> list[tuple[Value, ...]]:
    """The rows of a CSV file, whose columns begin behind some others."""
    header, *records = csv_records(text)
    assert header[first:] == list(TYPES)
    kinds = list(TYPES.values())
    return [tuple(value_of_text(f, of) for f, of in zip(r[first:], kinds, strict=True)) for r in records]


def _arrow_rows(table: pa.Table) -> list[tuple[Value, ...]]:
    columns = [[from_duckdb(v, of) for v in table.column(name).to_pylist()] for name, of in TYPES.items()]
    return list(zip(*columns, strict=True))
