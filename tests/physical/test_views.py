"""Tagged streams on the engine: views, taggers, views of views, synchronization by the clock and by events."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from continua.algebra.streaming import Tag
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.errors import EvaluationError
from continua.physical.placement import placement_of
from continua.physical.point_nodes import Clock, RoundUp, ToPoints
from continua.physical.view_nodes import TaggedView, Tagger
from continua.runs.bounded import BoundedOptions
from continua.runs.plans import sink_of
from tests.acceptance.on_engine import BATCHES
from tests.physical.comparing import ROWS, STREAMS, agree, asked, contents_agree, graph

VIEWS = """
    CREATE STREAM K OVER S KEY k;
    CREATE STREAM L OVER S KEY NULL;
    CREATE STREAM V OVER I KEY a UPSERT;
    CREATE STREAMED VIEW Sync2 AS SELECT C.Timepoint FROM ℜ(clockStr) C WHERE C.Timepoint % 2 = 0;
    CREATE STREAMED VIEW Sync3 AS SELECT C.Timepoint FROM ℜ(clockStr) C WHERE C.Timepoint % 3 = 1;
    CREATE STREAMED VIEW Either AS SELECT DISTINCT Timepoint FROM ℜ(Sync2) A ∪ ℜ(Sync3) B;
    CREATE STREAMED VIEW Hot AS SELECT R.TS FROM ℜ(L) R WHERE R.a > 3;
    CREATE STREAMED VIEW Last AS SELECT k, a FROM ℜ(K) WHERE a > 1;
    CREATE STREAMED VIEW Counted AS SELECT k, COUNT(*) AS n FROM ℜ_Sync2(L) GROUP BY k;
    CREATE STREAMED VIEW All AS SELECT COUNT(*) AS n FROM ℜ(L);
