"""Sources read as columns: the rows that reading row by row gives, or nothing at all."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from continua.catalog import RelationInfo, StreamInfo
from continua.errors import ContinuaError
from continua.runtime.feed import Feed
from continua.session import Session
from continua.types import DataType

TYPES = (
    "BIGINT",
    "INT",
    "TINYINT",
    "DOUBLE",
    "FLOAT",
    "DECIMAL(6,2)",
    "STRING",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
)

CLEAN: dict[str, list[str]] = {
    "BIGINT": ["0", "-1", "9223372036854775807", "-9223372036854775808", "007", "-0"],
    "INT": ["0", "2147483647", "-2147483648", "12"],
    "TINYINT": ["0", "127", "-128", "5"],
    "DOUBLE": ["0", "1.5", "-2.25e3", "1e-400", ".5", "1.", "0.1", "123456789012345678901234567890", "-0.0", "5e-324"],
    "FLOAT": ["0", "0.1", "16777217", "1.00000005960464477540", "3.4028235e38", "1e-46"],
    "DECIMAL(6,2)": ["0", "1.5", "-12.25", "9999.99", ".5", "-0.00", "1."],
    "STRING": ["a", "Ünï", "true", "0x1A", "x y", " padded ", "null", "'"],
    "BINARY": ["a", "é"],
    "BOOLEAN": ["true", "F", "yes", "0", "TRUE"],
    "DATE": ["2024-02-29", "0001-01-01", "9999-12-31"],
    "TIMESTAMP": ["2024-02-29T10:00:00", "2024-01-01 00:00:00.5Z", "2024-01-01", "2024-01-01T10:00+00:00"],
}
ODD: dict[str, list[str]] = {
    "BIGINT": ["+1", " 12 ", "0x1A", "1.0", "9223372036854775808", "1_000", "--1", "1 2", "\u0661", "x"],
    "INT": ["2147483648", "\t1", "1e3", "- 1"],
    "TINYINT": ["128", "-129"],
    "DOUBLE": ["inf", "NaN", "1e400", "1e", ".", "0x1p3", "1_0", "1d", " 1.5", "infinity", "1,5"],
    "FLOAT": ["1e39", "nan", "3.4028236e38"],
    "DECIMAL(6,2)": ["1.005", "10000", "1e2", "9999.995", "+1", "NaN", "0.004"],
    "STRING": ["a\0b", "\udcff", "", "\u2028", "a\x1cb"],
    "BINARY": ["\udcff"],
    "BOOLEAN": ["2", "oui", "ye\u017f", " true"],
    "DATE": ["20240229", "2024-02-30", "2024-W01-1", "0000-01-01", "2024-2-1", "10000-01-01"],
    "TIMESTAMP": [
        "2024-02-30T00:00:00", "2024-01-01T24:00:00", "2024-01-01T10:00:00.1234567", "2024-01-01T10:00:00+02:00",
        "2024-01-01T10:00:00z", "2024-01-01T10", "0000-01-01T00:00:00", "2024-01-01Z", "20240101T100000",
        "2024-01-01T10:00:60", "2024-01-01T10:00:00,5", "2024-01-01T10:00:00.", "2024-01-01T10:00:00ZZ", "0001-01-01",
    ],
}  # fmt: skip
TIMES: dict[str, Callable[[int], str]] = {
    "BIGINT": str,
    "TIMESTAMP": lambda t: (datetime(2024, 1, 1) + timedelta(seconds=t)).isoformat(),
}


def agree(folder: Path, script: str) -> bool:
    """Whether the sources of a script were read as columns; fails unless that gives what rows give."""
    session = Session(data=folder, rejects=folder / "rejected")
    session.execute(script)
    (info,) = [e for e in session.catalog.entries() if isinstance(e, StreamInfo | RelationInfo)]
    loaded = table = None
    try:
        loaded = session.inputs.load([info])
        table = loaded.tables.get(info.name.casefold())
    except ContinuaError:
        pass
    other = Session(data=folder, rejects=folder / "rejected")
    other.execute(script)
    types: list[DataType] = [f.type for f in info.columns]
    if isinstance(info, RelationInfo) and info.order_by is not None:
        types = [f.type for f in info.columns if not f.hidden]
    try:
        inputs = other.inputs.read([info])
        expected = Feed.of_inputs(inputs, {info.name.casefold(): types}).tables().get(info.name.casefold())
    except ContinuaError:
        assert loaded is None, "an error was not seen"
        return False
    assert loaded is not None
    assert loaded.size == inputs.size
    assert [n.condition for n in session.inputs.notices] == [n.condition for n in other.inputs.notices]
    if table is None:
        return False
    assert expected is not None
    assert not other.inputs.notices
    assert table.schema == expected.schema
    assert exactly(table) == exactly(expected)
    return True


def exactly(table: pa.Table) -> list[list[str]]:
    """Values that are equal only if they are the same: by how they are written."""
    return [[repr(v) for v in column.to_pylist()] for column in table.columns]


class Maker:
    """Random sources: mostly clean files, some with odd values, some with damaged bytes."""

    def __init__(self, seed: int, form: str) -> None:
        self.rng = random.Random(seed)
        self.form = form
        self.odd = self.rng.choice([0.0, 0.0, 0.02])
        self.time = self.rng.choice(list(TIMES))
        self.types = [self.rng.choice(TYPES) for _ in range(self.rng.randint(1, 4))]
        self.slack = self.rng.choice([0, 0, 3])
        self.kind = self.rng.choice(["stream", "valid", "stored", "tagged", "updates"])
        self.nulls = self.rng.choice([0.0, 0.1])
        self.options = self._options()

    def _options(self) -> dict[str, str]:
        if self.form != "csv" or self.rng.random() < 0.6:
            return {}
        return self.rng.choice([{"null": "'NA'"}, {"header": "true"}, {"header": "false"}, {"delimiter": "';'"}])

    @property
    def script(self) -> str:
        required = " NOT NULL" if self.rng.random() < 0.2 else ""
        columns = [f"c{i} {of}{required}" for i, of in enumerate(self.types)]
        options = "".join(f", {n} => {v}" for n, v in self.options.items())
        where = f"SOURCE {self.form}('data.{self.form}'{options})"
        slack = f" SLACK {self.slack}{' SECONDS' if self.time == 'TIMESTAMP' else ''}" if self.slack else ""
        slack += self.rng.choice(["", " ON ERROR SKIP"])
        every = ", ".join([*columns, f"ts {self.time}"])
        match self.kind:
            case "stream":
                return f"CREATE STREAM s ({every}) {where} ORDERED BY ts{slack};"
            case "valid":
                return f"CREATE STREAM s ({every}, te {self.time}) {where} VALID FROM ts TO te{slack};"
            case "stored":
                return f"CREATE RELATION s ({every}) {where};"
            case "tagged":
                key = self.rng.choice(["", " KEY c0"])
                return f"CREATE RELATION s ({every}, tag STRING) {where} ORDERED BY ts TAGGED BY tag{key}{slack};"
            case _:
                return f"CREATE RELATION s ({every}) {where} ORDERED BY ts{slack};"

    @property
    def names(self) -> list[str]:
        more = {"valid": ["te"], "tagged": ["tag"]}.get(self.kind, [])
        return [*(f"c{i}" for i in range(len(self.types))), "ts", *more]

    def rows(self) -> list[list[str | None]]:
        """Rows as texts; None for NULL."""
        found = []
        at = self.rng.choice([0, 0, 5, -3 if self.odd else 0])
        for _ in range(self.rng.randint(0, 12)):
            row: list[str | None] = [self._value(of) for of in self.types]
            back = self.rng.randint(0, self.slack) if self.slack and self.rng.random() < 0.3 else 0
            time = TIMES[self.time]
            row.append(time(at - back))
            if self.kind == "valid":
                row.append(None if self.rng.random() < 0.2 else time(at - back + self.rng.randint(1, 4)))
            if self.kind == "tagged":
                row.append(self.rng.choice(["+", "-", "+", "u"] if self.rng.random() < 0.1 + self.odd else ["+", "-"]))
            if self.rng.random() < self.odd:
                row[self.rng.randrange(len(row))] = None
            if self.rng.random() < self.odd:
                row[-1] = self.rng.choice(["x", "-5", "0"])
            found.append(row)
            at += self.rng.choice([0, 0, 1, 2, -2 if self.rng.random() < self.odd else 0])
        return found

    def _value(self, of: str) -> str | None:
        if self.rng.random() < self.nulls:
            return None
        return self.rng.choice(ODD[of] if self.rng.random() < self.odd else CLEAN[of])

    def damaged(self, data: bytes) -> bytes:
        """Sometimes another byte somewhere."""
        if self.rng.random() < 0.6 or not data:
            return data
        place = self.rng.randrange(len(data))
        other = self.rng.choice(['"', "\n", "\r", ",", "\0", " ", "\xff", "0", "{", "}", "\r\n", "", "e", "-", "\\"])
        return data[:place] + other.encode("latin-1") + data[place + self.rng.randint(0, 1) :]


def csv_bytes(make: Maker) -> bytes:
    delimiter = make.options.get("delimiter", "','").strip("'")
    null = make.options.get("null", "").strip("'")
    end = make.rng.choice(["\n", "\n", "\r\n"])
    lines = []
    if make.options.get("header") != "false" and (make.options or make.rng.random() < 0.7):
        lines.append(delimiter.join(make.names))
    for row in make.rows():
        fields = []
        for text in row:
            shown = null if text is None else text
            if delimiter in shown or '"' in shown or make.rng.random() < 0.05:
                shown = '"' + shown.replace('"', '""') + '"'
            fields.append(shown)
        lines.append(delimiter.join(fields))
        if make.rng.random() < make.odd:
            lines.append(make.rng.choice(["", " ", delimiter]))
    text = end.join(lines) + make.rng.choice([end, "", end + end])
    return make.rng.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode("utf-8", "surrogateescape")


def json_bytes(make: Maker) -> bytes:
    lines = []
    for row in make.rows():
        members = []
        for name, text in zip(make.names, row, strict=True):
            if text is None and make.rng.random() < 0.5:
                continue
            shown = name.upper() if make.rng.random() < make.odd else name
            members.append(f"{json.dumps(shown)}: {_json_value(make, name, text)}")
        if make.rng.random() < 0.1:
            members.append(f'"more": {make.rng.choice(["1", "0.0", "1e3", "[1]", "null", "1e-99999999999999999999"])}')
        if make.rng.random() < make.odd:
            members.append('"ts": 1')
        lines.append("{" + ", ".join(members) + "}")
        if make.rng.random() < make.odd:
            lines.append(make.rng.choice(["", "{}", "[]", "  "]))
    return (make.rng.choice(["\n", "\r\n"]).join(lines) + "\n").encode("utf-8", "surrogateescape")


def _json_value(make: Maker, name: str, text: str | None) -> str:
    if text is None:
        return "null"
    of = make.time if name in ("ts", "te") else "STRING" if name == "tag" else make.types[int(name[1:])]
    if of == "BOOLEAN" and make.rng.random() < 0.8:
        return make.rng.choice(["true", "false"])
    if of in ("STRING", "BINARY", "DATE", "TIMESTAMP", "BOOLEAN") or make.rng.random() < make.odd:
        return json.dumps(text, ensure_ascii=False) if make.rng.random() < 0.9 else json.dumps(text)
    try:
        return text if math.isfinite(json.loads(text)) else "NaN"
    except (ValueError, TypeError):
        return make.rng.choice(["1", "0", "3"])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("form", "written"), [("csv", csv_bytes), ("jsonl", json_bytes)])
def test_random_texts_are_read_alike(tmp_path: Path, form: str, written: Callable[[Maker], bytes], seed: int) -> None:
    columnar = 0
    for number in range(60):
        make = Maker(1000 * seed + number, form)
        (tmp_path / f"data.{form}").write_bytes(make.damaged(written(make)))
        columnar += agree(tmp_path, make.script)
    assert columnar >= 5, "hardly anything was read as columns"


CELLS: dict[str, list[tuple[pa.DataType, list[object]]]] = {
    "BIGINT": [(pa.int64(), [1, -5]), (pa.uint64(), [1, 2**63 - 1]), (pa.int8(), [1]), (pa.float64(), [1.0])],
    "INT": [(pa.int32(), [1]), (pa.int64(), [1, 7, 2**31 - 1]), (pa.int64(), [2**31]), (pa.string(), ["7"])],
    "TINYINT": [(pa.int8(), [-128, 127]), (pa.int16(), [128])],
    "DOUBLE": [(pa.float64(), [0.1, math.inf, -0.0]), (pa.float32(), [0.5]), (pa.int64(), [3, 2**53 + 1])],
    "FLOAT": [(pa.float32(), [0.5, math.inf]), (pa.float64(), [0.1]), (pa.float64(), [1e39])],
    "DECIMAL(6,2)": [
        (pa.decimal128(6, 2), [Decimal("1.50")]), (pa.decimal128(9, 4), [Decimal("1.5000")]),
        (pa.decimal128(9, 4), [Decimal("1.0050")]), (pa.int32(), [12]), (pa.float64(), [1.5]),
    ],
    "STRING": [(pa.string(), ["a", "Ü", ""]), (pa.large_string(), ["b"]), (pa.int64(), [1])],
    "BINARY": [(pa.binary(), [b"\xff"]), (pa.string(), ["é"])],
    "BOOLEAN": [(pa.bool_(), [True, False]), (pa.int8(), [1])],
    "DATE": [(pa.date32(), [date(2024, 2, 29)]), (pa.date64(), [date(2024, 2, 29)])],
    "TIMESTAMP": [
        (pa.timestamp("us"), [datetime(2024, 1, 1, 1, 1, 1, 5)]), (pa.timestamp("ns"), [-1500, 1500]),
        (pa.timestamp("s", "Europe/Berlin"), [datetime(2024, 1, 1)]), (pa.timestamp("us"), [2**62]),
        (pa.timestamp("ms"), [2**62]), (pa.date32(), [date(2024, 1, 1)]),
    ],
}  # fmt: skip


def _time(text: str | None, read: Callable[[str], object]) -> object:
    try:
        return None if text is None else read(text)
    except ValueError:
        return None


@pytest.mark.parametrize("seed", range(8))
def test_random_parquet_files_are_read_alike(tmp_path: Path, seed: int) -> None:
    columnar = 0
    for number in range(40):
        make = Maker(1000 * seed + number, "parquet")
        rows = make.rows()
        columns: dict[str, pa.Array] = {}
        for place, name in enumerate(make.names):
            if name in ("ts", "te"):
                kind = pa.int64() if make.time == "BIGINT" else pa.timestamp("us")
                read = int if make.time == "BIGINT" else datetime.fromisoformat
                columns[name] = pa.array([_time(r[place], read) for r in rows], kind)
            elif name == "tag":
                columns[name] = pa.array([r[place] for r in rows], pa.string())
            else:
                kind, values = make.rng.choice(CELLS[make.types[place]][: None if make.rng.random() < 0.1 else 2])
                cells = [None if r[place] is None else make.rng.choice(values) for r in rows]
                columns[name] = pa.array(cells, kind)
        chunk = make.rng.randint(1, 5)
        pq.write_table(pa.table(columns), tmp_path / "data.parquet", row_group_size=chunk)
        columnar += agree(tmp_path, make.script)
    assert columnar >= 5, "hardly anything was read as columns"


STREAM = "CREATE STREAM s (a STRING, ts BIGINT) SOURCE csv('data.csv'{options}) ORDERED BY ts{more};"


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("a,ts\nx,1\ny,2\n", True),
        ("x,1\ny,2", True),
        ('a,ts\n"x, ""y""\n z",1\n"",2\n', True),
        ("other,TS,A\n1,1,x\n\n2,2,y\n", True),
        ('x"y,1\n', False),
        ('"x"y,1\n', False),
        ("x,2\ny,1\n", False),
        ("x,1\ny\n", False),
        ("x,1\n \ny,2\n", False),
        ("x,1\ry,2\r", False),
        ("x,1\0\n", False),
        ("x,-1\n", False),
        ("x,\n", False),
        ("a,ts\n", False),
        ("", False),
        ("x" * 200_000 + ",1\n", False),
    ],
)
def test_texts_that_are_clean_and_others(tmp_path: Path, content: str, read: bool) -> None:
    (tmp_path / "data.csv").write_text(content, encoding="utf-8", newline="")
    assert agree(tmp_path, STREAM.format(options="", more=" ON ERROR SKIP")) is read


@pytest.mark.parametrize("number", ["10000", "9999.999", "1e5", "-12345.5", '"10000"', "1.005"])
def test_decimals_of_json_have_room_or_are_left_to_rows(tmp_path: Path, number: str) -> None:
    (tmp_path / "data.jsonl").write_text(f'{{"a": {number}, "ts": 1}}\n')
    text = "CREATE STREAM s (a DECIMAL(6,2), ts BIGINT) SOURCE jsonl('data.jsonl') ORDERED BY ts ON ERROR SKIP;"
    assert not agree(tmp_path, text)


def test_several_files_are_one_source(tmp_path: Path) -> None:
    folder = tmp_path / "data.csv"
    folder.mkdir()
    (folder / "1.csv").write_text("a,ts\nx,1\ny,4\n")
    (folder / "2.csv").write_text("ts,a\n2,z\n4,w\n")
    assert agree(tmp_path, STREAM.format(options="", more=" SLACK 2"))
    assert not agree(tmp_path, STREAM.format(options="", more=" SLACK 1"))


def test_inserted_rows_and_rows_read_before_are_rows(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,1\n")
    session = Session(data=tmp_path)
    session.execute(STREAM.format(options="", more=""))
    info = session.catalog.table("s")
    assert isinstance(info, StreamInfo)
    assert session.inputs.load([info]).tables
    session.insert("s", [("y", 0)])
    loaded = session.inputs.load([info])
    assert (dict(loaded.tables), loaded.size) == ({}, 2)


def test_rows_by_arrival_are_read_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,1\n")
    assert not agree(tmp_path, "CREATE STREAM s (a STRING, b INT) SOURCE csv('data.csv');")


def test_a_pipe_is_left_to_rows(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data.csv")
    session = Session(data=tmp_path)
    session.execute(STREAM.format(options="", more=""))
    info = session.catalog.table("s")
    assert isinstance(info, StreamInfo)
    assert session.inputs._table(info) is None
