"""Who is let in, what they may do, and rows that they send."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from continua.server.limits import Limits
from continua.server.permits import check_script
from continua.server.roles import Role
from continua.server.tokens import Caller
from tests.server.conftest import BIDS, run, served, service_of

ROWS = "/api/streams/Bid/rows"


def conditions(client: TestClient, method: str, path: str, **more: object) -> tuple[int, list[str]]:
    """The status and the conditions of a refusal."""
    answer = client.request(method, path, **more)  # type: ignore[arg-type]
    return answer.status_code, [error["condition"] for error in answer.json()["errors"]]


def test_a_token_is_known_until_it_is_revoked() -> None:
    with served(required=True) as client:
        text, kept = service_of(client).tokens.create("ada", Role.ADMIN)
        assert conditions(client, "GET", "/api/me") == (401, ["NO_TOKEN"])
        client.headers["Authorization"] = f"Bearer {text}"
        assert client.get("/api/me").json() == {"name": "ada", "role": "admin", "streams": None, "queries": None}
        issued = client.post("/api/tokens", json={"name": "bob", "role": "read", "queries": ["top"]}).json()
        assert [t["name"] for t in client.get("/api/tokens").json()["tokens"]].count("bob") == 1
        bob = {"Authorization": f"Bearer {issued['token']}"}
        assert client.get("/api/me", headers=bob).json()["queries"] == ["top"]
        assert client.delete(f"/api/tokens/{issued['id']}").status_code == 204
        assert conditions(client, "GET", "/api/me", headers=bob) == (401, ["NO_TOKEN"])
        assert text.rpartition("_")[2] not in json.dumps(kept.digest)


@pytest.mark.parametrize(
    ("sql", "role"),
    [
        ("DESCRIBE Bid; SELECT * FROM top AT LATEST; EXPLAIN SELECT * FROM Bid [NOW]; SHOW QUERIES", Role.READ),
        ("INSERT INTO Bid VALUES (1)", Role.WRITE),
        ("SELECT * FROM Bid [NOW]", Role.WRITE),
        ("CREATE VIEW v AS SELECT * FROM Bid [NOW]", Role.WRITE),
        ("DROP QUERY top; STOP new; START new", Role.WRITE),
        ("SET retention = unlimited", Role.ADMIN),
    ],
)
def test_each_statement_needs_a_role(sql: str, role: Role) -> None:
    check_script(Caller("ada", role), sql)
    with pytest.raises(ValueError, match=f"this needs {role.name.lower()}"):
        check_script(Caller("bob", Role(role - 1)), sql)


def test_rows_come_as_json_csv_and_arrow_and_all_or_none() -> None:
    with served() as client:
        run(client, BIDS)
        assert client.post(ROWS, json=[{"ts": 5, "item": 1, "price": 10}, [2, 20, 6]]).json() == {
            "rows": 2,
            "again": False,
        }
        csv = client.post(ROWS, content="price,item,ts\n30,3,7\n,4,8\n", headers={"Content-Type": "text/csv"})
        assert csv.json()["rows"] == 2
        written, table = io.BytesIO(), pa.table({"item": [5], "price": [50], "ts": [9]})
        with pa.ipc.new_stream(written, table.schema) as stream:
            stream.write_table(table)
        arrow = {"Content-Type": "application/vnd.apache.arrow.stream"}
        assert client.post(ROWS, content=written.getvalue(), headers=arrow).json()["rows"] == 1
        for content, kind in ((b"[{", "application/json"), (b"", "text/csv"), (b"ARROW", arrow["Content-Type"])):
            refused = conditions(client, "POST", ROWS, content=content, headers={"Content-Type": kind})
            assert refused == (400, ["BAD_REQUEST"]), kind
        assert conditions(client, "POST", ROWS, json=[[6, 1, 10], ["six", 1, 11]])[0] == 400
        assert conditions(client, "POST", ROWS, content=b"", headers={"Content-Type": "text/html"})[1] == ["BAD_MEDIA"]
        service_of(client).live.finish()
        told = client.get("/api/queries/new/changes").json()["changes"]
        assert [(c["t"], c["row"]["item"], c["row"]["price"]) for c in told] == [
            (5, 1, 10),
            (6, 2, 20),
            (7, 3, 30),
            (8, 4, None),
            (9, 5, 50),
        ]


def test_rows_under_a_key_are_taken_once_also_after_a_restart(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "one"}
    with served(tmp_path) as client:
        run(client, BIDS)
        assert client.post(ROWS, json=[[1, 10, 5]], headers=key).json() == {"rows": 1, "again": False}
        assert client.post(ROWS, json=[[1, 10, 5]], headers=key).json() == {"rows": 1, "again": True}
        service_of(client).live.process()
    with served(tmp_path) as client:
        assert client.post(ROWS, json=[[1, 10, 5]], headers=key).json() == {"rows": 1, "again": True}
        run(client, "INSERT INTO Bid VALUES (9, 9, 9)")
        service_of(client).live.process()
        assert len(client.get("/api/queries/new/changes").json()["changes"]) == 1


def test_what_is_too_much_is_refused() -> None:
    with served(limits=Limits(body_bytes=1000, statement_bytes=500)) as client:
        run(client, BIDS)
        assert conditions(client, "POST", ROWS, json=[[1, 1, 1]] * 200) == (413, ["TOO_LARGE"])
        assert conditions(client, "POST", "/api/statements", json={"sql": "-" * 600}) == (413, ["TOO_LARGE"])
        assert conditions(
            client, "POST", "/api/complete", content=b"{", headers={"Content-Type": "application/json"}
        ) == (
            400,
            ["BAD_REQUEST"],
        )


def test_words_are_completed(client: TestClient) -> None:
    found = client.post("/api/complete", json={"text": "SELECT pri"}).json()["candidates"]
    assert {"text": "price", "kind": "column of Bid"} in found
