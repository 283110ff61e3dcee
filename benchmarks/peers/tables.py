"""The tables of NEXMark's events as every system declares them; jobs of all systems import this, and nothing else."""

from __future__ import annotations

TEXT, NUMBER, MOMENT = "STRING", "BIGINT", "TIMESTAMP"

TABLES: dict[str, dict[str, str]] = {
    "person": {
        "id": NUMBER,
        "name": TEXT,
        "emailAddress": TEXT,
        "creditCard": TEXT,
        "city": TEXT,
        "state": TEXT,
        "dateTime": MOMENT,
        "extra": TEXT,
    },
    "auction": {
        "id": NUMBER,
        "itemName": TEXT,
        "description": TEXT,
        "initialBid": NUMBER,
        "reserve": NUMBER,
        "dateTime": MOMENT,
        "expires": MOMENT,
        "seller": NUMBER,
        "category": NUMBER,
        "extra": TEXT,
    },
    "bid": {
        "auction": NUMBER,
        "bidder": NUMBER,
        "price": NUMBER,
        "channel": TEXT,
        "url": TEXT,
        "dateTime": MOMENT,
        "extra": TEXT,
    },
}
"""Events of each kind, by the names and the order of their columns."""
TIME = "dateTime"
SIDE = {"key": NUMBER, "value": TEXT}
"""The small table that q13 asks."""
ANSWERS = "answers"
"""The folder to which the answers go, as lines of JSON."""
PARALLELISM = 2
"""Tasks at work at the same time, and files of each kind of event."""


def columns_of(table: dict[str, str], quote: str = "`") -> str:
    """Columns with their types, as SQL declares them."""
    return ", ".join(f"{quote}{name}{quote} {kind}" for name, kind in table.items())
