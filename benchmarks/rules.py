"""What the rules are worth: queries as they are optimised against the same with all rules off, and their answers.

python -m benchmarks.rules [--scale F] [--repeat K] [--only NAME]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.throughput import KEYS, PARTITIONS, PER_INSTANT, best
from continua.answers import Query
from continua.physical.nodes import END, START, WEIGHT
from continua.physical.positional import FINAL
from continua.rules.order import EVERYTHING, optimize
from continua.rules.rule import Facts
from continua.rules.statistics import statistics_of
from continua.running import Options
from continua.running import Run as BoundedRun
from continua.runtime.on_spark import OnSpark
from continua.runtime.spark import start_spark
from continua.session import Session

Columns = Mapping[str, np.ndarray]
LIFE = 5_000
"""How many instants an auction is open."""
AUCTIONS_PER_INSTANT = 0.1
SLIDE = 500
DEFINITIONS = f"""
CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('bid.parquet') ORDERED BY ts
  STATISTICS (rate = {PER_INSTANT}, auction = {KEYS});
CREATE STREAM offer (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('offer.parquet') ORDERED BY ts
  STATISTICS (rate = {PER_INSTANT}, auction = {KEYS});
CREATE STREAM ask (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('ask.parquet') ORDERED BY ts
  STATISTICS (rate = 0.1, auction = {KEYS});
CREATE STREAM deal (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('deal.parquet') ORDERED BY ts
  STATISTICS (rate = 0.1, auction = {KEYS});
CREATE STREAM raise (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('raise.parquet') ORDERED BY ts
  STATISTICS (rate = {PER_INSTANT}, auction = {3 * LIFE * AUCTIONS_PER_INSTANT:.0f});
CREATE STREAM opened (auction BIGINT, seller BIGINT, ts BIGINT) SOURCE parquet('opened.parquet') ORDERED BY ts
  KEY auction STATISTICS (rate = {AUCTIONS_PER_INSTANT});
CREATE STREAM closed (auction BIGINT, ts BIGINT) SOURCE parquet('closed.parquet') ORDERED BY ts KEY auction
  STATISTICS (rate = {AUCTIONS_PER_INSTANT});
"""


@dataclass(frozen=True)
class Case:
    """A query, how many times faster the rules should make it, and the rows of the fastest stream that it reads."""

    name: str
    text: str
    target: float
    rows: int
    sources: tuple[str, ...]


QUERY_6_1 = Case("query 6.1", "SELECT * FROM bid WHERE price > 5000", 1.3, 4_000_000, ("bid",))
"""Compared with Spark itself, which writes the same rows: at most so many times slower."""
PLAIN = "SELECT auction, price, ts FROM bid WHERE price > 5000"

CASES = (
    Case(
        "filter pushdown",
        "SELECT bid.auction, bid.price, offer.price AS other FROM bid [RANGE 4000], offer [RANGE 4000]"
        " WHERE bid.auction = offer.auction AND bid.price > 9900 AND offer.price > 8000",
        3.0,
        800_000,
        ("bid", "offer"),
    ),
    Case(
        "join reordering",
        "SELECT bid.auction, bid.price, offer.price AS other, ask.price AS asked, deal.price AS dealt"
        " FROM bid [RANGE 1500] JOIN offer [RANGE 1500] ON bid.auction = offer.auction"
        " JOIN ask [RANGE 1500] ON offer.auction = ask.auction JOIN deal [RANGE 1500] ON ask.auction = deal.auction",
        3.0,
        400_000,
        ("bid", "offer", "ask", "deal"),
    ),
    Case(
        "figure 9",
        f"SELECT opened.auction, seller, MAX(price) FROM raise [RANGE {2 * LIFE} SLIDE {SLIDE}]"
        f" JOIN closed [RANGE {2 * LIFE}] ON raise.auction = closed.auction"
        f" JOIN opened [RANGE {3 * LIFE}] ON closed.auction = opened.auction GROUP BY opened.auction, seller",
        2.0,
        2_000_000,
        ("raise", "opened", "closed"),
    ),
)
"""With the equalities in the joins, so that without rules too all of them are hash joins."""


def _prices(random: np.random.Generator, rows: int, rate: float) -> Columns:
    """Prices of random auctions, so many an instant."""
    count = max(1, int(rows * rate / PER_INSTANT))
    return {
        "auction": random.integers(0, KEYS, count),
        "price": random.integers(1, 10_000, count),
        "ts": (np.arange(count) / rate).astype(np.int64),
    }


def _raises(random: np.random.Generator, rows: int) -> Columns:
    """Bids on the auctions that are open at their instant."""
    instants = np.arange(rows) // PER_INSTANT
    last = (instants * AUCTIONS_PER_INSTANT).astype(np.int64)
    back = random.integers(0, int(LIFE * AUCTIONS_PER_INSTANT), rows)
    return {"auction": np.maximum(last - back, 0), "price": random.integers(1, 10_000, rows), "ts": instants}


def _auctions(rows: int, delay: int, sellers: bool) -> Columns:
    """Every auction once, so long after it has opened."""
    auctions = np.arange(int(rows / PER_INSTANT * AUCTIONS_PER_INSTANT))
    found = {"auction": auctions, "ts": (auctions / AUCTIONS_PER_INSTANT).astype(np.int64) + delay}
    return {"auction": auctions, "seller": auctions % 97, "ts": found["ts"]} if sellers else found


def rows_of(source: str, rows: int) -> Columns:
    """The rows of a source, where the fastest one has so many."""
    random = np.random.default_rng(sum(map(ord, source)))
    match source:
        case "raise":
            return _raises(random, rows)
        case "opened" | "closed":
            return _auctions(rows, 0 if source == "opened" else LIFE, source == "opened")
        case _:
            return _prices(random, rows, 0.1 if source in ("ask", "deal") else PER_INSTANT)


def frames_of(spark: SparkSession, folder: Path, case: Case, rows: int) -> dict[str, DataFrame]:
    """The sources of a case as Spark reads them."""
    found = {}
    for source in case.sources:
        path = folder / f"{source}.parquet"
        columns = rows_of(source, rows)
        pq.write_table(pa.table(dict(columns)), path, row_group_size=max(1, len(columns["ts"]) // 8))
        found[source] = spark.read.parquet(str(path))
    return found


def planned(text: str, folder: Path) -> tuple[Session, Query, Query]:
    """A query as the rules make it, and without them, and the session that knows its sources."""
    session = Session(data=folder)
    session.execute(DEFINITIONS)
    query = session.sql(text)
    assert query is not None
    facts = Facts(query.chronon, statistics_of(session.catalog.entries()))
    on, off = (optimize(query.bound.logical, facts, frozenset(d)) for d in ((), (EVERYTHING,)))
    return session, replace(query, rewritten=on), replace(query, rewritten=off)


class Run:
    """A plan over all rows, as ``continua run`` runs it; keeps what the answer was."""

    def __init__(self, spark: SparkSession, session: Session, query: Query, end: int) -> None:
        self._spark, self._session, self._query, self._end = spark, session, query, end
        self.answer: tuple[int, int] | None = None

    def __call__(self) -> int:
        """Returns how many rows came out."""
        counts: list[int] = []
        given = self._session.inputs.given(self._query.sources)
        options = Options(partitions=PARTITIONS)
        with BoundedRun([self._query], given, [], OnSpark(self._spark), options) as run:
            run.to_the_end(lambda done: counts.append(sum(done.rows_out.values())))
            if self.answer is None:
                self.answer = checksum(run.engine.results(self._query.name), self._end)
        return sum(counts)


def checksum(answer: pa.Table | None, end: int) -> tuple[int, int]:
    """Over all instants up to ``end``: how many rows are valid, and a sum of their hashes.

    It does not matter how the time in which a row is valid is cut into intervals.
    """
    if answer is None:
        return 0, 0
    ends = np.minimum(answer[END].to_numpy(), end)
    instants = np.maximum(ends - answer[START].to_numpy(), 0) * answer[WEIGHT].to_numpy()
    values = answer.drop_columns([START, END, WEIGHT])
    hashes = pd.util.hash_pandas_object(values.to_pandas(), index=False).to_numpy()
    with np.errstate(over="ignore"):
        return int(instants.sum()), int((hashes * instants.astype(np.uint64)).sum(dtype=np.uint64))


def measured(spark: SparkSession, case: Case, frames: dict[str, DataFrame], folder: Path, repeat: int) -> str:
    """A line of the table: the times with and without rules, and their ratio."""
    session, on, off = planned(case.text, folder)
    end = max(int(f.agg({"ts": "max"}).collect()[0][0]) for f in frames.values()) + 100_000
    fast, slow = (Run(spark, session, query, end) for query in (on, off))
    taken, out = best(fast, repeat)
    before, _ = best(slow, repeat)
    same = "same answers" if fast.answer == slow.answer else f"DIFFERENT ANSWERS {fast.answer} {slow.answer}"
    verdict = "" if before / taken >= case.target else "  MISSED"
    return (
        f"{case.name:18} {before:9.2f} s {taken:9.2f} s {before / taken:8.1f} x {case.target:8.1f} x"
        f"   {out:,} rows, {same}{verdict}"
    )


def plain_spark(frame: DataFrame) -> int:
    """Query 6.1 as someone would write it for Spark alone."""
    folder = tempfile.mkdtemp(prefix="continua-bench-")
    try:
        frame.createOrReplaceTempView("bid")
        frame.sparkSession.sql(PLAIN).write.mode("overwrite").parquet(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def against_spark(spark: SparkSession, case: Case, frames: dict[str, DataFrame], folder: Path, repeat: int) -> str:
    """The line of query 6.1: the time that Spark alone takes, and how many times longer the engine does."""
    session, on, _ = planned(case.text, folder)
    run = Run(spark, session, on, FINAL)
    least, _ = best(partial(plain_spark, frames["bid"]), repeat)
    taken, out = best(run, repeat)
    same = "same number of rows" if out == spark.sql(PLAIN).count() else "ANOTHER NUMBER OF ROWS"
    verdict = "" if taken / least <= case.target else "  MISSED"
    return (
        f"{case.name:18} {least:9.2f} s {taken:9.2f} s {taken / least:8.2f}   {case.target:8.2f}  "
        f"   {out:,} rows, {same}; first column: Spark alone, at most{verdict}"
    )


def main() -> None:
    """Measures all cases and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    spark = start_spark(f"local[{PARTITIONS}]", **{"spark.driver.memory": "4g"})
    cases: list[tuple[Case, Callable[..., str]]] = [(QUERY_6_1, against_spark), *((case, measured) for case in CASES)]
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'case':18} {'rules off':>11} {'rules on':>11} {'ratio':>10} {'target':>10}")
        for case, measure in cases:
            if arguments.only in (None, case.name):
                frames = frames_of(spark, Path(folder), case, int(case.rows * arguments.scale))
                print(measure(spark, case, frames, Path(folder), arguments.repeat), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
