"""What the answers of a system come to in the end, and whether those of several systems are the same.

An answer is a row of JSON. What counts are final contents: of changes, the rows that were inserted less those that were
deleted. They are compared as multisets, for each query by what its systems agree on (``COMPARED``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

_BID = "auction, bidder, price, dateTime"
_COUNTS = "total, low, middle, high"
_DISTINCT = "bidders, low_bidders, middle_bidders, high_bidders, auctions, low_auctions, middle_auctions, high_auctions"
COLUMNS: Mapping[str, str] = {
    "q0": _BID,
    "q1": _BID,
    "q2": "auction, price",
    "q3": "name, city, state, id",
    "q4": "category, average",
    "q5": "auction, bids, until",
    "q7": "auction, bidder, price, until",
    "q8": "id, name",
    "q9": "id, initialBid, reserve, expires, seller, category, bidder, price, dateTime",
    "q10": f"{_BID}, day, minute",
    "q11": "bidder, bids, first, last",
    "q12": "bidder, bids",
    "q13": f"{_BID}, value",
    "q14": "auction, bidder, price, bidTimeType, dateTime, c_counts",
    "q15": f"day, {_COUNTS}, {_DISTINCT}",
    "q16": f"channel, day, minute, {_COUNTS}, {_DISTINCT}",
    "q17": f"auction, day, {_COUNTS}, least, most, average, sum",
    "q18": _BID,
    "q19": _BID,
    "q20": f"{_BID}, channel, url, itemName, description, initialBid, reserve, expires, seller, category",
    "q21": "auction, bidder, price, channel, channel_id",
    "q22": "auction, bidder, price, channel, dir1, dir2, dir3",
}
"""The columns of the answers of each query that more than one system answers."""
COMPARED: Mapping[str, tuple[str, str]] = {
    "q9": (
        "SELECT DISTINCT id, price FROM final",
        "of several bids that are equally high Continua has all, Flink the first",
    ),
    "q11": (
        "SELECT bidder, first, MAX(CAST(bids AS BIGINT)), MAX(last) AS last FROM inserted GROUP BY bidder, first",
        "Continua tells each session as it grows and removes it when it is over, the others tell it when it is over",
    ),
    "q12": (
        "SELECT bidder, SUM(CAST(bids AS BIGINT)) FROM inserted GROUP BY bidder",
        "windows go by the clock, so that only their sums are the same in two runs",
    ),
    "q18": (
        "SELECT auction, bidder, dateTime FROM final",
        "of several bids in one millisecond, which the last one is depends on the order of the files",
    ),
    "q19": (
        "SELECT DISTINCT auction, price FROM final",
        "Continua has all bids that are as high as the tenth, Flink some of them",
    ),
}
"""What is compared where it is not the final content as it is, and why."""
NOT_COMPARED: Mapping[tuple[str, str], str] = {
    ("Continua", "q6"): "nobody else answers it",
    ("Flink SQL", "q12"): "windows of the clock that are open when the input ends are never told",
}
"""Answers of a system that are compared with nobody's, and why."""
_ENDS: Mapping[str, str] = {"q5": "until", "q7": "until", "q11": "last"}
"""Queries of which Spark tells only windows that its watermark has passed, with the column by which that is known."""
_MOMENTS = {"dateTime", "expires", "first", "last", "until"}
_NUMBERS = {"average", "price"}


@dataclass(frozen=True)
class Answers:
    """The answers of a system in a folder: lines of JSON, and how they tell of changes."""

    system: str
    files: str
    kind: str
    """``elements``; ``tagged`` with ``op``; ``debezium``; or ``batches``, each with the rows that changed, by key."""


def _text(name: str, of: str) -> str:
    if name in _MOMENTS:
        return f"CAST(REPLACE(REPLACE({of}, 'T', ' '), 'Z', '') AS TIMESTAMP)"
    return f"ROUND(CAST({of} AS DOUBLE), 3)" if name in _NUMBERS else of


def _read(files: str, names: Mapping[str, str]) -> str:
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in names.items())
    return f"read_json('{files}', format = 'newline_delimited', columns = {{{columns}}}, filename = true)"


