"""Servers as processes of their own: ports for them, waiting until they are there, and their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PATIENCE = 120.0
"""So many seconds a server may take to be there."""
_PAUSE = 0.05


def cache() -> Path:
    """Where what was fetched for tests stays from one run of them to the next."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "continua-tests"


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until(
    holds: Callable[[], bool],
    what: str,
    process: subprocess.Popen[bytes] | None = None,
    patience: float = PATIENCE,
) -> None:
    """Asks until something holds; ``process`` must not end meanwhile."""
    end = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < end, f"in vain it was waited until {what}"
        assert process is None or process.poll() is None, f"the process ended before {what}"
        time.sleep(_PAUSE)


def listens(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


def end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """Ends a process, by force if it does not obey."""
    process.send_signal(number)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
