"""The sinks of live queries, and what each of them has still to get."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from continua.errors import Diagnostic, SourceError
from continua.runtime.engine import Engine
from continua.sinks.delivery import Delivery
from continua.sinks.folders import FolderSink


@dataclass
class _Going:
    """A delivery, and the epoch whose answers it gives next."""

    to: Delivery
    following: int


class Deliveries:
    """The sinks of live queries: each gets the answers of every epoch, in order."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._going: list[_Going] = []
        engine.yielded.all_have = self._all_have

    def add(self, delivery: Delivery, first: int, checked: bool = False) -> None:
        """A sink that gets all from one epoch on; those that are finished, now.

        ``checked``: it may have answers of some of them, of which it is seen whether they are what they were.
        """
        going = _Going(delivery, first)
        self._deliver(going, checked)
        self._going.append(going)

    def drop(self, query: str) -> None:
        """A query has left."""
        self._going = [g for g in self._going if g.to.query.name != query]

    def up_to_date(self) -> None:
        """Gives every sink what it has not: one that fails does not keep the others from it, and gets it next time."""
        with ExitStack() as all_of_them:
            for going in reversed(self._going):
                all_of_them.callback(self._deliver, going)

    def _all_have(self, epoch: int) -> bool:
        """Whether all folders have the answers of an epoch, so that its files need not be told apart any more."""
        return all(g.following > epoch for g in self._going if isinstance(g.to.sink, FolderSink))

    def _deliver(self, going: _Going, checked: bool = False) -> None:
        yielded = self._engine.yielded
        first = max(going.following, yielded.past.horizon.epoch + 1)
        if first > going.following:
            missed, going.following = going.following, first
            raise _too_late(going.to.query.name, missed, first - 1)
        while going.following <= self._engine.epoch_number:
            going.to.give(yielded, going.following, checked)
            going.following += 1


def _too_late(query: str, first: int, last: int) -> SourceError:
    message = f"a sink of {query} has failed for so long that the answers of epochs {first} to {last} are kept no more"
    parameters: dict[str, object] = {"query": query, "first": first, "last": last}
    hint = "it goes on with what came since; SET retention says how much is kept"
    return SourceError(Diagnostic("SINK_BEHIND", message, hint=hint, parameters=parameters))
