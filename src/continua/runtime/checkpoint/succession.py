"""Which driver a checkpoint has: terms, and what ends one.

Each driver that opens a checkpoint begins a term, and what it writes carries the term in its name. An epoch is finished
by its manifest, ``epochs/NUMBER-TERM``, which is only ever put there if nothing is. So a driver takes over by putting a
handover under the very name by which the driver before it would finish its next epoch. From then on that one, be it
paused, cut off or thought dead, can finish nothing any more: it finds the handover, and stops. One that is overtaken
while it takes over finds an epoch under that name, and stops as well. Handovers stay, so that no name is free again.

Each has a copy, by whose name handovers are told from manifests without being read.

What a term has written and no manifest speaks of is an orphan once another term has begun: it can never be asked for.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.seals import damaged, understood
from continua.runtime.checkpoint.store import Numbered, SealedStore, Store

EPOCHS, TERMS = "epochs", "terms"
_REMEMBERED = 1000
"""The handovers of so many terms are kept: an older driver is taken to be dead."""


@dataclass(frozen=True, slots=True)
class Terms:
    """In which terms epochs were finished: the first epoch of each term, in order."""

    began: tuple[tuple[int, int], ...] = ()

    def of(self, epoch: int) -> int:
        """The term of an epoch; 0 where there are none."""
        return next((term for first, term in reversed(self.began) if first <= epoch), 0)

    def name(self, epoch: int) -> Numbered | None:
        """The name of an epoch; None before the first."""
        return Numbered(epoch, self.of(epoch)) if epoch else None

    def since(self, epoch: int, term: int) -> Terms:
        """Where epochs from one on are of a term."""
        if not term or (self.of(epoch) == term and self.began[-1][0] <= epoch):
            return self
        return Terms((*(pair for pair in self.began if pair[0] < epoch), (epoch, term)))

    def needed_from(self, epoch: int) -> Terms:
        """Without those that have ended before an epoch."""
        first = next((at for at in reversed(range(len(self.began))) if self.began[at][0] <= epoch), 0)
        return Terms(self.began[first:])

    @staticmethod
    def of_json(content: Any) -> Terms:
        """The terms that plain data stands for."""
        return Terms(tuple((first, term) for first, term in content["began"]))


@dataclass(frozen=True, slots=True)
class Handover:
    """A term begins."""

    term: int
    finished: int
    """The last epoch that was finished before, and its term; 0 where there is none."""
    of: int
    damaged: str = ""
    """The manifest behind that one, if it is damaged: its epoch is run again."""
    host: str = ""
    process: int = 0
    nonce: str = ""

    @property
    def last(self) -> Numbered | None:
        """The name of the manifest of the last finished epoch."""
        return Numbered(self.finished, self.of) if self.finished else None


@dataclass(frozen=True, slots=True)
class Succession:
    """Where a checkpoint stands."""

    term: int
    """Of the driver that had it last; 0 if there was none."""
    last: Numbered | None
    """The name of the manifest of the last epoch that was finished."""
    next: tuple[Numbered, ...]
    """The names by which that driver would finish the next one."""
    damaged: str = ""
    """The path of a manifest that was found to be damaged by the driver whose term it is."""
    handover: Numbered | None = None
    """The name of the handover to it, if it has finished nothing yet."""


def succession(store: Store, names: Iterable[Numbered]) -> Succession:
    """Where a checkpoint stands, by the names of its epochs."""
    last = max(names, key=lambda name: (name.term, name.number), default=None)
    if last is None:
        return Succession(0, None, (Numbered(1, 0),))
    try:
        found = _handover(store, f"{EPOCHS}/{last}")
    except CheckpointError:
        try:
            found = _handover(store, f"{TERMS}/{last}")
        except CheckpointError:
            found = None
        if found is None:
            # it may have been the handover to a term of which nothing else is known
            again = Numbered(last.number, last.term + 1)
            return Succession(last.term + 1, last, (Numbered(last.number + 1, last.term), again))
    if found is None:
        return Succession(last.term, last, (Numbered(last.number + 1, last.term),))
    return Succession(found.term, found.last, (Numbered(found.finished + 1, found.term),), found.damaged, last)


def take_over(
    store: SealedStore, known: Succession, last: Numbered | None, unusable: str = "", durable: bool = False
) -> None:
    """Begins the term of a store, behind where its checkpoint was known to stand.

    ``last`` is the manifest of the epoch that is gone on from. ``unusable``: the path of the one behind it, where that
    is damaged. CheckpointError if somebody else has gone on meanwhile.
    """
    term = store.address.term
    finished, of = last or (0, 0)
    who = Handover(term, finished, of, unusable, socket.gethostname(), os.getpid(), uuid4().hex)
    content = json.dumps(asdict(who)).encode()
    for name in known.next:
        if store.create(f"{EPOCHS}/{name}", content, durable) is None:
            raise taken_over(store, name)
    names = store.numbers(EPOCHS)
    top = max(names, key=lambda name: (name.term, name.number))
    if top != known.next[-1]:
        raise taken_over(store, top)
    copied = store.numbers(TERMS)
    if known.handover is not None and known.handover not in copied:
        # its driver has died before it could
        store.put(f"{TERMS}/{known.handover}", store.get(f"{EPOCHS}/{known.handover}"), durable)
    for name in known.next:
        store.put(f"{TERMS}/{name}", content, durable)
    old = [name for name in copied if name.term < term - _REMEMBERED]
    store.delete(*(f"{folder}/{name}" for name in old for folder in (EPOCHS, TERMS)))


def check_still_ours(store: Store, finished: int) -> None:
    """Refuses to go on where another driver has taken over; ``finished``: the last epoch of this one."""
    name = Numbered(finished + 1, store.address.term)
    if name.term and store.has(f"{EPOCHS}/{name}"):
        raise taken_over(store, name)


def taken_over(store: Store, name: Numbered) -> CheckpointError:
    """Why a driver must stop: another one has gone on."""
    who = f"a run that has finished epoch {name.number}"
    parameters: dict[str, object] = {"checkpoint": store.url, "term": store.address.term}
    try:
        found = _handover(store, f"{EPOCHS}/{name}")
        if found is not None:
            who = f"a run of process {found.process} on {found.host}"
            parameters |= {"by": found.term}
    except CheckpointError:
        pass
    return CheckpointError(
        Diagnostic(
            "CHECKPOINT_TAKEN_OVER",
            f"the checkpoint {store.url} was taken over by {who}: this run can finish nothing any more",
            hint="nothing of what it was about to finish is seen by anybody; let the other run go on",
            parameters=parameters,
        )
    )


def _handover(store: Store, name: str) -> Handover | None:
    """What is kept under a name, if that is a handover."""
    content = store.get(name)
    with understood(f"{store.url}/{name}"):
        told = json.loads(content)
        if "nonce" not in told:
            return None
        found = Handover(**told)
        if not all(isinstance(n, int) for n in (found.term, found.finished, found.of)):
            raise damaged(f"{store.url}/{name}")
        return found
