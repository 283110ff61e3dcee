"""CQL 6.4 and 7.1: other languages' queries in this one, and this one's queries in a language of streams alone."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.base import Kind
from tests.acceptance.helpers import Row, ask, ask_all, ask_in, session_with

S = "CREATE STREAM S (A INT, V INT, ts BIGINT) ORDERED BY ts;"
T = "CREATE STREAM T (B INT, W STRING, ts BIGINT) ORDERED BY ts;"
R = "CREATE RELATION R (A INT, B STRING, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;"


# Materialized views (6.4.1).

EMPLOYEES = """
CREATE RELATION Emp (name STRING, dept INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
CREATE RELATION Dept (dept INT, city STRING, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
"""
HIRINGS: dict[str, list[Row]] = {
    "Emp": [("ann", 1, "+", 1), ("bob", 1, "+", 2), ("cy", 2, "+", 3), ("ann", 1, "-", 5)],
    "Dept": [(1, "Oslo", "+", 0), (2, "Rome", "+", 4), (1, "Oslo", "-", 6), (1, "Rome", "+", 6)],
}
STAFF = "SELECT city, COUNT(*) AS staff FROM Emp JOIN Dept ON Emp.dept = Dept.dept GROUP BY city"


def test_C15_a_materialized_view_is_the_same_query_under_this_semantics() -> None:
    session = session_with(EMPLOYEES, HIRINGS)
    session.execute(f"CREATE MATERIALIZED VIEW Staff AS {STAFF}")
    view = ask_in(session, "SELECT * FROM Staff")
    assert view.query.kind is Kind.RELATION
    assert view.contents(range(8)) == [
        [],
        [("Oslo", 1)],
        [("Oslo", 2)],
        [("Oslo", 2)],
        [("Oslo", 2), ("Rome", 1)],
        [("Oslo", 1), ("Rome", 1)],
        [("Rome", 2)],
        [("Rome", 2)],
    ]
    assert ask_in(session, STAFF).lines == view.lines


# Chronicles (6.4.1).

CHRONICLE_JOIN = """
Select Rstream(*) From S[Now], `S'`[Now]
Where S.A = `S'`.B
"""
CHRONICLES: dict[str, list[Row]] = {
    "S": [(1, 10, 1), (2, 20, 2), (1, 30, 2), (1, 30, 2), (3, 40, 4)],
    "T": [(1, "x", 1), (1, "y", 2), (2, "z", 3), (3, "u", 4), (3, "v", 4)],
}
JOINED: list[tuple[int, Row]] = [
    (1, (1, 10, 1, "x")),
    (2, (1, 30, 1, "y")),
    (2, (1, 30, 1, "y")),
    (4, (3, 40, 3, "u")),
    (4, (3, 40, 3, "v")),
]


def test_C15_a_chronicle_join_of_two_streams_is_an_rstream_over_now_windows() -> None:
    assert ask(S + T, CHRONICLES, "Select Rstream(*) From S[Now], T[Now] Where S.A = T.B").elements == JOINED


def test_C15_the_chronicle_join_keeps_the_primed_name_of_its_second_stream_in_backquotes() -> None:
    definitions = S + T.replace("STREAM T", "STREAM `S'`")
    rows = {"S": CHRONICLES["S"], "S'": CHRONICLES["T"]}
    assert ask(definitions, rows, CHRONICLE_JOIN).elements == JOINED


def test_C15_chronicle_operators_from_streams_to_streams_look_at_one_instant_at_a_time() -> None:
    session = session_with(f"{S} {T} CREATE TABLE Names (A INT, name STRING);", CHRONICLES)
    session.insert("Names", [(1, "one"), (3, "three")])
    selection = ask_in(session, "Select Rstream(V) From S[Now] Where A = 1")
    assert selection.elements == [(1, (10,)), (2, (30,)), (2, (30,))]
    union = ask_in(session, "Rstream((Select A From S[Now]) Union (Select B From T[Now]))")
    assert union.elements == [(1, (1,)), (2, (1,)), (2, (2,)), (3, (2,)), (4, (3,))]
    difference = ask_in(session, "Rstream((Select A From S[Now]) Except (Select B From T[Now]))")
    assert difference.elements == [(2, (2,))]
    grouped = ask_in(session, "Select Rstream(A, Sum(V)) From S[Now] Group By A")
    assert grouped.elements == [(1, (1, 10)), (2, (1, 60)), (2, (2, 20)), (4, (3, 40))]
    with_relation = ask_in(session, "Select Rstream(name, V) From S[Now], Names Where S.A = Names.A")
    assert with_relation.elements == [(1, ("one", 10)), (2, ("one", 30)), (2, ("one", 30)), (4, ("three", 40))]


def test_C15_chronicle_operators_from_streams_to_relations_are_queries_over_unbounded_windows() -> None:
    session = session_with(S, {"S": CHRONICLES["S"]})
    totals = ask_in(session, "Select A, Count(*), Sum(V) From S[Range Unbounded] Group By A")
    assert totals.query.kind is Kind.RELATION
    assert totals.contents(range(6)) == [
        [],
        [(1, 1, 10)],
        [(1, 3, 70), (2, 1, 20)],
        [(1, 3, 70), (2, 1, 20)],
        [(1, 3, 70), (2, 1, 20), (3, 1, 40)],
        [(1, 3, 70), (2, 1, 20), (3, 1, 40)],
    ]
    projection = ask_in(session, "CREATE VIEW P AS Select Distinct V From S[Range Unbounded]; SELECT COUNT(*) FROM P")
    assert projection.contents(range(6)) == [[(n,)] for n in (0, 1, 3, 3, 4, 4)]


# Tapestry (6.4.2).

TAPESTRY = """
Select Istream(Distinct *)
From (Istream(Q))[Range Unbounded]
"""


def test_C15_a_tapestry_query_streams_each_tuple_when_the_relational_query_first_returns_it() -> None:
    # The query returns {x} at 1, {x, y} at 2, {y} at 3, {x, y} at 5 and {x, x, y, z} from 6 on.
    changes: list[Row] = [
        (1, "x", "+", 1),
        (2, "y", "+", 2),
        (1, "x", "-", 3),
        (1, "x", "+", 5),
        (3, "x", "+", 6),
        (4, "z", "+", 6),
    ]
    query = TAPESTRY.replace("Q", "Select B From R Where A > 0")
    asked = ask(R, {"R": changes}, query)
    assert asked.elements == [(1, ("x",)), (2, ("y",)), (6, ("z",))]


bags = st.dictionaries(st.tuples(st.integers(0, 2), st.sampled_from("xy")), st.integers(1, 2), max_size=4).map(Counter)


def changes_between(states: list[Counter[tuple[int, str]]]) -> list[Row]:
    """The tagged rows that lead R through the states, from instant 0 on."""
    changes: list[Row] = []
    before: Counter[tuple[int, str]] = Counter()
    for t, state in enumerate(states):
        changes += [(*row, "-", t) for row in (before - state).elements()]
        changes += [(*row, "+", t) for row in (state - before).elements()]
        before = state
    return changes


@settings(max_examples=20, deadline=None, print_blob=True)
@given(st.lists(bags, min_size=1, max_size=6))
def test_C15_the_tapestry_result_so_far_is_the_set_union_of_the_results_at_all_instants(
    states: list[Counter[tuple[int, str]]],
) -> None:
    asked = ask(R, {"R": changes_between(states)}, TAPESTRY.replace("Q", "Select A, B From R"))
    so_far: set[tuple[int, str]] = set()
    seen: Counter[Row] = Counter()
    for t, state in enumerate(states):
        so_far |= set(state)
        seen.update(asked.streamed_at(t))
        assert seen == Counter(so_far)


# Tribeca (6.4.3).

PACKETS: list[Row] = [(1, 10, 1), (2, 100, 2), (1, 20, 3), (1, 50, 4), (2, 300, 5), (2, 100, 6), (1, 20, 7)]


def test_C15_tribecas_demux_and_mux_are_a_partitioned_window_and_group_by() -> None:
    session = session_with(S, {"S": PACKETS})
    muxed = ask_in(session, "Select Istream(A, Sum(V)) From S[Partition By A Rows 2] Group By A")
    assert muxed.elements == [(1, (1, 10)), (2, (2, 100)), (3, (1, 30)), (4, (1, 70)), (5, (2, 400))]
    relation = ask_in(session, "Select A, Sum(V) From S[Partition By A Rows 2] Group By A")
    assert relation.contents(range(8)) == [
        [],
        [(1, 10)],
        [(1, 10), (2, 100)],
        [(1, 30), (2, 100)],
        [(1, 70), (2, 100)],
        [(1, 70), (2, 400)],
        [(1, 70), (2, 400)],
        [(1, 70), (2, 400)],
    ]


def test_C15_tribecas_substreams_processed_apart_and_merged_give_the_same_stream() -> None:
    session = session_with(S, {"S": PACKETS})
    apart = []
    for substream in (1, 2):
        session.execute(f"CREATE STREAM S{substream} AS SELECT RSTREAM(*) FROM S [NOW] WHERE A = {substream}")
        processed = ask_in(session, f"Select Istream(A, Sum(V)) From S{substream}[Rows 2] Group By A")
        apart += processed.elements
    together = ask_in(session, "Select Istream(A, Sum(V)) From S[Partition By A Rows 2] Group By A")
    assert Counter(together.elements) == Counter(apart)


# The language of streams alone (7.1): every operator is Rstream(O(S1[Now], ..., Sn[Now])) or Rstream(S[W]).

JOIN = "Select Istream(S.V, R.B) From S[Range 2], R Where S.A = R.A"
JOIN_OF_STREAMS = """
CREATE STREAM Windowed AS Select Rstream(*) From S[Range 2];
CREATE STREAM Related AS Select Rstream(*) From R;
CREATE STREAM Result AS
  Select Rstream(Windowed.V, Related.B) From Windowed[Now], Related[Now] Where Windowed.A = Related.A;
"""
COUNTS = "Select Istream(A, Count(*) As n) From S[Range 2] Group By A"
COUNTS_OF_STREAMS = """
CREATE STREAM Windowed AS Select Rstream(*) From S[Range 2];
CREATE STREAM Result AS Select Rstream(A, Count(*) As n) From Windowed[Now] Group By A;
"""
# [Range 1] over Rstream(X) holds X(t) and X(t-1), so without X(t) it is X(t-1); X(t) - X(t-1) is Istream(X).
LAST_TWO = "CREATE STREAM LastTwo AS Select Rstream(*) From Result[Range 1];"
BEFORE = "CREATE STREAM Before AS Rstream((Select * From LastTwo[Now]) Except All (Select * From Result[Now]));"
ENTERING = "Rstream((Select * From Result[Now]) Except All (Select * From Before[Now]))"

JOIN_ROWS: dict[str, list[Row]] = {
    "S": [(1, 10, 1), (1, 10, 2), (2, 20, 2), (1, 10, 6)],
    "R": [(1, "x", "+", 0), (2, "y", "+", 3), (1, "x", "-", 4), (1, "x", "+", 7)],
}
# S[Range 2] holds 10 from 1 to 3, another 10 and 20 from 2 to 4, and 10 again from 6 to 8.


def test_C16_a_join_under_istream_and_its_translation_to_streams_give_equal_answers() -> None:
    session = session_with(S + R, JOIN_ROWS)
    session.execute(JOIN_OF_STREAMS + LAST_TWO + BEFORE)
    original, translated = ask_in(session, JOIN), ask_in(session, ENTERING)
    expected = [[], [(10, "x")], [(10, "x")], [(20, "y")], [], [], [], [(10, "x")], [], [], []]
    assert original.streamed(range(11)) == expected
    assert translated.streamed(range(11)) == expected


def test_C16_a_windowed_aggregate_under_istream_and_its_translation_to_streams_give_equal_answers() -> None:
    session = session_with(S, {"S": [(1, 10, 1), (1, 11, 2), (2, 20, 2), (1, 12, 4)]})
    session.execute(COUNTS_OF_STREAMS + LAST_TWO + BEFORE)
    original, translated = ask_in(session, COUNTS), ask_in(session, ENTERING)
    # Group 1 counts 1 at 1, 2 from 2 to 4 (at 4 one comes as one goes), 1 at 5 and 6; group 2 counts 1 from 2 to 4.
    expected = [[], [(1, 1)], [(1, 2), (2, 1)], [], [], [(1, 1)], [], [], []]
    assert original.streamed(range(9)) == expected
    assert translated.streamed(range(9)) == expected


def test_C16_a_windowed_aggregate_under_rstream_needs_no_difference() -> None:
    session = session_with(S, {"S": [(1, 10, 1), (1, 11, 2), (2, 20, 2)]})
    session.execute(COUNTS_OF_STREAMS)
    expected = [[], [(1, 1)], [(1, 2), (2, 1)], [(1, 2), (2, 1)], [(1, 1), (2, 1)], [], []]
    assert ask_in(session, COUNTS.replace("Istream", "Rstream")).streamed(range(7)) == expected
    assert ask_in(session, "Select Rstream(*) From Result[Now]").streamed(range(7)) == expected


@settings(max_examples=12, deadline=None, print_blob=True)
@given(
    st.lists(st.tuples(st.integers(1, 2), st.just(10), st.integers(0, 5)), max_size=6),
    st.lists(bags, min_size=1, max_size=5),
)
def test_C16_the_translated_join_equals_the_original_at_every_instant(
    elements: list[tuple[int, int, int]], states: list[Counter[tuple[int, str]]]
) -> None:
    arrived = sorted(elements, key=lambda e: e[2])
    session = session_with(S + R, {"S": arrived, "R": changes_between(states)})
    session.execute(JOIN_OF_STREAMS + LAST_TWO + BEFORE)
    original, translated = ask_all(session, JOIN, ENTERING)

    def joined(t: int) -> Counter[tuple[int, str]]:
        related = states[min(t, len(states) - 1)] if t >= 0 else Counter()
        return Counter((v, b) for a, v, ts in arrived if t - 2 <= ts <= t for c, b in related.elements() if a == c)

    for t in range(10):
        assert Counter(original.streamed_at(t)) == joined(t) - joined(t - 1)
        assert Counter(translated.streamed_at(t)) == joined(t) - joined(t - 1)
