"""What drivers have left that are no more: nobody can ask for it, since no manifest speaks of it nor ever will."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from continua.runtime.checkpoint.partition_state import STATE
from continua.runtime.checkpoint.result_segments import epoch_of
from continua.runtime.checkpoint.store import Numbered, Store

_YIELDED = ("late", "results")


def remove_orphans(store: Store, epoch: int, state: Collection[str]) -> None:
    """Removes what is left of terms before that of the store, and of finished epochs what they need no more.

    ``epoch``: the last that is finished. ``state``: the names of what is kept of the state of partitions.
    """
    store.delete(*sorted(_orphans(store, epoch, state)))


def _orphans(store: Store, epoch: int, state: Collection[str]) -> Iterator[str]:
    term = store.address.term
    for name in store.names(STATE):
        of = Numbered.of(name.rpartition("/")[2])
        if of is not None and of.term < term and name not in state:
            yield name
    for folder in _YIELDED:
        for name in store.names(folder):
            of = epoch_of(name)
            if of is not None and of.term < term and of.number > epoch:
                yield name
