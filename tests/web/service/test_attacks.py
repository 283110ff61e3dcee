"""What is refused, whoever tries it: each attack by name, and the server goes on."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.web.service.conftest import BIDS, Serve, Served


@pytest.fixture
def server(serve: Serve, token: Callable[..., str]) -> Served:
    found = serve("--require-token", "--max-statement", "100000", token=token("ada", "admin"))
    found.run(BIDS)
    return found


def condition(answer: tuple[int, object]) -> tuple[int, str]:
    """The status and the first condition of a refusal."""
    status, told = answer
    assert isinstance(told, dict), told
    return status, told["errors"][0]["condition"]


def test_nobody_is_let_in_without_a_token(server: Served) -> None:
    server.token = None
    for method, path in (("GET", "/api/queries"), ("POST", "/api/statements"), ("GET", "/metrics"), ("GET", "/api/me")):
        assert condition(server.ask(method, path, {})) == (401, "NO_TOKEN")
    made_up = f"continua_{'0' * 12}_{'x' * 43}"
    assert condition(server.ask("GET", "/api/me", Authorization=f"Bearer {made_up}")) == (401, "NO_TOKEN")
    assert server.ask("GET", "/health")[0] == 200


def test_who_may_read_changes_nothing(server: Served, token: Callable[..., str]) -> None:
    server.token = token("bob", "read")
    for method, path, body in (
        ("POST", "/api/queries", {"sql": "SELECT * FROM Bid [NOW]"}),
        ("DELETE", "/api/queries/top", None),
        ("POST", "/api/queries/top/stop", None),
        ("POST", "/api/streams/Bid/rows", [[1, 1, 1]]),
        ("POST", "/api/statements", {"sql": "DROP QUERY top"}),
        ("POST", "/api/statements", {"sql": "SHOW QUERIES; INSERT INTO Bid VALUES (1, 1, 1)"}),
        ("POST", "/api/statements", {"sql": "SET retention = unlimited"}),
        ("POST", "/api/tokens", {"name": "eve", "role": "admin"}),
        ("POST", "/api/alerts", {"name": "a", "query": "top", "url": "http://127.0.0.1:1/"}),
    ):
        assert condition(server.ask(method, path, body)) == (403, "NOT_ALLOWED"), path
    assert server.ask("GET", "/api/queries/top")[1]["state"] == "live"


def test_who_has_a_right_to_one_query_sees_no_other(server: Served, token: Callable[..., str]) -> None:
    server.token = token("bob", "write", "--stream", "Own*", "--query", "new")
    assert [q["name"] for q in server.ask("GET", "/api/queries")[1]["queries"]] == ["new"]
    assert server.ask("GET", "/api/catalog")[1]["entries"] == []
    for method, path, body in (
        ("GET", "/api/queries/top/snapshot", None),
        ("GET", "/api/queries/top/changes", None),
        ("GET", "/api/queries/top/plan", None),
        ("POST", "/api/statements", {"sql": "SELECT * FROM top AT LATEST"}),
        ("POST", "/api/statements", {"sql": "SELECT * FROM (SELECT * FROM top) AS x AT LATEST"}),
        ("POST", "/api/statements", {"sql": "CREATE VIEW OwnView AS SELECT * FROM Bid [NOW]"}),
        ("POST", "/api/statements", {"sql": "SHOW QUERIES"}),
        ("POST", "/api/explain", {"sql": "SELECT * FROM Bid [NOW]"}),
        ("POST", "/api/streams/Bid/rows", [[1, 1, 1]]),
        ("GET", "/api/progress", None),
    ):
        assert condition(server.ask(method, path, body)) == (403, "NOT_ALLOWED"), (path, body)
    assert (
        server.ask("POST", "/api/statements", {"sql": "CREATE STREAM OwnBid (a INT, ts BIGINT) ORDERED BY ts"})[0]
        == 200
    )


def test_names_are_no_paths(server: Served, tmp_path: Path) -> None:
    for name in ("../../etc/passwd", "..%2f..%2fetc", "top/../../secret", "\x00", "a\nb"):
        status, _ = server.ask("GET", f"/api/queries/{quote(name, safe='')}")
        assert status == 404, name
    for path in ("/../../../etc/passwd", "/assets/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"):
        parts = urlsplit(server.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        connection.request("GET", path)
        assert b"root:" not in connection.getresponse().read()
        connection.close()
    server.run("CREATE STREAM `../../../../tmp/evil` (a INT, ts BIGINT) ORDERED BY ts")
    for rows in ("/api/streams/..%2f..%2f..%2f..%2ftmp%2fevil/rows", "/api/streams/..%2fx/rows"):
        assert server.ask("POST", rows, [[1, 1]])[0] in (200, 404, 405)
    server.run("REGISTER QUERY inside GROUP `../../../../tmp/evil` AS SELECT price FROM Bid [NOW]")
    assert not Path("/tmp/evil").exists() and not list(tmp_path.glob("*evil*"))


def test_neither_functions_nor_files_nor_hosts_are_reached_through_the_network(server: Served) -> None:
    for sql, wanted in (
        ("CREATE FUNCTION f(a STRING) RETURNS INT LANGUAGE PYTHON AS 'os:system'", "FUNCTION_NOT_PERMITTED"),
        ("CREATE STREAM P (a STRING, ts BIGINT) SOURCE csv('/etc/passwd') ORDERED BY ts", "PATH_NOT_PERMITTED"),
        ("CREATE STREAM U (a STRING, ts BIGINT) SOURCE jsonl('s3://bucket/x') ORDERED BY ts", "PATH_NOT_PERMITTED"),
        ("CREATE STREAM S (a STRING) SOURCE socket('10.0.0.1', 22)", "HOST_NOT_PERMITTED"),
        ("REGISTER QUERY w AS SELECT * FROM Bid [NOW] INTO csv('/tmp/out')", "PATH_NOT_PERMITTED"),
    ):
        assert condition(server.ask("POST", "/api/statements", {"sql": sql})) == (400, wanted), sql
    alert = {"name": "a", "query": "top", "url": "http://169.254.169.254/latest"}
    assert condition(server.ask("POST", "/api/alerts", alert)) == (400, "HOST_NOT_PERMITTED")


def test_a_statement_of_a_hundred_megabytes_is_refused_before_it_is_read(server: Served) -> None:
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.putrequest("POST", "/api/statements")
    connection.putheader("Authorization", f"Bearer {server.token}")
    connection.putheader("Content-Length", str(100 << 20))
    connection.putheader("Content-Type", "text/plain")
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["errors"][0]["condition"]) == (413, "TOO_LARGE")
    connection.close()
    deep = "SELECT " + "(" * 30_000 + "1" + ")" * 30_000
    assert server.ask("POST", "/api/statements", {"sql": deep})[0] == 400


def test_headers_that_do_not_come_are_not_waited_for(server: Served) -> None:
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as slow:
        began = time.monotonic()
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert slow.recv(100) == b""
        assert 5 < time.monotonic() - began < 20


def test_pages_of_other_sites_are_refused(serve: Serve) -> None:
    server = serve()
    body = {"sql": "CREATE STREAM Evil (a INT)"}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example:8088"},
        {"Sec_Fetch_Site": "cross-site"},
    ):
        assert condition(server.ask("POST", "/api/statements", body, **headers)) == (403, "OTHER_ORIGIN"), headers
    port = urlsplit(server.url).port
    own = {"Origin": f"http://127.0.0.1:{port}"}
    assert server.ask("GET", "/api/catalog", **own)[1]["entries"] == []


def test_the_record_has_no_secrets(server: Served, tmp_path: Path) -> None:
    server.run("CREATE STREAM Other (a INT); DROP STREAM Other")
    server.ask("POST", "/api/statements", {"sql": "SELEC 'my password'"})
    server.stop()
    lines = [json.loads(line) for line in (tmp_path / "state" / "audit.jsonl").read_text().splitlines()]
    assert ["CreateSource Other", "Drop Other"] in [line["statements"] for line in lines]
    assert any(line["status"] == 400 and line["conditions"] for line in lines)
    everything = (tmp_path / "state" / "audit.jsonl").read_text() + "".join(server.log)
    assert server.token is not None and server.token not in everything and "my password" not in everything
    kept = b"".join(p.read_bytes() for p in (tmp_path / "state").rglob("*") if p.is_file())
    assert server.token.rpartition("_")[2].encode() not in kept
