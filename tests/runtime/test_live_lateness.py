"""Which rows of a live run are late: by their own source alone, whatever the cut and whatever other sources do."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory

STREAMS = """
CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts SLACK 3;
CREATE STREAM R (a INT, ts BIGINT) ORDERED BY ts;
"""


@pytest.mark.parametrize("with_other", [False, True])
@pytest.mark.parametrize("cut", [[[(1, 30), (2, 10)]], [[(1, 30)], [(2, 10)]], [[(1, 30), (2, 10), (3, 27)]]])
def test_a_row_behind_the_slack_is_late_however_rows_are_cut(
    cut: list[list[tuple[int, int]]], with_other: bool
) -> None:
    forget_memory()
    session = Session()
    session.execute(STREAMS)
    other = " UNION ALL SELECT a FROM R [NOW]" if with_other else ""
    session.sql(f"REGISTER QUERY w AS SELECT a FROM S [ROWS 1]{other}")
    (handle,) = session.start()
    assert session.live is not None
    if with_other:
        session.insert("R", [(9, 1)])
        session.live.process()
    for batch in cut:
        session.insert("S", batch)
        session.live.process()
    session.live.finish()
    assert isinstance(late := handle.late("S"), pa.Table)
    assert [tuple(row.values()) for row in late.to_pylist()] == [(2, 10)]
    session.stop()


def test_a_row_behind_what_its_source_has_promised_is_late() -> None:
    forget_memory()
    session = Session()
    session.execute(STREAMS)
    session.sql("REGISTER QUERY w AS SELECT S.a FROM S [RANGE 5], R [RANGE 5]")
    (handle,) = session.start()
    assert session.live is not None
    session.live.heartbeat("S", 20)
    session.insert("S", [(1, 20), (2, 21)])
    session.live.process()
    assert handle.late("S").num_rows == 1
    session.stop()


def test_a_row_whose_instant_was_closed_without_its_silent_source_is_late() -> None:
    forget_memory()
    now = [1_000_000_000]
    session = Session(clock=lambda: now[0])
    session.execute(STREAMS)
    session.sql("REGISTER QUERY w AS SELECT a FROM S [NOW] UNION ALL SELECT a FROM R [NOW]")
    (handle,) = session.start(options=LiveOptions(idle_timeout=1e6))
    assert session.live is not None
    session.insert("R", [(1, 50)])
    session.live.process()
    now[0] += 10**13
    session.insert("R", [(1, 60)])
    session.live.process()
    session.live.process()
    session.insert("S", [(7, 40), (8, 100)])
    session.live.process()
    assert handle.late("S").num_rows == 1
    session.stop()


def test_a_clock_that_steps_back_makes_no_row_late() -> None:
    forget_memory()
    now = [1_000_000_000]
    session = Session(clock=lambda: now[0])
    session.execute("CREATE STREAM S (k INT)")
    session.sql("REGISTER QUERY q AS SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    (handle,) = session.start()
    for step in (1_000_000, 1_000_000, -3_600_000_000, 1_000_000, 1_000_000):
        now[0] += step
        session.insert("S", [(1,)])
        handle.processAllAvailable()
    now[0] += 1_000_000
    handle.processAllAvailable()
    assert isinstance(found := handle.snapshot(), pa.Table)
    assert found.to_pylist() == [{"n": 5}]
    assert handle.late("S").num_rows == 0
    session.stop()


@pytest.mark.parametrize("name", ["x/../../../../ESCAPED", "a" * 300, "ä/b\\c"])
def test_late_rows_stay_in_the_checkpoint_whatever_their_stream_is_called(tmp_path: Path, name: str) -> None:
    session = Session(master="none", rejects=tmp_path / "a" / "b" / "rejected")
    session.execute(f"CREATE STREAM `{name}` (k INT, ts BIGINT) ORDERED BY ts")
    session.sql(f"REGISTER QUERY q AS SELECT COUNT(*) AS n FROM `{name}` [RANGE 5]")
    (handle,) = session.start(options=LiveOptions(checkpoint=tmp_path / "a" / "b" / "ck"))
    for instant in (10, 20, 3):
        session.insert(name, [(1, instant)])
        handle.processAllAvailable()
    late = handle.late(name)
    assert isinstance(late, pa.Table) and late.num_rows == 1
    session.stop()
    inside = {tmp_path / "a" / "b" / "ck", tmp_path / "a" / "b" / "rejected"}
    assert all(inside & set(p.parents) for p in tmp_path.rglob("*") if p.is_file())
