"""Windows that depend on the start of their query, in queries that join a live run: their start is when they join."""

from __future__ import annotations

from continua.runs.query_handle import QueryHandle
from continua.session import Session
from tests.crash.world import forget_memory
from tests.runtime.living import rows_of

DEFINITIONS = "CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts;"
WINDOWS = {
    "full": "RANGE 4 FULL",
    "aligned": "RANGE 4 SLIDE 3 ALIGNED TO START FULL",
    "cased": "FROM GREATEST(t - 3, START) TO t EVERY CASE WHEN t % 5 < 2 THEN 1 ELSE 3 END ALIGNED TO START",
    "sequence": "FROM 2*j TO 2*j + 3 EVERY 2 ALIGNED TO START",
}
END = 40


def contents(handle: QueryHandle, start: int) -> list[list[object]]:
    """What a query holds at every instant."""
    return [[row["a"] for row in rows_of(handle.snapshot(t))] for t in range(start, END)]


def run(settings: str = "") -> tuple[Session, dict[str, QueryHandle], dict[str, QueryHandle]]:
    """A live run with a query for each window; the others join when twelve instants have passed."""
    forget_memory()
    session = Session(master="none")
    session.execute(settings + DEFINITIONS)
    for name, window in WINDOWS.items():
        session.execute(f"REGISTER QUERY {name} AS SELECT a FROM S [{window}];")
        session.execute(f"REGISTER QUERY {name}_later AS SELECT a FROM S [{window}];")
    first = session.start([session.queries[name] for name in WINDOWS])
    session.insert("S", [(t, t) for t in range(12)])
    assert session.live is not None
    session.live.process()
    later = session.start([session.queries[f"{name}_later"] for name in WINDOWS])
    session.insert("S", [(t, t) for t in range(12, 30)])
    session.live.finish()
    return session, dict(zip(WINDOWS, first, strict=True)), dict(zip(WINDOWS, later, strict=True))


def test_a_query_that_joins_has_windows_by_its_own_start() -> None:
    session, _, joined = run()
    found = {name: (h.query.start, contents(h, h.query.start)) for name, h in joined.items()}
    session.stop()
    (start,) = {begun for begun, _ in found.values()}
    assert start > 0
    session, from_there, _ = run(f"SET start_time = {start};")
    assert {name: contents(h, start) for name, h in from_there.items()} == {n: rows for n, (_, rows) in found.items()}
    session.stop()
    rows = range(start, start + 5)
    assert found["full"][1][:5] == [[], [], [], [], list(rows)]
