"""A server in this process, asked as it is by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from continua.server.app import application
from continua.server.service import Service, ServiceOptions

BIDS = """
CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts;
REGISTER QUERY top AS SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item;
REGISTER QUERY new AS SELECT ISTREAM * FROM Bid [NOW];
"""


@contextmanager
def served(state: Path | None = None) -> Iterator[TestClient]:
    """A server whose epochs follow each other closely, until the block ends."""
    service = Service(ServiceOptions(state=state, master="none", partitions=1, trigger=0.01))
    with ExitStack() as ends:
        ends.callback(service.close)
        service.begin()
        yield ends.enter_context(TestClient(application(service)))


def run(client: TestClient, sql: str) -> list[dict[str, object]]:
    """What the statements of a script did."""
    answer = client.post("/api/statements", json={"sql": sql})
    assert answer.status_code == 200, answer.text
    outcomes: list[dict[str, object]] = answer.json()["outcomes"]
    return outcomes


def insert(client: TestClient, rows: str) -> None:
    """Inserts rows, and waits until they are worked on."""
    run(client, f"INSERT INTO Bid VALUES {rows}")
    client.app.state.service.live.process()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A server with two queries over bids."""
    with served() as found:
        run(found, BIDS)
        insert(found, "(1, 10, 5), (2, 20, 6), (1, 30, 9), (1, 5, 20)")
        yield found
