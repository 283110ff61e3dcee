"""The command is stopped while it writes its checkpoint and its sinks: some of the stories of ``make crash``."""

from __future__ import annotations

from pathlib import Path

from tests.crash.command_stories import Expected, InProcessStory
from tests.crash.summary import Summary

SEED = 2024
STORIES, CRASHES = 2, 3


def test_what_the_command_leaves_in_sinks_is_there_once(tmp_path: Path) -> None:
    expected, summary = Expected(tmp_path), Summary()
    for number in range(STORIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        InProcessStory(SEED, number, folder, expected).tell(CRASHES, summary)
    assert not summary.wrong
    assert summary.crashes
