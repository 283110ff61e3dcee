"""One driver to a checkpoint, as a courtesy: who comes second is told at once, and not when he has done his work.

What keeps two drivers from both finishing an epoch is :mod:`succession`. In a folder the courtesy is a lock that the
process holds, and that is gone when the process is. In a bucket it is a lease (:mod:`leases`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic, MachineError, listing
from continua.objects.urls import BucketUrl, Place
from continua.runtime.checkpoint.leases import Lease
from continua.runtime.machines import writing_to

_held: dict[Path, int] = {}
"""The locks of this process: their open files."""
_leases: dict[str, Lease] = {}


def lock(checkpoint: Place) -> None:
    """Takes a checkpoint for this run; an error if another one has it."""
    if isinstance(checkpoint, BucketUrl):
        if str(checkpoint) in _leases:
            raise _taken(checkpoint, "this process", str(os.getpid()))
        lease = Lease(checkpoint)
        holder = lease.take()
        if holder is not None:
            raise _taken(checkpoint, holder, holder)
        _leases[str(checkpoint)] = lease
        return
    path = _file(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(opened, 64, 0).decode(errors="replace").strip()
        os.close(opened)
        mine = holder == str(os.getpid())
        who = "this process" if mine else f"process {holder or '(unknown)'}"
        raise _taken(checkpoint, who, holder) from None
    _held[path] = opened
    try:
        with writing_to(path):
            os.ftruncate(opened, 0)
            os.pwrite(opened, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        unlock(checkpoint)
        raise


def unlock(checkpoint: Place) -> None:
    """Gives a checkpoint back; one that is not taken is as good."""
    if isinstance(checkpoint, BucketUrl):
        lease = _leases.pop(str(checkpoint), None)
        if lease is not None:
            lease.give_back()
        return
    opened = _held.pop(_file(checkpoint), None)
    if opened is not None:
        os.close(opened)


def unlock_all() -> None:
    """Gives back all that this process has taken, as its end would."""
    for path in list(_held):
        unlock(path.parent)
    for lease in list(_leases.values()):
        unlock(lease.place)


def check_seen(checkpoint: Place, blind: Callable[[Path], list[str]], lasts: bool) -> None:
    """Refuses a folder that is locked here, and that tasks on other machines do not see.

    ``blind`` tells which those are. ``lasts``: whether the folder was named, and is not one for a run alone.
    """
    if not isinstance(checkpoint, Path) or _file(checkpoint) not in _held:
        return
    hosts = blind(_file(checkpoint))
    if hosts:
        what = f"the checkpoint {checkpoint}" if lasts else "the folder in which a run without a checkpoint keeps all"
        hint = "name a folder that all machines see, or an object store: --checkpoint s3://bucket/prefix"
        message = f"{what} is one of this machine, and tasks on {listing(hosts, 3)} do not see it"
        parameters: dict[str, object] = {"checkpoint": str(checkpoint), "hosts": hosts}
        raise MachineError(Diagnostic("CHECKPOINT_NOT_SHARED", message, hint=hint, parameters=parameters))


def _file(checkpoint: Path) -> Path:
    return checkpoint.resolve() / "lock"


def _taken(checkpoint: Place, who: str, holder: str) -> CheckpointError:
    return CheckpointError(
        Diagnostic(
            "CHECKPOINT_IN_USE",
            f"the checkpoint {checkpoint} is in use: a run of {who} works on it",
            hint="wait until that run has ended, stop it, or use another folder",
            parameters={"checkpoint": str(checkpoint), "holder": holder},
        )
    )