def _changes(answers: Answers, query: str) -> str:
    """The answers as rows with a weight each."""
    names = COLUMNS[query].split(", ")
    plain = dict.fromkeys(names, "VARCHAR")
    rows = ", ".join(f"{_text(name, name)} AS {name}" for name in names)
    match answers.kind:
        case "elements":
            return f"SELECT {rows}, 1 AS weight FROM {_read(answers.files, plain)}"
        case "tagged":
            # an instant stands before the end of its window by the least time
            moved = "CAST(REPLACE(REPLACE(t, 'T', ' '), 'Z', '') AS TIMESTAMP) + INTERVAL 1 MILLISECOND AS until"
            rows = ", ".join(moved if name == "until" else f"{_text(name, name)} AS {name}" for name in names)
            read = _read(answers.files, {"t": "VARCHAR", "op": "VARCHAR", **plain})
            return f"SELECT {rows}, CASE op WHEN '-' THEN -1 ELSE 1 END AS weight FROM {read}"
        case "debezium":
            read = _read(answers.files, {"before": "JSON", "after": "JSON", "op": "VARCHAR"})
            fields = ", ".join(f"{_text(name, f'(side->>{name!r})')} AS {name}" for name in names)
            both = " UNION ALL ".join(
                f"SELECT {side} AS side, {weight} AS weight FROM {read} WHERE {side} IS NOT NULL"
                for side, weight in (("before", -1), ("after", 1))
            )
            return f"SELECT {fields}, weight FROM ({both})"
        case "batches":
            keys = ", ".join(_KEYS[query].split(", "))
            read = _read(answers.files, {"batch": "BIGINT", "until": "VARCHAR", **plain})
            last = f"SELECT * FROM {read} QUALIFY RANK() OVER (PARTITION BY {keys} ORDER BY batch DESC) = 1"
            return f"SELECT {rows}, 1 AS weight FROM ({last})"
        case _:
            raise ValueError(f"there are no answers of the kind {answers.kind}")


_KEYS = {
    "q12": "bidder, until",
    "q15": "day",
    "q16": "channel, day",
    "q17": "auction, day",
    "q18": "auction, bidder",
}
"""Of queries that Spark answers batch by batch, what tells their rows apart."""


def load(connection: duckdb.DuckDBPyConnection, answers: Answers, query: str) -> int:
    """Makes a table of what is compared, by the name of the system; how many answers there are."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE changes AS {_changes(answers, query)}")
    names = COLUMNS[query]
    connection.execute("CREATE OR REPLACE TEMP VIEW inserted AS SELECT * FROM changes WHERE weight > 0")
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW final AS SELECT {names} FROM"
        f" (SELECT {names}, SUM(weight) AS weight FROM changes GROUP BY ALL), UNNEST(RANGE(CAST(weight AS BIGINT)))"
    )
    compared = COMPARED[query][0] if query in COMPARED else f"SELECT {names} FROM final"
    connection.execute(f'CREATE OR REPLACE TEMP TABLE "{answers.system}" AS {compared}')
    found = connection.execute("SELECT COUNT(*) FROM changes").fetchone()
    assert found is not None
    return int(found[0])


def difference(
    connection: duckdb.DuckDBPyConnection, query: str, first: str, second: str, ends_early: bool
) -> str | None:
    """How what two systems have come to differs; None if it does not.

    ``ends_early`` says that the second one tells only windows that are over: those are compared.
    """
    here, there = f'SELECT * FROM "{first}"', f'SELECT * FROM "{second}"'
    if ends_early and query in _ENDS:
        end = _ENDS[query]
        here += f' WHERE {end} <= (SELECT MAX({end}) FROM "{second}")'
        if query == "q11":  # the sessions of one person end in their order, those of several do not
            here += f' AND (bidder, first) IN (SELECT (bidder, first) FROM "{second}")'
    missing = connection.execute(f"({here}) EXCEPT ALL ({there})").fetchall()
    besides = connection.execute(f"({there}) EXCEPT ALL ({here})").fetchall()
    if not missing and not besides:
        return None
    shown = [f"{first} alone has {row}" for row in missing[:2]] + [f"{second} alone has {row}" for row in besides[:2]]
    return f"{len(missing)} rows of {first} and {len(besides)} of {second} differ: {'; '.join(shown)}"
