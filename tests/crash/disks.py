"""Disks that are full and folders that cannot be written, as far as the user of this process can make them."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_PAGE = 4096
_ROOM = "64m"


class Disk:
    """A disk of its own under a folder, which is there and empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        _run("mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(folder))

    @contextmanager
    def full(self, rng: random.Random, most: int = 60) -> Iterator[str]:
        """Has no more room than for some small files."""
        found = os.statvfs(self._folder)
        pages = found.f_blocks - found.f_bfree + int(rng.expovariate(1 / most)) + 1
        self._remount(f"size={pages * _PAGE}")
        try:
            yield f"full {self._folder.name}"
        finally:
            self._remount(f"size={_ROOM}")

    @contextmanager
    def read_only(self) -> Iterator[str]:
        """Can only be read."""
        self._remount("ro")
        try:
            yield f"read-only {self._folder.name}"
        finally:
            self._remount("rw")

    def _remount(self, options: str) -> None:
        _run("mount", "-o", f"remount,{options}", str(self._folder))

    def remove(self) -> None:
        """Takes it away, with all that is on it."""
        _run("umount", "-l", str(self._folder))


@lru_cache
def can_mount() -> bool:
    """Whether this process may make disks."""
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory(prefix="continua-crash-") as folder:
        try:
            Disk(Path(folder)).remove()
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


@contextmanager
def closed(folder: Path) -> Iterator[str]:
    """A folder that its owner may not write to. For root this changes nothing: who may mount disks uses these."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o500)
    try:
        yield f"read-only {folder.name}"
    finally:
        folder.chmod(0o700)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
