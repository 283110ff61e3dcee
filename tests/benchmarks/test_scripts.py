"""The scripts that are measured: they run, and give the same answers with rules and without, or as Spark does."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.checkouts import this_checkout
from benchmarks.sides import IN_PROCESS, Data, Side, command_side, spark_side
from benchmarks.spark_job import job_of
from click.testing import CliRunner

from benchmarks import rules, throughput
from continua.cli.main import main

ROWS = 4_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a few bids."""
    folder = tmp_path_factory.mktemp("bids")
    throughput.write_sources(folder, ROWS)
    return folder


def _answers(script: str, data: Path, folder: Path, name: str) -> Side:
    """Runs a script in this process; the side has its answers."""
    for file in data.glob("*.parquet"):
        if not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)
    side = command_side(this_checkout(), name, script, IN_PROCESS)
    side.command(folder)
    result = CliRunner().invoke(main, ["run", str(folder / f"{name}.sql")], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    return side


@pytest.mark.parametrize("case", throughput.CASES, ids=lambda case: case.name)
def test_every_case_answers_to_a_folder(case: throughput.Case, data: Path, tmp_path: Path) -> None:
    side = _answers(case.script, data, tmp_path, throughput.ANSWERS)
    assert side.count(tmp_path) == side.rows(tmp_path).num_rows > 0
    side.forget(tmp_path)
    assert not (tmp_path / throughput.ANSWERS).exists()


def test_cases_by_name() -> None:
    assert [case.name for case in throughput.chosen("max,keyed slide")] == ["max", "keyed slide"]
    assert all(case.target for case in throughput.chosen(None))


@pytest.mark.parametrize("case", rules.CASES, ids=lambda case: case.name)
def test_rules_do_not_change_the_answers(case: rules.Case, tmp_path: Path) -> None:
    rules.write_sources(case, tmp_path, 120_000 if case.name == "figure 9" else 20_000)
    on, off = (_answers(case.script(r), tmp_path, tmp_path, f"rules_{'on' if r else 'off'}") for r in (True, False))
    assert on.rows(tmp_path).equals(off.rows(tmp_path))
    assert on.count(tmp_path)


def test_three_times_as_many_rows(tmp_path: Path) -> None:
    data = Data.written(tmp_path, 1_000, throughput.write_sources)
    counts = [pq.read_metadata(folder / "bid.parquet").num_rows for folder in (data.small, data.large)]
    assert counts == [1_000, 3_000]


def test_rules_are_measured(tmp_path: Path) -> None:
    name, *_, answers = rules.line(rules.CASES[0], tmp_path, 0.01, 1, IN_PROCESS)
    assert name == "filter pushdown"
    assert int(answers.replace(",", ""))


def test_a_job_for_spark_reaches_its_process(tmp_path: Path) -> None:
    job = throughput.CASES[0].job
    *command, folder, master, written = spark_side(job, "local[1]").command(tmp_path)
    assert command[1:] == ["-m", "benchmarks.spark_job"]
    assert (folder, master, job_of(written)) == (str(tmp_path), "local[1]", job)
