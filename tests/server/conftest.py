"""A server in this process, asked as it is by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from continua.server.access import Access
from continua.server.app import application
from continua.server.audit import Audit
from continua.server.limits import Limits
from continua.server.service import Service, ServiceOptions
from continua.server.serving import Server

BIDS = """
CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts;
REGISTER QUERY top AS SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item;
REGISTER QUERY new AS SELECT ISTREAM * FROM Bid [NOW];
"""


@contextmanager
def served(state: Path | None = None, required: bool = False, limits: Limits | None = None) -> Iterator[TestClient]:
    """A server whose epochs follow each other closely, until the block ends."""
    service = Service(ServiceOptions(state=state, master="none", partitions=1, trigger=0.01))
    with ExitStack() as ends:
        ends.callback(service.close)
        service.begin()
        access = Access(service.tokens, required, origins=("http://console.example.com",))
        server = Server(service, access, limits or Limits(), Audit(None if state is None else state / "audit.jsonl"))
        yield ends.enter_context(TestClient(application(server), base_url="http://127.0.0.1"))


def service_of(client: TestClient) -> Service:
    """What is behind a client."""
    server: Server = client.app.state.server  # type: ignore[attr-defined]
    return server.service


def run(client: TestClient, sql: str) -> list[dict[str, object]]:
    """What the statements of a script did."""
    answer = client.post("/api/statements", json={"sql": sql})
    assert answer.status_code == 200, answer.text
    outcomes: list[dict[str, object]] = answer.json()["outcomes"]
    return outcomes


def insert(client: TestClient, rows: str) -> None:
    """Inserts rows, and waits until they are worked on."""
    run(client, f"INSERT INTO Bid VALUES {rows}")
    service_of(client).live.process()


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A server with two queries over bids."""
    with served() as found:
        run(found, BIDS)
        insert(found, "(1, 10, 5), (2, 20, 6), (1, 30, 9), (1, 5, 20)")
        yield found
