"""Scripts over topics, and what they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from continua.errors import ContinuaError
from continua.session import Session
from tests.services.kafka_broker import KafkaBroker

COLUMNS = "item INT, price INT, ts BIGINT"
SUMS = "REGISTER QUERY q AS SELECT item, SUM(price) AS s, COUNT(*) AS n FROM Bid [RANGE 3] GROUP BY item;\n"
EACH = "REGISTER QUERY q AS SELECT ISTREAM * FROM Bid [NOW];\n"


def stream(
    kafka: KafkaBroker, topic: str, columns: str = COLUMNS, clauses: str = "ORDERED BY ts", **options: object
) -> str:
    """The definition of a stream Bid over a topic; options are written as they are."""
    given = {"servers": f"'{kafka.servers}'"} | options
    written = ", ".join(f"{name} => {value}" for name, value in given.items())
    return f"CREATE STREAM Bid ({columns}) SOURCE kafka('{topic}', {written}) {clauses};\n"


def bids(*rows: tuple[int, int, int]) -> list[str]:
    """Items, prices and times as JSON."""
    return [json.dumps({"item": item, "price": price, "ts": ts}) for item, price, ts in rows]


def answers(script: str) -> list[tuple[int, str | None, tuple[object, ...]]]:
    """What the queries of a script answer: instants, operations and rows."""
    session = Session()
    session.execute(script)
    return [(a.instant, a.op, a.row) for a in session.answers()]


def rows(script: str) -> list[tuple[object, ...]]:
    """The rows alone."""
    return [row for _, _, row in answers(script)]


def refused(script: str) -> ContinuaError:
    """The error that a script has."""
    try:
        answers(script)
    except ContinuaError as error:
        return error
    raise AssertionError("nothing was refused")


def written(folder: Path) -> list[dict[str, Any]]:
    """What is in the files of a folder of INTO json, in the order of epochs; of one epoch in that of time."""
    found: list[dict[str, Any]] = []
    for epoch in sorted({path.name[:16] for path in folder.glob("epoch-*.json")}):
        lines = [line for path in sorted(folder.glob(f"{epoch}*.json")) for line in path.read_text().splitlines()]
        found += sorted(map(json.loads, lines), key=lambda row: int(row["t"]))
    return found
