"""The commuting square: queries on the engine, many in one graph, answer as the reference does.

python -m tests.square.fuzz runs many more.
"""

from __future__ import annotations

import pytest

from tests.square.checking import check
from tests.square.fuzz import told
from tests.square.graphs import draw

GRAPHS = 20
QUERIES = 20
"""Hundreds of cases: those whose reference answer is an error are left out."""


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_engine_and_reference_agree(seed: int) -> None:
    graph = draw(seed, QUERIES, most=9, span=24)
    outcome = check(graph)
    assert outcome.ran >= 0.8 * QUERIES
    assert not outcome.differences, "\n\n".join(told(graph, d, seconds=10) for d in outcome.differences)
