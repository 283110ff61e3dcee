"""Random moves of plans, with crashes among them, against the reference.

    python -m tests.migration.fuzz_moves --moves 300 [--seed N] [--no-crashes]

Each graph of queries is made from its seed alone, and so is what happens to it: seed N runs the graphs N, N + 1, ...
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from tests.migration.moving_runs import Tally, checked

QUERIES = 8
"""How many queries run as one graph."""


def main(arguments: list[str] | None = None) -> int:
    """Runs graphs until their queries have moved often enough; the exit status is 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--queries", type=int, default=QUERIES, help="how many queries run as one graph")
    parser.add_argument("--no-crashes", action="store_true")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    began, tally = time.monotonic(), Tally()
    graphs = ran = differing = 0
    while tally.moves < options.moves:
        graph, outcome = checked(seed + graphs, options.queries, tally, not options.no_crashes)
        for difference in outcome.differences:
            print(f"\ngraph {graph.seed}, {graph.cut}\n{difference.text}\n{difference.what}", flush=True)
        graphs, ran, differing = graphs + 1, ran + outcome.ran, differing + len(outcome.differences)
        print(f"\r{graphs} graphs: {ran} queries, {tally}, {differing} differ ", end="", file=sys.stderr, flush=True)
    print(f"\nseed {seed}: {ran} queries, {tally}, {differing} differ, {time.monotonic() - began:.0f} s", flush=True)
    for reason, times in tally.stays.most_common():
        print(f"  stayed {times:6}: {reason}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
