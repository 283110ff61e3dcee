"""One session in many threads: rows come, queries start and stop, contents are read, epochs run, all at once.

``python -m tests.runtime.many_threads --seconds 60`` does so for a minute. Every row is counted in the end.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from continua.catalog import Retention
from continua.errors import ContinuaError
from continua.runs.live_options import LiveOptions
from continua.session import Session

FEEDERS = 3
EXPECTED = frozenset({"QUERY_LEFT", "BEHIND_HORIZON", "UNKNOWN_NAME", "ALREADY_EXISTS"})
"""What a thread may be told because another was faster."""


@dataclass
class World:
    """What the threads share, and what they tell."""

    session: Session
    until: float
    sent: list[int] = field(default_factory=lambda: [0] * FEEDERS)
    failed: list[BaseException] = field(default_factory=list)
    epochs: int = 0
    started: int = 0

    def doing(self, step: Callable[[random.Random], None], seed: int) -> threading.Thread:
        """A thread that repeats a step until the time is over, or it fails for a reason that it must not."""

        def work() -> None:
            rng = random.Random(seed)
            while time.monotonic() < self.until and not self.failed:
                try:
                    step(rng)
                except ContinuaError as error:
                    if error.condition not in EXPECTED:
                        self.failed.append(error)
                except BaseException as error:
                    self.failed.append(error)

        return threading.Thread(target=work, name=f"{step.__name__}-{seed}")

    def feeder(self, number: int) -> Callable[[random.Random], None]:
        """Inserts rows, as tuples or as dicts."""

        def insert(rng: random.Random) -> None:
            count = rng.randint(1, 200)
            rows = [(number, self.sent[number] + i, 1000 + rng.randint(-3, 3)) for i in range(count)]
            if rng.random() < 0.5:
                self.session.insert("S", rows)
            else:
                self.session.insert("S", [dict(zip(("k", "v", "ts"), row, strict=True)) for row in rows])
            self.sent[number] += count
            time.sleep(0.001)

        return insert

    def process(self, rng: random.Random) -> None:  # noqa: ARG002
        """Runs an epoch."""
        live = self.session.live
        assert live is not None
        live.process()
        self.epochs += 1

    def start_and_stop(self, rng: random.Random) -> None:
        """A query joins, is looked at, and leaves, by its handle or because it is dropped."""
        name = f"other_{rng.randint(0, 3)}_{threading.get_ident() % 7}"
        self.session.execute(f"REGISTER QUERY {name} AS SELECT k, COUNT(*) AS n FROM S [RANGE 100] GROUP BY k")
        (handle,) = self.session.start([self.session.queries[name]])
        self.started += 1
        handle.changes()
        if rng.random() < 0.5:
            handle.stop()
        self.session.execute(f"DROP QUERY {name}")

    def look(self, rng: random.Random) -> None:
        """Reads what there is in all ways."""
        live = self.session.live
        assert live is not None
        name = rng.choice(["total", "news"])
        live.content(name)
        self.session.table(name)
        self.session.execute("SHOW STREAMS")
        live.late("S")


def run(seconds: float, seed: int = 0) -> World:
    """Eight threads on one session; every row that was sent is counted, or this fails."""
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, v INT, ts BIGINT) ORDERED BY ts SLACK 1000000")
    session.sql("REGISTER QUERY total AS SELECT k, COUNT(*) AS n, COUNT(DISTINCT v) AS d FROM S [RANGE 100] GROUP BY k")
    session.sql("REGISTER QUERY news AS SELECT ISTREAM k FROM S [RANGE 100] WHERE v < 0")
    session.start(options=LiveOptions(retention=Retention(epochs=1000)))
    world = World(session, time.monotonic() + seconds)
    steps = [*(world.feeder(i) for i in range(FEEDERS)), world.process, world.process]
    steps += [world.start_and_stop, world.start_and_stop, world.look]
    threads = [world.doing(step, seed + i) for i, step in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if world.failed:
        raise world.failed[0]
    live = session.live
    assert live is not None
    live.finish()
    found = {k: (n, d) for k, n, d in live.content("total", 1003)}
    wanted = {i: (sent, sent) for i, sent in enumerate(world.sent) if sent}
    session.stop()
    if found != wanted:
        raise AssertionError(f"sent {wanted}, counted {found}")
    return world


def main() -> None:
    """Runs it and tells what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    world = run(given.seconds, given.seed)
    print(f"{sum(world.sent)} rows, all counted; {world.epochs} epochs, {world.started} queries joined and left")


if __name__ == "__main__":
    main()
