"""A run whose queries move to other plans between two of its epochs (PIPES 6.4.3), bounded or live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from continua.algebra.base import Plan
from continua.physical.migration import Stays
from continua.rules.statistics import Statistics
from continua.runs.moving_plans import Running, arrived, moved_to, operators
from continua.runs.plan_watch import PlanWatch
from continua.runtime.engine import Engine
from continua.runtime.fingerprints import Function
from continua.runtime.progress import Progress


class MovingRun(ABC):
    """What bounded and live runs have in common where plans move."""

    engine: Engine
    watch: PlanWatch
    """Which queries would do better by another plan."""
    _functions: Sequence[Function]

    @abstractmethod
    def _at_work_now(self) -> Mapping[str, Running]:
        """The queries that run, by name."""

    @abstractmethod
    def _latest_read(self) -> int:
        """No row that was read starts after it."""

    @abstractmethod
    def _grain_now(self) -> int:
        """Epochs end between its multiples."""

    @abstractmethod
    def _go_on_by(self, some: Sequence[Running]) -> None:
        """Goes on with some queries by other plans."""

    def _move_by_hand(self, name: str, statistics: Statistics | None, without: Collection[str]) -> str | None:
        """A query moves to the plan that the rules make of it; why it stays where it is, if it does."""
        running = self._at_work_now()[name]
        found = self._moved(running, running.registered.statistics if statistics is None else statistics, without)
        if isinstance(found, Stays):
            return found.why
        self._go_on_by([found])
        return None

    def _moved(self, running: Running, statistics: Statistics | None, without: Collection[str]) -> Running | Stays:
        latest, first = self._latest_read(), self.engine.epoch_number + 1
        return moved_to(running, statistics, without, self._functions, latest, self._grain_now(), first)

    def _operators(self, running: Running) -> Mapping[Plan, str]:
        return operators(running, self._functions)

    def _arrive(self) -> None:
        """Queries that have moved give up the plans that they had before, once these have answered all they had to."""
        running, until = self._at_work_now().values(), self.engine.until
        done = [found for r in running if (found := arrived(r, until, self._functions)) is not None]
        if done:
            self._go_on_by(done)

    def _move(self, done: Progress) -> None:
        """Queries move to plans that are better by now."""
        better = self.watch.moves(done, self._at_work_now().values())
        if better:
            self._go_on_by(better)
