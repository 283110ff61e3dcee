"""The state of a partition of a level between epochs.

Durable are snapshots of its arena, and the blocks that it received since: running the epochs again on them gives the
same state, since operators are deterministic. A snapshot is a table and segments (:mod:`snapshot_tables`), and writes
what has changed. It is taken when that is not much more than the blocks since the last one, so that the cost of an
epoch follows what it received. The last two snapshots are kept, and the blocks since the older one: if the newer one is
damaged, the older one is as good. For that they share no segment: a snapshot shares those of the last but one. The
digests of the snapshots and of the last log are known; a log names the digest of the one before it, so that none of
them can be another than the one that was written.

The arena that is being worked on lies in a scratch folder of this run. It is a copy of convenience: it carries its
epoch and its term in its name, is taken by renaming it (so that two attempts never share it), and is loaded when it is
not there. What an earlier epoch has left in that place is made use of: where the blocks since are kept they are run on
it, else what is the same in a snapshot is not read.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.kernels.store.arena import Arena
from continua.physical.epoch import Epoch
from continua.runtime.checkpoint.seals import Stored, understood
from continua.runtime.checkpoint.snapshot_tables import Segment, Table, drafted, loaded
from continua.runtime.checkpoint.store import Numbered, Store
from continua.runtime.checkpoint.succession import Terms
from continua.runtime.row_blocks import Block
from continua.runtime.scratch import is_alive, make_private

Replay = Callable[[Arena, Epoch, list[Block]], None]

STATE = "state"
"""The folder with the state of all partitions."""
_SNAPSHOTS, _SEGMENTS, _LOGS = "snapshots", "segments", "logs"
_LEAST = 1 << 20
_WORTH = 4
"""A snapshot may write so many times what was received since the last one."""
_LOOK = 8
"""What has changed is looked for once that may be so, at the earliest when the logs weigh such a part of the state."""
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
    segments: tuple[tuple[int, ...], ...] = ()
    """For each snapshot the epochs that have written its segments."""
    look: int = 0
    """The weight at which it is looked again whether a snapshot is worth it."""

    def logged(self, epoch: int, stored: Stored) -> DurableState:
        """With the log of one more epoch."""
        first = self.first or epoch
        return replace(self, first=first, last=epoch, weight=self.weight + stored.size, log=stored.digest)

    def snapped(self, stored: Stored, segments: Iterable[int]) -> DurableState:
        """With a snapshot after the last of the logs: of those before it, one is kept."""
        before = self.snapshots[-1:]
        first = before[0] + 1 if before else self.first
        digests = (*self.digests[-1:], stored.digest)
        both = (*self.segments[-1:], tuple(segments))
        return DurableState((*before, self.last), first, self.last, log=self.log, digests=digests, segments=both)

    def only(self, snapshots: int) -> DurableState:
        """With so many of its snapshots, the first ones."""
        first = {"snapshots": self.snapshots, "digests": self.digests, "segments": self.segments}
        return replace(self, **{name: some[:snapshots] for name, some in first.items()})  # type: ignore[arg-type]

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
        written = (epoch for some in self.segments for epoch in some)
        return min((epoch for epoch in (*self.snapshots, *written, self.first) if epoch), default=0)

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
        self._segments = f"{STATE}/{name}/{_SEGMENTS}"
        self._logs = f"{STATE}/{name}/{_LOGS}"
        self._scratch = scratch / name

    # The arena that is being worked on.

    def take(self, epoch: Numbered) -> Path | None:
        """The folder with the arena of an epoch, now the caller's own; None if there is none."""
        mine = self._own()
        try:
            (self._scratch / f"epoch-{epoch}").rename(mine)
        except OSError:
            return None
        return mine

    def fresh(self) -> Path:
        """A new folder of the caller's own."""
        mine = self._own()
        make_private(mine)
        return mine

    def _own(self) -> Path:
        """A folder that is nobody else's, as long as this process goes on."""
        return self._scratch / f"taken-{os.getpid()}-{uuid.uuid4().hex}"

    def give(self, folder: Path, epoch: Numbered) -> Path:
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

    def segment_name(self, number: int) -> str:
        """Of the segment that was written with that snapshot."""
        return f"{self._segments}/{Numbered(number, self._terms.of(number))}"

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

    def with_snapshot(self, kept: DurableState, number: int, arena: Arena, limit: int | None) -> DurableState:
        """Makes the state after an epoch durable, if that is worth it; ``limit`` as for :func:`due`."""
        draft = drafted(arena, self._last_but_one(kept))
        if limit is None and kept.logs <= _many(arena.size) and draft.size > _WORTH * kept.weight:
            return replace(kept, look=max(draft.size // _WORTH, kept.weight * 5 // 4))
        table = draft.table
        if draft.size:
            stored = self._store.put(self.segment_name(number), b"".join(draft.content), self._durable)
            table = draft.after(Segment(number, stored.digest, draft.size))
        stored = self._store.put(self.snapshot_name(number), table.packed(), self._durable)
        return kept.snapped(stored, (segment.number for segment in table.segments))

    def _last_but_one(self, kept: DurableState) -> Table | None:
        """The contents of the snapshot with which a new one shares segments; None if there is none that is intact."""
        if len(kept.snapshots) < 2:
            return None
        try:
            return self.table(kept, kept.snapshots[0])
        except CheckpointError:
            return None

    def table(self, kept: DurableState, snapshot: int) -> Table:
        """The contents of a snapshot."""
        name = self.snapshot_name(snapshot)
        content = self._store.get(name, kept.digest(snapshot))
        with understood(f"{self._store.url}/{name}"):
            return Table.of(content)

    def loaded(self, kept: DurableState, folder: Path | None, replay: Replay) -> tuple[Arena, DurableState]:
        """The arena from the last snapshot that is intact and the logs since, and what is kept without damaged ones.

        It lies in a folder, or in memory.
        """
        left = None if folder is None else self._left(folder)
        try:
            return self._gone_on(kept, folder, left, replay)
        finally:
            if folder is not None:
                shutil.rmtree(folder / "left", ignore_errors=True)

    def _gone_on(
        self, kept: DurableState, folder: Path | None, left: tuple[int, Arena] | None, replay: Replay
    ) -> tuple[Arena, DurableState]:
        """The same by what an earlier epoch has left, if there is anything, or with its help."""
        if folder is not None and left is not None and max(kept.snapshots, default=kept.first) <= left[0] < kept.last:
            epoch, arena = left
            (folder / "left" / "arena").rename(folder / "arena")
            arena.moved(folder / "arena")
            self._replay(range(epoch + 1, kept.last + 1), kept.log, arena, replay)
            return arena, kept
        damaged: list[Diagnostic] = []
        for snapshot in kept.starts:
            intact = kept.only(sum(n <= snapshot for n in kept.snapshots))
            try:
                arena = self._snapshot(kept, snapshot, folder, None if left is None else left[1])
            except CheckpointError as error:
                damaged += error.diagnostics
                continue
            try:
                self._replay(intact.since(snapshot), kept.log, arena, replay)
            except CheckpointError as error:
                raise CheckpointError(*damaged, *error.diagnostics) from None
            return arena, intact
        raise CheckpointError(*damaged)

    def _left(self, folder: Path) -> tuple[int, Arena] | None:
        """The latest arena that an epoch before has left here, now in a folder of the caller's own, and its epoch."""
        there = {path.name.partition("-")[2]: path for path in self._scratch.glob("epoch-*")}
        known = sorted(found for name in there if (found := Numbered.of(name)) is not None)
        ours = [found for found in known if found.term == self._terms.of(found.number)]
        result = None
        with suppress(OSError):
            if ours:
                # another attempt may be about to take it as well: one of them does
                there[str(ours[-1])].rename(folder / "left")
                result = ours[-1].number, Arena(folder / "left" / "arena")
        killed = (path for path in self._scratch.glob("taken-*") if not is_alive(int(path.name.split("-")[1])))
        for path in (*there.values(), *killed):
            shutil.rmtree(path, ignore_errors=True)
        return result

    def _snapshot(self, kept: DurableState, snapshot: int, folder: Path | None, left: Arena | None) -> Arena:
        """The arena of a snapshot; 0 is the empty one."""
        path = None if folder is None else folder / "arena"
        if path is not None:
            path.unlink(missing_ok=True)
        if not snapshot:
            return Arena(path)
        table = self.table(kept, snapshot)
        return loaded(table, path, left, lambda s: self._store.get(self.segment_name(s.number), s.digest))

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
        segments = {number for some in kept.segments for number in some}
        named = {*map(self.snapshot_name, kept.snapshots), *map(self.segment_name, segments)}
        return named | {*map(self.log_name, logs)}


def names_of(store: Store, kept: Mapping[tuple[int, int], DurableState], terms: Terms) -> set[str]:
    """The names of what is kept of partitions, by level and number."""
    found: set[str] = set()
    for (level, part), state in kept.items():
        found |= PartitionState(store, Path(), level, part, terms).names(state)
    return found


def due(kept: DurableState, size: int, limit: int | None = None) -> bool:
    """Whether the logs since the last snapshot weigh so much that one may be due, or more than a limit if there is one.

    Small ones are not to become many either: the larger the state, the more of them there may be.
    """
    enough = max(_LEAST, size // _LOOK, kept.look) if limit is None else limit
    return kept.weight > enough or kept.logs > _many(size)


def _many(size: int) -> int:
    """How many logs there may be."""
    return max(_MANY, size // _A_LOG)
