"""Folders for what only one run needs. Their names tell whose they are, so that the next run can tidy up."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import tempfile
import uuid
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_PRIVATE = 0o700


_of_this_process: set[str] = set()
"""The names of folders of this process that are in use."""


def new_scratch() -> Path:
    """The path of a new folder of this process, which is in use until it is removed."""
    path = _root() / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"
    _of_this_process.add(path.name)
    return path


def in_use() -> tuple[str, ...]:
    """The names of all folders of this process that are in use."""
    return tuple(sorted(_of_this_process))


def remove(scratch: Path) -> None:
    """Removes a folder of this process."""
    _of_this_process.discard(scratch.name)
    shutil.rmtree(scratch, ignore_errors=True)


def named(name: str) -> Path:
    """The folder of a run by its path or, where this machine is not the driver's, by its name.

    There it lies among what Spark has on the disk for its application, and removes when that ends. Where executors of
    one application share a folder on a machine it is there, else it is the executor's own.
    """
    return Path(name) if Path(name).is_absolute() else _of_spark() / name


def remove_ended(living: Collection[str]) -> None:
    """Removes the folders on this machine of runs that are not among those which the driver says go on."""
    root = _of_spark()
    with suppress(OSError):
        for folder in root.iterdir():
            if folder.name not in living:
                shutil.rmtree(folder, ignore_errors=True)


def _of_spark() -> Path:
    """Where a worker on another machine than the driver's has its folders."""
    variables = (("SPARK_EXECUTOR_DIRS", os.pathsep), ("LOCAL_DIRS", ","), ("SPARK_LOCAL_DIRS", ","))
    found = next(os.environ[name].split(sep)[0] for name, sep in variables if os.environ.get(name))
    return Path(found) / "continua"


def make_private(folder: Path) -> None:
    """Makes a folder, and those that it is in, where only their owner can look.

    What another user has put in the place of the outermost one is refused: he could read or change what is in it.
    """
    root = _root()
    if folder.is_relative_to(root):
        with suppress(FileExistsError):
            root.mkdir(mode=_PRIVATE, parents=True)
        found = root.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise NotADirectoryError(errno.ENOTDIR, "it is no folder of this user", str(root))
        if stat.S_IMODE(found.st_mode) & ~_PRIVATE:
            root.chmod(_PRIVATE)
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)


def remove_abandoned() -> None:
    """Removes the folders of processes of this machine that are gone."""
    root = _root()
    if not root.exists():
        return
    for folder in root.iterdir():
        match folder.name.rsplit("-", 2):
            case [host, process, _] if host == socket.gethostname() and process.isdigit():
                if not is_alive(int(process)):
                    shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    return Path(tempfile.gettempdir()) / f"continua-{os.getuid()}"


def is_alive(process: int) -> bool:
    """Whether a process of this machine goes on."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
