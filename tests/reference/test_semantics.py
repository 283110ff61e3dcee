"""The reference over plans agrees with the papers' operators over logical streams, operator by operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall, Call, Column, Literal, SortKey
from continua.algebra.leaves import BaseRelation, Source
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Group,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.schema import Field
from continua.algebra.streaming import Coalesce, Complete, Split, StreamOperator, Synchronize, ToStream
from continua.instants import embed_batch, split_batch
from continua.reference import logical
from continua.reference.elements import Inputs
from continua.reference.semantics import Reference
from continua.reference.streams import LogicalStream, raw_to_logical, timeslice
from continua.types import BIGINT, INT
from continua.windows.occurrences import Element, Row
from continua.windows.over_time import NOW, TimeWindow

Stream = list[tuple[int, int]]
STREAMS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), max_size=10).map(
    lambda s: sorted(s, key=lambda e: e[1])
)
HORIZON = 12


def source(name: str) -> Source:
    """A stream with one integer column."""
    return Source(name, name, (Field(f"{name}.v", INT),))


def reference(**streams: Stream) -> Reference:
    """The reference over integer streams."""
    return Reference(
        Inputs({n: tuple(Element((v,), t, t + 1, i) for i, (v, t) in enumerate(s)) for n, s in streams.items()})
    )


def as_logical(stream: Stream) -> LogicalStream[Row]:
    """The logical stream of the papers."""
    return raw_to_logical([((v,), t) for v, t in stream])


def assert_equal(plan: Plan, expected: LogicalStream[Row], judge: Reference) -> None:
    """The relation of a plan is the logical stream, at every instant."""
    for t in range(HORIZON):
        assert judge.relation(plan, t) == Counter(timeslice(expected, t)), t


BINARY: dict[SetOperator, Callable[[LogicalStream[Row], LogicalStream[Row]], LogicalStream[Row]]] = {
    SetOperator.UNION: logical.union,
    SetOperator.MAX_UNION: logical.max_union,
    SetOperator.INTERSECTION: logical.intersection,
    SetOperator.DIFFERENCE: logical.difference,
    SetOperator.STRICT_DIFFERENCE: logical.strict_difference,
}


@pytest.mark.parametrize("operator", list(SetOperator), ids=lambda o: o.value)
@settings(max_examples=20, deadline=None)
@given(left=STREAMS, right=STREAMS)
def test_P8_set_operations_with_duplicates(operator: SetOperator, left: Stream, right: Stream) -> None:
    plan = SetOperation(operator, Window(source("s"), NOW), Window(source("r"), NOW))
    assert_equal(plan, BINARY[operator](as_logical(left), as_logical(right)), reference(s=left, r=right))


@pytest.mark.parametrize("operator", list(SetOperator), ids=lambda o: o.value)
@settings(max_examples=20, deadline=None)
@given(left=STREAMS, right=STREAMS)
def test_P8_set_operations_without_duplicates(operator: SetOperator, left: Stream, right: Stream) -> None:
    plan = SetOperation(operator, Window(source("s"), NOW), Window(source("r"), NOW), distinct=True)
    sets = [logical.duplicate_elimination(as_logical(side)) for side in (left, right)]
    expected = logical.duplicate_elimination(BINARY[operator](sets[0], sets[1]))
    assert_equal(plan, expected, reference(s=left, r=right))


@settings(max_examples=30, deadline=None)
@given(stream=STREAMS, size=st.integers(1, 4))
def test_P8_the_window_of_a_plan_is_equation_5(stream: Stream, size: int) -> None:
    plan = Window(source("s"), TimeWindow(size))
    assert_equal(plan, logical.time_window(as_logical(stream), size, HORIZON), reference(s=stream))


@settings(max_examples=20, deadline=None)
@given(stream=STREAMS)
def test_P8_duplicate_elimination_and_aggregation(stream: Stream) -> None:
    window = Window(source("s"), TimeWindow(3))
    snapshots = logical.time_window(as_logical(stream), 3, HORIZON)
    judge = reference(s=stream)
    assert_equal(DuplicateElimination(window), logical.duplicate_elimination(snapshots), judge)
    total = AggregateCall("SUM", (Column("s.v", INT),), BIGINT)
    plan = Aggregate(window, (), (("sum", total),), empty_row=False)
    expected = logical.aggregate(snapshots, lambda bag: (sum(int(str(row[0])) * n for row, n in bag.items()),))
    assert_equal(plan, expected, judge)


@settings(max_examples=20, deadline=None)
@given(stream=STREAMS)
def test_Q4_group_into_k_streams(stream: Stream) -> None:
    parity = Call("+", (Call("%", (Column("s.v", INT), Literal(2, INT)), INT), Literal(1, INT)), INT)
    groups = logical.group(as_logical(stream), lambda e, _: int(str(e[0])) % 2 + 1, 2)
    for index in (1, 2):
        plan = Group(Window(source("s"), NOW), parity, 2, index)
        assert_equal(plan, logical.project(groups, index), reference(s=stream))


@settings(max_examples=20, deadline=None)
@given(stream=STREAMS, instant=st.integers(0, 8))
def test_P9_a_timeslice_is_the_snapshot_for_ever_after(stream: Stream, instant: int) -> None:
    window = Window(source("s"), TimeWindow(2))
    judge = reference(s=stream)
    snapshot = Counter(timeslice(logical.time_window(as_logical(stream), 2, HORIZON), instant))
    plan = Timeslice(window, instant)
    for t in range(HORIZON):
        assert judge.relation(plan, t) == (snapshot if t >= instant else Counter())


@settings(max_examples=20, deadline=None)
@given(stream=STREAMS)
def test_Q6_split_and_coalesce_change_nothing(stream: Stream) -> None:
    window = Window(source("s"), TimeWindow(4))
    judge = reference(s=stream)
    rstream = ToStream(StreamOperator.RSTREAM, window)
    for plan in (Split(window), Coalesce(window), Complete(window), Window(Split(rstream), NOW)):
        for t in range(HORIZON):
            assert judge.relation(DuplicateElimination(plan), t) == judge.relation(DuplicateElimination(window), t)


@settings(max_examples=20, deadline=None)
@given(stream=STREAMS, step=st.integers(2, 4))
def test_S8_a_synchronized_relation_is_that_of_the_last_point(stream: Stream, step: int) -> None:
    window = Window(source("s"), TimeWindow(3))
    judge = reference(s=stream)
    for t in range(HORIZON):
        assert judge.relation(Synchronize(window, step), t) == judge.relation(window, t - t % step)


def test_top_k_breaks_ties_by_all_columns_and_counts_per_partition() -> None:
    columns = (Field("r.a", INT), Field("r.b", INT))
    relation = BaseRelation("r", "r", columns)
    judge = Reference(Inputs(relations={"r": ((1, 5), (1, 4), (1, 4), (2, 9), (2, 1), (2, 3))}))
    order = (SortKey(Column("r.a", INT), descending=True),)
    assert judge.relation(TopK(relation, order, 2), 0) == Counter([(2, 1), (2, 3)])
    assert judge.relation(TopK(relation, order, 2, offset=2), 0) == Counter([(2, 9), (1, 4)])
    largest = (SortKey(Column("r.b", INT), descending=True),)
    per_a = TopK(relation, largest, 1, partition=(Column("r.a", INT),))
    assert judge.relation(per_a, 0) == Counter([(1, 5), (2, 9)])


def test_A1_batches_are_instants_of_a_finer_domain() -> None:
    identifiers = [(0, 0), (0, 3), (5, 1), (5, 2), (-2, 1)]
    embedded = [embed_batch(t, i, 4) for t, i in identifiers]
    assert [split_batch(e, 4) for e in embedded] == identifiers
    assert [split_batch(e, 4) for e in sorted(embedded)] == sorted(identifiers)
    with pytest.raises(ValueError, match="does not fit"):
        embed_batch(1, 16, 4)


def test_A1_a_window_sees_the_batches_of_an_instant_one_after_the_other() -> None:
    elements = tuple(
        Element((v,), embed_batch(t, i, 2), embed_batch(t, i, 2) + 1, n)
        for n, (v, t, i) in enumerate([(10, 1, 0), (11, 1, 0), (12, 1, 1), (13, 2, 0)])
    )
    judge = Reference(Inputs({"s": elements}))
    plan = Window(source("s"), TimeWindow(1 << 2))
    assert judge.relation(plan, embed_batch(1, 0, 2)) == Counter([(10,), (11,)])
    assert judge.relation(plan, embed_batch(1, 1, 2)) == Counter([(10,), (11,), (12,)])
    assert judge.relation(plan, embed_batch(2, 0, 2)) == Counter([(12,), (13,)])
