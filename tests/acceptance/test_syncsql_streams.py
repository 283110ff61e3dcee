"""SyncSQL 1 and 2.1: sources, taggers, relational views, queries with STREAMED and COMPLETE output, composition."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.algebra.base import Kind
from continua.algebra.leaves import Source
from continua.algebra.streaming import Tag
from continua.algebra.traverse import nodes_of
from continua.catalog import StreamInfo, TaggedInfo
from continua.errors import BindError, SourceError
from continua.session import Session
from tests.acceptance.sync_helpers import ask, states, sync_view, tagged, temperatures, written

EXAMPLE_1 = """
REGISTER SOURCE TemperatureSource
(char RoomID, int Temperature) From port5501;
CREATE STREAM RoomTempStr OVER TemperatureSource KEY RoomID;
CREATE STREAM TempStr OVER TemperatureSource KEY NULL;
"""
RUNNING_EXAMPLE_1 = [("a", 100, 1), ("b", 75, 2), ("c", 80, 3), ("a", 95, 4), ("b", 85, 5)]
RUNNING_EXAMPLE_3 = [("a", 78, 1), ("a", 105, 2), ("b", 70, 3), ("c", 95, 4), ("a", 76, 5), ("c", 103, 6)]

Q3 = """
select STREAMED RoomID, Temperature
from ℜ(RoomTempStr) R
where R.Temperature > 80
"""
Q4 = """
select STREAMED RoomID, Temperature
from ℜ(RoomTempStr) R
where R.Temperature > 100
"""
HOT_ROOMS = """
create STREAMED view HotRooms1 as
select RoomID, Temperature
from ℜ(RoomTempStr) R
where R.Temperature > 80;
"""


def tagger_output(session: Session, stream: str) -> list[str]:
    """What the tagger of a stream puts out, below any relational view."""
    query = ask(session, f"select * from ℜ({stream})")
    (tagger,) = (n for n in nodes_of(query.bound.plan) if isinstance(n, Tag) and isinstance(n.input, Source))
    reference = session.reference([query])[query.name]
    return [f"{m.op}<{','.join(map(str, m.row))}>{m.instant}" for m in reference.tagged(tagger)]


def test_S1_the_statements_of_example_1_register_a_source_and_two_tagged_streams() -> None:
    session = Session(dialect="sync")
    session.execute(EXAMPLE_1)
    source = session.catalog.table("TemperatureSource")
    assert isinstance(source, StreamInfo)
    assert [f.name for f in source.columns] == ["RoomID", "Temperature"]
    assert session.catalog.table("RoomTempStr") == TaggedInfo("RoomTempStr", "TemperatureSource", ("RoomID",))
    assert session.catalog.table("TempStr") == TaggedInfo("TempStr", "TemperatureSource", ())


def test_S1_a_port_is_no_source_that_can_be_read() -> None:
    session = Session(dialect="sync")
    session.execute(EXAMPLE_1)
    query = ask(session, Q3)
    with pytest.raises(SourceError) as raised:
        session.answers([query])
    assert raised.value.condition == "UNKNOWN_SOURCE"


def test_S1_a_registered_source_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("RoomID,Temperature,ts\na,100,1\na,95,4\n")
    session = Session(dialect="sync", data=tmp_path)
    session.execute(
        "REGISTER SOURCE TemperatureSource (char RoomID, int Temperature, int ts) FROM csv('t.csv') ORDERED BY ts;"
        "CREATE STREAM RoomTempStr OVER TemperatureSource KEY RoomID"
    )
    assert tagged(session, "select STREAMED RoomID, Temperature from ℜ(RoomTempStr)") == ["+<a,100>1", "u<a,95>4"]


def test_S1_with_a_key_the_first_tuple_of_a_room_inserts_and_later_ones_update() -> None:
    session = temperatures(*RUNNING_EXAMPLE_1)
    expected = ["+<a,100>1", "+<b,75>2", "+<c,80>3", "u<a,95>4", "u<b,85>5"]
    assert tagger_output(session, "RoomTempStr") == expected
    assert tagged(session, "select STREAMED RoomID, Temperature from ℜ(RoomTempStr)") == expected


def test_S1_without_a_key_every_tuple_inserts() -> None:
    session = temperatures(*RUNNING_EXAMPLE_1)
    expected = ["+<a,100>1", "+<b,75>2", "+<c,80>3", "+<a,95>4", "+<b,85>5"]
    assert tagger_output(session, "TempStr") == expected
    assert tagged(session, "select STREAMED RoomID, Temperature from ℜ(TempStr)") == expected


def test_S1_a_key_may_have_several_columns() -> None:
    session = Session(dialect="sync")
    session.execute(
        "REGISTER SOURCE Src (int x, int y, int v, int ts) ORDERED BY ts; CREATE STREAM S OVER Src KEY x, y"
    )
    session.insert("Src", [(1, 1, 5, 1), (1, 2, 6, 2), (1, 1, 7, 3)])
    assert tagger_output(session, "S") == ["+<1,1,5>1", "+<1,2,6>2", "u<1,1,7>3"]


def test_S1_the_source_and_the_key_of_a_tagged_stream_must_exist() -> None:
    session = temperatures()
    for text, condition in (
        ("CREATE STREAM X OVER Nowhere KEY NULL", "UNKNOWN_STREAM"),
        ("CREATE STREAM X OVER TemperatureSource KEY Humidity", "UNKNOWN_COLUMN"),
    ):
        with pytest.raises(BindError) as raised:
            session.execute(text)
        assert raised.value.condition == condition


def example_2() -> Session:
    session = Session(dialect="sync")
    session.execute("CREATE RELATION S (Attr1 STRING, op STRING, ts INT) ORDERED BY ts TAGGED BY op KEY Attr1")
    session.insert("S", [("a", "+", 1), ("b", "+", 3), ("a", "-", 4), ("c", "+", 5)])
    return session


def test_S2_the_relational_view_reflects_all_operations_up_to_an_instant() -> None:
    session = example_2()
    query = ask(session, "select COMPLETE * from ℜ(S)")
    assert query.columns == ("Attr1", "TS")
    assert states(session, query, range(7)) == {
        0: [],
        1: [("a", 1)],
        2: [("a", 1)],
        3: [("a", 1), ("b", 3)],
        4: [("b", 3)],
        5: [("b", 3), ("c", 5)],
        6: [("b", 3), ("c", 5)],
    }


def test_S2_the_schema_of_a_relational_view_is_that_of_the_stream_and_TS() -> None:
    session = temperatures(*RUNNING_EXAMPLE_1)
    query = ask(session, "select COMPLETE * from ℜ(RoomTempStr)")
    assert query.columns == ("RoomID", "Temperature", "TS")
    assert states(session, query, (3, 5)) == {
        3: [("a", 100, 1), ("b", 75, 2), ("c", 80, 3)],
        5: [("a", 95, 4), ("b", 85, 5), ("c", 80, 3)],
    }


def test_S2_the_relational_view_of_the_clock_has_TS_too() -> None:
    session = Session(dialect="sync")
    query = ask(session, "select COMPLETE C.Timepoint, C.TS from ℜ(clockStr) C")
    assert states(session, query, (0, 2)) == {0: [(0, 0)], 2: [(0, 0), (1, 1), (2, 2)]}


def test_S2_relation_and_a_bare_name_are_other_spellings_of_the_view() -> None:
    session = temperatures(*RUNNING_EXAMPLE_1)
    expected = tagged(session, "select STREAMED * from ℜ(RoomTempStr)")
    assert tagged(session, "select STREAMED * from RELATION(RoomTempStr)") == expected
    assert tagged(session, "select STREAMED * from RoomTempStr") == expected


def test_S3_the_output_of_Q3_for_the_running_example() -> None:
    assert tagged(temperatures(*RUNNING_EXAMPLE_3), Q3) == ["+<a,105>2", "+<c,95>4", "-<a>5", "u<c,103>6"]


def test_S3_a_delete_names_only_the_key() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    deletes = [a for a in session.answers([ask(session, Q3)]) if a.op == "-"]
    assert [(a.instant, a.columns, a.row) for a in deletes] == [(5, ("RoomID",), ("a",))]


def test_S3_without_the_key_in_the_answer_an_update_is_a_delete_and_an_insert() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    text = "select STREAMED Temperature from ℜ(RoomTempStr) R where R.Temperature > 80"
    assert tagged(session, text) == ["+<105>2", "+<95>4", "-<105>5", "-<95>6", "+<103>6"]


def test_S4_streamed_output_has_the_changes_and_is_the_default_of_the_dialect() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    streamed = ask(session, Q3)
    assert streamed.kind is Kind.TAGGED
    assert tagged(session, Q3.replace("STREAMED ", "")) == written(session.answers([streamed]))


def test_S4_complete_output_is_the_answer_at_every_instant() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    query = ask(session, Q3.replace("STREAMED", "COMPLETE"))
    assert query.kind is Kind.RELATION
    assert states(session, query, range(8)) == {
        0: [],
        1: [],
        2: [("a", 105)],
        3: [("a", 105)],
        4: [("a", 105), ("c", 95)],
        5: [("c", 95)],
        6: [("c", 103)],
        7: [("c", 103)],
    }


def test_S4_complete_output_includes_groups_that_did_not_change() -> None:
    session = temperatures(("a", 1, 1), ("b", 2, 2), ("a", 3, 3))
    text = "select {} RoomID, COUNT(*) as n from ℜ(TempStr) group by RoomID"
    assert tagged(session, text.format("STREAMED")) == ["+<a,1>1", "+<b,1>2", "u<a,2>3"]
    assert states(session, ask(session, text.format("COMPLETE")), (3,)) == {3: [("a", 2), ("b", 1)]}


def test_S5_Q4_over_the_stream_of_temperatures() -> None:
    assert tagged(temperatures(*RUNNING_EXAMPLE_3), Q4) == ["+<a,105>2", "-<a>5", "+<c,103>6"]


def test_S5_Q3_and_Q4_over_the_view_HotRooms() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    session.execute(HOT_ROOMS)
    over_view = "select STREAMED RoomID, Temperature from ℜ(HotRooms1) R"
    assert tagged(session, over_view) == ["+<a,105>2", "+<c,95>4", "-<a>5", "u<c,103>6"]
    assert tagged(session, over_view + " where R.Temperature > 100") == ["+<a,105>2", "-<a>5", "+<c,103>6"]


def test_S5_views_over_views_go_as_deep_as_one_likes() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    session.execute(HOT_ROOMS)
    session.execute("create STREAMED view HotRooms2 as select * from ℜ(HotRooms1) where Temperature > 100")
    session.execute("create STREAMED view HotCount as select COUNT(*) as n from ℜ(HotRooms2)")
    assert tagged(session, "select STREAMED RoomID from ℜ(HotRooms2)") == ["+<a>2", "-<a>5", "+<c>6"]
    assert tagged(session, "select STREAMED n from ℜ(HotCount)") == ["+<0>0", "u<1>2", "u<0>5", "u<1>6"]


def test_S5_in_a_view_TS_is_the_time_of_the_views_own_output() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    session.execute(HOT_ROOMS)
    query = ask(session, "select COMPLETE * from ℜ(HotRooms1)")
    assert states(session, query, (4, 6)) == {4: [("a", 105, 2), ("c", 95, 4)], 6: [("c", 103, 6)]}


def test_S5_a_complete_view_is_read_as_a_relation() -> None:
    session = temperatures(*RUNNING_EXAMPLE_3)
    session.execute(HOT_ROOMS.replace("STREAMED", "COMPLETE"))
    over_view = "select STREAMED RoomID from HotRooms1 where Temperature > 100"
    assert tagged(session, over_view) == ["+<a>2", "-<a>5", "+<c>6"]
    with pytest.raises(BindError) as raised:
        session.execute("select * from ℜ(HotRooms1)")
    assert raised.value.condition == "NOT_TAGGED"


def parking_lot() -> Session:
    """Cars 1 and 3 and truck 2 enter; car 1 leaves at 5, and at 9 a bus enters while car 3 leaves."""
    session = Session(dialect="sync")
    session.execute(
        "REGISTER SOURCE Entrance (int CarID, string CarType, int ts) ORDERED BY ts;"
        "REGISTER SOURCE Way_out (int CarID, string CarType, int ts) ORDERED BY ts;"
        "CREATE STREAM S1 OVER Entrance KEY NULL; CREATE STREAM S2 OVER Way_out KEY NULL;"
        "create STREAMED view V1 as "
        "select CarID, CarType from ℜ(S1) except select CarID, CarType from ℜ(S2);" + sync_view(5)
    )
    session.insert("Entrance", [(1, "car", 1), (2, "truck", 2), (3, "car", 4), (4, "bus", 9)])
    session.insert("Way_out", [(1, "car", 5), (3, "car", 9)])
    return session


INSIDE = ["+<1>1", "+<2>2", "+<3>4", "-<1>5", "-<3>9", "+<4>9"]


def test_S6_Q1_keeps_track_of_the_cars_inside_the_parking_lot() -> None:
    session = parking_lot()
    assert tagged(session, "select CarID from ℜ(S1) except select CarID from ℜ(S2)") == INSIDE
    assert tagged(session, "select STREAMED CarID from ℜ(V1)") == INSIDE


def test_S6_Q1_complete_is_the_set_of_cars_inside_at_every_instant() -> None:
    session = parking_lot()
    query = ask(session, "select COMPLETE CarID from ℜ(V1)")
    assert states(session, query, (0, 1, 3, 4, 5, 8, 9)) == {
        0: [], 1: [(1,)], 3: [(1,), (2,)], 4: [(1,), (2,), (3,)], 5: [(2,), (3,)], 8: [(2,), (3,)], 9: [(2,), (4,)]
    }  # fmt: skip


def test_S6_Q2_counts_the_cars_of_each_type_over_the_view_of_Q1() -> None:
    text = "select STREAMED CarType, COUNT(*) as number from ℜ(V1) group by CarType"
    assert tagged(parking_lot(), text) == [
        "+<car,1>1", "+<truck,1>2", "u<car,2>4", "u<car,1>5", "-<car>9", "+<bus,1>9"
    ]  # fmt: skip


def test_S6_Q2_may_be_refreshed_every_five_minutes() -> None:
    text = "select STREAMED CarType, COUNT(*) as number from ℜ_Sync5(V1) group by CarType"
    assert tagged(parking_lot(), text) == ["+<car,1>5", "+<truck,1>5", "-<car>10", "+<bus,1>10"]