"""
QUERIES = [
    "SELECT STREAMED * FROM ℜ(M)",
    "SELECT STREAMED k, TS FROM ℜ(N)",
    "SELECT COMPLETE * FROM ℜ(N)",
    "SELECT STREAMED * FROM ℜ(K)",
    "SELECT STREAMED * FROM ℜ(L)",
    "SELECT STREAMED * FROM ℜ(V)",
    "SELECT STREAMED a FROM ℜ(I)",
    "SELECT STREAMED * FROM ℜ(Last)",
    "SELECT STREAMED k, n, TS FROM ℜ(Counted)",
    "SELECT STREAMED * FROM ℜ(All)",
    "SELECT RSTREAM k, v FROM ℜ(M)",
    "SELECT STREAMED * FROM ℜ(clockStr)",
    "SELECT STREAMED MAX(Timepoint) AS now FROM ℜ(clockStr), ℜ(K)",
    "SELECT STREAMED C.Timepoint, M.k FROM ℜ(clockStr) C, ℜ(M) M WHERE C.Timepoint = M.TS",
]
SYNCHRONIZED = [
    f"SELECT {items} FROM ℜ_{sync}({stream})"
    for sync in ("Sync2", "Sync3", "Either", "Hot")
    for stream, items in (
        ("M", "STREAMED *"),
        ("K", "STREAMED a, k, TS"),
        ("Last", "STREAMED *"),
        ("K", "RSTREAM a, k"),
        ("L", "RSTREAM COUNT(*)"),
    )
]
SEVERAL = [
    "SELECT RSTREAM X.k, Y.v FROM ℜ_Hot(K) X, ℜ_Sync3(M) Y",
    "SELECT RSTREAM COUNT(*) FROM ℜ_Sync2(K) X, ℜ_Sync3(M) Y",
    "SELECT RSTREAM X.a, Y.b FROM S [RANGE 4 SLIDE 2] X, U [RANGE 6 SLIDE 3] Y WHERE X.k = Y.k",
    "SELECT RSTREAM k FROM (SELECT k FROM S [ROWS 2 SLIDE 2] UNION ALL SELECT k FROM U [RANGE 6 SLIDE 3]) Z",
    "SELECT RSTREAM P.k, n FROM P LEFT JOIN S [RANGE 4 SLIDE 4] ON P.k = S.k",
    "SELECT RSTREAM Timepoint, k FROM ℜ(clockStr) C, P WHERE Timepoint % 4 = 0",
]


@pytest.mark.parametrize("text", [*QUERIES, *SYNCHRONIZED, *SEVERAL])
def test_views_on_the_engine(text: str) -> None:
    assert agree(*asked(text, STREAMS + VIEWS, dialect="sync"))


@pytest.mark.parametrize("text", [*QUERIES, *SYNCHRONIZED])
def test_what_views_hold_at_an_instant(text: str) -> None:
    contents_agree(*asked(text, STREAMS + VIEWS, dialect="sync"))


def test_a_view_of_a_view_without_key_and_timestamp_needs_no_operator() -> None:
    session, query = asked("SELECT STREAMED TS FROM ℜ(Hot)", STREAMS + VIEWS, dialect="sync")
    views = [node for node in graph(session, query) if isinstance(node, TaggedView)]
    assert [node.origin for node in views] == ["ELEMENTS"]


def test_views_are_distributed_by_their_key_or_by_whole_rows() -> None:
    for name, columns in (("M", (0,)), ("N", (0, 1))):
        session, query = asked(f"SELECT STREAMED * FROM ℜ({name})", STREAMS + VIEWS, dialect="sync")
        (view,) = (node for node in graph(session, query) if isinstance(node, TaggedView))
        (distribution,) = view.requires
        assert getattr(distribution, "columns", None) == columns


def test_points_of_the_clock_are_arithmetic_and_those_of_events_are_sent_to_all_partitions() -> None:
    for sync, by_events in (("Sync2", False), ("Either", False), ("Hot", True)):
        session, query = asked(f"SELECT STREAMED * FROM ℜ_{sync}(M)", STREAMS + VIEWS, dialect="sync")
        found = graph(session, query)
        assert any(isinstance(node, RoundUp) for node in found) == by_events
        assert any(isinstance(node, ToPoints) for node in found) == (sync == "Either")
        assert not any(isinstance(node, Clock) for node in found)
    placement = placement_of([sink_of(query, query.bound.logical, session.functions)])
    assert any("Everywhere" in channel.name for level in placement.levels for channel in level.receives)


def test_a_point_that_appears_only_after_its_instant_is_an_error() -> None:
    late = "CREATE STREAMED VIEW Late AS SELECT R.TS - 2 AS p FROM ℜ(L) R;"
    session, query = asked("SELECT STREAMED * FROM ℜ_Late(M)", STREAMS + VIEWS + late, dialect="sync")
    with pytest.raises(EvaluationError) as raised:
        agree(session, query)
    assert raised.value.condition == "LATE_SYNCHRONIZATION"


def as_it_is(query: Query, kind: type) -> Query:
    """The tagged stream below a view, as a query of its own."""
    view = next(node for node in nodes_of(query.bound.plan) if isinstance(node, kind) and node is not query.bound.plan)
    return replace(query, bound=replace(query.bound, plan=view, logical=view), rewritten=None)


@pytest.mark.parametrize("name", ["K", "L", "V"])
def test_a_tagged_stream_as_it_is(name: str) -> None:
    session, query = asked(f"SELECT STREAMED * FROM ℜ({name})", STREAMS + VIEWS, dialect="sync")
    query = as_it_is(query, Tag)
    assert any(isinstance(node, Tagger) for node in graph(session, query))
    assert agree(session, query)


TAGGED = st.lists(
    st.tuples(st.sampled_from("xy"), st.integers(0, 2), st.sampled_from("++-u"), st.integers(0, 9)), max_size=8
).map(lambda rows: sorted(rows, key=lambda row: row[3]))
ELEMENTS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz"), st.integers(0, 9)), max_size=7).map(
    lambda rows: sorted(rows, key=lambda row: row[2])
)
INTERVALS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(1, 4)), max_size=5).map(
    lambda rows: sorted(((a, start, start + length) for a, start, length in rows), key=lambda row: row[1])
)


@settings(max_examples=50, deadline=None, print_blob=True)
@given(
    elements=ELEMENTS,
    modifications=TAGGED,
    intervals=INTERVALS,
    text=st.sampled_from([*QUERIES, *SYNCHRONIZED, *SEVERAL]),
    rows=st.sampled_from(BATCHES),
    partitions=st.integers(1, 3),
)
def test_views_over_any_modifications(
    elements: list[tuple[int, str, int]],
    modifications: list[tuple[str, int, str, int]],
    intervals: list[tuple[int, int, int]],
    text: str,
    rows: int | None,
    partitions: int,
) -> None:
    unkeyed = [(k, v, "+" if op == "u" else op, t) for k, v, op, t in modifications]
    inputs = {**ROWS, "S": elements, "M": modifications, "N": unkeyed, "I": intervals}
    session, query = asked(text, STREAMS + VIEWS, inputs, dialect="sync")
    assume(session.inputs.read(query.sources).size)  # how far an answer without end is told of nothing is arbitrary
    agree(session, query, [BoundedOptions(batch_rows=rows, partitions=partitions)])
