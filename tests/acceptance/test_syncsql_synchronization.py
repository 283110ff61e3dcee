"""SyncSQL 3.1, 3.2, 4.2 and 6.1: synchronized relations, synchronization streams, ℜ, ξ, ζ, and points of refresh."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.streaming import Tag
from continua.algebra.synchronization import synchronization
from continua.errors import BindError
from continua.instants import instant_of
from continua.session import Session
from continua.windows.occurrences import Row
from tests.acceptance.sync_helpers import ask, states, sync_view, tagged, temperatures

EXAMPLE_9 = [("a", 105, 1), ("b", 110, 3), ("c", 97, 4), ("d", 75, 5), ("a", 75, 7)]
HOT_ROOMS = """
create STREAMED view HotRooms1 As
select RoomID, Temperature
from ℜ_Sync2(RoomTempStr) R
where R.Temperature > 80;
"""
EXAMPLE_10 = """
create STREAMED view Sync2 As
select C.Timepoint
from ℜ(clockStr) C
where C.Timepoint mod 2 = 0;
"""
EXAMPLE_11 = """
create STREAMED view UnionSyncStr as
select DISTINCT(Timepoint)
from ℜ(Sync2) S2 ∪ ℜ(Sync5) S5;
"""
EXAMPLE_12 = """
create STREAMED view HotSync as
select R.TS
from ℜ(TempStr) R
where R.Temperature > 120;
"""
EXAMPLE_16 = """
select STREAMED *
from ℜ_Sync2(S2) R2, ℜ_Sync3(S3) R3
where R2.ID = R3.ID
"""


def letters(*rows: tuple[str, str, int]) -> Session:
    """The stream S of examples 2 and 7, over tagged rows: attribute, tag, timestamp."""
    session = Session(dialect="sync")
    session.execute("CREATE RELATION S (Attr1 STRING, op STRING, ts INT) ORDERED BY ts TAGGED BY op KEY Attr1;")
    session.execute(sync_view(2) + sync_view(3) + sync_view(5))
    session.insert("S", rows)
    return session


EXAMPLE_2 = (("a", "+", 1), ("b", "+", 3), ("a", "-", 4), ("c", "+", 5))


def test_S8_a_synchronized_relation_is_modified_only_at_synchronization_points() -> None:
    session = letters(*EXAMPLE_2)
    query = ask(session, "select COMPLETE * from ℜ_Sync2(S)")
    assert states(session, query, range(8)) == {
        0: [],
        1: [],
        2: [("a", 1)],
        3: [("a", 1)],
        4: [("b", 3)],
        5: [("b", 3)],
        6: [("b", 3), ("c", 5)],
        7: [("b", 3), ("c", 5)],
    }


@pytest.mark.parametrize(
    "view", ["ℜ_Sync2(S)", "ℜ[Sync2](S)", "ℜ(S, Sync2)", "RELATION(S, Sync2)", "R(S, Sync2)", "S SYNC BY Sync2"]
)
def test_S8_the_synchronization_stream_is_a_subscript_or_an_argument(view: str) -> None:
    assert tagged(letters(*EXAMPLE_2), f"select STREAMED Attr1 from {view}") == ["+<a>2", "-<a>4", "+<b>4", "+<c>6"]


def test_S8_names_may_have_the_subscripts_of_the_paper() -> None:
    session = letters(*EXAMPLE_2)
    session.execute(sync_view(2).replace("Sync2", "Sync₂"))
    assert tagged(session, "select STREAMED Attr1 from ℜ_Sync₂(S)") == ["+<a>2", "-<a>4", "+<b>4", "+<c>6"]


def test_S8_HotRooms_is_refreshed_every_two_time_units() -> None:
    session = temperatures(*EXAMPLE_9)
    session.execute(HOT_ROOMS)
    over_view = "select STREAMED RoomID, Temperature from ℜ(HotRooms1) R"
    assert tagged(session, over_view) == ["+<a,105>2", "+<b,110>4", "+<c,97>4", "-<a>8"]


def test_S8_a_query_over_HotRooms_may_have_a_coarser_synchronization() -> None:
    session = temperatures(*EXAMPLE_9)
    session.execute(HOT_ROOMS)
    q4 = "select STREAMED RoomID, Temperature from ℜ_Sync4(HotRooms1) R where R.Temperature > 100"
    assert tagged(session, q4) == ["+<a,105>4", "+<b,110>4", "-<a>8"]


def test_S8_TS_is_the_arrival_and_the_timestamp_of_the_output_the_release() -> None:
    session = temperatures(*EXAMPLE_9)
    session.execute(HOT_ROOMS)
    q4 = "select STREAMED RoomID, TS from ℜ_Sync4(HotRooms1) R where R.Temperature > 100"
    assert tagged(session, q4) == ["+<a,2>4", "+<b,4>4", "-<a>8"]


def test_S8_updates_between_two_points_are_told_as_one() -> None:
    session = temperatures(("a", 1, 1), ("a", 2, 2), ("a", 3, 3), ("a", 4, 4), ("b", 9, 5), ("b", 8, 5))
    text = "select STREAMED RoomID, Temperature from ℜ_Sync2(RoomTempStr)"
    assert tagged(session, text) == ["+<a,2>2", "u<a,4>4", "+<b,8>6"]


def test_S9_a_synchronization_stream_is_a_view_over_the_clock() -> None:
    session = Session(dialect="sync")
    session.execute(sync_view(2))
    found = tagged(session, "select STREAMED Timepoint from ℜ(Sync2)")
    assert found[:4] == ["+<0>0", "+<2>2", "+<4>4", "+<6>6"]


def test_S9_the_clock_ticks_at_every_instant() -> None:
    found = tagged(Session(dialect="sync"), "select STREAMED Timepoint from ℜ(clockStr)")
    assert found[:4] == ["+<0>0", "+<1>1", "+<2>2", "+<3>3"]


def test_S9_the_view_of_example_10_as_it_is_printed() -> None:
    session = Session(dialect="sync")
    session.execute(EXAMPLE_10)
    assert tagged(session, "select STREAMED Timepoint from ℜ(Sync2)")[:4] == ["+<0>0", "+<2>2", "+<4>4", "+<6>6"]


def test_S9_the_union_of_two_synchronization_streams_has_every_point_once() -> None:
    session = letters(("a", "+", 8))
    session.execute(EXAMPLE_11)
    query = ask(session, "select COMPLETE Timepoint from ℜ(UnionSyncStr)")
    assert states(session, query, (6,)) == {6: [(0,), (2,), (4,), (5,), (6,)]}


def test_S9_the_points_of_the_union_release_what_waits() -> None:
    session = letters(*EXAMPLE_2, ("d", "+", 9))
    session.execute(EXAMPLE_11)
    released = ["+<a>2", "-<a>4", "+<b>4", "+<c>5", "+<d>10"]
    assert tagged(session, "select STREAMED Attr1 from ℜ_UnionSyncStr(S)") == released


def test_S9_the_points_of_the_intersection_are_those_of_both() -> None:
    session = letters(*EXAMPLE_2)
    session.execute(EXAMPLE_11.replace("UnionSyncStr", "BothSyncStr").replace("∪", "∩"))
    assert tagged(session, "select STREAMED Attr1 from ℜ_BothSyncStr(S)") == ["+<b>10", "+<c>10"]


@pytest.mark.parametrize(("operator", "points"), [("union", [0, 2, 3, 4, 6, 8]), ("intersect", [0, 6])])
def test_S9_union_and_intersection_may_be_written_in_SQL(operator: str, points: list[int]) -> None:
    session = letters(("a", "+", 8))
    query = ask(
        session, f"select COMPLETE Timepoint from (select Timepoint from ℜ(Sync2) {operator} "
        "select Timepoint from ℜ(Sync3)) P",
    )  # fmt: skip
    assert states(session, query, (8,)) == {8: [(p,) for p in points]}


@pytest.mark.parametrize("step", [20, 200])
def test_S9_a_point_long_after_the_last_tuple_releases_it(step: int) -> None:
    session = letters(("a", "+", 1))
    session.execute(sync_view(step))
    assert tagged(session, f"select STREAMED Attr1 from ℜ_Sync{step}(S)") == [f"+<a>{step}"]


def in_minutes() -> Session:
    session = Session(dialect="sync")
    session.execute(
        "SET chronon = '1 minute'; SET start_time = '2024-01-01 10:00:00';"
        "REGISTER SOURCE Src (char k, timestamp ts) ORDERED BY ts; CREATE STREAM S OVER Src KEY NULL"
    )
    session.insert("Src", [(k, datetime(2024, 1, 1, 10, minute)) for k, minute in (("a", 1), ("b", 2), ("c", 3))])
    return session


def minutes(session: Session, text: str) -> list[tuple[Row, int]]:
    start = instant_of(datetime(2024, 1, 1, 10))
    return [(a.row, (a.instant - start) // 60_000_000) for a in session.answers([ask(session, text)])]


def test_S9_the_clock_of_a_stream_with_timestamps_ticks_in_timestamps() -> None:
    session = in_minutes()
    for items in ("ℜ(S) R, ℜ(clockStr) C", "ℜ(clockStr) C, ℜ(S) R"):
        found = minutes(session, f"select STREAMED k from {items} where C.Timepoint = R.TS")
        assert found == [(("a",), 1), (("b",), 2), (("c",), 3)]


def test_S9_a_stream_with_timestamps_may_be_refreshed_every_two_minutes() -> None:
    session = in_minutes()
    session.execute(
        "create STREAMED view EvenMinutes as select C.Timepoint from ℜ(clockStr) C where MINUTE(C.Timepoint) % 2 = 0"
    )
    assert minutes(session, "select STREAMED k from ℜ_EvenMinutes(S)") == [(("a",), 2), (("b",), 2), (("c",), 4)]


HOT = [("a", 105, 1), ("b", 110, 3), ("c", 121, 4), ("d", 75, 5), ("a", 75, 7), ("d", 130, 8), ("b", 90, 9)]


def test_S9_HotSync_has_the_instants_at_which_a_room_is_hot() -> None:
    session = temperatures(*HOT)
    session.execute(EXAMPLE_12)
    query = ask(session, "select COMPLETE * from ℜ(HotSync)")
    assert states(session, query, (3, 4, 9)) == {3: [], 4: [(4,)], 9: [(4,), (8,)]}


def test_S9_a_query_synchronized_by_events_is_refreshed_when_they_happen() -> None:
    session = temperatures(*HOT)
    session.execute(EXAMPLE_12)
    q5 = "select STREAMED RoomID, Temperature from ℜ_HotSync(RoomTempStr) R where R.Temperature > 100"
    assert tagged(session, q5) == ["+<a,105>4", "+<b,110>4", "+<c,121>4", "-<a>8", "+<d,130>8"]


def test_S9_a_synchronization_stream_has_one_attribute() -> None:
    session = temperatures()
    with pytest.raises(BindError) as raised:
        session.execute("select RoomID from ℜ_TempStr(RoomTempStr)")
    assert raised.value.condition == "SYNC_COLUMNS"


def test_S11_the_operator_to_streams_tells_what_changed_since_the_point_before() -> None:
    expected = ["+<a,1>2", "-<a>4", "+<b,3>4", "+<c,5>6"]
    assert tagged(letters(*EXAMPLE_2), "select STREAMED * from ℜ_Sync2(S)") == expected


def test_S11_the_timestamp_attribute_goes_when_it_is_projected_out() -> None:
    expected = ["+<a>2", "-<a>4", "+<b>4", "+<c>6"]
    assert tagged(letters(*EXAMPLE_2), "select STREAMED Attr1 from ℜ_Sync2(S)") == expected


def regulator(rows: list[tuple[str, str, int]], step: int) -> list[str]:
    """ζ by its description: tuples wait for the next point and get their arrival as an attribute; deletes need none."""
    released = []
    for attribute, op, ts in rows:
        attributes = attribute if op == "-" else f"{attribute},{ts}"
        released.append((-(-ts // step) * step, op, attributes))
    return [
        f"{op}<{attributes}>{point}" for point, op, attributes in sorted(released, key=lambda r: (r[0], r[1] == "+"))
    ]


def test_S11_the_regulator_of_example_20_is_the_composition_of_both_operators() -> None:
    session = letters(*EXAMPLE_2)
    assert regulator(list(EXAMPLE_2), 2) == tagged(session, "select STREAMED * from ℜ_Sync2(S)")


MODIFICATIONS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=8)


def valid(steps: list[tuple[str, int]]) -> list[tuple[str, str, int]]:
    """Modifications that insert what is absent and delete what is present."""
    present: set[str] = set()
    now, rows = 0, []
    for letter, wait in steps:
        now += wait
        rows.append((letter, "-" if letter in present else "+", now))
        present ^= {letter}
    return rows


@settings(max_examples=25, deadline=None, print_blob=True)
@given(steps=MODIFICATIONS, step=st.sampled_from([2, 3, 5]))
def test_S11_the_regulator_has_the_effect_of_the_composition(steps: list[tuple[str, int]], step: int) -> None:
    # ζ hands on every tuple and ξ the net change: they differ where a tuple comes and goes between two points.
    rows = valid(steps)
    session = letters(*rows)
    query = ask(session, f"select STREAMED Attr1 from ℜ_Sync{step}(S)")
    by_regulator = Counter[tuple[int, str]]()
    for letter, op, ts in rows:
        by_regulator[-(-ts // step) * step, letter] += 1 if op == "+" else -1
    composed = {(a.instant, str(a.row[0])): 1 if a.op == "+" else -1 for a in session.answers([query])}
    assert {key: count for key, count in by_regulator.items() if count} == composed


def two_streams(left: list[tuple[int, str, int]], right: list[tuple[int, str, int]]) -> Session:
    session = Session(dialect="sync")
    for number, rows in ((2, left), (3, right)):
        session.execute(f"REGISTER SOURCE Src{number} (int ID, string v{number}, int ts) ORDERED BY ts")
        session.execute(f"CREATE STREAM S{number} OVER Src{number} KEY NULL")
        session.execute(sync_view(number))
        session.insert(f"Src{number}", rows)
    return session


LEFT = [(1, "x", 1), (2, "y", 3), (3, "z", 5)]
RIGHT = [(1, "p", 0), (1, "q", 2), (2, "r", 2), (3, "s", 5)]


def test_S12_the_join_of_example_16_is_refreshed_at_2_3_4_and_6() -> None:
    text = EXAMPLE_16.replace("*", "R2.ID, v2, v3")
    found = tagged(two_streams(LEFT, RIGHT), text)
    assert found == ["+<1,x,p>2", "+<1,x,q>3", "+<2,y,r>4", "+<3,z,s>6"]


def test_S12_every_point_of_either_input_refreshes_and_only_those_of_both_are_full() -> None:
    session = two_streams(LEFT, RIGHT)
    query = ask(session, EXAMPLE_16)
    points = synchronization(query.bound.plan)
    assert [t for t in range(1, 13) if points.refreshes_at(t)] == [2, 3, 4, 6, 8, 9, 10, 12]
    assert [t for t in range(1, 13) if points.is_full_at(t)] == [6, 12]
    assert isinstance(query.bound.plan, Tag)
    refreshed = session.reference([query])[query.name].instants(query.bound.plan.input)
    assert refreshed == [0, 2, 3, 4, 6]


def test_S12_a_unary_operator_keeps_the_points_of_its_input() -> None:
    session = temperatures()
    text = "select {} from ℜ_Sync4(RoomTempStr) {}"
    for query in (
        text.format("RoomID", ""),
        text.format("RoomID, Temperature", "where Temperature > 80"),
        text.format("distinct RoomID", ""),
        text.format("RoomID, count(*)", "group by RoomID"),
    ):
        points = synchronization(ask(session, query).bound.logical)
        assert [t for t in range(13) if points.refreshes_at(t)] == [0, 4, 8, 12]
        assert [t for t in range(13) if points.is_full_at(t)] == [0, 4, 8, 12]


def test_S12_an_unsynchronized_input_is_refreshed_at_every_instant() -> None:
    session = two_streams(LEFT, RIGHT)
    points = synchronization(ask(session, EXAMPLE_16.replace("ℜ_Sync3", "ℜ")).bound.plan)
    assert [t for t in range(5) if points.refreshes_at(t)] == [0, 1, 2, 3, 4]
    assert [t for t in range(5) if points.is_full_at(t)] == [0, 2, 4]


TUPLES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xy"), st.integers(0, 9)), max_size=6).map(
    lambda rows: sorted(rows, key=lambda row: row[2])
)
Tuples = list[tuple[int, str, int]]


def up_to(rows: Tuples, t: int) -> list[tuple[int, str]]:
    return [row[:2] for row in rows if row[2] <= t]


@settings(max_examples=20, deadline=None, print_blob=True)
@given(rows=TUPLES)
def test_S12_proposition_1_between_points_a_unary_operator_reflects_the_point_before(rows: Tuples) -> None:
    session = two_streams([], rows)
    query = ask(session, "select COMPLETE v3, count(*) as n from ℜ_Sync3(S3) where ID > 0 group by v3")
    for t, state in states(session, query, range(14)).items():
        seen = up_to(rows, t - t % 3)
        assert Counter(state) == Counter(Counter(v for number, v in seen if number > 0).items())


@settings(max_examples=20, deadline=None, print_blob=True)
@given(left=TUPLES, right=TUPLES)
def test_S12_proposition_2_a_binary_operator_reflects_each_input_at_its_own_last_point(
    left: Tuples, right: Tuples
) -> None:
    session = two_streams(left, right)
    query = ask(session, EXAMPLE_16.replace("STREAMED *", "COMPLETE R2.ID, v2, v3"))
    for t, state in states(session, query, range(14)).items():
        pairs: list[Row] = [(a, v, w) for a, v in up_to(left, t - t % 2) for b, w in up_to(right, t - t % 3) if a == b]
        assert Counter(state) == Counter(pairs)
