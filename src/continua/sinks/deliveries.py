"""The sinks of live queries, and what each of them has still to get."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from continua.errors import Diagnostic, SourceError
from continua.sinks.base import Sink


@dataclass
class _Delivery:
    """A sink of a query, and the epoch whose answers it gets next."""

    query: str
    sink: Sink
    following: int


class Deliveries:
    """The sinks of live queries: each gets the answers of every epoch, in order."""

    def __init__(
        self, answers: Callable[[str, int], pa.Table | None], missed: Callable[[str, int], int] = lambda _, epoch: epoch
    ) -> None:
        """``answers``: those of a query in an epoch; ``missed``: the first epoch from one on that can still be told."""
        self._answers = answers
        self._missed = missed
        self._deliveries: list[_Delivery] = []

    def add(self, query: str, sink: Sink, first: int, last: int) -> None:
        """A sink that gets all from one epoch on; those up to the last that is finished now."""
        delivery = _Delivery(query, sink, first)
        self._deliver(delivery, last)
        self._deliveries.append(delivery)

    def drop(self, query: str) -> None:
        """A query has left."""
        self._deliveries = [d for d in self._deliveries if d.query != query]

    def up_to(self, epoch: int) -> None:
        """Gives every sink what it has not: one that fails does not keep the others from it, and gets it next time."""
        with ExitStack() as all_of_them:
            for delivery in reversed(self._deliveries):
                all_of_them.callback(self._deliver, delivery, epoch)

    def _deliver(self, to: _Delivery, last: int) -> None:
        first = self._missed(to.query, to.following)
        if first > to.following:
            missed, to.following = to.following, first
            raise _too_late(to.query, missed, first - 1)
        while to.following <= last:
            answers = self._answers(to.query, to.following)
            if answers is not None:
                to.sink.write(to.following, answers)
            to.following += 1


def _too_late(query: str, first: int, last: int) -> SourceError:
    message = f"a sink of {query} has failed for so long that the answers of epochs {first} to {last} are kept no more"
    parameters: dict[str, object] = {"query": query, "first": first, "last": last}
    hint = "it goes on with what came since; SET retention says how much is kept"
    return SourceError(Diagnostic("SINK_BEHIND", message, hint=hint, parameters=parameters))
