"""Many queries over one windowed aggregate: how long an epoch takes, against that of one query.

python -m benchmarks.sharing [--epochs N]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time

from benchmarks.epochs import PARTITIONS, bids, engine_for
from continua.handles import LiveOptions
from continua.runtime.spark import start_spark
from continua.session import Session

ROWS = 1_000
WINDOW = 20_000
FILTERS = {
    "thresholds": ("total > {}", lambda i, count: 50_000 + i * 40_000 // count),
    "keys": ("auction = {}", lambda i, _: i),
}
DEFINITIONS = "CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) ORDERED BY ts;"


def query(condition: str) -> str:
    """A filter over the aggregate."""
    total = f"SELECT auction, SUM(price) AS total FROM bid [RANGE {WINDOW}] GROUP BY auction"
    return f"SELECT auction, total FROM ({total}) v WHERE {condition}"


def epoch_time(spark: object, texts: list[str], epochs: int) -> tuple[float, int]:
    """The median time of an epoch with these queries, and the rows that come out of one."""
    folder = tempfile.mkdtemp(prefix="continua-bench-")
    engine = engine_for(spark, texts, folder)
    engine.epoch({"bid": bids(WINDOW, 0, 7)}, WINDOW - 1)
    times = []
    for number in range(epochs):
        first = WINDOW + number * ROWS
        table = bids(ROWS, first, number)
        begin = time.perf_counter()
        engine.epoch({"bid": table}, first + ROWS - 1)
        times.append(time.perf_counter() - begin)
    rows = sum(engine.progress[-1].rows_out.values())
    engine.close()
    shutil.rmtree(folder, ignore_errors=True)
    return statistics.median(times[3:]), rows


def registration_time(count: int) -> float:
    """How long the next query takes to join a live run of many."""
    session = Session()
    session.execute(DEFINITIONS)
    condition, constant = FILTERS["thresholds"]
    for i in range(count):
        session.sql(query(condition.format(constant(i, count))))
    session.start(options=LiveOptions(partitions=PARTITIONS))
    session.insert("bid", [(i % 50, i, i) for i in range(200)])
    assert session.live is not None
    session.live.process()
    begin = time.perf_counter()
    added = session.sql(query("total > 12345"))
    assert added is not None
    session.start([added])
    taken = time.perf_counter() - begin
    session.stop()
    return taken


def main() -> None:
    """Measures and prints ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=13)
    arguments = parser.parse_args()
    spark = start_spark(f"local[{PARTITIONS}]")
    for name, (condition, constant) in FILTERS.items():
        one = 0.0
        for count, target in ((1, 1), (100, 4), (1_000, 15)):
            texts = [query(condition.format(constant(i, count))) for i in range(count)]
            taken, rows = epoch_time(spark, texts, arguments.epochs)
            one = one or taken
            line = f"{name:10} {count:5} queries: {taken * 1000:6.0f} ms an epoch, {rows:9,} rows out"
            print(f"{line}, {taken / one:5.1f} times one query (target: under {target})", flush=True)
    spark.stop()
    taken = registration_time(1_000)
    print(f"registering one more than 1,000 queries: {taken:.2f} s (target: under 1)")


if __name__ == "__main__":
    main()
