"""Plans that move while they run (PIPES 6.4.3): what moving gains where rates change, and what it costs.

    python -m benchmarks.moving_plans [flip | random] [--changes 100] [--master none]

The query joins three streams over windows of time: A with B by one column, B with C by another. Rows are inserted epoch
by epoch, as to any live session, and an epoch is timed from the insertion until its answers are there. Every epoch is
given to two sessions in turn, one of which may move.

``flip``: at first A is fast and C is slow. Then it is the other way round: told are the epochs until the run has moved,
and what an epoch takes after that by the plan it has moved to, and by the plan that was chosen at the start.
``random``: the rates of A and C change at random, at random times: told is what all epochs take together.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from continua.runs.live_options import LiveOptions
from continua.session import Session

WINDOW = 200
EPOCH = 40
"""So many instants an epoch has: a window has five epochs."""
VALUES = 100
FAST, SLOW, EVEN = 50.0, 0.05, 10.0
"""Rows in an instant."""
LEAST_GAIN = 2.0
MOST_EPOCHS = 20
MOST_LOSS = 1.1
DEFINITIONS = """
CREATE STREAM A (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM B (k INT, m INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM C (m INT, y INT, ts BIGINT) ORDERED BY ts;
"""
FIRST = """
REGISTER QUERY first AS
SELECT k FROM A [NOW] UNION ALL SELECT k FROM B [NOW] UNION ALL SELECT m FROM C [NOW];
"""
QUERY = f"""
REGISTER QUERY three AS SELECT A.x, C.y FROM A [RANGE {WINDOW - 1}], B [RANGE {WINDOW - 1}], C [RANGE {WINDOW - 1}]
WHERE A.k = B.k AND B.m = C.m AND A.x = C.y;
"""
WARM = {"A": FAST, "B": EVEN, "C": SLOW}
Rates = dict[str, float]
Rows = dict[str, list[tuple[int, int, int]]]


@dataclass
class Side:
    """A session that may move, or not."""

    moves: bool
    master: str
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session = Session(master=self.master)
        self.session.execute(DEFINITIONS)
        if not self.moves:
            self.session.execute("SET disabled_rules = 'plan_migration'")
        # a query that is there first, so that the other one is planned by what the run has shown
        self.session.execute(FIRST)
        self.session.start(options=LiveOptions())
        self.session.execute(QUERY)

    def join(self) -> None:
        """The query begins, by the plan that is best by now."""
        self.session.start([self.session.queries["three"]])
        self.seconds.clear()

    def epoch(self, rows: Rows) -> None:
        """An epoch with some rows."""
        assert self.session.live is not None
        begin = time.perf_counter()
        for name, some in rows.items():
            self.session.insert(name, some)
        self.session.live.process()
        self.seconds.append(time.perf_counter() - begin)

    @property
    def moved(self) -> int:
        """How often the query has moved."""
        assert self.session.live is not None
        how = self.session.live.run_of("three").move_of("three")
        return 0 if how is None else how.count

    @property
    def is_moving(self) -> bool:
        """Whether two plans of it are at work."""
        assert self.session.live is not None
        how = self.session.live.run_of("three").move_of("three")
        return how is not None and how.leaving

    @property
    def answers(self) -> int:
        """How many answers the query has had."""
        assert self.session.live is not None
        return self.session.live.run_of("three").totals.answers["three"]


class Source:
    """Rows of the three streams, epoch by epoch."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._begin = 0

    def epoch(self, rates: Rates) -> Rows:
        """The rows of the next epoch; each stream has one at its end, so that it is complete."""
        begin, self._begin = self._begin, self._begin + EPOCH
        return {name: list(self._rows(begin, rate)) for name, rate in rates.items()}

    def _rows(self, begin: int, rate: float) -> Iterator[tuple[int, int, int]]:
        owed = 0.0
        for ts in range(begin, begin + EPOCH):
            owed += rate
            count = int(owed)
            owed -= count
            for _ in range(max(count, ts == begin + EPOCH - 1)):
                yield self._rng.randrange(VALUES), self._rng.randrange(VALUES), ts


def flip(master: str) -> bool:
    """Rates that flip once; whether the run is fast enough then."""
    sides, source = (Side(True, master), Side(False, master)), Source(1)

    def epochs(count: int, rates: Rates) -> None:
        for number in range(count):
            rows = source.epoch(rates)
            for side in sides if number % 2 else reversed(sides):
                side.epoch(rows)

    epochs(3, WARM)
    for side in sides:
        side.join()
    epochs(12, WARM)
    before = [statistics.median(side.seconds[-5:]) for side in sides]
    other, taken = {"A": SLOW, "B": EVEN, "C": FAST}, 0
    while not sides[0].moved and taken < 2 * MOST_EPOCHS:
        epochs(1, other)
        taken += 1
    until = taken
    while sides[0].is_moving:
        epochs(1, other)
        taken += 1
    epochs(20, other)
    after = [statistics.median(side.seconds[-15:]) for side in sides]
    gain = after[1] / after[0]
    print(f"before the flip an epoch took {before[0] * 1e3:.1f} ms, without moves {before[1] * 1e3:.1f} ms")
    print(f"the run moved {until} epochs after the flip; its old plan was gone {taken - until} epochs later")
    print(f"after that an epoch took {after[0] * 1e3:.1f} ms, without moves {after[1] * 1e3:.1f} ms: {gain:.2f} times")
    same = sides[0].answers == sides[1].answers
    print(f"both gave {sides[1].answers:,} answers" if same else "THE ANSWERS DIFFER")
    return same and until <= MOST_EPOCHS and gain >= LEAST_GAIN


def randomly(changes: int, master: str, seed: int) -> bool:
    """Rates that change again and again; whether moves cost too much."""
    sides, source, rng = (Side(True, master), Side(False, master)), Source(seed), random.Random(seed)
    rates = dict(WARM)
    for number in range(3):
        rows = source.epoch(rates)
        for side in sides if number % 2 else reversed(sides):
            side.epoch(rows)
    for side in sides:
        side.join()
    epochs = 0
    for _ in range(changes):
        for name in "AC":
            rates[name] = rng.choice((SLOW, 0.5, 5.0, 20.0, FAST))
        for _ in range(rng.randint(1, 20)):
            rows = source.epoch(rates)
            epochs += 1
            for side in sides if epochs % 2 else reversed(sides):
                side.epoch(rows)
    moving, still = (sum(side.seconds) for side in sides)
    print(f"{changes} changes of rates in {epochs} epochs, {sides[0].moved} moves, seed {seed}")
    print(f"with moves {moving:.2f} s, without {still:.2f} s: {moving / still:.3f} times")
    same = sides[0].answers == sides[1].answers
    print(f"both gave {sides[1].answers:,} answers" if same else "THE ANSWERS DIFFER")
    return same and moving <= MOST_LOSS * still


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("flip", "random"))
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--master", default="none")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    met = True
    if options.what != "random":
        met &= flip(options.master)
    if options.what != "flip":
        met &= randomly(options.changes, options.master, options.seed)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
