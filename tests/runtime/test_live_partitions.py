"""Live streams whose partitions a column tells: what is late, what is waited for, and the order of one instant."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory
from tests.sources.worlds import bag

STREAM = "CREATE STREAM S (p INT, o BIGINT, v INT, ts BIGINT) ORDERED BY ts SLACK 2 PARTITIONED BY p OFFSET o;"
QUERIES = (
    "SELECT v FROM S [ROWS 2]",
    "SELECT p, COUNT(*) AS n, MAX(v) AS m FROM S [RANGE 3] GROUP BY p",
    "SELECT v FROM S [PARTITION BY p ROWS 1]",
)

Row = tuple[int, int, int, int]


def rows_of(seed: int) -> dict[int, list[Row]]:
    """For each partition its rows, some of which are late."""
    chance = random.Random(seed)
    found: dict[int, list[Row]] = {}
    for part in chance.sample(range(-2, 5), 3):
        time = chance.randrange(4)
        found[part] = []
        for offset in range(chance.randrange(1, 12)):
            time += chance.choice((0, 1, 2))
            at = max(time - chance.choice((0, 0, 1, 2, 3, 5)), 0)
            found[part].append((part, offset, 100 * part + offset, at))
    return found


def expected(parts: dict[int, list[Row]]) -> tuple[object, list[Row]]:
    """The answers of the reference over all rows, and those that are late by the definition."""
    session = Session()
    session.execute(STREAM)
    for text in QUERIES:
        session.sql(text)
    late: list[Row] = []
    for rows in parts.values():
        latest: int | None = None
        for row in rows:
            if latest is not None and row[3] < latest - 2:
                late.append(row)
            latest = row[3] if latest is None else max(latest, row[3])
    session.insert("S", [row for rows in parts.values() for row in rows])
    return bag(session.answers()), sorted(late)


def mixed(parts: dict[int, list[Row]], chance: random.Random) -> list[Row]:
    """The rows of all partitions, each partition in its order."""
    left = {part: list(rows) for part, rows in parts.items() if rows}
    found: list[Row] = []
    while left:
        part = chance.choice(sorted(left))
        found.append(left[part].pop(0))
        if not left[part]:
            del left[part]
    return found


@pytest.mark.parametrize("seed", range(15))
def test_the_mix_of_partitions_and_the_cut_change_nothing(seed: int) -> None:
    forget_memory()
    chance = random.Random(seed)
    parts = rows_of(seed)
    answers, late = expected(parts)
    session = Session()
    session.execute(STREAM)
    for text in QUERIES:
        session.sql(text)
    handles = session.start(options=LiveOptions(partitions=chance.choice((1, 3))))
    assert session.live is not None
    rows = mixed(parts, chance)
    # a partition is waited for from its first row on, so that each has to be there before any instant is closed
    first = [next(row for row in rows if row[0] == part) for part in parts]
    rows = [*first, *(row for row in rows if row not in first)]
    session.insert("S", first)
    session.live.process()
    place = len(first)
    while place < len(rows):
        step = chance.randrange(1, 6)
        session.insert("S", rows[place : place + step])
        session.live.process()
        place += step
    session.live.finish()
    found = bag([a for h in handles for a in session.live.answers(h.name)])
    kept_apart = handles[0].late("S")
    session.stop()
    assert found == answers
    assert isinstance(kept_apart, pa.Table)
    assert sorted(tuple(row.values()) for row in kept_apart.to_pylist()) == late


def test_a_stream_is_complete_up_to_its_slowest_partition_that_is_not_idle() -> None:
    forget_memory()
    now = [1_000_000_000]
    session = Session(clock=lambda: now[0])
    session.execute(STREAM)
    session.sql("SELECT v FROM S [NOW]")
    (handle,) = session.start(options=LiveOptions(idle_timeout=1e6))
    assert session.live is not None
    live = session.live
    session.insert("S", [(0, 0, 1, 50), (1, 0, 2, 10)])
    live.process()
    assert live.engine.until == 7
    now[0] += 5 * 10**11
    session.insert("S", [(0, 1, 3, 60)])
    live.process()
    assert live.engine.until == 7, "partition 1 is slow, but not silent for long"
    now[0] += 6 * 10**11
    session.insert("S", [(0, 2, 4, 61)])
    live.process()
    live.process()
    assert live.engine.until == 58
    assert live.engine.offsets.live is not None
    assert live.engine.offsets.live.sources["s"].partitions[1].idle, "the checkpoint says who was not waited for"
    session.insert("S", [(1, 1, 5, 11), (1, 2, 6, 70)])
    live.process()
    late = handle.late("S")
    assert isinstance(late, pa.Table)
    assert [row["v"] for row in late.to_pylist()] == [5], "its instant was closed without its partition"
    session.stop()
