"""The comparison with other systems: what Continua runs there, and how final contents are told to be the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
import pyarrow.csv
import pytest
from benchmarks.nexmark.generator import Settings
from benchmarks.peers import contents
from benchmarks.peers.compare import CANNOT as TOLD_AS
from benchmarks.peers.compare import Found, notes_on, table_of
from benchmarks.peers.contents import COLUMNS, Answers, difference, load
from benchmarks.peers.events import FORMATS, write
from benchmarks.peers.systems import CANNOT, CONTINUA, FLINK, QUERIES, SPARK, continua_script, systems
from benchmarks.peers.tables import PARALLELISM, TABLES
from click.testing import CliRunner

from continua.cli.main import main
from continua.session import Session


@pytest.mark.parametrize("form", FORMATS)
def test_every_query_is_understood_over_the_files_that_all_systems_read(form: str) -> None:
    for query in QUERIES:
        session = Session(master="none")
        session.sql(continua_script(query, form))
        session.stop()


def test_every_query_is_asked_of_every_system_or_it_says_why_it_cannot() -> None:
    known = systems(Path("nowhere"))
    for name, folder in ((FLINK, "flink"), (SPARK, "spark")):
        texts = {path.stem for path in (Path(contents.__file__).parent / "queries" / folder).glob("*.sql")}
        assert texts | CANNOT[name].keys() == set(QUERIES)
        assert not texts & CANNOT[name].keys()
        assert known[name].cannot("q0", "csv") is None
    assert known[FLINK].cannot("q0", "parquet") == "parquet is not read out of the box"
    assert set(COLUMNS) | {"q6"} == set(QUERIES)


def test_the_table_tells_who_cannot_answer_and_notes_tell_why() -> None:
    chosen = list(systems(Path("nowhere")).values())
    found = {"q4": Found({}, {SPARK: TOLD_AS}, []), "q9": Found({}, {SPARK: TOLD_AS}, ["some rows differ"])}
    head, *lines = table_of(chosen, found)
    assert head[:6] == ["query", CONTINUA, FLINK, SPARK, f"of {FLINK}", f"of {SPARK}"]
    assert [line[:6] for line in lines[:2]] == [[query, "-", "-", "cannot", "-", "-"] for query in found]
    assert lines[2][:6] == ["geometric mean", "", "", "", "-", "-"]
    notes = notes_on(chosen, found, "csv")
    assert f"q4: {SPARK} cannot: {CANNOT[SPARK]['q4']}" in notes
    assert "q9: some rows differ" in notes


def test_files_are_read_with_all_their_columns_by_position(tmp_path: Path) -> None:
    write(Settings(full=True), "csv", tmp_path, 500)
    for kind, columns in TABLES.items():
        files = sorted((tmp_path / kind).glob("*.csv"))
        assert len(files) == PARALLELISM
        for file in files:
            read = pyarrow.csv.ReadOptions(column_names=list(columns))
            assert pyarrow.csv.read_csv(file, read).num_rows > 0
    script = tmp_path / "q0.sql"
    script.write_text(continua_script("q0", "csv"), encoding="utf-8")
    result = CliRunner().invoke(main, ["run", str(script), "--master", "none"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    assert _count(tmp_path, CONTINUA, "tagged", "q0", "answers/*.json") == 460


def _count(folder: Path, system: str, kind: str, query: str, files: str) -> int:
    with duckdb.connect() as connection:
        return load(connection, Answers(system, str(folder / files), kind), query)


def _difference(
    folder: Path, query: str, first: tuple[str, str, Iterable[object]], second: tuple[str, str, Iterable[object]]
) -> str | None:
    """How the answers of two systems differ, each given by its name, its kind and its lines."""
    with duckdb.connect() as connection:
        for system, kind, lines in (first, second):
            file = folder / f"{system}.json"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            load(connection, Answers(system, str(file), kind), query)
        return difference(connection, query, first[0], second[0], second[0] == SPARK)


def _tagged(op: str, category: int, average: float) -> Mapping[str, object]:
    return {"t": "2024-01-01T00:00:01.5Z", "op": op, "category": category, "average": average}


def _debezium(before: object, after: object) -> Mapping[str, object]:
    return {"before": before, "after": after, "op": "c" if before is None else "d"}


def test_changes_come_to_the_same_whatever_they_are_written_as(tmp_path: Path) -> None:
    mine = [_tagged("+", 10, 1.0), _tagged("-", 10, 1.0), _tagged("+", 10, 2.0001), _tagged("+", 11, 5.0)]
    row, other = {"category": 10, "average": 2.0}, {"category": 11, "average": 5.0}
    theirs = [_debezium(None, other), _debezium(None, row), _debezium(other, None), _debezium(None, other)]
    assert _difference(tmp_path, "q4", (CONTINUA, "tagged", mine), (FLINK, "debezium", theirs)) is None
    wrong = _difference(tmp_path, "q4", (CONTINUA, "tagged", mine), (FLINK, "debezium", theirs[:2]))
    assert wrong is None
    wrong = _difference(tmp_path, "q4", (CONTINUA, "tagged", mine), (FLINK, "debezium", theirs[:1]))
    assert wrong == f"1 rows of {CONTINUA} and 0 of {FLINK} differ: {CONTINUA} alone has ('10', 2.0)"


def test_of_batches_the_last_one_of_a_key_counts(tmp_path: Path) -> None:
    def bid(moment: str) -> dict[str, object]:
        return {"auction": 1, "bidder": 2, "price": 3, "dateTime": moment}

    mine = [{"t": "2024-01-01T00:00:01Z", "op": "+", **bid("2024-01-01T00:00:01Z")}]
    theirs = [{"batch": 0, **bid("2024-01-01T00:00:00.000Z")}, {"batch": 1, **bid("2024-01-01T00:00:01.000Z")}]
    assert _difference(tmp_path, "q18", (CONTINUA, "tagged", mine), (SPARK, "batches", theirs)) is None
    assert _difference(tmp_path, "q18", (CONTINUA, "tagged", mine), (SPARK, "batches", theirs[:1])) is not None


def test_windows_that_are_still_open_for_spark_are_not_missed(tmp_path: Path) -> None:
    def mine(second: int, bids: int) -> dict[str, object]:
        return {"t": f"2024-01-01T00:00:{second - 1:02}.999Z", "auction": 1, "bids": bids}

    def theirs(second: int, bids: int) -> dict[str, object]:
        return {"auction": 1, "bids": bids, "until": f"2024-01-01T00:00:{second:02}.000Z"}

    windows = [mine(2, 7), mine(4, 8), mine(6, 9)]
    first = (CONTINUA, "tagged", windows)
    assert _difference(tmp_path, "q5", first, (SPARK, "elements", [theirs(2, 7), theirs(4, 8)])) is None
    assert _difference(tmp_path, "q5", first, (SPARK, "elements", [theirs(2, 7), theirs(6, 9)])) is not None
    assert _difference(tmp_path, "q5", first, (FLINK, "elements", [theirs(2, 7), theirs(4, 8)])) is not None
