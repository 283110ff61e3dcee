"""NEXMark's queries: the engine answers each as the reference does, and writes what it would print."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks.nexmark.generator import Settings, write
from benchmarks.nexmark.scripts import NAMES, printing, script
from click.testing import CliRunner, Result

from continua.cli.main import main

SLOW_EVENTS = Settings(rate=20, full=True)
"""So few a second that some hundred events fill several windows."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a few events."""
    folder = tmp_path_factory.mktemp("nexmark")
    for form in ("csv", "jsonl", "parquet"):
        write(folder, form, 0, 450, SLOW_EVENTS)
    return folder


def _continua(command: str, folder: Path, text: str, data: Path) -> Result:
    path = folder / "script.sql"
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(main, [command, str(path), "--data", str(data)], catch_exceptions=False)


FIRST_EVENTS = {"q2": 1_650, "q20": 500}
"""Where queries begin for which the first events have nothing."""
EVENTS = {"q2": 1_200, "q5": 450, "q7": 450, "q8": 450, "q6": 300, "q20": 300}
"""How many events fill the windows of queries that need more of them than others."""


@pytest.mark.parametrize("name", NAMES)
def test_engine_and_reference_agree(name: str, tmp_path: Path) -> None:
    first = FIRST_EVENTS.get(name, 0)
    write(tmp_path, "csv", first, first + EVENTS.get(name, 150), SLOW_EVENTS)
    result = _continua("verify", tmp_path, printing(script(name)), tmp_path)
    assert result.exit_code == 0, result.stderr
    assert re.search(f"{name}: engine and reference agree at [1-9]", result.stderr)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["q7", "q8"])
def test_answers_go_to_a_folder_whatever_the_format_of_the_events(
    name: str, form: str, tmp_path: Path, data: Path
) -> None:
    for file in data.glob(f"*.{form}"):
        (tmp_path / file.name).symlink_to(file)
    result = _continua("run", tmp_path, script(name, form), tmp_path)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    printed = _continua("run", tmp_path, printing(script(name)), data)
    assert pq.read_table(tmp_path / name).num_rows == len(printed.stdout.splitlines()) > 0
