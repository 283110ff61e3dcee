"""A lease on a checkpoint in a bucket: an object that its holder puts there again every few seconds.

How old it is, is told by the clock of the store alone. Where the holder's process ran in the same place as the one that
asks, and is not there any more, nobody waits until the lease has run out.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from continua.errors import ContinuaError
from continua.objects.client import bucket_at
from continua.objects.urls import BucketUrl

_NAME, _CLOCK = "lease", "lease-clock"
_RENEWALS = 3
"""So often it is put there again in the time that it lasts."""


class Lease:
    """A hold of a checkpoint, as long as it is renewed."""

    def __init__(self, place: BucketUrl) -> None:
        self.place = place
        self._bucket = bucket_at(place)
        self._nonce = uuid4().hex
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="lease", daemon=True)

    def take(self) -> str | None:
        """Takes hold; who has it, if somebody has."""
        holder = self._holder()
        if holder is not None:
            return holder
        self._put()
        self._renewing.start()
        return None

    def give_back(self) -> None:
        """Lets go of it, so that nobody has to wait."""
        self._ended.set()
        self._renewing.join()
        with suppress(ContinuaError):
            if self._told().get("nonce") == self._nonce:
                self._bucket.delete([_NAME])

    def _holder(self) -> str | None:
        """Who has a lease that has not run out."""
        known = self._bucket.head(_NAME)
        if known is None:
            return None
        told = self._told()
        process, host = told.get("process", 0), str(told.get("host", "another machine"))
        if _where() and told.get("where") == _where() and not _runs(process, told.get("began")):
            return None
        self._bucket.put(_CLOCK, self._nonce.encode())
        now = self._bucket.head(_CLOCK)
        if now is None or now.modified - known.modified > self._bucket.lease:
            return None
        return f"process {process} on {host}"

    def _told(self) -> dict[str, object]:
        content = self._bucket.get(_NAME)
        with suppress(ValueError):
            found = json.loads(content or b"{}")
            if isinstance(found, dict):
                return found
        return {}

    def _put(self) -> None:
        process = os.getpid()
        told = {
            "nonce": self._nonce,
            "host": socket.gethostname(),
            "process": process,
            "began": _began(process),
            "where": _where(),
        }
        self._bucket.put(_NAME, json.dumps(told).encode())

    def _renew(self) -> None:
        """Puts it there again until it is given back. Where that fails the lease may run out, which is no harm."""
        while not self._ended.wait(self._bucket.lease / _RENEWALS):
            with suppress(ContinuaError):
                if self._told().get("nonce", self._nonce) != self._nonce:
                    return
                self._put()


def _where() -> str:
    """Where processes have the numbers that they have here: this machine since it was started, and this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _began(process: int) -> str:
    """When a process began, so that another one with its number is not taken for it; nothing if there is none."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if told[0] == "Z" else told[19]


def _runs(process: object, began: object) -> bool:
    return isinstance(process, int) and bool(began) and _began(process) == began
