"""SyncSQL 4.3 and 5: containment, commutation, the normal form, and queries that are answered from others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.full_points import full_points, intersection
from continua.algebra.printer import tree
from continua.algebra.synchronization import synchronization
from continua.errors import BindError
from continua.explain.matching_text import matches
from continua.runs.plans import candidate, chosen_forms, matching_of
from continua.session import Session
from continua.sharing.containment import clock_of, is_contained
from continua.sharing.normal_forms import normal_form, seen_at
from continua.sharing.query_matching import Answered, Missed, match, relation_of, relation_of_plan
from continua.windows.change_points import EVERY_INSTANT, Points
from tests.acceptance.sync_helpers import ask, states, sync_view, tagged, temperatures
from tests.acceptance.test_syncsql_synchronization import EXAMPLE_16, LEFT, RIGHT, letters, two_streams

EXAMPLE_17 = (("a", "+", 1), ("b", "+", 2), ("a", "-", 3), ("c", "+", 3), ("d", "+", 5), ("b", "-", 6), ("e", "+", 7))
POINTS = st.builds(Points, st.integers(1, 12), st.integers(0, 11))


def ticks(points: Points, until: int = 300) -> set[int]:
    return {t for t in range(until) if points.contains(t)}


@settings(max_examples=200, deadline=None)
@given(POINTS, POINTS)
def test_S13_proposition_3_a_synchronization_stream_is_contained_where_each_of_its_points_is(
    one: Points, other: Points
) -> None:
    assert is_contained(one, other) == (ticks(one) <= ticks(other))


def test_S13_every_4_time_units_is_contained_in_every_2() -> None:
    assert is_contained(Points(4), Points(2))
    assert not is_contained(Points(2), Points(4))
    assert is_contained(Points(4), EVERY_INSTANT)


@settings(max_examples=100, deadline=None)
@given(POINTS, POINTS)
def test_S13_the_points_of_both_and_the_clock_of_both(one: Points, other: Points) -> None:
    both = intersection(one, other)
    assert (set() if both is None else ticks(both)) == ticks(one) & ticks(other)
    clock = clock_of([one, other])
    assert ticks(one) | ticks(other) <= ticks(clock)
    finer = [p for p in (Points(s, clock.offset) for s in range(clock.step + 1, 13)) if is_contained(one, p)]
    assert not any(is_contained(other, p) for p in finer)


def example_17() -> Session:
    session = letters(*EXAMPLE_17)
    session.execute(sync_view(4))
    return session


def test_S13_example_17_the_relation_at_its_points_is_that_of_finer_points() -> None:
    session = example_17()
    coarse = ask(session, "select COMPLETE Attr1 from ℜ_Sync4(S)")
    fine = ask(session, "select COMPLETE Attr1 from ℜ_Sync2(S)")
    assert states(session, coarse, range(9)) == {
        0: [], 1: [], 2: [], 3: [],
        4: [("b",), ("c",)], 5: [("b",), ("c",)], 6: [("b",), ("c",)], 7: [("b",), ("c",)],
        8: [("c",), ("d",), ("e",)],
    }  # fmt: skip
    assert states(session, fine, (2, 4, 6, 8)) == {
        2: [("a",), ("b",)],
        4: [("b",), ("c",)],
        6: [("c",), ("d",)],
        8: [("c",), ("d",), ("e",)],
    }
    full = [synchronization(q.bound.plan) for q in (coarse, fine)]
    assert all(full[1].is_full_at(t) for t in range(13) if full[0].is_full_at(t))


def test_S13_example_17_corollary_1_the_coarser_relation_comes_from_the_stream_of_the_finer_one() -> None:
    session = example_17()
    session.execute("create STREAMED view Finer as select Attr1 from ℜ_Sync2(S)")
    assert tagged(session, "select STREAMED Attr1 from ℜ_Sync4(Finer)") == tagged(
        session, "select STREAMED Attr1 from ℜ_Sync4(S)"
    )


def test_S13_theorem_1_the_view_seen_at_the_points_of_the_query_is_the_query() -> None:
    session = example_17()
    coarse = ask(session, "select STREAMED Attr1 from ℜ_Sync4(S)")
    fine = ask(session, "select STREAMED Attr1 from ℜ_Sync2(S)")
    answer = match(candidate(coarse), candidate(fine))
    assert isinstance(answer, Answered)
    assert answer.theorem == "theorem 1 and corollary 1"
    assert answer.kinds == ("synchronization", "projection")
    missed = match(candidate(fine), candidate(coarse))
    assert isinstance(missed, Missed)
    assert missed.condition == "SYNCHRONIZATION"


# Commutation and the normal form.


def test_S14_example_18_synchronization_is_pulled_out_of_a_selection_over_a_join() -> None:
    session = two_streams(LEFT, RIGHT)
    query = ask(session, EXAMPLE_16.replace("*", "R2.ID, v2, v3") + " and R2.ID > 1")
    relation = relation_of(candidate(query))
    normal = normal_form(relation)
    assert normal.points == Points(6)
    assert "sync:" not in tree(normal.data)
    finest = ask(two_streams(LEFT, RIGHT), EXAMPLE_16.replace("*", "R2.ID, v2, v3").replace("_Sync2", "").replace(
        "_Sync3", "") + " and R2.ID > 1")  # fmt: skip
    assert tree(normal.data) == tree(relation_of(candidate(finest)))


@pytest.mark.parametrize("where", ["", "and v2 <> 'y'"])
def test_S14_corollaries_2_and_3_full_points_are_those_of_the_normal_form(where: str) -> None:
    session = two_streams(LEFT, RIGHT)
    query = ask(session, EXAMPLE_16.replace("*", "R2.ID, v2, v3") + where)
    relation = relation_of(candidate(query))
    normal = normal_form(relation)
    assert normal.points == full_points(synchronization(relation))
    assert not normal.everywhere
    reference = session.reference([query])[query.name]
    assert normal.points is not None
    outer = seen_at(normal.data, normal.points)
    for t in range(0, 13, 6):
        assert reference.relation(relation, t) == reference.relation(outer, t)
    # between full points they differ: 4 is a partial one
    assert reference.relation(relation, 4) != reference.relation(outer, 4)


def test_S14_theorem_2_with_one_synchronization_the_normal_form_is_equal_at_every_instant() -> None:
    session = temperatures(("a", 100, 1), ("b", 75, 2), ("c", 80, 3), ("a", 95, 4), ("b", 85, 5), ("c", 99, 9))
    query = ask(
        session, "select RoomID, count(*) as n from ℜ_Sync4(RoomTempStr) where Temperature > 80 group by RoomID"
    )
    relation = relation_of(candidate(query))
    normal = normal_form(relation)
    assert normal.everywhere
    assert normal.points == Points(4)
    reference = session.reference([query])[query.name]
    outer = seen_at(normal.data, normal.points)
    assert reference.changes(relation) == reference.changes(outer)


# Query matching.

EXAMPLE_19 = """
REGISTER QUERY HotRooms1 AS
select STREAMED RoomID, Temperature from ℜ_Sync2(RoomTempStr) R where R.Temperature > 80;
REGISTER QUERY Q4 AS
select STREAMED RoomID, Temperature from ℜ_Sync4(RoomTempStr) R where R.Temperature > 100;
"""
ROOMS = [("a", 105, 1), ("b", 110, 3), ("c", 97, 4), ("d", 75, 5), ("a", 75, 7)]


def test_S15_example_19_Q4_is_written_in_terms_of_HotRooms1() -> None:
    session = temperatures(*ROOMS)
    session.execute(EXAMPLE_19)
    queries = list(session.queries.values())
    view, form = chosen_forms(queries, session.functions)
    assert view.own is None
    assert form.own is not None
    plan = tree(form.query.optimized).splitlines()
    assert [line.strip(" └─├│") for line in plan[:4]] == [
        "Streamed KEY RoomID",
        "Map HotRooms1.RoomID AS RoomID, HotRooms1.Temperature AS Temperature",
        "Filter HotRooms1.Temperature > 100",
        "Synchronize EVERY 4",
    ]
    assert plan[-1].endswith("Clock C")
    assert [f"{a.op}<{','.join(map(str, a.row))}>{a.instant}" for a in session.answers([session.queries["Q4"]])] == [
        "+<a,105>4",
        "+<b,110>4",
        "-<a>8",
    ]
    reference = session.reference(queries)["Q4"]
    assert reference.changes(relation_of(candidate(queries[1]))) == reference.changes(
        relation_of_plan(form.query.optimized)
    )


def test_S15_explain_says_which_view_answers_and_which_condition_failed() -> None:
    session = temperatures(*ROOMS)
    session.execute(EXAMPLE_19)
    session.execute(
        "REGISTER QUERY warm AS select STREAMED RoomID, Temperature from ℜ_Sync4(RoomTempStr) R "
        "where R.Temperature > 60 and R.RoomID <> 'a';"
        "REGISTER QUERY odd AS select STREAMED RoomID, Temperature from ℜ_Sync5(RoomTempStr) R "
        "where R.Temperature > 90"
    )
    told = matches(chosen_forms(list(session.queries.values()), session.functions))
    assert [(m.query, m.view, m.kinds) for m in told if m.answered] == [
        ("Q4", "HotRooms1", ("synchronization", "filter", "projection"))
    ]
    assert {(m.query, m.view, m.by) for m in told if not m.answered} >= {
        ("HotRooms1", "warm", "PREDICATE"),
        ("warm", "HotRooms1", "PREDICATE"),
        ("odd", "HotRooms1", "SYNCHRONIZATION"),
    }
    text = session.explain(session.queries["Q4"], "SHARING")
    assert "Q4 is answered from HotRooms1 by theorem 1 and corollary 1, with synchronization every 4, filter" in text


def joined(session: Session, name: str, sync: tuple[str, str], where: str = "") -> None:
    text = EXAMPLE_16.replace("*", "R2.ID, v2, v3").replace("_Sync2", sync[0]).replace("_Sync3", sync[1])
    session.execute(f"REGISTER QUERY {name} AS {text} {where}")


def test_S15_partial_points_are_told_so_that_theorem_1_does_not_answer() -> None:
    session = two_streams(LEFT, RIGHT)
    joined(session, "finest", ("", ""))
    joined(session, "both", ("_Sync2", "_Sync3"))
    found = match(*(candidate(session.queries[name]) for name in ("both", "finest")))
    assert isinstance(found, Missed)
    assert found.condition == "PARTIAL_POINTS"


def test_S15_a_query_that_asks_for_full_points_is_answered_from_the_view() -> None:
    session = two_streams(LEFT, RIGHT)
    joined(session, "finest", ("", ""))
    session.execute("SET output_points = full")
    joined(session, "both", ("_Sync2", "_Sync3"), "and R2.ID > 1")
    both, finest = (session.queries[name] for name in ("both", "finest"))
    found = match(candidate(both), candidate(finest))
    assert isinstance(found, Answered)
    assert found.kinds == ("synchronization", "filter", "projection")
    answers = [(a.op, a.row, a.instant) for a in session.answers([both])]
    assert answers == [("+", (2, "y", "r"), 6), ("+", (3, "z", "s"), 6)]
    reference = session.reference([both])["both"]
    assert reference.changes(relation_of(candidate(both))) == reference.changes(
        relation_of_plan(found.build(relation_of(candidate(finest))))
    )


def test_S15_equal_synchronizations_need_no_full_points() -> None:
    session = two_streams(LEFT, RIGHT)
    joined(session, "all_rows", ("_Sync2", "_Sync3"))
    joined(session, "some_rows", ("_Sync2", "_Sync3"), "and v2 <> 'x'")
    found = match(*(candidate(session.queries[name]) for name in ("some_rows", "all_rows")))
    assert isinstance(found, Answered)
    assert "synchronization" not in found.kinds


def test_S15_full_points_must_be_known_ahead() -> None:
    session = temperatures(*ROOMS)
    session.execute(
        "create STREAMED view HotSync as select R.TS from ℜ(TempStr) R where R.Temperature > 100;"
        "SET output_points = full"
    )
    with pytest.raises(BindError) as raised:
        session.execute("select R.RoomID from ℜ_HotSync(RoomTempStr) R, ℜ_Sync2(TempStr) T where R.RoomID = T.RoomID")
    assert raised.value.condition == "NO_FULL_POINTS"


def test_S15_the_greatest_common_divisor_is_the_clock_of_queries_that_are_all_known() -> None:
    session = temperatures(*ROOMS)
    session.execute(
        sync_view(6) + "REGISTER QUERY four AS select RoomID, count(*) as n from ℜ_Sync4(TempStr) group by RoomID;"
        "REGISTER QUERY six AS select RoomID, count(*) as n from ℜ_Sync6(TempStr) group by RoomID"
    )
    queries = list(session.queries.values())
    found = matching_of(queries)
    (clock,) = found.clocks.values()
    assert synchronization(clock.plan).leaves == {Points(2)}
    assert {a.query for a in found.answered.values()} == {"four", "six"}
    forms = chosen_forms(queries, session.functions)
    assert all(form.own is not None for form in forms)
    for form in forms:
        reference = session.reference([form.query])[form.query.name]
        assert reference.changes(relation_of(candidate(form.query))) == reference.changes(
            relation_of_plan(form.query.optimized)
        )
