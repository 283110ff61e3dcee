"""What the cluster works on: five queries over an auction site, live by the clock, with most bids on few items."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from continua.objects.client import Bucket

RATE = 1_000
"""Events a second."""
_SOURCE = "SOURCE nexmark('{kind}', rate => {rate}, events => {events}, start => '{start}') ORDERED BY dateTime"
_STREAMS = {
    "Person": "id BIGINT, name STRING, city STRING, state STRING, dateTime TIMESTAMP",
    "Auction": "id BIGINT, seller BIGINT, category BIGINT, dateTime TIMESTAMP",
    "Bid": "auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP",
}
QUERIES = {
    "bids": "SELECT auction, COUNT(*) AS bids, MAX(price) AS highest FROM Bid [RANGE 10 SECONDS SLIDE 2 SECONDS] "
    "GROUP BY auction",
    "hot": "SELECT auction, COUNT(*) AS bids FROM Bid [RANGE 5 SECONDS SLIDE 1 SECOND] "
    "GROUP BY auction ORDER BY bids DESC, auction LIMIT 3",
    "bidders": "SELECT bidder, COUNT(*) AS bids, SUM(price) AS spent FROM Bid [RANGE UNBOUNDED SLIDE 2 SECONDS] "
    "GROUP BY bidder",
    "opened": "SELECT ISTREAM P.name, P.state, A.id AS auction FROM Person [RANGE 20 SECONDS] P, Auction [NOW] A "
    "WHERE A.seller = P.id",
    "outbid": "SELECT ISTREAM auction, price FROM Bid [PARTITION BY auction ROWS 1] WHERE price > 1000000",
}
"""By their names: skewed keys in windows, the most frequent of them, sums that last, a join, rows of each key."""


@dataclass(frozen=True)
class Load:
    """Some seconds of events from a moment on."""

    begin: datetime
    seconds: int

    @property
    def events(self) -> int:
        """How many events there are."""
        return self.seconds * RATE

    def script(self, place: str, options: str = "") -> str:
        """The queries, each of which writes below a place."""
        start = self.begin.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        told = [
            f"CREATE STREAM {name} ({columns}) "
            + _SOURCE.format(kind=name.lower(), rate=RATE, events=self.events, start=start)
            for name, columns in _STREAMS.items()
        ]
        told += [f"REGISTER QUERY {n} AS {text} INTO parquet('{place}/{n}{options}')" for n, text in QUERIES.items()]
        return "".join(f"{statement};\n" for statement in told)

    def expected(self, folder: Path) -> dict[str, Counter[tuple[object, ...]]]:
        """The answers of the runner that needs no Spark."""
        command = [sys.executable, "-c", "from continua.cli.main import main; main()", "run", "-", "--master", "none"]
        text = self.script(str(folder)).encode()
        subprocess.run(command, input=text, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": _source()})
        return {n: rows_of(path.read_bytes() for path in (folder / n).glob("*.parquet")) for n in QUERIES}


def _source() -> str:
    return str(Path(__file__).resolve().parents[2] / "src")


def rows_of(files: object) -> Counter[tuple[object, ...]]:
    """The rows of files of Parquet, each as often as it is there."""
    found: Counter[tuple[object, ...]] = Counter()
    for content in files:  # type: ignore[attr-defined]
        table: pa.Table = pq.read_table(io.BytesIO(content))
        found.update(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return found


def written(bucket: Bucket) -> dict[str, Counter[tuple[object, ...]]]:
    """What is below the place at which the queries write in a bucket, as any reader finds it."""
    found: dict[str, Counter[tuple[object, ...]]] = {}
    for name in QUERIES:
        keys = [f.key for f in bucket.found(name) if f.key.endswith(".parquet")]
        found[name] = rows_of(content for key in keys if (content := bucket.get(key)) is not None)
    return found


def difference(
    found: dict[str, Counter[tuple[object, ...]]], expected: dict[str, Counter[tuple[object, ...]]]
) -> str | None:
    """What is lost and what is there too often; None where all is as it should be."""
    told: list[str] = []
    for name, wanted in expected.items():
        lost, more = wanted - found[name], found[name] - wanted
        if lost or more:
            told.append(f"{name}: {lost.total()} lost {list(lost)[:2]}, {more.total()} too many {list(more)[:2]}")
    return "; ".join(told) or None
