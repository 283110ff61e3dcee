"""What a live query holds, of streams the relation behind them, at which instants, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from continua.catalog import Retention
from continua.errors import BindError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.runtime.living import rows_of

STREAM = "CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts SLACK 1;"
OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM", "STREAMED", "COMPLETE")
RELATIONS = {
    "sliding": "a FROM S [RANGE 2]",
    "points": "a FROM S [RANGE 4 SLIDE 3]",
    "now": "a FROM S [NOW]",
    "counted": "a, COUNT(*) AS n FROM S [RANGE 3] GROUP BY a",
    "growing": "a FROM S [RANGE UNBOUNDED]",
}
ROWS = [(1, 1), (2, 2), (1, 3), (3, 6), (1, 6), (2, 11)]


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(master="none")
    made.execute(STREAM)
    yield made
    made.stop()


def _contents(session: Session, name: str, instants: range) -> list[list[dict[str, object]]]:
    return [rows_of(session.table(name, as_of=t)) for t in instants]


def test_the_content_of_a_stream_is_the_relation_behind_it(session: Session, tmp_path: Path) -> None:
    judge = Session(master="none")
    judge.execute(STREAM)
    judge.insert("S", ROWS)
    names = [f"{relation}_{operator}" for relation in RELATIONS for operator in OPERATORS]
    for made in (session, judge):
        for name in names:
            relation, operator = name.split("_")
            made.execute(f"REGISTER QUERY {name} AS SELECT {operator} {RELATIONS[relation]}")
    session.start(options=LiveOptions(checkpoint=tmp_path))
    session.insert("S", ROWS[:3])
    session.live.process()  # type: ignore[union-attr]
    session.stop()
    handles = session.start(options=LiveOptions(checkpoint=tmp_path))
    assert sorted(h.name for h in handles) == sorted(names), "what keeps relations is no query of the user"
    session.insert("S", ROWS[3:])
    session.live.process()  # type: ignore[union-attr]
    for handle in handles:
        query = judge.queries[handle.name]
        wanted = [judge.snapshot(query, t) for t in range(9)]
        assert [[tuple(r.values()) for r in rows_of(handle.snapshot(t))] for t in range(9)] == wanted, handle.name
        assert [[tuple(r.values()) for r in c] for c in _contents(session, handle.name, range(9))] == wanted


def test_a_relation_behind_a_stream_leaves_with_it(session: Session) -> None:
    session.execute("REGISTER QUERY i AS SELECT ISTREAM a FROM S [RANGE 2]")
    (handle,) = session.start()
    live = session.live
    assert live is not None
    assert list(live.queries) == ["i"]
    assert len(live.engine.graphs) == 2
    handle.stop()
    assert not live.engine.graphs
    session.execute("DROP QUERY i; DROP STREAM S;")


def test_a_stream_that_only_grows_is_told_as_long_as_all_of_it_is_kept(session: Session) -> None:
    session.execute("REGISTER QUERY i AS SELECT a FROM S")
    (handle,) = session.start(options=LiveOptions(retention=Retention(epochs=2)))
    assert len(session.live.engine.graphs) == 1, "nothing more is kept for it"  # type: ignore[union-attr]
    session.insert("S", [(1, 1), (2, 3)])
    handle.processAllAvailable()
    assert handle.toArrow().to_pylist() == [{"a": 1}]
    for instant in range(4, 20):
        session.insert("S", [(instant, instant)])
        handle.processAllAvailable()
    with pytest.raises(BindError) as raised:
        handle.snapshot()
    assert raised.value.condition == "BEHIND_HORIZON"


def test_instants_may_be_datetimes_where_streams_are_ordered_by_timestamps() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM T (a INT, ts TIMESTAMP) ORDERED BY ts SLACK 1 SECOND;")
    session.execute("REGISTER QUERY q AS SELECT a FROM T [RANGE 10 SECONDS]")
    (handle,) = session.start()
    noon = datetime(2024, 5, 1, 12)
    session.insert("T", [(1, noon), (2, noon + timedelta(seconds=5))])
    handle.processAllAvailable()
    live = session.live
    assert live is not None
    live.heartbeat("T", noon.replace(tzinfo=UTC) + timedelta(seconds=7))
    session.insert("T", [(9, noon - timedelta(hours=1)), (8, noon - timedelta(hours=2))])
    handle.processAllAvailable()
    here = timezone(timedelta(hours=2))
    later = (noon + timedelta(hours=2, seconds=5)).replace(tzinfo=here)
    assert rows_of(handle.snapshot(noon)) == [{"a": 1}]
    assert rows_of(handle.snapshot(later)) == [{"a": 1}, {"a": 2}]
    assert len(rows_of(session.table("q", as_of=later))) == 2
    assert [a.row for a in handle.answers(since=noon)] == [(2,)]
    assert len(rows_of(handle.changes(since=noon + timedelta(seconds=1)))) == 1
    assert len(rows_of(handle.late("T"))) == 2
    assert rows_of(handle.late("T", since=noon - timedelta(minutes=90)))[0]["a"] == 9
    with pytest.raises(BindError) as raised:
        handle.snapshot(noon + timedelta(hours=1))
    assert raised.value.condition == "INSTANT_OPEN"
    session.stop()
    assert len(rows_of(session.table("q", as_of=noon))) == 0, "without live queries, over what there is: nothing"


@pytest.mark.parametrize("value", [datetime(2024, 5, 1), "5", 1.5, True])
def test_what_is_no_instant(session: Session, value: object) -> None:
    session.execute("REGISTER QUERY q AS SELECT a FROM S [RANGE 2]")
    (handle,) = session.start()
    for ask in (handle.snapshot, handle.changes, handle.answers, lambda t: session.table("q", as_of=t)):
        with pytest.raises(BindError) as raised:
            ask(value)  # type: ignore[arg-type]
        assert raised.value.condition == "NOT_AN_INSTANT"


def test_a_content_is_shown_as_text_as_html_and_as_tables(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    session.execute("CREATE STREAM N (n STRING, x DOUBLE, ts BIGINT) ORDERED BY ts;")
    session.execute("REGISTER QUERY q AS SELECT n AS name, x FROM N [RANGE UNBOUNDED]")
    (handle,) = session.start()
    session.insert("N", [("<b>", 1.5, 1), (None, 2.0, 2), ("c", 3.0, 3)])
    live = session.live
    assert live is not None
    live.finish()
    handle.show(2)
    assert capsys.readouterr().out.splitlines() == [
        "name | x",
        "-----+----",
        "NULL | 2.0",
        "<b>  | 1.5",
        "3 rows, 2 of them shown",
    ]
    assert handle.toArrow().schema.names == ["name", "x"]
    assert handle.toPandas()["x"].tolist() == [2.0, 1.5, 3.0]
    html = handle._repr_html_()
    assert "<td>&lt;b&gt;</td>" in html
    assert html.count("<tr>") == 4
    query = session.queries["q"]
    assert query.toArrow() == handle.toArrow()
    query.show(1)
    assert capsys.readouterr().out.endswith("3 rows, 1 of them shown\n")
    assert isinstance(query.toArrow(), pa.Table)
    assert query._repr_html_() == html


def test_where_nobody_asks_nothing_is_kept_for_that(tmp_path: Path) -> None:
    definitions = STREAM + (
        "CREATE STREAM V (a INT, b BIGINT, e BIGINT) VALID FROM b TO e;"
        "REGISTER QUERY changing AS SELECT DSTREAM a FROM S [RANGE 2];"
        "REGISTER QUERY lasting AS SELECT a FROM V;"
    )

    def behind(options: LiveOptions) -> list[str]:
        made = Session(master="none")
        made.execute(definitions)
        made.start(options=options)
        assert made.live is not None
        made.insert("S", ROWS)
        made.live.process()
        graphs = {sink.query for sink in made.live.main._members.graphs}
        made.stop()
        return sorted(name.split()[0] for name in graphs - {"changing", "lasting"})

    assert behind(LiveOptions()) == ["content", "relation"]
    assert behind(LiveOptions(asked=False)) == []
    # with a checkpoint others may join it, and what runs in one goes on
    assert behind(LiveOptions(tmp_path / "a", asked=False)) == ["content"]
    assert behind(LiveOptions(tmp_path / "a", asked=False)) == ["content"]
    assert behind(LiveOptions(tmp_path / "a")) == ["content", "relation"]
    assert behind(LiveOptions(tmp_path / "a", asked=False)) == ["content", "relation"]
