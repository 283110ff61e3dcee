"""A driver's time with a checkpoint: its term, from taking over to being overtaken."""

from __future__ import annotations

from collections.abc import Collection

from continua.errors import CheckpointError, Diagnostic, MachineError
from continua.runtime.checkpoint.manifests import Manifest, Manifests
from continua.runtime.checkpoint.opening import mark
from continua.runtime.checkpoint.orphans import remove_orphans
from continua.runtime.checkpoint.registrations import registrations_of
from continua.runtime.checkpoint.store import Numbered, SealedStore
from continua.runtime.checkpoint.succession import Succession, check_still_ours, take_over, taken_over


class Tenure:
    """The driver of a checkpoint."""

    def __init__(self, store: SealedStore, manifests: Manifests, durable: bool) -> None:
        self._store = store
        self._manifests = manifests
        self._durable = durable
        self._standing = manifests.standing()
        store.begin_term(self._standing.term + 1)

    def begin(self, last: Manifest | None, damaged: CheckpointError | None, state: Collection[str]) -> None:
        """Makes sure that nobody else finishes an epoch, and removes what others have left that nobody needs.

        ``last``: the epoch that is gone on from. ``damaged``: what is wrong with the one behind it, if there is one.
        ``state``: the names of what is kept of the state of partitions.
        """
        store = self._store
        mark(store, self._durable)
        unusable = "" if damaged is None else str(damaged.parameters["path"])
        before = registrations_of(store, last)
        take_over(store, self._standing, None if last is None else last.name, unusable, self._durable)
        if registrations_of(store, last) != before:
            raise taken_over(store, self._standing.next[-1])
        self._manifests.tidy()
        number = 0 if last is None else last.number
        remove_orphans(store, number, state)
        self._manifests.forget(number)

    def renew(self, last: Numbered | None) -> None:
        """Begins a term after an epoch that has failed: what its tasks may still write nobody will ever read.

        ``last``: the last epoch that was finished. If it is not known whether one was finished after all, this tells.
        """
        term = self._store.address.term
        name = Numbered(1 if last is None else last.number + 1, term)
        if self._manifests.is_there(name):
            raise MachineError(
                Diagnostic(
                    "EPOCH_UNCERTAIN",
                    f"epoch {name.number} is finished although its manifest could not be written without an error",
                    hint="begin again: with --checkpoint the same command goes on where it was",
                    parameters={"epoch": name.number},
                )
            )
        self._store.begin_term(term + 1)
        take_over(self._store, Succession(term, last, (name,)), last, durable=self._durable)

    def check(self, finished: int) -> None:
        """Refuses to go on where another driver has taken over; ``finished``: the last epoch of this one."""
        check_still_ours(self._store, finished)
