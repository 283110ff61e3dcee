"""How far a run is: on a terminal only, and apart from its answers."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from continua.cli.progress_bar import ProgressBar
from continua.cli.report import Report
from tests.cli.helpers import BIDS, continua, lines, write_script
from tests.cli.terminals import Terminal

SCRIPT = BIDS + "SELECT item_id FROM Bid [NOW];"


def test_a_terminal_shows_how_far_a_run_is_and_a_file_gets_the_answers(folder: Path) -> None:
    script = write_script(folder, SCRIPT)
    expected = continua("run", script, "--master", "none")
    with (folder / "out").open("wb") as out, Terminal(folder, "run", script, "--master", "none", out=out) as terminal:
        assert terminal.end("") == 0
    assert (folder / "out").read_text() == expected.stdout
    assert expected.stderr == ""
    assert "epoch 1: 3 rows" in terminal.text
    assert "100%" in terminal.text
    assert "query" not in terminal.text


def test_answers_on_the_same_screen_have_lines_of_their_own(folder: Path) -> None:
    script = write_script(folder, SCRIPT)
    with Terminal(folder, "run", script, "--master", "none") as terminal:
        assert terminal.end("") == 0
    shown = [line.rpartition("\r")[2] for line in terminal.text.replace("\r\n", "\n").splitlines()]
    assert [line for line in shown if line.startswith("{")] == lines(continua("run", script, "--master", "none"))


def test_the_bar_tells_the_share_the_rate_and_the_time_left() -> None:
    screen = Console(file=StringIO(), force_terminal=True, width=120, color_system=None)
    done = [0.0]
    with ProgressBar(screen, 2_000_000, lambda: done[0]) as bar:
        for share in (0.2, 0.4, 0.3):
            done[0] = share * 2_000_000
            bar.show(f"epoch {share}")
        with bar.aside():
            screen.file.write("apart\n")
        bar.look()
    written = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "40%" in written
    assert "0.8/2.0 MB" in written
    assert "30%" not in written, "what was done is not undone"
    assert "MB/s" in written or "kB/s" in written or "?" in written


def test_without_a_terminal_nothing_is_shown() -> None:
    screen = Console(file=StringIO(), force_terminal=False)
    with Report(console=screen).progress(10, lambda: 5.0) as show:
        show("something")
    assert screen.file.getvalue() == ""  # type: ignore[attr-defined]
