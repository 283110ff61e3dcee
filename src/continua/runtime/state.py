"""The state of a partition of a level between epochs.

Durable are snapshots of its arena, and the blocks that it received since: running the epochs again on them gives the
same state, since operators are deterministic. A snapshot is taken when the blocks since the last one weigh more than
the state itself, so that the cost of an epoch follows what it received. The arena that is being worked on lies in a
scratch folder of this run. It is a copy of convenience: it carries its epoch in its name, is taken by renaming it (so
that two attempts never share it), and is rebuilt when it is not there.
"""

from __future__ import annotations

import pickle
import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from continua.kernels.arena import Arena
from continua.physical.execute import Epoch
from continua.runtime.blocks import Block
from continua.runtime.files import read_file, write_file

_LEAST = 1 << 20


@dataclass(frozen=True, slots=True)
class Kept:
    """What is durable of a partition after an epoch: the epoch of its last snapshot, and the logs since."""

    snapshot: int = 0
    logs: tuple[int, ...] = ()
    weight: int = 0
    """The bytes of these logs."""


class PartitionState:
    """The files of one partition of one level."""

    def __init__(self, checkpoint: Path, scratch: Path, level: int, partition: int) -> None:
        name = f"level-{level}/partition-{partition}"
        self._snapshots = checkpoint / "state" / name / "snapshots"
        self._logs = checkpoint / "state" / name / "logs"
        self._scratch = scratch / name

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
        mine.mkdir(parents=True)
        return mine

    def give(self, folder: Path, epoch: int) -> Path:
        """The folder holds the arena of this epoch now."""
        place = self._scratch / f"epoch-{epoch}"
        shutil.rmtree(place, ignore_errors=True)
        return folder.rename(place)

    def write_log(self, epoch: Epoch, blocks: Sequence[Block]) -> int:
        """Makes the blocks of an epoch durable; returns their size."""
        plain = [(b.level, b.partition, b.channel, b.place, b.data) for b in blocks]
        return write_file(self._logs / str(epoch.number), pickle.dumps((epoch, plain), protocol=5))

    def read_log(self, number: int) -> tuple[Epoch, list[Block]]:
        """The blocks of an epoch."""
        epoch, blocks = pickle.loads(read_file(self._logs / str(number)))
        return epoch, [Block(*b) for b in blocks]

    def write_snapshot(self, number: int, arena: Arena) -> None:
        """Makes the state after an epoch durable."""
        write_file(self._snapshots / str(number), arena.pack())

    def rebuilt(self, kept: Kept, folder: Path, replay: Callable[[Arena, Epoch, list[Block]], None]) -> Arena:
        """The arena from its last snapshot and the logs since."""
        path = folder / "arena"
        snapshot = self._snapshots / str(kept.snapshot)
        arena = Arena.unpack(read_file(snapshot), path) if kept.snapshot else Arena(path)
        for number in kept.logs:
            epoch, blocks = self.read_log(number)
            replay(arena, epoch, blocks)
        return arena

    def forget(self, kept: Kept) -> None:
        """Removes files that are no longer needed to rebuild what is kept."""
        for folder, needed in ((self._snapshots, {kept.snapshot}), (self._logs, set(kept.logs))):
            if not folder.exists():
                continue
            oldest = min(needed, default=kept.snapshot)
            for file in folder.iterdir():
                if file.name.isdigit() and int(file.name) < oldest:
                    file.unlink(missing_ok=True)


def due(kept: Kept, size: int) -> bool:
    """Whether the logs since the last snapshot weigh more than a snapshot would."""
    return kept.weight > max(_LEAST, size)
