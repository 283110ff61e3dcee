"""Stories of the engine: its writes fail in this process, and processes that run it are killed."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from pathlib import Path

from continua.runs.bounded import BoundedOptions
from tests.crash.faults import KINDS, FailedError, Fault, Stopped, kind, stop
from tests.crash.killing import live
from tests.crash.summary import Summary
from tests.crash.world import fresh_process, number_of, undisturbed, world

KILLS = 0.25
"""The share of lives that end with a kill."""
PAUSE = 0.05


class EngineStory:
    """One checkpoint from its beginning to its end."""

    def __init__(self, seed: int, number: int, checkpoint: Path) -> None:
        self._number = number
        self._rng = random.Random(f"{seed} {number}")
        self._world = self._rng.randrange(8)
        self._partitions = self._rng.choice((1, 2, 2, 3))
        self._checkpoint = checkpoint
        self._lives: list[str] = []

    def tell(self, most: int, summary: Summary) -> None:
        """Lives one after the other, with at most so many crashes; the last comes to its end."""
        try:
            for _ in range(most):
                crash = self._life()
                if crash is None:
                    break
                summary.crashes[crash] += 1
            wrong = self._wrong()
        except Exception:
            wrong = traceback.format_exc()
        if wrong is not None:
            summary.wrong.append(f"story {self._number}, {self._lives}: {wrong}")

    def _wrong(self) -> str | None:
        """What is wrong with the answers of a run that comes to its end."""
        found = Counter(world(self._world).answers(self._options()))
        expected = Counter(undisturbed(BoundedOptions(3, None, self._partitions), self._world))
        if found != expected:
            return f"too many {list(found - expected)[:5]}, too few {list(expected - found)[:5]}"
        return None if self._tidy() else "files are left that nobody needs"

    def _options(self) -> BoundedOptions:
        rows = self._rng.choice((1, 2, 3, 3, 5, None))
        size = self._rng.choice((None, 0, 0, 3000, 9000, 20000))
        return BoundedOptions(rows, self._checkpoint, self._partitions, size)

    def _life(self) -> str | None:
        """One life of random length; how it ended, or None if it came to its end."""
        options = self._options()
        if self._rng.random() < KILLS:
            return self._killed(options)
        fault = self._fault()
        self._lives.append(f"{fault.error.__name__} at {fault.number} with {options}")
        if not stop(world(self._world), options, fault):
            return None
        assert fault.number is not None
        what, path = fault.steps[fault.number - 1]
        return f"{what} {kind(path)}"

    def _fault(self) -> Fault:
        """A random step: of all, or of those with one kind of file, so that rare ones have their share."""
        error = self._rng.choice((Stopped, FailedError))
        chosen = self._rng.choice(sorted(KINDS))
        if self._rng.random() < 0.5:
            return Fault(int(self._rng.expovariate(1 / 120)) + 1, error)
        return Fault(int(self._rng.expovariate(1 / 8)) + 1, error, lambda _, path: kind(path) == chosen)

    def _killed(self, options: BoundedOptions) -> str | None:
        arguments = ["--seed", str(self._world), "--partitions", str(self._partitions), "--pause", str(PAUSE)]
        arguments += ["--rows", str(options.batch_rows or 100)]
        if options.snapshot_bytes is not None:
            arguments += ["--snapshot-bytes", str(options.snapshot_bytes)]
        self._lives.append(f"kill with {options}")
        return None if live(self._checkpoint, 1.5, self._rng, arguments).finished else "kills"

    def _tidy(self) -> bool:
        """Whether nothing is left that is not needed, once another run has begun."""
        with fresh_process(), world(self._world).run(self._options()) as run:
            kept, last = run.engine._kept, run.engine.epoch_number
        for (level, part), files in kept.items():
            folder = self._checkpoint / "state" / f"level-{level}" / f"partition-{part}"
            logs = {number_of(p) for p in (folder / "logs").iterdir()}
            if logs != set(range(files.first, files.last + 1)):
                return False
        return {number_of(p) for p in (self._checkpoint / "intents").iterdir()} == {last}
