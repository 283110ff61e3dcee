"""What is compiled ahead of time, and for which queries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from continua.cli import compile_ahead, query_shapes
from continua.kernels.first_calls import INTERPRETED, VARIABLE
from tests.cli.helpers import continua, write_script


def test_warmup_compiles_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_shapes, "SHAPES", {"filter": query_shapes.SHAPES["filter"]})
    monkeypatch.setattr(compile_ahead, "_marker", lambda: (tmp_path / "cache" / "done", "1"))
    wanted = compile_ahead.wanted_by(["filter"])
    monkeypatch.setattr(compile_ahead, "wanted_by", lambda _: wanted[:1])
    # none where it is on the disk already
    assert re.search(r"compiled [01] kernels", continua("warmup").stderr)
    assert "all kernels of common queries are compiled" in continua("warmup").stderr


def test_warmup_refuses_a_master_that_is_none() -> None:
    result = continua("warmup", "--master", "nowhere")
    assert (result.exit_code, "BAD_MASTER" in result.stderr) == (3, True)


@pytest.mark.parametrize("shape", query_shapes.SHAPES)
def test_python_itself_answers_every_common_query(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, INTERPRETED)
    query_shapes.write_sources(tmp_path)
    result = continua("verify", write_script(tmp_path, query_shapes.script(shape)), "--master", "none")
    assert result.exit_code == 0, result.stderr
    assert "engine and reference agree" in result.stderr
