"""Folders for what only one run needs. Their names tell whose they are, so that the next run can tidy up."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

_PRIVATE = 0o700


def new_scratch() -> Path:
    """The path of a new folder of this process."""
    return _root() / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"


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
                if not _alive(int(process)):
                    shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    return Path(tempfile.gettempdir()) / f"continua-{os.getuid()}"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
