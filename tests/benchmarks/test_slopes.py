"""How the comparison measures: slopes, processes, and the code of other commits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks.nexmark.scripts import NAMES, printing, script
from benchmarks.processes import CommandError, Usage, family, held, run
from benchmarks.sides import Data, Side, same_answers, slopes_of
from benchmarks.slopes import Slope, geometric_mean, ratio, share, verdict


def _slope(*pairs: tuple[float, float]) -> Slope:
    small, large = zip(*pairs, strict=True)
    return Slope(500_000, tuple(Usage(s, 1) for s in small), tuple(Usage(s, 5) for s in large))


def test_a_slope_leaves_out_what_every_run_takes() -> None:
    slope = _slope((10.0, 12.0), (20.0, 25.0), (1.0, 2.0))
    assert slope.each == [2.0, 5.0, 1.0]
    assert (slope.seconds, slope.peak) == (2.0, 5)


def test_ratios_and_their_mean() -> None:
    slow, fast, senseless = _slope((1, 9)), _slope((1, 3)), _slope((3, 1))
    assert ratio(slow, fast) == 4.0
    assert ratio(senseless, fast) is None
    assert geometric_mean([4.0, None, 1.0]) == pytest.approx(2.0)
    assert geometric_mean([None]) is None


def test_shares_and_verdicts() -> None:
    floor, mine = _slope((1, 2), (1, 3), (1, 2)), _slope((1, 3), (1, 3), (1, 5))
    assert share(floor, mine) == "50% (25% to 100%)"
    assert share(floor, _slope((3, 1), (3, 1), (3, 1))) == "-"
    assert [verdict(value, 0.5) for value in (0.6, 0.4, None)] == ["", "missed", "too short to tell"]


def test_every_side_has_its_own_rows(tmp_path: Path) -> None:
    small, large = (Data.written(tmp_path / str(n), n, _note) for n in (1, 5))
    command = [sys.executable, "-c", "import sys; sys.exit(not open('rows').read())"]
    side = Side("any", lambda _: command, os.environ, 1, "answers")
    slopes = slopes_of([(side, small), (side, large)], 2)
    assert [(s.events, len(s.small), len(s.large)) for s in slopes] == [(1, 2, 2), (5, 2, 2)]
    assert (large.large / "rows").read_text() == "15"


def test_a_side_without_answers_is_told(tmp_path: Path) -> None:
    side = Side("any", lambda _: [sys.executable, "-c", ""], os.environ, 1, "answers")
    assert same_answers([side], tmp_path) == "any fails: there are no answers"


def _note(path: Path, rows: int) -> None:
    (path / "rows").write_text(str(rows))


def test_a_command_runs_on_so_many_cores(tmp_path: Path) -> None:
    count = "import os, sys; sys.exit(len(os.sched_getaffinity(0)) - 1)"
    assert run([sys.executable, "-c", count], 1, tmp_path, os.environ).seconds > 0
    with pytest.raises(CommandError, match="cores are needed"):
        run([sys.executable, "-c", count], 10_000, tmp_path, os.environ)


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="alas"):
        run([sys.executable, "-c", "import sys; sys.exit('alas')"], 1, tmp_path, os.environ)


def test_memory_is_that_of_the_process_and_its_descendants() -> None:
    assert os.getpid() in family(os.getppid())
    assert held(os.getpid()) > 2**20
    assert held(2**22 + 1) == 0


@pytest.mark.parametrize("name", NAMES)
def test_scripts_for_every_format(name: str) -> None:
    text = script(name, "parquet")
    assert "csv" not in text
    assert f"INTO parquet('{name}')" in text
    assert "INTO" not in printing(text)
