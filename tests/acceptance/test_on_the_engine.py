"""The engine against the reference on all examples: the fixtures compare, this test looks at what was left out."""

from __future__ import annotations

from tests.acceptance.on_engine import Beside

NOT_ON_THE_ENGINE: frozenset[str] = frozenset()
"""Why the engine cannot run examples of the papers. It runs all of them."""


def test_the_engine_runs_every_example(beside: Beside) -> None:
    assert set(beside.refused.values()) == NOT_ON_THE_ENGINE, beside.refused
