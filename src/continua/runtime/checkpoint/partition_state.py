"""The state of a partition of a level between epochs.

Durable are snapshots of its arena, and the blocks that it received since: running the epochs again on them gives the
same state, since operators are deterministic. A snapshot is taken when the blocks since the last one weigh more than
the state itself, so that the cost of an epoch follows what it received. The last two snapshots are kept, and the
blocks since the older one: if the newer one is damaged, the older one is as good. The digests of the snapshots and of
the last log are known; a log names the digest of the one before it, so that none of them can be another than the one
that was written.

The arena that is being worked on lies in a scratch folder of this run. It is a copy of convenience: it carries its
epoch in its name, is taken by renaming it (so that two attempts never share it), and is rebuilt when it is not there.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.kernels.store.arena import Arena
from continua.physical.epoch import Epoch
from continua.runtime.checkpoint.seals import Stored, understood
from continua.runtime.checkpoint.store import Numbered, Store
from continua.runtime.checkpoint.succession import Terms
from continua.runtime.row_blocks import Block
from continua.runtime.scratch import make_private

Replay = Callable[[Arena, Epoch, list[Block]], None]

STATE = "state"
"""The folder with the state of all partitions."""
_SNAPSHOTS, _LOGS = "snapshots", "logs"
_LEAST = 1 << 20
_MANY, _A_LOG = 64, 1 << 16
"""So many logs there may be at least, and as many more as the state has such parts."""
_LENGTH = 8
"""The bytes before the head of a log: its length."""


@dataclass(frozen=True, slots=True)
class DurableState:
    """What is durable of a partition after an epoch: its last two snapshots, and the logs since the older one."""

    snapshots: tuple[int, ...] = ()
    """Their epochs, the newest last."""
    first: int = 0
    last: int = 0
    """The first and the last epoch of the logs; both 0 when there are none."""
    weight: int = 0
    """The bytes of the logs since the last snapshot."""
    log: str = ""
    """The digest of the last log."""
    digests: tuple[str, ...] = ()
    """Those of the snapshots."""

    def logged(self, epoch: int, stored: Stored) -> DurableState:
        """With the log of one more epoch."""
        first = self.first or epoch
        return replace(self, first=first, last=epoch, weight=self.weight + stored.size, log=stored.digest)

    def snapped(self, stored: Stored) -> DurableState:
        """With a snapshot after the last of the logs: of those before it, one is kept."""
        before = self.snapshots[-1:]
        first = before[0] + 1 if before else self.first
        digests = (*self.digests[-1:], stored.digest)
        return DurableState((*before, self.last), first, self.last, log=self.log, digests=digests)

    def digest(self, snapshot: int) -> str:
        """That of a snapshot."""
        return self.digests[self.snapshots.index(snapshot)]

    @property
    def logs(self) -> int:
        """How many logs there are since the last snapshot."""
        return self.last - self.first + 1 if not self.snapshots else self.last - self.snapshots[-1]

    @property
    def starts(self) -> tuple[int, ...]:
        """The snapshots with which the state can be rebuilt, the best first; 0 is the empty state before all logs."""
        oldest = self.snapshots[0] if self.snapshots else self.first
        empty = (0,) if len(self.snapshots) < 2 and self.first <= oldest else ()
        return (*reversed(self.snapshots), *empty)

    @property
    def oldest(self) -> int:
        """The first epoch of which anything is kept; 0 where nothing is."""
        return min((epoch for epoch in (*self.snapshots, self.first) if epoch), default=0)

    def since(self, snapshot: int) -> range:
        """The epochs to run again on a snapshot."""
        return range(max(self.first, snapshot + 1), self.last + 1)


class PartitionState:
    """The files of one partition of one level."""

    def __init__(
        self, store: Store, scratch: Path, level: int, partition: int, terms: Terms, durable: bool = False
    ) -> None:
        """``terms``: of the epochs of which something is kept, and of the one that runs.

        ``durable``: what is written is on the disk itself, so that it is there after the power has failed.
        """
        name = f"level-{level}/partition-{partition}"
        self._store = store
        self._terms = terms
        self._durable = durable
        self._snapshots = f"{STATE}/{name}/{_SNAPSHOTS}"
        self._logs = f"{STATE}/{name}/{_LOGS}"
        self._scratch = scratch / name

    # The arena that is being worked on.

    def take(self, epoch: int) -> Path | None:
        """The folder with the arena of an epoch, now the caller's own; None if there is none."""
        mine = self._scratch / f"taken-{uuid.uuid4().hex}"
        try:
            (self._scratch / f"epoch-{epoch}").rename(mine)
        except OSError:
            return None
        return mine

    def fresh(self) -> Path:
        """A new folder of the caller's own."""
        mine = self._scratch / f"taken-{uuid.uuid4().hex}"
        make_private(mine)
        return mine

    def give(self, folder: Path, epoch: int) -> Path:
        """The folder holds the arena of this epoch now."""
        place = self._scratch / f"epoch-{epoch}"
        shutil.rmtree(place, ignore_errors=True)
        return folder.rename(place)

    def compacted(self, arena: Arena, folder: Path | None) -> Arena:
        """The arena without the room of arrays that are gone, in a new file: the old one may still be mapped."""
        content = arena.pack()
        if folder is None:
            return Arena.unpack(content)
        (folder / "arena").unlink(missing_ok=True)
        return Arena.unpack(content, folder / "arena")

    # What is durable.

    def log_name(self, number: int) -> str:
        """Of the log of an epoch."""
        return f"{self._logs}/{Numbered(number, self._terms.of(number))}"

    def snapshot_name(self, number: int) -> str:
        """Of the snapshot after an epoch."""
        return f"{self._snapshots}/{Numbered(number, self._terms.of(number))}"

    def write_log(self, epoch: Epoch, blocks: Sequence[Block], before: str) -> Stored:
        """Makes the blocks of an epoch durable, behind the log whose digest is ``before``."""
        contents = [b.data for b in blocks]
        listed = [
            [b.level, b.partition, b.channel, b.place, len(content), b.origin]
            for b, content in zip(blocks, contents, strict=True)
        ]
        told = {"before": before, "epoch": [epoch.number, epoch.after, epoch.until], "blocks": listed}
        head = json.dumps(told).encode()
        whole = b"".join([len(head).to_bytes(_LENGTH, "little"), head, *contents])
        return self._store.put(self.log_name(epoch.number), whole, self._durable)

    def read_log(self, number: int, digest: str) -> tuple[Epoch, list[Block], str]:
        """The blocks of an epoch, and the digest of the log before."""
        content = self._store.get(self.log_name(number), digest)
        place = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
        blocks: list[Block] = []
        with understood(f"{self._store.url}/{self.log_name(number)}"):
            told = json.loads(content[_LENGTH:place])
            for level, partition, channel, order, length, origin in told["blocks"]:
                blocks.append(Block(level, partition, channel, order, content[place : place + length], origin))
                place += length
            return Epoch(*told["epoch"]), blocks, told["before"]

    def write_snapshot(self, number: int, arena: Arena) -> Stored:
        """Makes the state after an epoch durable."""
        return self._store.put(self.snapshot_name(number), arena.pack(), self._durable)

    def rebuilt(self, kept: DurableState, folder: Path | None, replay: Replay) -> tuple[Arena, DurableState]:
        """The arena from the last snapshot that is intact and the logs since, and what is kept without damaged ones.

        It lies in a folder, or in memory.
        """
        damaged: list[Diagnostic] = []
        path = None if folder is None else folder / "arena"
        for snapshot in kept.starts:
            known = sum(n <= snapshot for n in kept.snapshots)
            intact = replace(kept, snapshots=kept.snapshots[:known], digests=kept.digests[:known])
            try:
                name = self.snapshot_name(snapshot)
                found = self._store.get(name, kept.digest(snapshot)) if snapshot else None
                with understood(f"{self._store.url}/{name}"):
                    arena = Arena(path) if found is None else Arena.unpack(found, path)
            except CheckpointError as error:
                damaged += error.diagnostics
                continue
            try:
                self._replay(intact.since(snapshot), kept.log, arena, replay)
            except CheckpointError as error:
                raise CheckpointError(*damaged, *error.diagnostics) from None
            return arena, intact
        raise CheckpointError(*damaged)

    def _replay(self, numbers: range, digest: str, arena: Arena, replay: Replay) -> None:
        """Runs epochs again; the digest is that of the last log."""
        found: list[tuple[Epoch, list[Block]]] = []
        for number in reversed(numbers):
            epoch, blocks, digest = self.read_log(number, digest)
            found.append((epoch, blocks))
        for epoch, blocks in reversed(found):
            replay(arena, epoch, blocks)

    def names(self, kept: DurableState) -> set[str]:
        """The names of what is kept."""
        logs = range(kept.first, kept.last + 1) if kept.first else range(0)
        return {*map(self.snapshot_name, kept.snapshots), *map(self.log_name, logs)}


def names_of(store: Store, kept: Mapping[tuple[int, int], DurableState], terms: Terms) -> set[str]:
    """The names of what is kept of partitions, by level and number."""
    found: set[str] = set()
    for (level, part), state in kept.items():
        found |= PartitionState(store, Path(), level, part, terms).names(state)
    return found


def due(kept: DurableState, size: int, limit: int | None = None) -> bool:
    """Whether the logs since the last snapshot weigh more than a snapshot would, or than a limit if there is one.

    Small ones are not to become many either: the larger the state, the more of them there may be.
    """
    return kept.weight > (max(_LEAST, size) if limit is None else limit) or kept.logs > max(_MANY, size // _A_LOG)
