"""Answers while the run goes on: the same lines as at its end, each once, and a reader that leaves ends it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from continua.cli import run_script
from continua.runs.bounded import BoundedRun
from continua.runtime.feed import Fed
from continua.runtime.progress import Progress
from tests.cli.helpers import BIDS, ROOMS, continua, lines, write_script

QUERIES = """
REGISTER QUERY a AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id;
REGISTER QUERY b AS SELECT ISTREAM price FROM Bid [RANGE 3];
REGISTER QUERY c AS SELECT STREAMED item_id, MAX(price) AS top FROM Bid GROUP BY item_id;
REGISTER QUERY d AS SELECT id, degrees FROM RELATION(Room);
"""
LASTING = "REGISTER QUERY e AS SELECT RSTREAM item_id FROM Bid [RANGE 2];"


@pytest.mark.parametrize("form", ["jsonl", "csv", "table"])
@pytest.mark.parametrize("more", ["", LASTING])
def test_the_lines_are_the_same_epoch_by_epoch(folder: Path, form: str, more: str) -> None:
    script = write_script(folder, BIDS + ROOMS + QUERIES + more)
    whole = lines(continua("run", script, "--format", form))
    assert lines(continua("run", script, "--format", form, "--batch-rows", "1")) == whole
    checked = ("run", script, "--format", form, "--batch-rows", "1", "--checkpoint", str(folder / "ck"))
    assert lines(continua(*checked)) == whole
    assert lines(continua(*checked)) == whole


def test_one_query_has_its_header_once(folder: Path) -> None:
    script = write_script(folder, BIDS + "REGISTER QUERY a AS SELECT price FROM Bid [RANGE 2];")
    found = lines(continua("run", script, "--format", "csv", "--batch-rows", "1"))
    assert [line for line in found if line.startswith("query,")] == ["query,t,op,price"]


def test_where_a_query_fails_later_the_lines_of_others_are_there_once(folder: Path) -> None:
    good = "REGISTER QUERY good AS SELECT ISTREAM price FROM Bid [NOW];"
    number = "CAST(CASE WHEN price = 30 THEN 'x' ELSE '1' END AS INT)"
    bad = f"REGISTER QUERY bad AS SELECT ISTREAM {number} AS p FROM Bid [NOW];"
    script = write_script(folder, BIDS + good + bad)
    result = continua("run", script, "--batch-rows", "1")
    assert result.exit_code == 1 and "query bad" in result.stderr
    of_good = [line for line in result.stdout.splitlines() if '"good"' in line]
    assert of_good == lines(continua("run", write_script(folder, BIDS + good, "good.sql")))


@pytest.mark.parametrize(("sink", "epochs"), [("", 3), (" INTO parquet('out')", 1)])
def test_only_for_a_reader_files_are_read_in_several_epochs(
    folder: Path, sink: str, epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_script, "SHORT_EPOCH", 40)
    monkeypatch.setattr(run_script, "is_waited_for", lambda _: True)
    numbers: list[int] = []
    finished = BoundedRun._epoch

    def counted(run: BoundedRun, fed: Fed, told: Callable[[Progress], None]) -> None:
        numbers.append(1)
        finished(run, fed, told)

    monkeypatch.setattr(BoundedRun, "_epoch", counted)
    for part in range(3):
        rows = "".join(f"{n},1.5,{10 * part + n}\n" for n in range(5))
        (folder / f"part-{part}.csv").write_text("item_id,price,ts\n" + rows)
    bids = BIDS.replace("bids.csv", "part-*.csv")
    assert bids != BIDS
    query = f"REGISTER QUERY q AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id{sink};"
    result = continua("run", write_script(folder, bids + query))
    assert result.exit_code == 0, result.stderr
    assert len(numbers) >= epochs if epochs > 1 else len(numbers) == 1


def test_a_reader_that_leaves_ends_the_run(folder: Path) -> None:
    rows = "".join(f"{n % 7},{n}.5,{n}\n" for n in range(60_000))
    (folder / "bids.csv").write_text("item_id,price,ts\n" + rows)
    script = write_script(folder, BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2];")
    command = [sys.executable, "-c", "from continua.cli.main import main; main()", "run", script]
    process = subprocess.Popen(
        [*command, "--batch-rows", "200", "--master", "none"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith('{"query": "q", "t": 0')
    assert process.poll() is None
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
