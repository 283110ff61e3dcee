"""Whether NEXMark's queries are answered right: by the reference, and in epochs as at once.

Each query is verified over some thousand events, at every instant at which its answer changes. Then ``continua run``
answers it over more events, all of them in one epoch and then so many rows of a source in each.

python -m benchmarks.nexmark.check [--queries q1,q5] [--events 5000] [--more 100000] [--epoch 10000] [--master local[2]]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.checkouts import Checkout, this_checkout
from benchmarks.nexmark.generator import Settings, write
from benchmarks.nexmark.scripts import NAMES, printing, script
from benchmarks.sides import IN_PROCESS, tell

RATE = 100
"""Events a second of their own time, so that some thousand events fill several windows."""
_BY_ARRIVAL = ("q12",)
"""Queries whose time is that at which rows come: epochs come at different times."""


def _continua(here: Checkout, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        here.command(*arguments), cwd=folder, env=here.environment, capture_output=True, text=True, check=False
    )


def verified(here: Checkout, folder: Path, query: str) -> str:
    """What the comparison with the reference says."""
    path = folder / f"{query}.sql"
    path.write_text(printing(script(query)), encoding="utf-8")
    result = _continua(here, folder, "verify", str(path), "--data", str(folder), "--master", IN_PROCESS)
    agreed = re.search(rf"{query}: engine and reference agree at (\d+) instants", result.stderr)
    return f"agrees at {agreed[1]} instants" if agreed and result.returncode == 0 else f"WRONG: {result.stderr.strip()}"


def in_epochs(here: Checkout, folder: Path, query: str, master: str, rows: int) -> str:
    """Whether the answers are the same in epochs."""
    if query in _BY_ARRIVAL:
        return "by arrival"
    path = folder / f"{query}.sql"
    path.write_text(printing(script(query)), encoding="utf-8")
    answers = []
    for more in ((), ("--batch-rows", str(rows))):
        result = _continua(here, folder, "run", str(path), "--data", str(folder), "--master", master, *more)
        if result.returncode:
            return f"WRONG: {result.stderr.strip()}"
        answers.append(Counter(result.stdout.splitlines()))
    whole, parts = answers
    if whole != parts:
        return f"WRONG: {sum((whole - parts).values())} answers are missing, {sum((parts - whole).values())} too many"
    return f"the same {whole.total()} answers in epochs"


def main() -> int:
    """Checks all queries; 0 if all are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", default=",".join(NAMES))
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--more", type=int, default=100_000)
    parser.add_argument("--epoch", type=int, default=10_000)
    parser.add_argument("--master", default=IN_PROCESS)
    given = parser.parse_args()
    here, wrong = this_checkout(), False
    with tempfile.TemporaryDirectory(prefix="continua-nexmark-") as name:
        few, many = Path(name) / "few", Path(name) / "many"
        write(few, "csv", 0, given.events, Settings(rate=RATE, full=True))
        write(many, "csv", 0, given.more, Settings(full=True))
        for query in given.queries.split(","):
            tell(f"checking {query}")
            found = (verified(here, few, query), in_epochs(here, many, query, given.master, given.epoch))
            wrong |= any(text.startswith("WRONG") for text in found)
            print(f"{query:8} {'; '.join(found)}", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
