"""A live session on a cluster, in a process of its own: it does what it is told by lines, and answers by lines."""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

from continua.runs.live_options import LiveOptions
from continua.runtime.executors import on_spark
from continua.session import Session

SCRIPT = """
CREATE STREAM S (k INT, name STRING, ts BIGINT) ORDERED BY ts;
REGISTER QUERY counted AS SELECT k, COUNT(*) AS n, MAX(name) AS last FROM S [RANGE 40] GROUP BY k;
REGISTER QUERY paired AS
  SELECT x.k, COUNT(*) AS n FROM S [RANGE 3] x, S [PARTITION BY k ROWS 1] y WHERE x.k = y.k GROUP BY x.k;
"""
_KEYS, _ROWS = 50, 40


class Rows:
    """Rows by their number: the same in every process."""

    def __init__(self, instant: int = 0) -> None:
        self._rng = random.Random(7)
        self.instant = 0
        while self.instant < instant:
            self.next()

    def next(self) -> list[tuple[int, str, int]]:
        """Those of the next instant."""
        self.instant += 1
        names = ("x", "yy", "zoë", "")
        return [(self._rng.randrange(_KEYS), self._rng.choice(names), self.instant) for _ in range(_ROWS)]


class Child:
    """The session, and what it has been told."""

    def __init__(self, master: str, checkpoint: Path | None, partitions: int) -> None:
        self._session = Session(master=master)
        self._session.execute(SCRIPT)
        self._session.start(options=LiveOptions(checkpoint=checkpoint, partitions=partitions))
        engine = self._run.engine
        self._rows = Rows(max(engine.until, self._run.live.latest) if engine.epoch_number else 0)

    @property
    def _run(self) -> Any:
        assert self._session.live is not None
        return self._session.live.main

    def epochs(self, count: int) -> dict[str, int]:
        """So many instants come and are worked on."""
        first = self._run.engine.epoch_number
        for _ in range(count):
            self._session.insert("S", self._rows.next())
            self._run.process()
        done = [p for p in self._run.engine.progress if p.epoch > first]
        return {"openings": sum(p.openings for p in done), "loads": sum(p.loads for p in done)}

    def content(self) -> list[Any]:
        """What the queries hold before the last instant."""
        instant = self._rows.instant - 1
        return [sorted(self._run.content(name, instant)) for name in ("counted", "paired")]

    def stop(self) -> str:
        """Ends the session."""
        self._session.stop()
        return "stopped"

    def end(self) -> str:
        """Ends Spark too."""
        self.stop()
        if self._session.spark is not None:
            self._session.spark.stop()
        return "ended"


def main() -> None:
    """Does what lines say until there are no more."""
    given = argparse.ArgumentParser()
    given.add_argument("master")
    given.add_argument("--checkpoint", type=Path)
    given.add_argument("--partitions", type=int, default=3)
    given.add_argument("--exchange", action="store_true", help="rows go through Spark's exchange, however few they are")
    options = given.parse_args()
    if options.exchange:
        on_spark.SMALL = 0
    child = Child(options.master, options.checkpoint, options.partitions)
    for line in sys.stdin:
        name, *numbers = line.split()
        print(json.dumps(getattr(child, name)(*map(int, numbers))), flush=True)


if __name__ == "__main__":
    main()
