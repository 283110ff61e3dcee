"""How fast queries run, against the floor: the same rows through an exchange and an identity in Python.

python -m benchmarks.throughput [--rows N] [--repeat K] [--only NAME]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from continua.running import Options, Run
from continua.runtime.on_spark import OnSpark
from continua.runtime.spark import start_spark
from continua.session import Session

KEYS = 2_000
PER_INSTANT = 10
WINDOW = 60_000
SLIDE = 1_000
PARTITIONS = 2
DEFINITIONS = """
CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('bid.parquet') ORDERED BY ts;
CREATE STREAM offer (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('offer.parquet') ORDERED BY ts;
CREATE STREAM ask (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('ask.parquet') ORDERED BY ts;
"""


@dataclass(frozen=True)
class Case:
    """A query, the least share of the floor that it should reach, if one is set, and the sources that it reads."""

    name: str
    text: str
    target: float | None
    sources: tuple[str, ...] = ("bid",)


FILTER = Case(
    "filter and map",
    "SELECT RSTREAM auction, price * 2 AS twice, price % 7 AS rest FROM bid [NOW] WHERE price > 5000 AND auction < 999",
    0.80,
)
"""Compared with Spark itself, which writes the same rows."""


def plain_spark(frame: DataFrame) -> int:
    """The filter and map as someone would write them for Spark alone, with the instants that answers have."""
    folder = tempfile.mkdtemp(prefix="continua-bench-")
    try:
        frame.createOrReplaceTempView("bid")
        text = "SELECT auction, price * 2 AS twice, price % 7 AS rest, ts FROM bid WHERE price > 5000 AND auction < 999"
        frame.sparkSession.sql(text).write.mode("overwrite").parquet(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


CASES = (
    Case("sum and count", f"SELECT auction, SUM(price), COUNT(*) FROM bid [RANGE {WINDOW}] GROUP BY auction", 0.35),
    Case("max", f"SELECT auction, MAX(price) FROM bid [RANGE {WINDOW}] GROUP BY auction", 0.25),
    Case(
        "join",
        "SELECT offer.auction, offer.price, ask.price AS other FROM offer [RANGE 200], ask [RANGE 200]"
        " WHERE offer.auction = ask.auction",
        0.25,
        ("offer", "ask"),
    ),
    Case("distinct", f"SELECT DISTINCT auction, price FROM bid [RANGE {WINDOW}]", 0.25),
    Case("unkeyed slide", f"SELECT COUNT(*), SUM(price), MAX(price) FROM bid [RANGE {WINDOW} SLIDE {SLIDE}]", None),
    Case(
        "keyed slide",
        f"SELECT auction, COUNT(*), SUM(price), MAX(price) FROM bid [RANGE {WINDOW} SLIDE {SLIDE}] GROUP BY auction",
        None,
    ),
    Case("partitioned rows", "SELECT auction, price FROM bid [PARTITION BY auction ROWS 10]", 0.25),
)


def write_rows(path: Path, rows: int, seed: int) -> None:
    """Bids at random auctions, ten an instant, in the order of time."""
    random = np.random.default_rng(seed)
    pq.write_table(
        pa.table(
            {
                "auction": random.integers(0, KEYS, rows),
                "price": random.integers(1, 10_000, rows),
                "ts": np.arange(rows) // PER_INSTANT,
            }
        ),
        path,
        row_group_size=rows // 8,
    )


def floor(frames: list[DataFrame]) -> int:
    """The rows through an exchange by key and an identity in Python."""

    def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    moved = [f.repartition(PARTITIONS, "auction").mapInArrow(identity, f.schema) for f in frames]
    for frame in moved:
        frame.write.format("noop").mode("overwrite").save()
    return 0


def engine_run(spark: SparkSession, case: Case, folder: Path) -> int:
    """The query over all rows, as ``continua run`` runs it; returns how many rows came out."""
    session = Session(data=folder)
    session.execute(DEFINITIONS)
    query = session.sql(case.text)
    assert query is not None
    counts: list[int] = []
    given = session.inputs.given(query.sources)
    with Run([query], given, [], OnSpark(spark), Options(partitions=PARTITIONS)) as run:
        run.to_the_end(lambda done: counts.append(sum(done.rows_out.values())))
    return sum(counts)


def best(run: Callable[[], int], repeat: int) -> tuple[float, int]:
    """The least time of several runs, after one to warm up, and what they return."""
    result = run()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times), result


def main() -> None:
    """Measures all cases and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    spark = start_spark(f"local[{PARTITIONS}]", **{"spark.driver.memory": "4g"})
    with tempfile.TemporaryDirectory() as folder:
        frames: dict[str, DataFrame] = {}
        for seed, (name, share) in enumerate((("bid", 1), ("offer", 2), ("ask", 2))):
            path = Path(folder) / f"{name}.parquet"
            write_rows(path, arguments.rows // share, seed)
            frames[name] = spark.read.parquet(str(path))
        print(f"{'case':18} {'rows/s':>12} {'rows out':>12} {'of the floor':>13} {'target':>7}")
        for case in CASES:
            if arguments.only and arguments.only != case.name:
                continue
            chosen = [frames[n] for n in case.sources]
            count = sum(f.count() for f in chosen)
            least, _ = best(partial(floor, chosen), arguments.repeat)
            taken, out = best(partial(engine_run, spark, case, Path(folder)), arguments.repeat)
            share = least / taken
            target = "-" if case.target is None else f"{case.target:.0%}"
            line = f"{case.name:18} {count / taken:12,.0f} {out:12,} {share:13.0%} {target:>7}"
            print(line + f"   (floor {count / least:,.0f} rows/s)", flush=True)
        if arguments.only in (None, FILTER.name):
            count = frames["bid"].count()
            least, _ = best(partial(plain_spark, frames["bid"]), arguments.repeat)
            taken, out = best(partial(engine_run, spark, FILTER, Path(folder)), arguments.repeat)
            line = f"{FILTER.name:18} {count / taken:12,.0f} {out:12,} {least / taken:13.0%} {FILTER.target:7.0%}"
            print(line + f"   (plain Spark {count / least:,.0f} rows/s)", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
