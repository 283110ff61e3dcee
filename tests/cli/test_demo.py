"""The demo shows three queries and what changes in their answers."""

from __future__ import annotations

import pytest

from continua.cli.demo import OPENING
from tests.cli.helpers import continua, lines


def test_the_demo_shows_three_queries_and_their_changes() -> None:
    result = continua("demo")
    shown = [line.rstrip() for line in lines(result)]
    assert shown[0] == OPENING
    assert [line.split()[2] for line in shown if "REGISTER QUERY" in line] == ["high_bids", "contested", "open_now"]
    text = "\n".join(shown)
    assert "   09:36         4   Cleo     335.00" in text
    assert "   09:15   -         1      2    150.00\n           -         2      2     42.50\n           +" in text
    assert "   09:20   -         2   Wall clock" in text
    assert result.stderr == ""


def test_the_demo_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "80")
    folder_line = "The script and its data are in"
    assert all(len(line.rstrip()) <= 80 for line in lines(continua("demo")) if folder_line not in line)
