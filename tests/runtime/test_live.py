"""Live queries in this process: heartbeats in three ways, late rows, silence, queries that join and leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from continua.errors import BindError, DataError, MachineError
from continua.runs.live_options import LiveOptions
from continua.runs.query_handle import QueryHandle
from continua.runtime.progress import told
from continua.runtime.row_blocks import Block
from continua.session import Session
from continua.sinks.sink import FunctionSink

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM A (k INT);
CREATE TABLE C (k INT, n STRING) AS VALUES (1, 'one'), (2, 'two');
"""


class Time:
    """A clock that is set by hand, in microseconds."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def session(clock: Time, tmp_path: Path) -> Iterator[Session]:
    session = Session(clock=clock, rejects=tmp_path / "rejected")
    session.execute(DEFINITIONS)
    yield session
    session.stop()


def _until(session: Session) -> int:
    assert session.live is not None
    return session.live.engine.until


def _changes(rows: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(r.values()) for r in rows.to_pylist()]


def _rows(handle: QueryHandle, instant: int) -> list[dict[str, object]]:
    found = handle.snapshot(instant)
    assert isinstance(found, pa.Table)
    return list(found.to_pylist())


def test_C19_a_bound_on_the_delay_holds_answers_back(session: Session) -> None:
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    session.insert("S", [(1, 5), (2, 4)])
    handle.processAllAvailable()
    assert _until(session) == 2
    assert handle.answers() == []
    session.insert("S", [(3, 8), (1, 6)])
    handle.processAllAvailable()
    assert [(a.instant, a.op, a.row) for a in handle.answers()] == [(4, "+", (2,)), (5, "-", (2,)), (5, "+", (1,))]


def test_C19_rows_beyond_the_bound_are_kept_apart_and_counted(session: Session) -> None:
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    for rows in ([(1, 5)], [(2, 9)], [(7, 2), (3, 12)]):
        session.insert("S", rows)
        handle.processAllAvailable()
    assert session.live is not None
    assert session.live.live.late == {"s": 1}
    found = session.live.engine.late("s")
    assert found is not None and found.num_rows == 1
    kept = handle.late("S")
    assert isinstance(kept, pa.Table)
    assert kept.to_pylist() == [{"k": 7, "ts": 2}]
    assert handle.lastProgress is not None


def test_C19_the_heartbeat_is_the_least_of_all_sources(session: Session) -> None:
    session.sql("SELECT S.k FROM S [RANGE 5], P [RANGE 5] WHERE S.k = P.k")
    (handle,) = session.start()
    session.insert("S", [(1, 50)])
    handle.processAllAvailable()
    assert _until(session) < 0
    session.insert("P", [(1, 30)])
    handle.processAllAvailable()
    assert _until(session) == 29
    assert session.live is not None
    session.live.heartbeat("P", 40)
    assert _until(session) == 40
    session.live.heartbeat("P", 100)
    assert _until(session) == 47, "the other source holds it"


def test_C19_rows_without_a_timestamp_have_that_of_the_clock(session: Session, clock: Time) -> None:
    session.sql("SELECT ISTREAM(k) FROM A [NOW]")
    (handle,) = session.start()
    for now in (1_000, 2_000):
        clock.now = now
        session.insert("A", [(now // 1_000,)])
        handle.processAllAvailable()
    assert [(a.instant, a.row) for a in handle.answers()] == [(1_000, (1,))]
    assert _until(session) == 1_999


def test_Q7_a_silent_source_does_not_block_for_ever() -> None:
    session = Session()
    session.execute(DEFINITIONS)
    session.sql("SELECT k FROM S [NOW] UNION ALL SELECT k FROM P [NOW]")
    (handle,) = session.start(options=LiveOptions(idle_timeout=0.2))
    session.insert("S", [(1, 5)])
    handle.processAllAvailable()
    assert _until(session) < 0
    deadline = time.monotonic() + 10
    while _until(session) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _until(session) == 5, "all are silent: what came is complete"
    assert handle.exception() is None
    session.stop()


def test_A8_a_query_that_joins_later_has_its_own_start(session: Session) -> None:
    session.sql("REGISTER QUERY first AS SELECT COUNT(*) AS n FROM S [RANGE 100]")
    (first,) = session.start()
    session.insert("S", [(1, 5), (1, 6), (1, 20)])
    first.processAllAvailable()
    later = session.sql("REGISTER QUERY later AS SELECT COUNT(*) AS n FROM S [RANGE 100]")
    assert later is not None
    (second,) = session.start([later])
    assert second.query.start == 21
    session.insert("S", [(1, 25), (1, 40)])
    first.processAllAvailable()
    assert _rows(first, 25) == [{"n": 4}]
    assert _rows(second, 25) == [{"n": 1}]


def test_a_query_that_joins_later_sees_stored_relations(session: Session) -> None:
    session.sql("REGISTER QUERY one AS SELECT S.k, C.n FROM S [NOW], C WHERE S.k = C.k")
    (one,) = session.start()
    session.insert("S", [(1, 5), (2, 9)])
    one.processAllAvailable()
    later = session.sql("REGISTER QUERY two AS SELECT S.k, C.n FROM S [NOW], C WHERE S.k = C.k")
    assert later is not None
    (two,) = session.start([later])
    session.insert("S", [(1, 12), (2, 20)])
    one.processAllAvailable()
    assert session.live is not None
    session.live.finish()
    assert [(a.instant, a.row[1]) for a in two.answers() if a.op == "+"] == [(12, "one"), (20, "two")]
    assert [a.instant for a in one.answers() if a.op == "+"] == [5, 9, 12, 20]


def test_a_query_that_leaves_takes_its_state_along(session: Session) -> None:
    session.sql("REGISTER QUERY keep AS SELECT DISTINCT k FROM S [RANGE 100]")
    session.sql("REGISTER QUERY leave AS SELECT COUNT(*) AS n FROM S [RANGE 100]")
    keep, leave = session.start()
    session.insert("S", [(i, i) for i in range(50)])
    keep.processAllAvailable()
    leave.stop()
    assert not leave.isActive
    assert keep.isActive
    session.insert("S", [(1, 60)])
    keep.processAllAvailable()
    assert keep.lastProgress is not None
    assert len(_rows(keep, 57)) == 50


def test_an_instant_that_is_open_has_no_snapshot(session: Session) -> None:
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    session.insert("S", [(1, 5)])
    handle.processAllAvailable()
    with pytest.raises(BindError) as caught:
        handle.snapshot(5)
    assert caught.value.diagnostics[0].condition == "INSTANT_OPEN"


def test_a_function_gets_every_epoch_once(session: Session) -> None:
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    seen: list[tuple[int, list[tuple[object, ...]]]] = []
    session.insert("S", [(1, 5)])
    handle.processAllAvailable()
    handle.foreach(FunctionSink(lambda epoch, table: seen.append((epoch, _changes(table)))))
    session.insert("S", [(2, 9)])
    handle.processAllAvailable()
    assert session.live is not None
    session.live.finish()
    assert [c for _, changes in seen for c in changes] == _changes(handle.changes())
    assert len({epoch for epoch, _ in seen}) == len(seen)


def test_a_malformed_row_is_refused_when_it_comes_and_nothing_else_is_lost() -> None:
    session = Session()
    for name in ("S", "Other"):
        session.execute(f"CREATE STREAM {name} (k INT, ts BIGINT) ORDERED BY ts;")
    session.sql("SELECT k FROM S [RANGE 5]")
    (handle,) = session.start()
    session.insert("S", [(1, 1)])
    for bad in ([(2, 2), ("x", 3)], [(2, None)], [(2,)], [5], ["ab"], [{"k": 2}], [{"k": 2, "ts": 2, "key": 1}]):
        with pytest.raises(DataError) as raised:
            session.insert("S", bad)  # type: ignore[arg-type]
        assert raised.value.condition == ("NULL_TIMESTAMP" if bad == [(2, None)] else "MALFORMED_ROW")
    with pytest.raises(BindError):
        session.insert("Other", [(1, 1)])
    session.insert("S", [(3, 9)])
    handle.processAllAvailable()
    assert session.live is not None
    session.live.finish()
    assert [(a.instant, a.row) for a in handle.answers() if a.op == "+"] == [(1, (1,)), (9, (3,))]
    handle.stop()
    with pytest.raises(BindError) as left:
        handle.explain()
    assert left.value.condition == "QUERY_LEFT"
    session.stop()


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("INTERVAL", (1, 2)),
        ("INT", (1,)),
        ("STRING", ("a",)),
        ("STRUCT<a: INT, b: STRING>", (1,)),
        ("STRUCT<a: INT, b: STRING>", (1, "b", 2)),
        ("STRUCT<a: INT, b: STRING>", ("one", "b")),
        ("ARRAY<INT>", (1, "x")),
        ("MAP<STRING, INT>", (("a", 1, 2),)),
        ("ARRAY<STRUCT<a: INT>>", ((1,), (1, 2))),
    ],
)
@pytest.mark.parametrize("live", [False, True])
def test_a_tuple_that_is_no_value_of_its_column_is_a_malformed_row(of: str, value: object, live: bool) -> None:
    session = Session(master="none")
    session.execute(f"CREATE STREAM S (v {of}, ts BIGINT) ORDERED BY ts")
    session.sql("SELECT ts FROM S [NOW]")
    if live:
        session.start()
    with pytest.raises(DataError) as raised:
        session.insert("S", [(value, 1)])
    assert raised.value.condition == "MALFORMED_ROW"
    session.stop()


def test_a_tuple_has_the_values_of_a_struct_in_the_order_of_its_fields() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (v STRUCT<a: TINYINT, b: ARRAY<STRUCT<c: STRING>>>, ts BIGINT) ORDERED BY ts")
    session.sql("SELECT v FROM S [NOW]")
    (handle,) = session.start()
    session.insert("S", [((1, (("x",), None)), 1), ({"b": [{"c": "y"}], "a": 2}, 2)])
    assert session.live is not None
    session.live.finish()
    assert [a.row for a in handle.answers() if a.op == "+"] == [((1, (("x",), None)),), ((2, (("y",),)),)]
    session.stop()


def test_rows_that_no_task_took_end_the_epoch() -> None:
    with pytest.raises(MachineError) as raised:
        told([Block(1, 0, "rows", 0, b"")])
    assert raised.value.condition == "BLOCKS_LOST"


def test_malformed_rows_are_left_out_and_counted_where_the_source_says_so() -> None:
    session = Session()
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts ON ERROR SKIP;")
    session.sql("SELECT k FROM S [RANGE 5]")
    (handle,) = session.start()
    session.insert("S", [(1, 1), ("x", 2), (2, None), (3, 4)])
    assert session.live is not None
    session.live.finish()
    assert [a.row for a in handle.answers() if a.op == "+"] == [(1,), (3,)]
    assert [n.parameters["count"] for n in session.inputs.notices if n.condition == "ROWS_SKIPPED"] == [2]
    session.stop()
