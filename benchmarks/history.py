"""A line for a release in ``docs/benchmarks.md``: how fast its queries are, beside those of earlier ones.

python -m benchmarks.history [--queries q1,q5] [--events N] [--runs K]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.checkouts import CheckoutError, this_checkout
from benchmarks.nexmark.generator import LEAN, write_first
from benchmarks.nexmark.scripts import CLASSIC, query_side
from benchmarks.processes import CommandError, end_tidily
from benchmarks.report import commit, machine, markdown, section, write_section
from benchmarks.sides import MASTER, Data, slopes_of, tell
from benchmarks.slopes import geometric_mean

HEAD = ("release", "day", "commit", "seconds per million events, geometric mean", "by query", "machine")


def main() -> int:
    """Measures, adds a line, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", default=",".join(CLASSIC))
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    end_tidily()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="continua-history-") as name:
        try:
            this_checkout().check(Path(name))
            data = Data.written(Path(name), given.events, partial(write_first, LEAN, "csv"))
            for query in given.queries.split(","):
                side = query_side(this_checkout(), query, "csv", MASTER)
                side.run(data.small)
                found[query] = slopes_of([(side, data)], given.runs)[0].seconds
                tell(f"{query}: {found[query]:.3f} s per million events")
        except (CheckoutError, CommandError) as error:
            print(error, file=sys.stderr)
            return 1
    mean = geometric_mean(value if value > 0 else None for value in found.values())
    shown = ", ".join(f"{query} {value:.2f}" for query, value in found.items())
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    line = [version("continua"), today, commit(), "-" if mean is None else f"{mean:.3f}", shown, machine()]
    written = [row for row in section("history") if row.startswith("|")][2:]
    write_section("history", [*markdown(HEAD, []), *written, *markdown(HEAD, [line])[2:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
