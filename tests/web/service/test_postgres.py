"""PostgreSQL's protocol, asked by psql and by psycopg."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from decimal import Decimal

import psycopg
import pytest

from tests.web.service.conftest import BIDS, Serve, Served

TYPES = """
CREATE STREAM Kinds (a INT, b BIGINT, c DOUBLE, d DECIMAL(10, 2), e STRING, f BOOLEAN, g DATE, ts TIMESTAMP)
  ORDERED BY ts;
REGISTER QUERY kinds AS SELECT a, b, c, d, e, f, g, ts FROM Kinds [RANGE UNBOUNDED];
"""


@pytest.fixture
def server(serve: Serve) -> Served:
    found = serve()
    found.run(BIDS)
    found.ask("POST", "/api/streams/Bid/rows", [[1, 10, 5], [2, 20, 6], [1, 30, 9], [7, 5, 12]])
    found.until("top", 11)
    found.until("new", 11)
    return found


def psql(server: Served, *statements: str) -> str:
    commands = [part for statement in statements for part in ("-c", statement)]
    address = f"host=127.0.0.1 port={server.postgres} user=ada dbname=continua"
    found = subprocess.run(["psql", "-X", "-A", "-t", address, *commands], capture_output=True, text=True, timeout=60)
    return found.stdout + found.stderr


def test_psql_lists_describes_and_reads(server: Served) -> None:
    assert psql(server, "\\d").splitlines() == [
        "public|new|materialized view|continua",
        "public|top|materialized view|continua",
    ]
    assert psql(server, "\\d top").splitlines()[:2] == ["item|integer|||", "top|integer|||"]
    assert psql(server, "SELECT * FROM top ORDER BY item") == "1|30\n2|20\n"
    assert psql(server, "SELECT * FROM top AT 6 ").splitlines() == ["1|10", "2|20"]
    assert psql(server, "SELECT sum(top) AS s, count(*) FROM top WHERE item < 5; SELECT 1 + 1") == "50|2\n2\n"
    assert "there is no" not in psql(server, "CREATE STREAM Other (a INT); DROP STREAM Other")
    assert "Table with name tap does not exist" in psql(server, "SELECT * FROM tap")
    assert "UNKNOWN_STREAM" in psql(server, "REGISTER QUERY q AS SELECT * FROM Bit [NOW]")


def test_files_of_the_server_are_read_by_nobody(server: Served) -> None:
    for sql in (
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT content FROM read_text('/etc/passwd')",
    ):
        found = psql(server, sql)
        assert "ERROR" in found and "root:" not in found


def test_changes_are_read_by_a_cursor(server: Served) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.postgres} user=ada") as connection:
        connection.execute("SET continua.fetch_timeout = '5s'")
        cursor = connection.execute("DECLARE c CURSOR FOR SUBSCRIBE new")
        cursor = connection.execute("FETCH 2 FROM c")
        first = cursor.fetchall()
        assert [row[1:] for row in first] == [(5, 1, 10), (6, 2, 20)]
        assert [row[1:] for row in connection.execute("FETCH ALL FROM c").fetchall()] == [(9, 1, 30)]
        sending = threading.Timer(0.3, lambda: server.run("INSERT INTO Bid VALUES (8, 1, 30)"))
        sending.start()
        waited = connection.execute("FETCH ALL FROM c").fetchall()
        assert [row[1:] for row in waited] == [(12, 7, 5)]
        sending.join()
        position = waited[-1][0]
        connection.execute(f"DECLARE d CURSOR FOR SUBSCRIBE new AFTER '{position}'")
        connection.execute("SET continua.fetch_timeout = '0'")
        assert connection.execute("FETCH ALL FROM d").fetchall() == []


def test_a_fetch_that_waits_is_canceled(server: Served) -> None:
    with psycopg.connect(f"host=127.0.0.1 port={server.postgres} user=ada") as connection:
        connection.execute("SET continua.fetch_timeout = '60s'")
        connection.execute("DECLARE c CURSOR FOR SUBSCRIBE new")
        connection.execute("FETCH ALL FROM c")
        threading.Timer(0.5, connection.cancel).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("FETCH ALL FROM c")
        connection.rollback()
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("binary", [False, True])
def test_values_of_the_common_types_are_read_as_they_are(serve: Serve, binary: bool) -> None:
    server = serve()
    server.run(TYPES)
    row = [7, 1 << 40, 1.5, "12.50", "ä'b", True, "2024-02-29", "2024-05-01T10:00:00Z"]
    server.ask(
        "POST", "/api/streams/Kinds/rows", [row, [None, -1, None, None, None, None, None, "2024-05-01T10:00:09Z"]]
    )
    with psycopg.connect(f"host=127.0.0.1 port={server.postgres} user=ada", autocommit=True) as connection:
        cursor = connection.cursor(binary=binary)
        for _ in range(200):
            try:
                found = cursor.execute(
                    "SELECT a, b, c, d, e, f, g FROM kinds WHERE b > %s AND e = %s", (5, "ä'b")
                ).fetchall()
            except psycopg.DataError as error:  # until the first rows are worked on
                assert "INSTANT_OPEN" in str(error)
                time.sleep(0.02)
                continue
            if found:
                break
        [(a, b, c, d, e, f, g)] = found
        assert (a, b, c, d, e, f, str(g)) == (7, 1 << 40, 1.5, Decimal("12.50"), "ä'b", True, "2024-02-29")
        named = connection.execute("SELECT 1").fetchone()
        assert named == (1,)
        with connection.transaction(), connection.cursor(name="part") as part:
            part.execute("SELECT * FROM range(5) AS r(n)")
            assert [n for (n,) in part.fetchmany(3)] == [0, 1, 2]
            assert [n for (n,) in part.fetchall()] == [3, 4]


def test_a_password_is_a_token_with_its_rights(serve: Serve, token: Callable[..., str]) -> None:
    admin, limited = token("ada", "admin"), token("bob", "read", "--query", "new")
    server = serve("--require-token", token=admin)
    server.run(BIDS)
    server.ask("POST", "/api/streams/Bid/rows", [[1, 10, 5], [2, 20, 6]])
    server.until("new", 5)
    address = f"host=127.0.0.1 port={server.postgres} user=bob"
    with pytest.raises(psycopg.OperationalError, match="the token is not valid"):
        psycopg.connect(f"{address} password=guessed")
    with psycopg.connect(f"{address} password={limited}", autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM new").fetchone() == (1,)
        with pytest.raises(psycopg.Error, match="top"):
            connection.execute("SELECT * FROM top")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO Bid VALUES (1, 1, 1)")
