"""Formats beside csv, jsonl and parquet, folders whose names are values, and compressed files."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pytest

from continua.errors import SourceError
from continua.sources.source_spec import SourceSpec
from continua.types import DATE, INT, STRING, DataType
from tests.sources.reading import read_cut, read_source

PAIR: tuple[tuple[str, DataType], ...] = (("id", INT), ("name", STRING))


def spec_of(format_: str, path: str, columns: tuple[tuple[str, DataType], ...] = PAIR) -> SourceSpec:
    return SourceSpec(format_, path, columns, (), True, "s")


def values(spec: SourceSpec, folder: Path) -> list[tuple[object, ...]]:
    return [row.values for row in read_source(spec, folder)[0]]


def test_every_line_of_a_text_file_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n\n  two\r\nb\xffd\nlast")
    rows, rejects = read_source(spec_of("text", "a.txt", (("line", STRING),)), tmp_path)
    assert [(r.line, r.values) for r in rows] == [(1, ("one",)), (2, ("",)), (3, ("  two",)), (5, ("last",))]
    assert [(r.line, r.reason) for r in rejects] == [(4, "bytes that are not UTF-8")]


def test_a_text_file_is_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first\nsecond\n\nfourth\r\nfifth")
    spec = spec_of("text", "a.txt", (("line", STRING),))
    whole = read_cut(spec, path, [])[:2]
    assert all(read_cut(spec, path, [cut])[:2] == whole for cut in range(1, path.stat().st_size))


def test_text_has_one_column(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("text", "a.txt"), tmp_path)
    assert caught.value.condition == "BAD_COLUMNS"


def test_orc_columns_go_by_name(tmp_path: Path) -> None:
    table = pa.table({"name": ["a", None], "ID": pa.array([1, 2**31], pa.int64())})
    pyarrow.orc.write_table(table, str(tmp_path / "a.orc"))
    rows, rejects = read_source(spec_of("orc", "a.orc"), tmp_path)
    assert [(r.line, r.values) for r in rows] == [(1, (1, "a"))]
    assert [r.line for r in rejects] == [2]


def test_folders_give_their_rows_values(tmp_path: Path) -> None:
    columns = (*PAIR, ("day", DATE), ("country", STRING))
    for day, country, line in (("2024-05-02", "cz", "2,b"), ("2024-05-01", "d%20e", "1,a")):
        folder = tmp_path / "bids" / f"day={day}" / f"country={country}"
        folder.mkdir(parents=True)
        (folder / "x.csv").write_text(line + "\n")
    unknown = tmp_path / "bids" / "day=__HIVE_DEFAULT_PARTITION__" / "country=at" / "hour=3"
    unknown.mkdir(parents=True)
    (unknown / "x.csv").write_text("3,c\n")
    (tmp_path / "bids" / "other").mkdir()
    (tmp_path / "bids" / "other" / "x.csv").write_text("9,z\n")
    found = values(spec_of("csv", "bids", columns), tmp_path)
    assert [(row[0], str(row[2]), row[3]) for row in found] == [
        (1, "2024-05-01", "d e"),
        (2, "2024-05-02", "cz"),
        (3, "None", "at"),
    ]


def test_a_folder_whose_value_is_none_of_its_type_is_told(tmp_path: Path) -> None:
    (tmp_path / "bids" / "id=x").mkdir(parents=True)
    (tmp_path / "bids" / "id=x" / "a.csv").write_text("b\n")
    with pytest.raises(SourceError) as caught:
        read_source(spec_of("csv", "bids"), tmp_path)
    assert caught.value.condition == "BAD_FOLDER"


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read_whole(tmp_path: Path, ending: str, pack: object) -> None:
    assert callable(pack)
    (tmp_path / f"a.csv{ending}").write_bytes(pack(b'id,name\n1,a\n2,"b\nc"\n'))
    (tmp_path / f"b.jsonl{ending}").write_bytes(pack(b'{"id": 3, "name": "d"}\n'))
    assert values(spec_of("csv", "."), tmp_path) == [(1, "a"), (2, "b\nc")]
    assert values(spec_of("jsonl", f"b.jsonl{ending}"), tmp_path) == [(3, "d")]
