"""What queries share when they run together, and that their answers stay their own."""

from __future__ import annotations

import random

import pytest

from continua.answers.query import Answer
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.later_queries import graphs_of
from continua.runtime.executors.executor import InProcess
from continua.session import Session

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, y DOUBLE, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, x INT, ts BIGINT) ORDERED BY ts;
"""


def _session(texts: list[str]) -> Session:
    session = Session()
    session.execute(DEFINITIONS)
    chance = random.Random(8)

    def some(value: object) -> object:
        return None if chance.random() < 0.1 else value

    session.insert(
        "S", [(some(chance.randrange(4)), some(chance.randrange(9)), some(0.5 * i), i // 2) for i in range(60)]
    )
    session.insert("P", [(some(chance.randrange(4)), some(chance.randrange(9)), i) for i in range(25)])
    session.execute(";".join(texts))
    return session


def _texts(answers: list[Answer]) -> list[str]:
    return sorted(map(repr, answers))


def _operators(session: Session, kind: type[nodes.Node]) -> list[nodes.Node]:
    graphs = graphs_of(list(session.queries.values()), session.functions)
    return [n for n in in_order(graphs) if isinstance(n, kind)]


def _agree(session: Session) -> None:
    queries = list(session.queries.values())
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    for options in (BoundedOptions(None, partitions=1), BoundedOptions(7, partitions=3)):
        with BoundedRun(queries, inputs, [], InProcess(), options) as run:
            run.to_the_end()
            assert _texts(run.answers()) == _texts(session.answers())


GROUPED = [
    "SELECT k, SUM(x) AS s FROM S [RANGE 5] GROUP BY k",
    "SELECT k, MAX(y) AS m, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k",
    "SELECT k FROM S [RANGE 5] GROUP BY k HAVING COUNT(*) > 2 AND SUM(x) > 5",
    "SELECT AVG(x + 1) AS a, k FROM S [RANGE 5] GROUP BY k",
]


def test_one_aggregation_serves_several_aggregates_and_havings() -> None:
    session = _session(GROUPED)
    assert len(_operators(session, nodes.Aggregate)) == 1
    _agree(session)


@pytest.mark.parametrize(
    "other",
    [
        "SELECT k, SUM(x) AS s FROM S [RANGE 6] GROUP BY k",
        "SELECT k, SUM(x) AS s FROM S [RANGE 5] WHERE x > 1 GROUP BY k",
        "SELECT x, SUM(k) AS s FROM S [RANGE 5] GROUP BY x",
        "SELECT SUM(x) AS s FROM S [RANGE 5]",
    ],
)
def test_other_rows_or_keys_are_another_aggregation(other: str) -> None:
    session = _session([GROUPED[1], other])
    assert len(_operators(session, nodes.Aggregate)) == 2
    _agree(session)


def test_aggregations_over_joins_and_scalar_ones_are_merged_too() -> None:
    joined = "FROM S [RANGE 5] s JOIN P [RANGE 3] p ON s.k = p.k"
    session = _session(
        [
            f"SELECT s.k, SUM(p.x) AS n {joined} GROUP BY s.k",
            f"SELECT s.k, MIN(s.x) AS n {joined} GROUP BY s.k",
            "SELECT COUNT(*) AS n FROM S [RANGE 4]",
            "SELECT MAX(x) AS m FROM S [RANGE 4]",
        ]
    )
    assert len(_operators(session, nodes.Aggregate)) == 2
    assert len(_operators(session, nodes.Join)) == 1
    _agree(session)


def test_many_filters_on_keys_share_the_aggregation_and_few_do_not() -> None:
    total = "SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k) v WHERE k = {}"
    few = _session([total.format(i) for i in range(3)])
    assert len(_operators(few, nodes.Aggregate)) == 3
    _agree(few)
    many = _session([total.format(i) for i in range(12)])
    assert len(_operators(many, nodes.Aggregate)) == 1
    _agree(many)


def test_names_and_the_order_of_sides_do_not_matter() -> None:
    session = _session(
        [
            "SELECT a.k, b.x FROM S [RANGE 5] a JOIN P [RANGE 3] b ON a.k = b.k AND a.x = b.x",
            "SELECT q.x, r.k FROM P [RANGE 3] q, S [RANGE 5] r WHERE q.x = r.x AND r.k = q.k",
            "SELECT k FROM S [RANGE 2] UNION ALL SELECT k FROM P [RANGE 2]",
            "SELECT c.k FROM P [RANGE 2] c UNION ALL SELECT d.k FROM S [RANGE 2] d",
        ]
    )
    assert len(_operators(session, nodes.Join)) == 1
    assert len(_operators(session, nodes.Union)) == 1
    _agree(session)
