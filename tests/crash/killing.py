"""Processes that run queries, and are killed."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from continua.objects.urls import Place, address_of
from tests.crash.child import DONE, READY

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 180.0
"""Seconds that a process may take until it says what it should."""


@dataclass(frozen=True)
class Life:
    """A life of a process: for how long it ran epochs, and whether it came to their end."""

    seconds: float
    finished: bool


def live(
    checkpoint: Place,
    longest: float | None,
    rng: random.Random,
    arguments: Sequence[str] = (),
    module: str = "tests.crash.child",
) -> Life:
    """Starts a process on a checkpoint, and kills it at a random time after it began to run epochs, if it still runs.

    ``longest`` is the longest time that it may have; None lets it come to its end.
    """
    process = Process([sys.executable, "-m", module, address_of(checkpoint), *arguments])
    try:
        process.expect(READY, PATIENCE)
        begin = time.monotonic()
        if longest is None:
            process.expect(DONE, PATIENCE)
            assert process.ended(PATIENCE)
            finished = True
        else:
            finished = process.said(rng.uniform(0, longest)) == DONE
        return Life(time.monotonic() - begin, finished)
    finally:
        process.kill()


class Process:
    """A process in a session of its own, so that all that it starts can be found."""

    def __init__(self, command: Sequence[str]) -> None:
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is gone
        self._started = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=self._err, bufsize=0, start_new_session=True
        )
        assert self._started.stdout is not None
        self._out = self._started.stdout
        self._read = b""

    def expect(self, line: str, seconds: float) -> None:
        """Waits for a line."""
        said = self.said(seconds)
        if said != line:
            raise AssertionError(f"the process said {said!r}, not {line!r}\n{self.complaint}")

    def said(self, seconds: float) -> str | None:
        """The next line; "" at the end, None if there is none for so long."""
        end = time.monotonic() + seconds
        while b"\n" not in self._read:
            if not select.select([self._out], [], [], max(end - time.monotonic(), 0))[0]:
                return None
            more = os.read(self._out.fileno(), 1 << 16)
            if not more:
                return ""
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def ended(self, seconds: float) -> bool:
        """Whether it ends by itself within some time. It is not waited for: its number stays its own."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.waitid(os.P_PID, self._started.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(0.01)
        return False

    def stops(self, seconds: float) -> bool:
        """Whether it is stopped within some time, so that it does nothing until it is told to go on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if os.waitid(os.P_PID, self._started.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            time.sleep(0.01)
        return False

    def go_on(self) -> None:
        """Has it go on where it was stopped."""
        self._started.send_signal(signal.SIGCONT)

    @property
    def complaint(self) -> str:
        """What it has written to standard error."""
        self._err.seek(0)
        return self._err.read().decode()

    def kill(self) -> None:
        """Kills it and all that it started, and waits until they are gone."""
        kill_session(self._started.pid)
        self._started.wait()
        self._out.close()
        self._err.close()


def kill_session(leader: int) -> None:
    """Kills a process and all that it started, and waits until they are gone."""
    while found := [p.number for p in running() if p.session == leader]:
        for number in found:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.01)


@dataclass(frozen=True)
class Running:
    """A process: its name and number, that of the one that has started it, and that of its session's leader."""

    name: str
    number: int
    parent: int
    session: int


def running() -> list[Running]:
    """All processes."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            before, _, after = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        state, parent, _, session, *_ = after.split()
        if state != "Z":
            found.append(Running(before.partition("(")[2], int(folder.name), int(parent), int(session)))
    return found


def children(of: int, name: str) -> list[int]:
    """The processes that one has started, by the beginning of their name."""
    return [p.number for p in running() if p.parent == of and p.name.startswith(name)]
