"""The answers of a live run, epoch by epoch, each once: those of epochs before a restart too that nobody was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from continua.answers.answer_columns import Part, epoch_part
from continua.answers.query import Query
from continua.runs.live_run import LiveRun
from continua.runtime.checkpoint.manifests import SHOWN
from continua.runtime.checkpoint.store import Numbered


class EpochAnswers:
    """Gives the answers of epochs that have been finished since it was asked last."""

    def __init__(self, run: LiveRun, queries: Sequence[str], given: dict[str, int] | None = None) -> None:
        """``given``: by query the epoch up to which its answers were given, which is kept up to date.

        Without it that is one epoch for all, and what the store says.
        """
        self.run = run
        """The run whose answers are given."""
        self._names = tuple(queries)
        self._is_noted = given is None
        self._notes = run.engine.store.numbers(SHOWN) if given is None else []
        known = self._notes[-1].number if self._notes else 0
        self._given = {} if given is None else given
        for name in self._names:
            self._given.setdefault(name, known)
        self._asked = known

    @property
    def queries(self) -> dict[str, Query]:
        """The queries whose answers are given, as far as they run."""
        running = self.run.queries
        return {name: running[name] for name in self._names if name in running}

    def next(self) -> tuple[Mapping[str, Part], int]:
        """What is new of each query, and up to which instant."""
        with self.run.live.lock:
            engine = self.run.engine
            last = engine.epoch_number
            found: dict[str, Part] = {}
            for name, query in self.queries.items():
                first = max(self._given[name] + 1, self.run.first_epoch(name))
                if first <= last:
                    found[name] = epoch_part(query, engine.results(name, first, last), engine.until)
            self._asked = last
            return found, engine.until

    def skip(self) -> None:
        """What there is already is known otherwise."""
        self._asked = self.run.engine.epoch_number
        self._given.update(dict.fromkeys(self._names, self._asked))

    def done(self) -> None:
        """What was given last has been shown: it is not given again, by another process neither."""
        if any(self._asked > self._given[name] for name in self._names):
            self._given.update(dict.fromkeys(self._names, self._asked))
            if self._is_noted:
                store = self.run.engine.store
                note = Numbered(self._asked, store.address.term)
                store.put(f"{SHOWN}/{note}", b"")
                store.delete(*(f"{SHOWN}/{other}" for other in self._notes if other != note))
                self._notes = [note]
