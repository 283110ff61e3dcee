"""One driver to a checkpoint: a lock that its process holds, and that is gone when the process is."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.machines import writing_to

_held: dict[Path, int] = {}
"""The locks of this process: their open files."""


def lock(checkpoint: Path) -> None:
    """Takes a checkpoint for this run; an error if another one has it."""
    path = _file(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(opened, 64, 0).decode(errors="replace").strip()
        os.close(opened)
        raise _taken(checkpoint, holder) from None
    _held[path] = opened
    try:
        with writing_to(path):
            os.ftruncate(opened, 0)
            os.pwrite(opened, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        unlock(checkpoint)
        raise


def unlock(checkpoint: Path) -> None:
    """Gives a checkpoint back; one that is not taken is as good."""
    opened = _held.pop(_file(checkpoint), None)
    if opened is not None:
        os.close(opened)


def unlock_all() -> None:
    """Gives back all that this process has taken, as its end would."""
    for path in list(_held):
        unlock(path.parent)


def _file(checkpoint: Path) -> Path:
    return checkpoint.resolve() / "lock"


def _taken(checkpoint: Path, holder: str) -> CheckpointError:
    who = "this process" if holder == str(os.getpid()) else f"process {holder or '(unknown)'}"
    return CheckpointError(
        Diagnostic(
            "CHECKPOINT_IN_USE",
            f"the checkpoint {checkpoint} is in use: a run of {who} works on it",
            hint="wait until that run has ended, stop it, or use another folder",
            parameters={"checkpoint": str(checkpoint), "holder": holder},
        )
    )
