"""INSERT, START, STOP and SELECT ... AT in a session, before it is live and while it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from continua.errors import BindError
from continua.session import Session

DEFINITIONS = """
CREATE STREAM Bid (item INT, price DOUBLE, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE STREAM Seen (item INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM Tried (item INT NOT NULL, ts BIGINT) ORDERED BY ts ON ERROR SKIP;
CREATE TABLE Item (item INT, name STRING);
CREATE COMPLETE VIEW Counts AS SELECT item, COUNT(*) AS n FROM Bid [RANGE 10] GROUP BY item;
REGISTER QUERY top AS SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item;
REGISTER QUERY all_bids AS SELECT item, price FROM Bid;
"""
ROWS = "INSERT INTO Bid VALUES (7, 2.5, 1), (7, 3, 4), (8, NULL, 3), (9, 1, 9);"


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(master="none")
    made.execute(DEFINITIONS)
    yield made
    made.stop()


def found(session: Session, text: str) -> list[tuple[object, ...]]:
    query = session.sql(text)
    assert query is not None
    return [tuple(row.values()) for row in query.toArrow().to_pylist()]


def refused(session: Session, text: str) -> BindError:
    with pytest.raises(BindError) as raised:
        session.execute(text)
    return raised.value


def test_rows_of_a_script_are_those_of_its_queries(session: Session) -> None:
    session.execute(ROWS + "INSERT INTO Item VALUES (7, 'seven');")
    assert found(session, "SELECT * FROM top AT 4") == [(7, 3.0), (8, None)]
    assert found(session, "SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item AT 1") == [(7, 2.5)]
    assert found(session, "SELECT name, top FROM top JOIN Item ON Item.item = top.item AT 4") == [("seven", 3.0)]
    assert found(session, "SELECT COUNT(*) FROM Counts AT 9") == [(3,)]


def test_columns_that_are_not_named_are_null(session: Session) -> None:
    session.execute("INSERT INTO Bid (ts, item) VALUES (1, 7); INSERT INTO Bid (TS, price, item) VALUES (2, 1, 8)")
    assert found(session, "SELECT * FROM all_bids AT 2") == [(7, None), (8, 1.0)]


def test_nothing_of_a_script_is_inserted_if_some_of_it_is_wrong(session: Session) -> None:
    refused(session, ROWS + "SELECT nothing FROM Bid")
    refused(session, ROWS + "INSERT INTO Bid VALUES (1, 1, 'soon')")
    assert found(session, "SELECT * FROM all_bids AT 9") == []


@pytest.mark.parametrize(
    ("text", "condition", "parameters", "column"),
    [
        ("INSERT INTO Bid VALUES (1, 2)", "COLUMN_COUNT", {"left": 3, "right": 2}, 25),
        ("INSERT INTO Bid (item) VALUES (1, 2)", "COLUMN_COUNT", {"left": 1, "right": 2}, 32),
        ("INSERT INTO Bid (itm) VALUES (1)", "UNKNOWN_COLUMN", {"column": "itm"}, 18),
        ("INSERT INTO Bid (item, ts, item) VALUES (1, 2, 3)", "DUPLICATE_COLUMN", {"columns": ["item"]}, 28),
        ("INSERT INTO Bd VALUES (1)", "UNKNOWN_STREAM", {"name": "Bd"}, 13),
        ("INSERT INTO Counts VALUES (1, 2)", "NOT_A_SOURCE", {"name": "Counts"}, 13),
        ("INSERT INTO Bid VALUES (1, 1 + 1, 2)", "NOT_SUPPORTED", {}, 25),
        ("INSERT INTO Bid VALUES (1, 2, 3), (1.5, 2, 3)", "MALFORMED_ROW", {"line": 2, "column": "item"}, 36),
        ("INSERT INTO Bid (item) VALUES (1)", "NULL_TIMESTAMP", {"line": 1}, 32),
        ("START tpo", "UNKNOWN_NAME", {"name": "tpo"}, 7),
        ("STOP top", "UNKNOWN_NAME", {"name": "top"}, 6),
        ("WATCH top", "ONLY_IN_SHELL", {}, 1),
        ("SELECT * FROM top AT '2024-01-01'", "NOT_AN_INSTANT", {"value": "2024-01-01"}, 22),
        ("SELECT * FROM tops AT 5", "UNKNOWN_STREAM", {"name": "tops"}, 15),
        ("SELECT topp FROM top AT 5", "UNKNOWN_COLUMN", {"column": "topp"}, 8),
    ],
)
def test_mistakes(session: Session, text: str, condition: str, parameters: dict[str, object], column: int) -> None:
    error = refused(session, text)
    assert error.condition == condition
    assert {name: error.parameters[name] for name in parameters} == parameters
    span = error.diagnostics[0].span
    assert span is not None
    assert span.column == column


def test_rows_that_do_not_fit_are_left_out_where_that_is_declared(session: Session) -> None:
    session.execute("INSERT INTO Tried VALUES (1, 1), ('x', 2), (NULL, 3), (4, 4)")
    assert found(session, "SELECT item FROM Tried AT 4") == [(1,), (4,)]
    assert "ROWS_SKIPPED" in [n.condition for n in session.inputs.notices]


def test_live_queries_are_asked_at_closed_instants(session: Session) -> None:
    session.execute(ROWS + "INSERT INTO Item VALUES (7, 'seven');")
    session.start()
    session.execute("INSERT INTO Bid VALUES (7, 9, 12)")
    assert session.live is not None
    session.live.process()
    assert found(session, "SELECT * FROM top AT 4") == [(7, 3.0), (8, None)]
    assert found(session, "SELECT * FROM Top AT LATEST") == [(7, 3.0), (8, None), (9, 1.0)]
    assert found(session, "SELECT name, n FROM Counts JOIN Item USING (item) AT 8") == [("seven", 2)]
    assert found(session, "SELECT NOW, COUNT(*) FROM top t JOIN all_bids b ON t.item = b.item AT 4") == [(4, 3)]
    # what means the same as a live query is what that holds
    assert found(session, "SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item AT 1") == [(7, 2.5)]
    assert found(session, "SELECT item, price FROM Bid AT 1") == [(7, 2.5)]
    assert found(session, "WITH t AS (SELECT * FROM Item) SELECT * FROM t AT 5") == [(7, "seven")]


def test_what_is_not_closed_or_not_kept_is_refused(session: Session) -> None:
    session.execute(ROWS)
    session.start()
    assert session.live is not None
    session.live.process()
    open_ = refused(session, "SELECT * FROM top AT 9")
    assert (open_.condition, open_.parameters) == ("INSTANT_OPEN", {"instant": 9, "closed": 6})
    assert refused(session, "SELECT item FROM Bid [RANGE 3] AT 5").condition == "NOT_KEPT"
    assert refused(session, "SELECT b.item FROM top, Bid b AT 5").condition == "NOT_KEPT"


def test_the_latest_instant_is_that_of_the_last_row_when_all_has_ended(session: Session) -> None:
    session.execute(ROWS)
    session.start()
    assert refused(session, "SELECT COUNT(*) FROM top AT LATEST").condition == "INSTANT_OPEN"
    assert session.live is not None
    session.live.finish()
    assert found(session, "SELECT NOW, COUNT(*) FROM top AT LATEST") == [(9, 3)]


def test_now_is_the_instant_that_is_asked_for() -> None:
    session = Session(master="none")
    session.execute(
        "CREATE STREAM E (a INT, ts TIMESTAMP) ORDERED BY ts; INSERT INTO E VALUES (1, '2024-05-01 10:00:00');"
    )
    session.execute("REGISTER QUERY e AS SELECT a FROM E [RANGE 1 MINUTE]")
    (row,) = found(session, "SELECT NOW, a FROM e AT '2024-05-01T10:00:30Z'")
    assert [str(value) for value in row] == ["2024-05-01 10:00:30", "1"]
    assert refused(session, "SELECT a FROM e AT 5").condition == "NOT_AN_INSTANT"


def test_rows_of_a_table_are_inserted_until_a_query_reads_it(session: Session) -> None:
    session.start()
    session.execute("INSERT INTO Item VALUES (7, 'seven')")
    assert found(session, "SELECT name FROM Item AT 5") == [("seven",)]
    named = session.sql("REGISTER QUERY named AS SELECT name FROM Item JOIN Bid [RANGE 5] USING (item)")
    assert named is not None
    session.start([named])
    assert refused(session, "INSERT INTO Item VALUES (8, 'eight')").condition == "STORED_RELATION"
    assert refused(session, "INSERT INTO Seen VALUES (8, 1)").condition == "UNKNOWN_STREAM"


def test_queries_are_stopped_and_started(session: Session) -> None:
    session.execute(ROWS)
    session.start()
    assert session.live is not None
    session.live.process()
    session.execute("STOP top")
    assert set(session.live.queries) == {"all_bids", "view counts"}
    assert refused(session, "SELECT * FROM top AT 3").condition == "NOT_LIVE"
    session.execute("START top; INSERT INTO Bid VALUES (1, 1, 12), (1, 2, 20)")
    session.live.process()
    assert found(session, "SELECT * FROM top AT LATEST") == [(1, 1.0)]


def test_show_queries_tells_how_they_are_doing(session: Session) -> None:
    def shown() -> dict[object, tuple[object, ...]]:
        (outcome,) = session.execute("SHOW QUERIES")
        assert outcome.header == ("name", "answer", "state", "rows", "heartbeat", "lag", "plan", "query")
        return {row[0]: row[1:7] for row in outcome.rows}

    assert shown()["top"] == ("relation", "not live", "", "", "", "")
    session.sql("REGISTER QUERY failing AS SELECT CAST(item * 100 AS TINYINT) AS x FROM Seen [NOW]")
    session.execute(ROWS)
    session.start()
    assert session.live is not None
    assert shown()["top"] == ("relation", "live", "0", "nothing yet", "", "")
    session.live.heartbeat("Seen", 100)
    session.live.process()
    assert shown()["top"] == ("relation", "live", "4", "6", "3", "")
    assert shown()["failing"][1] == "live"
    session.live.drop("failing")
    assert shown()["failing"] == ("relation", "not live", "", "", "", "")


def test_what_was_found_is_shown_like_other_contents(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    session.execute(ROWS)
    query = session.sql("SELECT item, top FROM top WHERE top > 2 AT 4")
    assert query is not None
    query.show()
    assert capsys.readouterr().out == "item | top\n-----+----\n7    | 3.0\n1 row\n"
