"""Folders for what only one run needs. Their names tell whose they are, so that the next run can tidy up."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import uuid
from pathlib import Path


def new_scratch() -> Path:
    """The path of a new folder of this process."""
    return _root() / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"


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
