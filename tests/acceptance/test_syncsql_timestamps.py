"""SyncSQL 3.2 and 3.3 over timestamps: the clock has a million instants in a second, and nobody looks at each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from tests.acceptance.sync_helpers import ask

ROWS = [
    ("1", "2024-01-05 10:00:01"),
    ("2", "2024-01-05 18:00:02"),
    ("3", "2024-01-05 19:00:04"),
    ("4", "2024-01-08 09:30:09"),
]
NOW_VIEW = "create STREAMED view NowView as select 1 as KEY, MAX(T.Timepoint) as currTime from ℜ(clockStr) T;"
EVERY_TWO_SECONDS = (
    "create STREAMED view Sync2 as select C.Timepoint from ℜ(clockStr) C "
    "where C.Timepoint % INTERVAL '2' SECOND = INTERVAL '0' SECOND;"
)
TWO_SECONDS_SLIDE = (
    EVERY_TWO_SECONDS
    + "create STREAMED view TwoSlide as select 1 as KEY, MAX(T.Timepoint) as currTime from ℜ(Sync2) T;"
)
WORKING_HOURS = (
    "create STREAMED view Working as select C.Timepoint from ℜ(clockStr) C "
    "where EXTRACT(HOUR FROM C.Timepoint) BETWEEN 9 AND 16 AND DAYOFWEEK(C.Timepoint) BETWEEN 2 AND 6;"
)


def answers(definitions: str, text: str, settings: str = "") -> list[str]:
    """What the engine tells, and the reference too: times of January 2024."""
    session = Session(dialect="sync")
    session.execute(
        f"{settings} REGISTER SOURCE Road (string Car, TIMESTAMP ts) ORDERED BY ts; CREATE STREAM S OVER Road KEY NULL;"
        + definitions
    )
    session.insert("Road", [(car, datetime.fromisoformat(ts)) for car, ts in ROWS])
    query = ask(session, text)
    expected = session.answers([query])
    inputs = session.inputs.read(set(query.sources))
    with BoundedRun([query], inputs, [], InProcess(), BoundedOptions(1, partitions=2)) as run:
        run.to_the_end()
        assert sorted(map(repr, run.answers())) == sorted(map(repr, expected))
    return [f"{a.op}{a.row[0]} {_text(a.instant)}" for a in expected]


def _text(instant: int) -> str:
    moment = datetime.fromtimestamp(instant // 1_000_000, UTC)
    return f"{moment:%d %H:%M:%S}" + (f".{instant % 1_000_000:06}" if instant % 1_000_000 else "")


def test_S7_a_window_by_predicate_over_timestamps() -> None:
    found = answers("", "select STREAMED Car from ℜ(S) R where Now - INTERVAL '5' SECOND < R.TS and R.TS <= Now")
    assert found[:4] == ["+1 05 10:00:01", "-1 05 10:00:06", "+2 05 18:00:02", "-2 05 18:00:07"]


def test_S10_the_window_over_the_now_view_holds_both_of_its_bounds() -> None:
    found = answers(
        NOW_VIEW,
        "select STREAMED Car from ℜ(S) R, ℜ(NowView) N "
        "where N.currTime - INTERVAL '5' SECOND <= R.TS and R.TS <= N.currTime",
    )
    assert found[:2] == ["+1 05 10:00:01", "-1 05 10:00:06.000001"]


def test_S10_range_and_slide_over_timestamps() -> None:
    found = answers(
        TWO_SECONDS_SLIDE,
        "select STREAMED Car from ℜ_Sync2(S) R, ℜ(TwoSlide) N "
        "where N.currTime - INTERVAL '5' SECOND <= R.TS and R.TS <= N.currTime",
    )
    assert found[:4] == ["+1 05 10:00:02", "-1 05 10:00:08", "+2 05 18:00:02", "-2 05 18:00:08"]


def test_S9_a_rest_of_time_makes_a_synchronization_stream() -> None:
    found = answers(EVERY_TWO_SECONDS, "select STREAMED Car from ℜ_Sync2(S)")
    assert found == ["+1 05 10:00:02", "+2 05 18:00:02", "+3 05 19:00:04", "+4 08 09:30:10"]


@pytest.mark.parametrize("settings", ["", "SET chronon = '1 second';", "SET chronon = '1 hour';"])
def test_S9_an_answer_is_refreshed_in_working_hours(settings: str) -> None:
    # Cars 2 and 3 come on Friday evening and are told on Monday morning.
    found = answers(WORKING_HOURS, "select STREAMED Car from ℜ_Working(S)", settings)
    first, last = ("10:00:00", "09:00:00") if "hour" in settings else ("10:00:01", "09:30:09")
    assert found == [f"+1 05 {first}", "+2 08 09:00:00", "+3 08 09:00:00", f"+4 08 {last}"]


def test_S9_every_seventh_minute_is_a_stretch_of_time() -> None:
    even = "create STREAMED view Even as select C.Timepoint from ℜ(clockStr) C where MINUTE(C.Timepoint) % 7 = 1;"
    found = answers(even, "select STREAMED Car from ℜ_Even(S)")
    assert found == ["+1 05 10:01:00", "+2 05 18:01:00", "+3 05 19:01:00", "+4 08 09:36:00"]


def test_S9_the_union_and_the_intersection_of_streams_that_recur() -> None:
    other = WORKING_HOURS.replace("Working", "Later").replace("BETWEEN 9 AND 16", "BETWEEN 18 AND 18")
    both = WORKING_HOURS + other + "create STREAMED view Both as select * from ℜ(Working) UNION select * from ℜ(Later);"
    assert answers(both, "select STREAMED Car from ℜ_Both(S)")[1:3] == ["+2 05 18:00:02", "+3 08 09:00:00"]
    shared = WORKING_HOURS + EVERY_TWO_SECONDS.replace("SECOND", "MINUTE")
    shared += "create STREAMED view Shared as select * from ℜ(Working) INTERSECT select * from ℜ(Sync2);"
    found = answers(shared, "select STREAMED Car from ℜ_Shared(S)")
    assert found == ["+1 05 10:02:00", "+2 08 09:00:00", "+3 08 09:00:00", "+4 08 09:32:00"]


def test_S12_explain_tells_points_that_recur() -> None:
    session = Session(dialect="sync")
    session.execute(
        "REGISTER SOURCE Road (string Car, TIMESTAMP ts) ORDERED BY ts; CREATE STREAM S OVER Road KEY NULL;"
        + WORKING_HOURS
    )
    told = session.explain(ask(session, "select STREAMED Car from ℜ_Working(S)"))
    assert "refreshed every 7 DAYS at 9 HOURS to before 17 HOURS" in told
