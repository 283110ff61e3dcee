"""When a plan can take over from another one, and what is put into its graph (PIPES 6.4.3)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from continua.answers.query import Query
from continua.physical import nodes
from continua.physical.migration import Move, Stays, bound_to, leaving, moved, movement
from continua.physical.placement import in_order
from continua.physical.split_nodes import Side, Split
from continua.rules.statistics import Statistics
from continua.runs.bounded_queries import unrecorded
from continua.runs.measured_conditions import Epoch, measured
from continua.runs.moving_plans import Running, operators
from continua.runs.plans import graph_of
from continua.runs.sampling import rewritten_by
from continua.session import Session

DEFINITIONS = """
CREATE STREAM A (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM B (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM C (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE TABLE T (k INT, n STRING);
"""
SLOW_A, SLOW_C = Statistics({"a": 0.01, "c": 9.0}), Statistics({"a": 9.0, "c": 0.01})
CHAIN = "FROM A [RANGE 9] a, B [RANGE 19] b, C {window} c WHERE a.k = b.k AND b.x = c.x"
ROWS = "SELECT a.x, c.k " + CHAIN


def planned(text: str, statistics: Statistics, changes: bool = True) -> tuple[Query, nodes.QueryResult]:
    """A query by the plan that statistics make best, and its graph."""
    session = Session(master="none")
    session.execute(DEFINITIONS)
    query = session.sql(text)
    assert query is not None
    other = rewritten_by(query, statistics)
    return other, graph_of(other, [], changes)


def between(text: str, latest: int = 100, grain: int = 1, changes: bool = True) -> Move | Stays:
    """How the plan for a slow C takes over from that for a slow A."""
    old, new = (planned(text, known, changes)[1] for known in (SLOW_A, SLOW_C))
    assert old.id != new.id
    return movement(old, Move(), new, latest, 1, grain)


def splits(graph: nodes.QueryResult) -> Iterable[Split]:
    return [node for node in in_order([graph]) if isinstance(node, Split)]


def test_the_split_is_behind_every_interval_of_rows_that_were_read() -> None:
    found = between(ROWS.format(window="[RANGE 29]"))
    assert isinstance(found, Move)
    # an element at 100 is in the longest window up to 129; net changes are right one instant later
    assert set(found.since.values()) == {131}
    assert found.split == 132


def test_the_split_is_between_chronons_of_all_queries() -> None:
    found = between(ROWS.format(window="[RANGE 29]"), grain=50)
    assert isinstance(found, Move)
    assert set(found.since.values()) == {150}


@pytest.mark.parametrize(
    ("window", "why"),
    [
        ("[ROWS 5]", "Window [ROWS 5] has rows of which nothing tells when they end"),
        ("[RANGE UNBOUNDED]", "Window [RANGE UNBOUNDED] has rows of which nothing tells when they end"),
    ],
)
def test_what_has_no_end_cannot_be_taken_over(window: str, why: str) -> None:
    assert between(ROWS.format(window=window)) == Stays(why)
    assert bound_to(planned(ROWS.format(window=window), SLOW_A)[1]) == why


def test_a_plan_over_windows_of_time_may_be_left() -> None:
    assert bound_to(planned(ROWS.format(window="[RANGE 5 SLIDE 2]"), SLOW_A)[1]) is None


def test_a_stored_relation_stays_for_ever() -> None:
    text = "SELECT a.x, T.n FROM A [RANGE 9] a, B [RANGE 9] b, T WHERE a.k = b.k AND b.x = T.k"
    why = bound_to(planned(text, SLOW_A)[1])
    assert why is not None
    assert "nothing tells when they end" in why


def test_results_that_are_intervals_are_cut_where_they_end_by_themselves() -> None:
    assert isinstance(between(ROWS.format(window="[RANGE 29]"), changes=False), Move)
    counted = "SELECT COUNT(*) AS n " + CHAIN.format(window="[RANGE 29]")
    assert between(counted, changes=False) == Stays("Aggregate has rows of which nothing tells when they end")
    assert isinstance(between(counted), Move)


def test_operators_of_both_plans_go_on() -> None:
    filtered = "SELECT a.x FROM (SELECT DISTINCT k, x FROM A [RANGE 9]) a, B [RANGE 9] b, C [RANGE 9] c"
    filtered += " WHERE a.k = b.k AND b.x = c.x"
    old, new = (planned(filtered, known)[1] for known in (SLOW_A, SLOW_C))
    common = {n.id for n in in_order([old])} & {n.id for n in in_order([new])}
    distinct = next(n for n in in_order([new]) if isinstance(n, nodes.Multiplicity))
    assert distinct.id in common
    # what it yields lasts as long as rows come: nothing tells when
    assert isinstance(movement(old, Move(), new, 100, 1, 1), Stays)


def test_an_operator_holds_nothing_from_before_the_split() -> None:
    text = "SELECT COUNT(*) AS n " + CHAIN.format(window="[RANGE 29]")
    old, new = (planned(text, known)[1] for known in (SLOW_A, SLOW_C))
    found = movement(old, Move(), new, 100, 1, 1)
    assert isinstance(found, Move)
    graph = moved(new, found)
    assert {(s.instant, s.side, s.cuts) for s in splits(graph)} == {(131, Side.FROM, True), (132, Side.FROM, False)}
    assert {n.start for n in in_order([graph]) if isinstance(n, nodes.Aggregate)} == {131}
    assert [(s.instant, s.side, s.cuts) for s in splits(leaving(old, 132))] == [(132, Side.BEFORE, False)]


def test_a_second_move_keeps_what_the_first_has_begun() -> None:
    text = ROWS.format(window="[RANGE 29]")
    old, new = (planned(text, known)[1] for known in (SLOW_A, SLOW_C))
    first = movement(old, Move(), new, 100, 1, 1)
    assert isinstance(first, Move)
    second = movement(new, first, old, 500, 1, 1)
    assert isinstance(second, Move)
    assert set(second.since.values()) == {531}
    assert {s.instant for s in splits(moved(old, second))} == {531, 532}


def test_conditions_are_measured_by_what_joins_have_yielded() -> None:
    query, graph = planned("SELECT a.x FROM A [RANGE 9] a, B [RANGE 9] b WHERE a.k = b.k", SLOW_A)
    made = operators(Running(query, unrecorded(query), graph, query), [])
    rows = dict.fromkeys(made.values(), 100)
    rows |= {node.id: 400 for node in in_order([graph]) if isinstance(node, nodes.Join)}
    assert query.rewritten is not None
    epochs = [Epoch(rows, 10)] * 4
    # 100 rows an epoch meet the 100 that the other side holds in ten instants, twice
    found = measured(made, epochs, 2, query.rewritten.facts)
    assert list(found.values()) == [pytest.approx(400 / 20_000, rel=0.01)]
    assert not measured(made, [Epoch(rows, 4)] * 2, 2, query.rewritten.facts), "nothing tells what windows held"
