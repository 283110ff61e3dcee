"""A live session on Spark that reads a folder of files, in a process of its own, so that it can be killed.

python -m tests.crash.streaming_child FOLDER [--pause S]

The folder holds the files (``bids``), the checkpoint and the sink. It says when the first epoch is finished, and when
all files have been worked on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Semaphore

from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint import files
from continua.runtime.spark.starting import start_spark
from continua.session import Session
from tests.crash.child import DONE, READY

SCRIPT = """
CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts SLACK 3;
CREATE TABLE Item (item INT, name STRING) AS VALUES (0, 'nil'), (1, 'one'), (2, 'two');
REGISTER QUERY tops AS
  SELECT i.name, MAX(b.price) AS top, COUNT(*) AS n FROM Bid [RANGE 12] b, Item i WHERE b.item = i.item GROUP BY i.name
  INTO json('tops');
"""
FILES = 5
said = Semaphore()
Bids = list[tuple[int, int, int]]


def batches(seed: int) -> list[Bids]:
    """The rows of each file, in any order within the slack."""
    chance = random.Random(seed)
    instants = sorted(chance.sample(range(200), FILES * 8))
    rows = [(chance.randrange(4), chance.randrange(100), t) for t in instants]
    rows.sort(key=lambda row: row[2] + chance.randint(0, 3))
    return [rows[i : i + 8] for i in range(0, len(rows), 8)]


def write_bids(folder: Path, given: Iterable[Bids]) -> None:
    """Files in the order in which Spark reads them: by the time of their last change."""
    folder.mkdir(parents=True)
    for number, rows in enumerate(given):
        lines = [json.dumps({"item": i, "price": p, "ts": t}) for i, p, t in rows]
        path = folder / f"{number}.json"
        path.write_text("\n".join(lines), encoding="utf-8")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds to wait in every epoch")
    given = parser.parse_args(arguments)
    spark = start_spark("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    session = Session(spark=spark, data=given.folder / "sinks")
    session.execute(SCRIPT)
    stream = spark.readStream.schema("item int, price int, ts long").option("maxFilesPerTrigger", 1)
    session.attach("Bid", stream.json(str(given.folder / "bids")))
    files.hook = lambda what, path: _pause(what, path, given.pause)
    options = LiveOptions(checkpoint=given.folder / "checkpoint", partitions=1, trigger={"availableNow": True})
    session.start(options=options)
    assert session.live is not None
    session.live.finish()
    session.stop()
    print(DONE, flush=True)
    spark.stop()
    return 0


def _pause(what: str, path: Path, seconds: float) -> None:
    """Waits where an epoch is about to be finished, and where it just is."""
    if path.parent.name == "epochs":
        if what == "done" and said.acquire(blocking=False):
            print(READY, flush=True)
        time.sleep(seconds / 3)


if __name__ == "__main__":
    sys.exit(main())
