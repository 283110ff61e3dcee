"""What cannot be live together is refused when it begins: a group has one clock, and standard input one stream."""

from __future__ import annotations

import pytest

from continua.errors import BindError, SourceError
from continua.session import Session

TICKS = "CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts; REGISTER QUERY a {} AS SELECT v FROM S [RANGE 5];"
TIMES = "CREATE STREAM T (v INT, ts TIMESTAMP) ORDERED BY ts; REGISTER QUERY b {} AS SELECT v FROM T [RANGE 1 SECOND];"
LINES = (
    "CREATE STREAM {0} (v INT, ts BIGINT) SOURCE csv('-') ORDERED BY ts; REGISTER QUERY {0} {1} AS SELECT v FROM {0};"
)


def session_with(*texts: str) -> Session:
    session = Session(master="none")
    for text in texts:
        session.execute(text)
    return session


@pytest.mark.parametrize("at_once", [True, False])
def test_queries_of_a_group_count_time_alike(at_once: bool) -> None:
    session = session_with(TICKS.format(""), *([TIMES.format("")] if at_once else []))
    if not at_once:
        session.start()
        session.execute(TIMES.format(""))
    with pytest.raises(BindError) as caught:
        session.start()
    session.stop()
    assert caught.value.condition == "MIXED_TIME_DOMAINS"
    assert caught.value.parameters == {"domains": ["microseconds", "ticks"], "query": "b"}
    assert str(caught.value).startswith("error[MIXED_TIME_DOMAINS]: b is timed in microseconds, and a is live in ticks")


def test_what_a_run_has_read_counts_when_its_queries_have_left() -> None:
    session = session_with(TIMES.format(""))
    session.start()
    session.execute("DROP QUERY b;" + TICKS.format(""))
    with pytest.raises(BindError, match="a is timed in ticks, and T was read in microseconds"):
        session.start()
    session.stop()


def test_a_group_that_counts_time_in_another_way_does_not_begin_behind_others() -> None:
    session = session_with(TIMES.format(""))
    session.start()
    session.insert("T", [(1, "2026-01-01T00:00:00Z")])
    assert session.live is not None
    session.live.process()
    session.execute(TICKS.format("GROUP g"))
    session.start()
    session.insert("S", [(7, 1)])
    session.live.process()
    session.live.heartbeat("S", 2)
    assert session.live.content("a") == [(7,)]
    session.stop()


@pytest.mark.parametrize("late", [False, True])
def test_streams_of_several_groups_do_not_share_standard_input(late: bool) -> None:
    session = session_with(LINES.format("A", ""), *([] if late else [LINES.format("B", "GROUP g")]))
    if late:
        session.start()
        session.execute(LINES.format("B", "GROUP g"))
    with pytest.raises(SourceError) as caught:
        session.start()
    session.stop()
    assert (caught.value.condition, caught.value.parameters) == ("STANDARD_INPUT_TWICE", {"sources": ["A", "B"]})
