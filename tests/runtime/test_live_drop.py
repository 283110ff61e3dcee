"""What live queries use cannot be dropped; what nobody uses any more can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from continua.errors import BindError
from continua.session import Session
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;
CREATE RELATION R (k INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY k;
CREATE TABLE C (k INT) AS VALUES (1), (2);
CREATE FUNCTION twice (x INT) AS x * 2;
CREATE FUNCTION or_zero (x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:or_zero';
CREATE AGGREGATE spread (x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:Spread';
CREATE WINDOW ten AS [RANGE 10];
CREATE VIEW inner_view AS SELECT k FROM S [ten] WHERE twice(k) > 0;
CREATE COMPLETE VIEW counts AS SELECT k, COUNT(*) AS n FROM P [RANGE 10] GROUP BY k;
REGISTER QUERY through AS SELECT spread(or_zero(v.k)) AS d FROM inner_view v, C WHERE v.k = C.k;
REGISTER QUERY stored AS SELECT k FROM R;
"""
USED = [
    ("STREAM S", ["through"]),
    ("TABLE C", ["through"]),
    ("RELATION R", ["stored"]),
    ("VIEW inner_view", ["through"]),
    ("FUNCTION twice", ["through"]),
    ("FUNCTION or_zero", ["through"]),
    ("AGGREGATE spread", ["through"]),
    ("WINDOW ten", ["through"]),
    ("STREAM P", ["view counts"]),
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(rejects=tmp_path)
    session.execute(DEFINITIONS)
    session.start()
    yield session
    session.stop()
    forget_memory()


def _counts(session: Session, k: int) -> list[dict[str, object]]:
    """What the view holds after a row has come."""
    assert session.live is not None
    session.insert("P", [(k, 3)])
    for name in ("S", "P", "R"):
        session.live.heartbeat(name, 5)
    found = session.table("counts", as_of=4)
    assert isinstance(found, pa.Table)
    return list(found.to_pylist())


@pytest.mark.parametrize(("dropped", "queries"), USED)
def test_what_a_live_query_uses_cannot_be_dropped(session: Session, dropped: str, queries: list[str]) -> None:
    with pytest.raises(BindError) as caught:
        session.execute(f"DROP {dropped}")
    assert caught.value.condition == "IN_USE"
    assert caught.value.parameters == {"name": dropped.split()[1], "queries": queries}
    assert caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize(
    "statement",
    [
        "TABLE C (k INT) AS VALUES (3)",
        "FUNCTION twice (x INT) AS x * 3",
        "WINDOW ten AS [RANGE 11]",
        "VIEW inner_view AS SELECT k FROM S [NOW]",
    ],
)
def test_what_a_live_query_uses_cannot_be_replaced_by_another(session: Session, statement: str) -> None:
    with pytest.raises(BindError) as caught:
        session.execute(f"CREATE OR REPLACE {statement}")
    assert caught.value.condition == "IN_USE"
    session.execute("DROP QUERY through")
    session.execute(f"CREATE OR REPLACE {statement}")


def test_a_stream_that_a_live_run_has_read_has_no_other_form_in_it(session: Session) -> None:
    other = "STREAM S (k INT, more INT, ts BIGINT) ORDERED BY ts"
    for before in ("", "DROP QUERY through; DROP VIEW inner_view; DROP STREAM S;"):
        with pytest.raises(BindError) as caught:
            session.execute(f"{before} CREATE OR REPLACE {other}")
        assert caught.value.condition == "IN_USE"
    session.stop()
    session.execute(f"CREATE OR REPLACE {other}")


def test_what_a_live_query_uses_can_be_defined_as_it_is(session: Session) -> None:
    session.execute("CREATE OR REPLACE STREAM S (k INT, ts BIGINT) ORDERED BY ts")
    session.execute("CREATE OR REPLACE FUNCTION twice (x INT) AS x * 2")
    session.execute("\n\n  CREATE OR REPLACE VIEW inner_view AS SELECT k FROM S [ten] WHERE twice(k) > 0")
    session.execute("\n CREATE OR REPLACE WINDOW ten AS [RANGE 10]")
    python = "CREATE OR REPLACE FUNCTION or_zero (x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:"
    session.execute(f"{python}or_zero'")
    with pytest.raises(BindError) as caught:
        session.execute(f"{python}twice'")
    assert caught.value.condition == "IN_USE"


def test_a_query_of_the_same_name_does_not_stand_for_one_that_leaves(session: Session) -> None:
    session.execute("DROP QUERY stored; REGISTER QUERY stored AS SELECT k FROM P [NOW]; DROP RELATION R")


def test_a_query_that_only_its_starter_knows_is_live_too(session: Session) -> None:
    query = session.sql("SELECT k FROM P [RANGE 3]")
    assert query is not None
    session.execute(f"DROP QUERY {query.name}; DROP VIEW counts")
    session.start([query])
    with pytest.raises(BindError) as caught:
        session.execute("DROP STREAM P")
    assert caught.value.condition == "IN_USE"


def test_a_view_that_is_replaced_leaves_until_the_next_start(session: Session) -> None:
    session.execute("CREATE OR REPLACE COMPLETE VIEW counts AS SELECT k, SUM(k) AS n FROM P [RANGE 10] GROUP BY k")
    session.start()
    assert session.live is not None
    assert _counts(session, 7) == [{"k": 7, "n": 7}]


def test_rows_of_stored_relations_are_refused(session: Session) -> None:
    session.insert("S", [(1, 1)])
    with pytest.raises(BindError) as caught:
        session.insert("C", [(3,)])
    assert caught.value.condition == "STORED_RELATION"


def test_a_query_over_a_stream_as_it_was_cannot_join(session: Session) -> None:
    session.execute("CREATE STREAM T (a INT, b INT, ts BIGINT) ORDERED BY ts; REGISTER QUERY old AS SELECT a FROM T")
    old = session.queries["old"]
    session.execute("CREATE OR REPLACE STREAM T (b INT, a INT, ts BIGINT) ORDERED BY ts")
    session.execute("REGISTER QUERY new AS SELECT a FROM T")
    session.start([session.queries["new"]])
    with pytest.raises(BindError) as caught:
        session.start([old])
    assert caught.value.condition == "SOURCE_CHANGED"


def test_a_function_that_was_replaced_is_used_from_then_on(session: Session) -> None:
    python = "CREATE OR REPLACE FUNCTION f (x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:"
    session.execute(f"{python}or_zero'")
    session.start()
    session.execute(f"{python}twice'; REGISTER QUERY doubled AS SELECT f(k) AS n FROM P [RANGE 3]")
    session.start()
    assert session.live is not None
    session.insert("P", [(7, 3)])
    session.live.finish()
    assert [a.row for a in session.live.answers("doubled")][:1] == [(14,)]


@pytest.mark.parametrize(("dropped", "queries"), USED)
def test_what_no_live_query_uses_any_more_can_be_dropped(session: Session, dropped: str, queries: list[str]) -> None:
    first = [f"DROP VIEW {q.removeprefix('view ')}" if q.startswith("view ") else f"DROP QUERY {q}" for q in queries]
    session.execute("; ".join([*first, f"DROP {dropped}"]))


def test_a_query_that_was_stopped_uses_nothing(session: Session) -> None:
    handles = {handle.name: handle for handle in session.start()}
    handles["stored"].stop()
    session.execute("DROP RELATION R")


def test_a_view_that_is_dropped_is_kept_no_more_until_it_is_defined_again(session: Session) -> None:
    assert session.live is not None
    session.execute("DROP VIEW counts")
    assert list(session.live.queries) == ["through", "stored"]
    session.execute("CREATE COMPLETE VIEW counts AS SELECT k, COUNT(*) AS n FROM P [RANGE 10] GROUP BY k")
    session.start()
    assert _counts(session, 1) == [{"k": 1, "n": 1}]


def test_a_function_of_a_views_name_does_not_let_the_view_go(session: Session) -> None:
    session.execute("CREATE FUNCTION counts (x INT) AS x")
    with pytest.raises(BindError) as caught:
        session.execute("DROP FUNCTION counts; DROP STREAM P")
    assert caught.value.condition == "IN_USE"
