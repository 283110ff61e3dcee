"""``continua run --profile``: which stages the time of tasks went to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from continua.cli.main import main
from continua.stages import STAGES, stage, taken

SCRIPT = """
CREATE STREAM s (k STRING, v BIGINT, t BIGINT) SOURCE csv('s.csv') ORDERED BY t;
REGISTER QUERY q AS SELECT k, SUM(v) AS total FROM s [RANGE 10] GROUP BY k INTO parquet('q');
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A script and a few rows."""
    (tmp_path / "s.csv").write_text("".join(f"k{n % 3},{n},{n}\n" for n in range(200)), encoding="utf-8")
    (tmp_path / "q.sql").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def _run(folder: Path, *more: str) -> Result:
    command = ["run", str(folder / "q.sql"), "--master", "none", *more]
    return CliRunner().invoke(main, command, catch_exceptions=False)


def test_each_stage_is_told_with_its_share(folder: Path) -> None:
    result = _run(folder, "--profile")
    assert (result.exit_code, result.stdout) == (0, "")
    told = {
        line.split()[0]: line for line in result.stderr.splitlines() if line.rstrip().endswith(tuple(STAGES.values()))
    }
    assert {"read", "convert", "kernel", "encode", "write"} <= told.keys()
    shares = [float(line.partition("%")[0].split()[-1]) for line in told.values()]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert "the run took" in result.stderr


def test_without_it_nothing_is_told(folder: Path) -> None:
    assert _run(folder).stderr == ""


def test_runs_that_go_on_do_not_take_it(folder: Path) -> None:
    result = _run(folder, "--profile", "--follow")
    assert result.exit_code == 2
    assert "--profile does not go with --follow" in result.stderr


def test_what_happens_within_a_stage_is_counted_once() -> None:
    taken()
    with stage("kernel"):
        time.sleep(0.02)
        _decode()
    found = taken()
    assert found.keys() == {"kernel", "decode"}
    assert found["kernel"] >= 0.02
    assert found["decode"] >= 0.01
    assert taken() == {}


@stage("decode")
def _decode() -> None:
    time.sleep(0.01)


def test_a_stage_ends_with_an_error() -> None:
    taken()
    with pytest.raises(ZeroDivisionError), stage("read"):
        _ = 1 / 0
    assert taken().keys() == {"read"}
    time.sleep(0.01)
    assert taken() == {}
