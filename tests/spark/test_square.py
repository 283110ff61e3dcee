"""The commuting square on Spark: random queries over files that are cut in splits answer as the reference does.

Each graph runs in several ways: however its files are cut into splits and its rows into epochs, whatever the order in
which rows come within the slack, however blocks move from level to level, over any number of partitions. What comes
out is compared with one answer. python -m tests.square.fuzz --spark runs many more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from continua.physical import nodes
from continua.physical.check_nodes import Sampled
from continua.physical.handover import EarlierAnswers
from continua.physical.split_nodes import Split
from continua.rules.order import EVERYTHING
from tests.spark.engine import OnFiles, operators
from tests.spark.in_files import Moves, Way
from tests.square.checking import Outcome, check
from tests.square.fuzz import told
from tests.square.graphs import Graph, draw
from tests.square.rare import with_rare

QUERIES = 6
RARE = 111
"""The seed of the graph that has the queries of rare forms too."""
WAYS: dict[int, tuple[Way, ...]] = {
    RARE: (Way(40, partitions=2, moves=Moves.THROUGH_EXCHANGES), Way(90, batch=5, partitions=1)),
    116: (Way(150, batch=6, partitions=2), Way(50, delay=3, partitions=4, moves=Moves.THROUGH_DRIVER)),
    123: (Way(60, partitions=3, durable=True, delay=6, moves=Moves.THROUGH_EXCHANGES),),
}
"""For each seed the ways in which its graph runs; the last time without any rewrite rule, if there are several."""


@dataclass
class Ran:
    """What came of each graph, and which physical operators have yielded rows."""

    graphs: dict[int, tuple[Graph, Outcome]] = field(default_factory=dict)
    operators: set[type[nodes.Node]] = field(default_factory=set)


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All graphs, run once."""
    found = Ran()
    for seed, ways in WAYS.items():
        graph = draw(seed, QUERIES, most=9, span=24)
        if seed == RARE:
            graph = with_rare(graph)
        engines = [OnFiles(spark, tmp_path_factory.mktemp("square"), way) for way in ways]
        rules_off = ["", *[""] * (len(ways) - 2), EVERYTHING][: len(ways)]
        found.graphs[seed] = graph, check(graph, rules_off, engines)
        found.operators |= {kind for engine in engines for kind in engine.operators}
    return found


@pytest.mark.parametrize("seed", WAYS)
def test_spark_and_reference_agree(ran: Ran, seed: int) -> None:
    graph, outcome = ran.graphs[seed]
    assert outcome.ran >= 0.8 * QUERIES
    assert not outcome.differences, "\n\n".join(told(graph, d, seconds=0) for d in outcome.differences)


def test_every_physical_operator_has_worked(ran: Ran) -> None:
    elsewhere = {EarlierAnswers, Split, Sampled}
    """Queries that join, or move to another plan, while a run is at work; samples, which depend on where rows stand."""
    assert {kind.__name__ for kind in operators() - ran.operators - elsewhere} == set()
