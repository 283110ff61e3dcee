"""The queries in a process of their own, slowly, so that it can be killed.

python -m tests.crash.child CHECKPOINT [--seed N] [--rows N] [--partitions N] [--snapshot-bytes N] [--pause S] [--spark]
  [--stop-at N]

It says when it is about to run epochs, and when it has run them all.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from continua.objects.urls import place_of
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint import files
from continua.runtime.executors.executor import Executor, InProcess
from tests.crash.world import number_of, world

READY, DONE = "ready", "done"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=place_of)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--snapshot-bytes", type=int, default=None)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds to wait in every epoch")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--stop-at", type=int, help="stops itself where it is about to finish this epoch")
    given = parser.parse_args(arguments)
    options = BoundedOptions(given.rows, given.checkpoint, given.partitions, given.snapshot_bytes)
    with _executor(given.spark) as executor, world(given.seed).run(options, executor) as run:
        files.hook = lambda what, path: _pause(what, path, given.pause, given.stop_at)
        print(READY, flush=True)
        run.to_the_end()
        print(DONE, flush=True)
    return 0


def _pause(what: str, path: Path, seconds: float, stop_at: int | None) -> None:
    """Waits before the file with which an epoch is finished."""
    if what == "write" and path.parent.name == "epochs":
        time.sleep(seconds)
        if stop_at is not None and number_of(path) == stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def _executor(on_spark: bool) -> Iterator[Executor]:
    if not on_spark:
        yield InProcess()
        return
    from continua.runtime.executors.on_spark import OnSpark
    from continua.runtime.spark.starting import start_spark

    spark = start_spark("local[2]")
    try:
        yield OnSpark(spark)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
