"""How far behind ``continua run --follow`` is: NEXMark at a steady rate, five queries, and what piles up.

The latency of an event is the time from its scheduled creation to the moment at which the answers of the epoch that
closes its instant have been written. All events count: between two heartbeats they are spread evenly, as NEXMark has
them.

python -m benchmarks.follow [--rate 100000] [--seconds 300] [--master local[2]] [--behind MINUTES]

``--behind``: the events begin so long ago, so that the run has to catch up first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.checkouts import this_checkout
from benchmarks.processes import end_tidily, family, held, pinned
from benchmarks.sides import MASTER, cores_of, tell
from benchmarks.slopes import megabytes, print_table
from continua.cli.demo import RATE, SCRIPT

EXAMPLES = Path(__file__).resolve().parent.parent / "src" / "continua" / "demo"
LOOKS = 12
"""Memory and files are looked at so many times."""


@dataclass(frozen=True)
class Flush:
    """An epoch: when its answers were written, and up to which instant; both in seconds."""

    written: float
    heartbeat: float
    rows: int
    took: float


@dataclass(frozen=True)
class Look:
    """What a run held at one time."""

    seconds: float
    memory: int
    files: int


def flushes(lines: Sequence[str]) -> list[Flush]:
    """The epochs that a run has told, in their order, as far as they closed instants."""
    found: list[Flush] = []
    for line in lines:
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == "epoch" and told["heartbeat"] > 0:
            written = datetime.fromisoformat(told["time"]).timestamp()
            took = sum(told["durationMs"].get(part, 0.0) for part in ("run", "commit")) / 1000
            found.append(Flush(written, told["heartbeat"] / 1e6, told["numInputRows"], took))
    return found


def latencies(epochs: Sequence[Flush]) -> NDArray[np.float64]:
    """The latencies of events, 1,000 of each stretch between two heartbeats, repeated by how long that is."""
    parts: list[NDArray[np.float64]] = []
    for before, epoch in pairwise(epochs):
        length = epoch.heartbeat - before.heartbeat
        if length > 0:
            count = max(round(length * 1000), 1)
            parts.append(epoch.written - np.linspace(before.heartbeat, epoch.heartbeat, count))
    return np.concatenate(parts) if parts else np.empty(0)


def script(rate: int, begun: datetime | None) -> str:
    """The demo's queries at a rate."""
    text = (EXAMPLES / SCRIPT).read_text(encoding="utf-8")
    more = "" if begun is None else f", start => '{begun:%Y-%m-%d %H:%M:%S}'"
    return text.replace(f"rate => {RATE}", f"rate => {rate}{more}")


def followed(rate: int, seconds: float, master: str, behind: float) -> tuple[list[Flush], list[Look]]:
    """Runs the command, and looks at it from time to time."""
    begun = None if not behind else datetime.now(UTC) - timedelta(minutes=behind)
    with tempfile.TemporaryDirectory(prefix="continua-follow-") as name:
        folder = Path(name)
        (folder / "nexmark.sql").write_text(script(rate, begun), encoding="utf-8")
        arguments = [
            "nexmark.sql",
            "--master",
            master,
            "--log-json",
            "--for",
            f"{seconds}s",
            "--checkpoint",
            "checkpoint",
        ]
        mine = this_checkout()
        command = pinned(mine.command("run", *arguments), cores_of(master))
        with (folder / "answers.jsonl").open("wb") as out, (folder / "said.jsonl").open("wb") as said:
            process = subprocess.Popen(command, cwd=folder, env=mine.environment, stdout=out, stderr=said)
            looks: list[Look] = []
            began = time.monotonic()
            while True:
                try:
                    process.wait(seconds / LOOKS)
                    break
                except subprocess.TimeoutExpired:
                    memory = sum(map(held, family(process.pid)))
                    files = sum(path.is_file() for path in (folder / "checkpoint").rglob("*"))
                    looks.append(Look(time.monotonic() - began, memory, files))
        lines = (folder / "said.jsonl").read_text(encoding="utf-8").splitlines()
        if process.returncode:
            print("\n".join(lines[-5:]), file=sys.stderr)
            raise SystemExit(process.returncode)
        return flushes(lines), looks


def tell_latency(label: str, epochs: Sequence[Flush]) -> list[str]:
    """A line of the table: what the events of some epochs waited."""
    found = latencies(epochs)
    shown = [f"{np.percentile(found, p):.2f} s" for p in (50, 99)] if found.size else ["-", "-"]
    rows = sum(epoch.rows for epoch in epochs)
    lag = f"{epochs[-1].written - epochs[-1].heartbeat:.2f} s" if epochs else "-"
    took = f"{np.median([epoch.took for epoch in epochs]):.2f} s" if epochs else "-"
    most = f"{max((epoch.rows for epoch in epochs), default=0):,}"
    return [label, f"{len(epochs)}", f"{rows:,}", most, took, lag, *shown]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--behind", type=float, default=0.0, metavar="MINUTES")
    arguments = parser.parse_args()
    end_tidily()
    tell(f"{arguments.rate:,} events a second for {arguments.seconds:g} s on {arguments.master}")
    epochs, looks = followed(arguments.rate, arguments.seconds, arguments.master, arguments.behind)
    first = epochs[0].written if epochs else 0.0
    thirds = [
        [e for e in epochs if part <= (e.written - first) / max(epochs[-1].written - first, 1e-9) * 3 < part + 1]
        for part in range(3)
    ]
    head = ["events", "epochs", "rows", "most in one", "an epoch", "lag at its end", "p50", "p99"]
    names = ["first third", "second third", "last third"]
    print_table(head, [tell_latency(n, some) for n, some in zip([*names, "all"], [*thirds, epochs], strict=True)])
    print()
    rows = [[f"{look.seconds:.0f} s", megabytes(look.memory), f"{look.files}"] for look in looks]
    print_table(["after", "memory of all processes", "files of the checkpoint"], rows)


if __name__ == "__main__":
    main()
