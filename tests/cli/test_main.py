"""The program as a whole: help, version, commands, verify."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from continua import __version__
from continua.cli.engine_answers import EngineAnswers
from tests.cli.helpers import BIDS, continua, write_script

COMMANDS = ("run", "explain", "verify", "shell", "serve", "token", "checkpoint", "nexmark", "demo", "warmup")


def test_version() -> None:
    assert continua("--version").stdout == f"continua, version {__version__}\n"


def test_help_lists_the_commands_that_there_are() -> None:
    listed = continua("--help").stdout.split("Commands:\n")[1]
    assert [line.split()[0] for line in listed.splitlines()] == list(COMMANDS)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["warmup", "--help"], ["--version"]])
def test_help_loads_nothing_that_takes_long(arguments: list[str]) -> None:
    program = f"import sys; from continua.cli.main import main; main({arguments}, standalone_mode=False)"
    loaded = ["numba", "numpy", "pyspark", "pyarrow", "duckdb", "sqlglot", "rich", "pandas"]
    ended = f"print([name for name in {loaded} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", f"{program}\n{ended}"], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = continua(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: main {command}")


@pytest.mark.parametrize("command", ["host", "bench", "frobnicate"])
def test_a_command_that_does_not_exist_is_a_wrong_command_line(command: str) -> None:
    assert continua(command).exit_code == 2


def test_verify_compares_engine_and_reference(folder: Path) -> None:
    result = continua("verify", write_script(folder, BIDS + "SELECT price FROM Bid;"), "--batch-rows", "3")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "q1: engine and reference agree at" in result.stderr


def test_verify_shows_the_first_difference(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EngineAnswers, "changes", lambda *_: [])
    result = continua("verify", write_script(folder, BIDS + "SELECT price FROM Bid [NOW];"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "q1: engine and reference differ first at 1" in result.stderr
    assert "nothing" in result.stderr
    assert '+{"price": 10.5} x 1' in result.stderr


def test_verify_without_a_query_verifies_nothing(folder: Path) -> None:
    result = continua("verify", write_script(folder, BIDS))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has no query" in result.stderr


def test_verify_tells_the_mistakes_of_the_script(folder: Path) -> None:
    result = continua("verify", write_script(folder, BIDS + "SELECT nothing FROM Bid;"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[UNKNOWN_COLUMN]" in result.stderr


def test_verify_checks_its_own_options(folder: Path) -> None:
    assert continua("verify", write_script(folder, BIDS), "--batch-rows", "0").exit_code == 2
