"""What can be read of live runs: COMPLETE views, sinks, progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from continua.errors import BindError, SourceError
from continua.runs.live_options import LiveOptions
from continua.runs.query_handle import QueryHandle
from continua.session import Session
from continua.sinks.sink import MemorySink
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;
CREATE COMPLETE VIEW counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 10] GROUP BY k;
CREATE COMPLETE VIEW others AS SELECT k FROM P [RANGE 10];
CREATE VIEW plain AS SELECT k FROM S [RANGE 10];
REGISTER QUERY busy AS SELECT k FROM counts WHERE n > 1;
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(data=tmp_path, rejects=tmp_path / "rejected")
    session.execute(DEFINITIONS)
    yield session
    session.stop()
    forget_memory()


def rows(table: object) -> list[dict[str, object]]:
    assert isinstance(table, pa.Table)
    return list(table.to_pylist())


def started(session: Session, options: LiveOptions | None = None) -> QueryHandle:
    (handle,) = session.start([session.queries["busy"]], options)
    session.insert("S", [(1, 3), (1, 5), (2, 8)])
    session.insert("S", [(1, 15)])
    handle.processAllAvailable()
    return handle


# Views.


def test_S4_a_complete_view_can_be_read_at_any_closed_instant(session: Session) -> None:
    started(session)
    assert rows(session.table("Counts", as_of=5)) == [{"k": 1, "n": 2}]
    assert rows(session.table("counts")) == [{"k": 1, "n": 1}, {"k": 2, "n": 1}], "14 is closed"
    assert rows(session.table("busy", as_of=7)) == [{"k": 1}]
    with pytest.raises(BindError) as caught:
        session.table("counts", as_of=15)
    assert caught.value.condition == "INSTANT_OPEN"


@pytest.mark.parametrize("name", ["plain", "others", "nothing"])
def test_what_is_not_kept_cannot_be_read_while_queries_are_live(session: Session, name: str) -> None:
    """A view over sources that no live query reads would hold the others back."""
    started(session)
    with pytest.raises(BindError) as caught:
        session.table(name)
    assert caught.value.condition == "UNKNOWN_NAME"


def test_without_a_choice_all_complete_views_are_kept(session: Session) -> None:
    assert [h.name for h in session.start()] == ["busy"]
    session.insert("S", [(1, 3), (1, 20)])
    session.insert("P", [(7, 4), (7, 20)])
    assert session.live is not None
    session.live.process()
    assert rows(session.table("others", as_of=9)) == [{"k": 7}]


def test_views_go_on_after_a_restart(session: Session, tmp_path: Path) -> None:
    options = LiveOptions(checkpoint=tmp_path / "checkpoint")
    started(session, options)
    expected = [rows(session.table("counts", as_of=t)) for t in range(15)]
    session.stop()
    forget_memory()
    again = Session(rejects=tmp_path / "rejected")
    again.execute(DEFINITIONS)
    again.start([again.queries["busy"]], options)
    assert [rows(again.table("counts", as_of=t)) for t in range(15)] == expected
    again.stop()


def test_views_can_be_read_without_live_queries(session: Session) -> None:
    session.insert("S", [(1, 3), (1, 5)])
    assert rows(session.table("plain", as_of=4)) == [{"k": 1}]
    assert rows(session.table("counts", as_of=6)) == [{"k": 1, "n": 2}]
    assert rows(session.table("counts")) == [], "both rows have left the window in the end"
    assert rows(session.table("busy", as_of=5)) == [{"k": 1}]


@pytest.mark.parametrize("dialect", ["cql", "pipes", "sync"])
def test_views_are_relations_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    session = Session(dialect=dialect, rejects=tmp_path)
    window = "WINDOW(RANGE 5 SECONDS)" if dialect == "pipes" else "[RANGE 5 SECONDS]"
    session.execute(
        f"CREATE STREAM T (k INT, ts TIMESTAMP) ORDERED BY ts; CREATE COMPLETE VIEW v AS SELECT k FROM T {window}"
    )
    session.start()
    session.insert("T", [(1, "2024-05-01T10:00:00Z"), (2, "2024-05-01T10:00:09Z")])
    assert session.live is not None
    session.live.process()
    assert rows(session.table("v", as_of=datetime(2024, 5, 1, 10, 0, 1, tzinfo=UTC))) == [{"k": 1}]
    session.stop()


# Sinks.


def test_answers_are_kept_in_memory(session: Session) -> None:
    handle = started(session)
    memory = MemorySink()
    handle.foreach(memory)
    assert session.live is not None
    session.live.finish()
    assert memory.table().to_pylist() == rows(handle.changes())
    assert memory.table().column_names == ["t", "op", "k"]


def test_a_query_without_answers_has_columns(session: Session) -> None:
    (handle,) = session.start([session.queries["busy"]])
    found = handle.changes()
    assert isinstance(found, pa.Table)
    assert (found.column_names, found.num_rows) == (["t", "op", "k"], 0)


def test_live_queries_write_where_INTO_says(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session.execute("REGISTER QUERY kept AS SELECT ISTREAM(k) FROM S [NOW] INTO csv('out');")
    session.execute("REGISTER QUERY told AS SELECT k FROM S [NOW] INTO console;")
    session.start([session.queries["kept"], session.queries["told"]])
    for batch in ([(1, 3)], [(2, 5)], [(3, 9)]):
        session.insert("S", batch)
        assert session.live is not None
        session.live.process()
    written = [path.read_text() for path in sorted((tmp_path / "out").glob("epoch-*.csv"))]
    assert [text.splitlines()[1:] for text in written] == [["3,1"], ["5,2"]]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [
        {"query": "told", "t": 3, "op": "+", "row": {"k": 1}},
        {"query": "told", "t": 4, "op": "-", "row": {"k": 1}},
    ]


def test_the_console_has_the_names_of_the_query_and_only_the_key_of_what_is_deleted(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session.execute("REGISTER QUERY named AS SELECT ISTREAM(k AS op, k AS t) FROM S [NOW] INTO console;")
    session.execute("REGISTER QUERY keyed AS SELECT STREAMED k, COUNT(*) AS n FROM S [NOW] GROUP BY k INTO console;")
    session.start([session.queries["named"], session.queries["keyed"]])
    session.insert("S", [(1, 3), (2, 9)])
    assert session.live is not None
    session.live.finish()
    lines = capsys.readouterr().out.splitlines()
    assert '{"query": "named", "t": 3, "row": {"op": 1, "t": 1}}' in lines
    assert '{"query": "keyed", "t": 3, "op": "+", "row": {"k": 1, "n": 1}}' in lines
    assert '{"query": "keyed", "t": 4, "op": "-", "row": {"k": 1}}' in lines


# Progress.


def test_progress_tells_what_every_epoch_did(session: Session) -> None:
    handle = started(session)
    *_, progress = handle.recentProgress
    assert (progress["numInputRows"], progress["inputRows"], progress["lateRows"]) == (4, {"s": 4}, {"s": 0})
    assert progress["heartbeat"] == 14
    assert progress["lag"] == {"s": 1}
    assert progress["numOutputRows"] == {"busy": 2, "view counts": 6}
    operators = [o for p in handle.recentProgress for o in p["operators"]]  # type: ignore[attr-defined]
    grouping = [o for o in operators if o["operator"].startswith("Aggregate") and o["stateRows"]]
    assert grouping and all(o["stateBytes"] > 0 and o["level"] > 0 for o in grouping)
    stages = progress["durationMs"]
    assert isinstance(stages, dict)
    assert {"level 0", "level 1", "run", "commit"} <= stages.keys()
    total = progress["stateBytes"]
    assert isinstance(total, int)
    assert 0 < sum(o["stateBytes"] for o in progress["operators"]) <= total  # type: ignore[attr-defined]


def test_a_folder_with_the_answers_of_another_run_is_refused_before_the_query_joins(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "epoch-0000000001.csv").write_text("t\n")
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    text = "REGISTER QUERY {} AS SELECT k FROM S [RANGE 5] INTO csv('out')"
    session.execute(text.format("first"))
    with pytest.raises(SourceError, match="another run"):
        session.start()
    session.queries.clear()
    session.execute("REGISTER QUERY other AS SELECT k FROM S [NOW]")
    session.start()
    session.execute(text.format("second"))
    with pytest.raises(SourceError, match="another run"):
        session.start([session.queries["second"]])
    assert session.live is not None
    assert list(session.live.queries) == ["other"]
    session.stop()


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    def session() -> Session:
        found = Session(master="none", data=tmp_path)
        found.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
        found.execute("REGISTER QUERY q AS SELECT k FROM S [RANGE 5] INTO json('out')")
        return found

    first, second = session(), session()
    first.start()
    with pytest.raises(SourceError) as caught:
        second.start()
    assert caught.value.condition == "SINK_IN_USE"
    first.stop()
    second.start()
    second.stop()
