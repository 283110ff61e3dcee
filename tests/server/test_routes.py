"""What a server answers."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from tests.server.conftest import BIDS, insert, run, served, service_of


def test_a_script_says_of_each_statement_what_it_did(client: TestClient) -> None:
    outcomes = run(client, "DESCRIBE Bid; SELECT * FROM top AT 9; EXPLAIN SELECT * FROM Bid [NOW]")
    assert [o["statement"] for o in outcomes] == ["table", "content", "text"]
    content = outcomes[1]["content"]
    assert isinstance(content, dict)
    assert sorted(content["rows"], key=str) == [{"item": 1, "top": 30}, {"item": 2, "top": 20}]


def test_all_mistakes_of_a_script_are_told_with_their_places(client: TestClient) -> None:
    sql = "SELECT itm FROM Bid [NOW];\nSELECT item FROM Bit [NOW]"
    for path in ("/api/statements", "/api/check"):
        errors = client.post(path, json={"sql": sql}).json()["errors"]
        assert [(e["condition"], e["line"], e["column"]) for e in errors] == [
            ("UNKNOWN_COLUMN", 1, 8),
            ("UNKNOWN_STREAM", 2, 18),
        ]
        assert errors[0]["hint"] == "did you mean item?"


def test_what_is_checked_is_not_done(client: TestClient) -> None:
    before = client.get("/api/catalog").json(), client.get("/api/queries").json()["queries"]
    answer = client.post(
        "/api/check",
        content="CREATE STREAM Other (a INT); SELECT * FROM Other [NOW]",
        headers={"Content-Type": "text/plain"},
    )
    assert answer.status_code == 200 and answer.json()["errors"] == []
    after = client.get("/api/catalog").json(), client.get("/api/queries").json()["queries"]
    assert [q["name"] for q in after[1]] == [q["name"] for q in before[1]] and after[0] == before[0]


def test_a_snapshot_is_the_content_at_an_instant_in_three_formats(client: TestClient) -> None:
    wanted = [{"item": 1, "top": 10}, {"item": 2, "top": 20}]
    asked = client.get("/api/queries/top/snapshot", params={"at": "6"}).json()
    assert (asked["at"], asked["rows"], asked["total"]) == (6, wanted, 2)
    assert client.get("/api/queries/top/snapshot?at=6&limit=1").json()["rows"] == wanted[:1]
    csv = client.get("/api/queries/top/snapshot?at=6", headers={"Accept": "text/csv"})
    assert csv.text == '"item","top"\n1,10\n2,20\n' and csv.headers["x-instant"] == "6"
    arrow = client.get("/api/queries/top/snapshot?at=6&format=arrow").content
    assert pa.ipc.open_stream(io.BytesIO(arrow)).read_all().to_pylist() == wanted


@pytest.mark.parametrize(
    ("path", "status", "condition"),
    [
        ("/api/queries/tap", 404, "UNKNOWN_NAME"),
        ("/api/queries/top/snapshot?at=tomorrow", 400, "BAD_INSTANT"),
        ("/api/queries/top/snapshot?at=99", 409, "INSTANT_OPEN"),
        ("/api/queries/top/snapshot?limit=many", 400, "BAD_REQUEST"),
        ("/api/queries/top/changes?after=here", 400, "BAD_POSITION"),
        ("/api/queries/top/changes?after=0123-1-1", 410, "OTHER_RUN"),
        ("/api/queries/top/plan?format=svg", 400, "BAD_REQUEST"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(client: TestClient, path: str, status: int, condition: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["errors"][0]["condition"]) == (status, condition)


def test_changes_go_on_behind_a_position() -> None:
    with served() as client:
        run(client, BIDS)
        insert(client, "(1, 10, 5), (2, 20, 6)")
        first = client.get("/api/queries/new/changes").json()
        assert first["changes"] == [{"t": 5, "row": {"item": 1, "price": 10}}]
        assert client.get(f"/api/queries/new/changes?after={first['position']}").json()["changes"] == []
        insert(client, "(3, 30, 7)")
        second = client.get(f"/api/queries/new/changes?after={first['position']}").json()
        assert second["changes"] == [{"t": 6, "row": {"item": 2, "price": 20}}]


def test_a_server_goes_on_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        run(client, BIDS + "SELECT item FROM Bid [RANGE 5] WHERE price > 15")
        run(client, "STOP new")
        insert(client, "(1, 10, 5), (2, 20, 6), (1, 30, 9)")
        told = client.get("/api/queries/top/changes").json()
    with served(tmp_path) as client:
        states = {q["name"]: q["state"] for q in client.get("/api/queries").json()["queries"]}
        assert states == {"top": "live", "new": "stopped", "q1": "live"}
        insert(client, "(2, 50, 10), (7, 1, 12)")
        found = client.get(f"/api/queries/top/changes?after={told['position']}").json()["changes"]
        assert found[:2] == [
            {"t": 9, "op": "-", "row": {"item": 1, "top": 10}},
            {"t": 9, "op": "+", "row": {"item": 1, "top": 30}},
        ]


def test_what_was_dropped_is_not_there_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        run(client, BIDS + "CREATE STREAM Other (a INT); DROP STREAM Other; DROP QUERY new")
        assert client.delete("/api/queries/top").status_code == 204
        kept = [k.text for k in service_of(client).kept.statements]
        assert kept == ["CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts"]
    with served(tmp_path) as client:
        assert client.get("/api/queries").json()["queries"] == []
        assert [e["name"] for e in client.get("/api/catalog").json()["entries"]] == ["Bid"]


def test_a_query_that_cannot_be_started_leaves_its_name_free() -> None:
    with served() as client:
        run(client, BIDS)
        wrong = {"name": "odd", "sql": "SELECT * FROM Bid [NOW] INTO parquet('/proc/nowhere/here')"}
        assert client.post("/api/queries", json=wrong).status_code >= 400
        answer = client.post("/api/queries", json={"name": "odd", "sql": "SELECT price FROM Bid [NOW]"})
        assert answer.status_code == 201 and answer.json()["state"] == "live"
