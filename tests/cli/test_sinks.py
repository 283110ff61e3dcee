"""INTO: the answers of a query in a folder, a file an epoch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.helpers import BIDS, continua, lines, write_script


def _run(folder: Path, into: str, *options: str) -> None:
    script = BIDS + f"REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2] INTO {into};"
    assert lines(continua("run", write_script(folder, script), *options)) == []


def _rows(folder: Path) -> list[dict[str, object]]:
    files = sorted((folder / "out").iterdir())
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("batch", ["1", "2"])
def test_an_epoch_is_a_file_and_all_files_are_the_answer(folder: Path, batch: str) -> None:
    _run(folder, "json('out')", "--batch-rows", batch)
    whole = _rows(folder)
    assert len(list((folder / "out").iterdir())) > 1
    script = write_script(folder, BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2];")
    printed = [json.loads(line) for line in lines(continua("run", script))]
    expected = [{"t": a["t"], "op": a["op"], **a["row"]} for a in printed]
    assert sorted(map(str, whole)) == sorted(map(str, expected))


def test_parquet_and_csv(folder: Path) -> None:
    _run(folder, "parquet('out')")
    _run(folder, "csv('text')")
    table = pq.read_table(folder / "out")
    assert table.column_names == ["t", "op", "price"]
    text = next((folder / "text").iterdir()).read_text()
    assert len(text.splitlines()) == table.num_rows + 1


def test_a_second_run_from_the_same_checkpoint_adds_nothing(folder: Path) -> None:
    options = ("--batch-rows", "2", "--checkpoint", str(folder / "checkpoint"))
    _run(folder, "json('out')", *options)
    before = _rows(folder)
    _run(folder, "json('out')", *options)
    assert _rows(folder) == before


def test_a_folder_with_the_answers_of_another_run_is_refused(folder: Path) -> None:
    _run(folder, "json('out')")
    before = _rows(folder)
    script = BIDS + "REGISTER QUERY q AS SELECT item_id FROM Bid [RANGE 2] INTO json('out');"
    result = continua("run", write_script(folder, script))
    assert result.exit_code == 1
    assert "error[SINK_NOT_EMPTY]" in result.stderr
    assert _rows(folder) == before


def test_elements_that_last_are_told_by_where_they_begin_and_end(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT RSTREAM item_id FROM Bid [RANGE 2] INTO json('out');"
    assert lines(continua("run", write_script(folder, script))) == []
    found = [(row["t"], row["op"], row["item_id"]) for row in _rows(folder)]
    assert found == [(1, "+", 1), (2, "+", 2), (4, "-", 1), (5, "-", 2), (5, "+", 1), (8, "-", 1)]


def test_columns_named_like_the_instant_and_the_operation_have_a_number(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT item_id AS t, price AS op FROM Bid [NOW] INTO json('out');"
    assert lines(continua("run", write_script(folder, script))) == []
    assert _rows(folder)[0] == {"t": 1, "op": "+", "t_2": 1, "op_2": 10.5}
