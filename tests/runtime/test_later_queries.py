"""Queries that join a live run, one after the other, and go on with the operators of those that are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from continua.catalog import Retention
from continua.errors import BindError, ParseError
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.registrations import GoesOn, registrations_of
from continua.session import Session
from tests.crash.world import forget_memory

STREAM = "CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;"
COUNTS = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM S [RANGE 8] GROUP BY k"
ROWS = [(i * i % 3, i % 5, i // 2) for i in range(120)]
Told = list[tuple[int, str | None, tuple[object, ...]]]


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    yield
    forget_memory()


def session_with(*names: str, text: str = COUNTS) -> Session:
    """A session in a process of its own, as it were, with queries of one text."""
    forget_memory()
    session = Session(master="none")
    session.execute(STREAM + "".join(f"REGISTER QUERY {name} AS {text};" for name in names))
    return session


def join(session: Session, name: str, text: str = COUNTS) -> int:
    """A query joins; the start that it has."""
    session.execute(f"REGISTER QUERY {name} {text if text.startswith('STARTING') else f'AS {text}'};")
    (handle,) = session.start([session.queries[name]])
    return handle.query.start


def push(session: Session, first: int, last: int) -> None:
    assert session.live is not None
    session.insert("S", ROWS[first:last])
    session.live.process()


def aggregations(session: Session) -> int:
    assert session.live is not None
    return sum(isinstance(n, nodes.Aggregate) for n in in_order(session.live.engine.graphs))


def going_on(folder: Path) -> dict[str, GoesOn]:
    found = registrations_of(reader_store(folder))
    assert found is not None
    return {q.name: q.goes_on for q in found.queries if q.goes_on is not None and not q.dropped}


def told(session: Session, name: str) -> Told:
    assert session.live is not None
    return [(a.instant, a.op, a.row) for a in session.live.answers(name)]


def judged(start: int, text: str = COUNTS) -> Told:
    """By the reference, the answers of a query with some start."""
    session = Session(master="none")
    session.execute(f"{STREAM} SET start_time = {start}; REGISTER QUERY q AS {text};")
    session.insert("S", ROWS)
    return [(a.instant, a.op, a.row) for a in session.answers()]


def test_queries_that_join_give_up_their_own_operators_after_their_initial_phase(tmp_path: Path) -> None:
    session = session_with("first")
    session.start(options=LiveOptions(checkpoint=tmp_path))
    push(session, 0, 20)
    starts = {}
    for number in range(4):
        starts[f"q{number}"] = join(session, f"q{number}")
        assert aggregations(session) == 2, "that of the first, and one for the initial phase"
        push(session, 20 + 20 * number, 40 + 20 * number)
        assert aggregations(session) == 1
    assert {name: g.alone for name, g in going_on(tmp_path).items()} == dict.fromkeys(starts, True)
    push(session, 100, 120)
    assert session.live is not None
    session.live.finish()
    assert {name: told(session, name) for name in starts} == {n: judged(t) for n, t in starts.items()}
    session.stop()


def test_a_query_goes_on_with_operators_whose_own_query_has_left(tmp_path: Path) -> None:
    """Their state is made again of the logs of epochs in which only that query ran."""
    options = LiveOptions(checkpoint=tmp_path)
    session = session_with("first")
    session.start(options=options)
    push(session, 0, 30)
    start = join(session, "later")
    session.live.drop("first")  # type: ignore[union-attr]
    push(session, 30, 36)
    assert aggregations(session) == 2
    session.stop()
    session = session_with("later")
    session.start(options=options)
    push(session, 36, 70)
    assert aggregations(session) == 1
    session.stop()
    session = session_with("later")
    session.start(options=options)
    push(session, 70, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "later") == judged(start)
    session.stop()


def test_what_is_handed_over_is_written_down_before_the_first_epoch_of_it(tmp_path: Path) -> None:
    options = LiveOptions(checkpoint=tmp_path)
    session = session_with("first")
    session.start(options=options)
    push(session, 0, 30)
    start = join(session, "later")
    (found,) = going_on(tmp_path).values()
    assert (found.of, found.start, found.since, found.after, found.alone) == ("first", 0, 1, start + 8, False)
    push(session, 30, 50)
    (found,) = going_on(tmp_path).values()
    assert found.alone
    program = registrations_of(reader_store(tmp_path))
    ids = [graph.id for graph in session.live.engine.graphs]  # type: ignore[union-attr]
    session.stop()
    session = session_with("first", "later")
    session.start(options=options)
    assert [graph.id for graph in session.live.engine.graphs] == ids  # type: ignore[union-attr]
    assert registrations_of(reader_store(tmp_path)) == program
    session.stop()


def test_a_filter_above_a_shared_aggregate_goes_on_with_it() -> None:
    text = f"SELECT k, n FROM ({COUNTS}) v WHERE n > 2"
    session = session_with("first", text=f"SELECT k, n, s FROM ({COUNTS}) v WHERE s >= 0 AND n > 0")
    session.start()
    push(session, 0, 30)
    start = join(session, "later", text)
    push(session, 30, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "later") == judged(start, text)
    session.stop()


@pytest.mark.parametrize(
    "window", ["RANGE UNBOUNDED", "ROWS 3", "LANDMARK 2", "RANGE 6 SLIDE 4 ALIGNED TO START LAG 1 FULL"]
)
def test_what_cannot_be_handed_over_keeps_its_own(window: str) -> None:
    text = f"SELECT k, COUNT(*) AS n FROM S [{window}] GROUP BY k"
    session = session_with("first", text=text)
    session.start()
    push(session, 0, 31)
    start = join(session, "later", text)
    push(session, 31, 90)
    assert aggregations(session) == (2 if "SLIDE" not in window or start % 4 else 1)
    push(session, 90, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "later") == judged(start, text)
    session.stop()


def test_the_rule_can_be_switched_off() -> None:
    session = session_with("first")
    session.start()
    push(session, 0, 30)
    session.execute("SET disabled_rules = 'transposition'")
    join(session, "later")
    push(session, 30, 90)
    assert aggregations(session) == 2
    session.stop()


def test_EXPLAIN_SHARING_tells_how_a_query_would_go_on() -> None:
    session = session_with("first")
    session.start()
    push(session, 0, 30)
    (told,) = [o.text for o in session.execute(f"EXPLAIN SHARING {COUNTS}")]
    assert told is not None
    assert told.splitlines()[-1] == "explained goes on with the operators of first behind 23, K = 15 by corollary 2"
    (told,) = [o.text for o in session.execute(f"EXPLAIN SHARING {COUNTS.replace('RANGE 8', 'RANGE 9')}")]
    assert told is not None
    assert told.splitlines()[-1] == (
        "explained does not go on with the operators of first: "
        "with K = 15 the lower bound must begin at 7, not at 6 (LOWER_BOUND)"
    )
    session.stop()


# Queries that ask to start earlier.


def test_a_query_starts_where_a_running_one_did_that_means_the_same(tmp_path: Path) -> None:
    options = LiveOptions(checkpoint=tmp_path)
    session = session_with("first")
    session.start(options=options)
    push(session, 0, 30)
    assert join(session, "now") == 15
    assert join(session, "early", f"STARTING AT EARLIEST AS {COUNTS}") == 0
    (notice,) = [n for n in session.inputs.notices if n.condition == "STARTS_AT"]
    assert notice.parameters == {"query": "early", "start": 0}
    push(session, 30, 60)
    assert aggregations(session) == 1
    assert told(session, "early") == told(session, "first")
    session.live.drop("first")  # type: ignore[union-attr]
    session.stop()
    session = session_with("now")
    session.execute(f"REGISTER QUERY early STARTING AT EARLIEST AS {COUNTS};")
    handles = {h.name: h.query.start for h in session.start(options=options)}
    assert handles == {"now": 15, "early": 0}, "it is chosen once"
    push(session, 60, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "early") == judged(0)
    assert session.live.content("early", 7) == [(0, 6, 10), (1, 10, 20)]  # type: ignore[union-attr]
    session.stop()


def test_a_query_starts_no_earlier_than_it_asks_to() -> None:
    session = session_with("first")
    session.start()
    push(session, 0, 30)
    join(session, "second")
    push(session, 30, 40)
    assert join(session, "third", f"STARTING AT 3 AS {COUNTS}") == 20, "the second still has an initial phase"
    push(session, 40, 60)
    assert join(session, "fourth", f"STARTING AT 0 AS {COUNTS}") == 0
    assert join(session, "other", "STARTING AT EARLIEST AS SELECT k FROM S [RANGE 3]") == 30
    push(session, 60, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "third") == judged(20)
    assert told(session, "fourth") == judged(0)
    session.stop()


def test_a_query_starts_when_it_joins_where_history_is_not_kept_in_full() -> None:
    session = session_with("first")
    session.start(options=LiveOptions(retention=Retention(epochs=1)))
    for first in range(0, 80, 2):
        push(session, first, first + 2)
    assert join(session, "early", f"STARTING AT EARLIEST AS {COUNTS}") == 40
    (notice,) = [n for n in session.inputs.notices if n.condition == "STARTS_AT"]
    assert notice.parameters["start"] == 40
    session.stop()


def test_a_sink_gets_what_was_answered_before_its_query_joined(tmp_path: Path) -> None:
    session = session_with("first")
    session.start()
    push(session, 0, 30)
    session.execute(f"REGISTER QUERY early STARTING AT EARLIEST AS {COUNTS} INTO json('{tmp_path / 'out'}');")
    session.start([session.queries["early"]])
    push(session, 30, 120)
    session.live.finish()  # type: ignore[union-attr]
    told = [json.loads(line) for path in sorted((tmp_path / "out").glob("*.json")) for line in path.open()]
    found = Counter((line["t"], line["op"], line["k"], line["n"], line["s"]) for line in told)
    session.stop()
    assert found == Counter((t, op, *row) for t, op, row in judged(0))


def test_the_relation_behind_a_stream_begins_as_early() -> None:
    text = "SELECT ISTREAM k, x FROM S [RANGE 3]"
    session = session_with("first", text=text)
    session.start()
    push(session, 0, 30)
    join(session, "early", f"STARTING AT EARLIEST AS {text}")
    push(session, 30, 60)
    assert told(session, "early") == told(session, "first")
    live = session.live
    assert live is not None
    assert [live.content("early", t) for t in (3, 14, 20)] == [live.content("first", t) for t in (3, 14, 20)]
    session.stop()


def test_a_query_that_keeps_the_relation_behind_a_stream_is_not_taken_for_one_that_tells_changes() -> None:
    session = session_with("first", text="SELECT ISTREAM k, x FROM S [RANGE 3]")
    session.start()
    push(session, 0, 30)
    assert join(session, "early", "STARTING AT EARLIEST AS SELECT k, x FROM S [RANGE 3]") == 15
    push(session, 30, 120)
    session.live.finish()  # type: ignore[union-attr]
    assert told(session, "early") == judged(15, "SELECT k, x FROM S [RANGE 3]")
    session.stop()


def test_over_bounded_inputs_all_history_is_there() -> None:
    session = Session(master="none")
    session.execute(f"{STREAM} REGISTER QUERY a STARTING AT EARLIEST AS {COUNTS};")
    session.execute(f"REGISTER QUERY b STARTING AT 7 AS {COUNTS};")
    assert [q.start for q in session.queries.values()] == [0, 7]
    session.insert("S", ROWS)
    found = [(a.instant, a.op, a.row) for a in session.answers([session.queries["b"]])]
    assert found == judged(7)


def test_an_instant_of_the_wrong_kind_is_refused() -> None:
    session = Session(master="none")
    session.execute(STREAM)
    with pytest.raises(BindError, match="NOT_AN_INSTANT"):
        session.execute(f"REGISTER QUERY a STARTING AT '2024-01-01' AS {COUNTS}")
    with pytest.raises(ParseError, match="EARLIEST or an instant"):
        session.execute(f"REGISTER QUERY a STARTING AT LATEST AS {COUNTS}")
