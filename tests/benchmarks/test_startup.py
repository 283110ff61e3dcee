"""How the start is measured."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks.processes import CommandError, wait_for_line
from benchmarks.sides import IN_PROCESS
from benchmarks.startup import starts

SLOW_END = "import time; print('answer', flush=True); time.sleep(0.5)"


def test_the_first_line_and_the_end(tmp_path: Path) -> None:
    found = wait_for_line([sys.executable, "-c", SLOW_END], 1, tmp_path, os.environ)
    assert 0 < found.first < found.seconds - 0.4


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="alas"):
        wait_for_line([sys.executable, "-c", "import sys; print(1); sys.exit('alas')"], 1, tmp_path, os.environ)


def test_the_small_script_has_an_answer(tmp_path: Path) -> None:
    mine, _ = starts(tmp_path, IN_PROCESS)
    found = mine.measured(tmp_path)
    assert 0 < found.first <= found.seconds
