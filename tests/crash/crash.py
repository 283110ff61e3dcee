"""Random crashes: queries are stopped again and again, and in the end have answered as if nothing had been.

    python -m tests.crash.crash --crashes 1000 [--seed N] [--spark SHARE] [--engine SHARE]

A story begins with an empty checkpoint, has crashes until a run comes to its end, and is made from the seed and its
number alone (but for the times at which kills hit). Sizes of epochs change from life to life. There are stories

- of the command, in one process: it is killed, interrupted and fails at steps of writing the checkpoint and the files
  of sinks; it meets full disks, folders that can only be read, limits to the size of files and malformed rows; a query
  fails on its data and is corrected;
- of the command on Spark: besides, the JVM, the daemon of its Python workers and single ones of these are killed;
- of the engine: with snapshots of all sizes, faults in this process and kills of another.

What the command leaves in folders and prints is compared with that of a run that nothing disturbed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.command_stories import Expected, InProcessStory
from tests.crash.disks import can_mount
from tests.crash.engine_stories import EngineStory
from tests.crash.spark_stories import SparkStory
from tests.crash.summary import Summary

MOST = 8
"""So many crashes a story has at most."""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crashes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--spark", type=float, default=0.05, help="the share of stories on Spark")
    parser.add_argument("--engine", type=float, default=0.25, help="the share of stories of the engine alone")
    parser.add_argument("--first", type=int, default=0, help="the number of the first story")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    os.environ.pop("CONTINUA_MASTER", None)
    # what runs in the background of a shell ignores interrupts, and so would all that it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"seed {seed}", flush=True)
    if not can_mount():
        print("disks cannot be made here: none is full, files are limited in size and folders closed instead")
    summary = Summary()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="continua-crash-") as folder:
        expected = Expected(Path(folder))
        while summary.crashes.total() < options.crashes:
            number = options.first + summary.stories
            most = min(MOST, options.crashes - summary.crashes.total())
            tell(seed, number, Path(folder), expected, (options.spark, options.engine), most, summary)
            if summary.stories % 10 == 0:
                print(f"{summary}, {time.monotonic() - start:.0f} s", flush=True)
    print(f"{summary}, {time.monotonic() - start:.0f} s")
    return 1 if summary.wrong else 0


def tell(
    seed: int, number: int, folder: Path, expected: Expected, shares: tuple[float, float], most: int, summary: Summary
) -> None:
    """One story, in a folder of its own; what is wrong is told at once."""
    chance = random.Random(f"{seed} {number} kind").random()
    wrong = len(summary.wrong)
    with tempfile.TemporaryDirectory(prefix=f"{number}-", dir=folder) as place:
        mine = Path(place)
        if chance < shares[0]:
            SparkStory(seed, number, mine, expected).tell(most, summary)
        elif chance < sum(shares):
            EngineStory(seed, number, mine).tell(most, summary)
        else:
            InProcessStory(seed, number, mine, expected).tell(most, summary)
    summary.stories += 1
    for told in summary.wrong[wrong:]:
        print(f"seed {seed}, {told}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
