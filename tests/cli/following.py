"""``continua run --follow`` as a process, whose answers are read as they come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "from continua.cli.main import main; main()"]
_MAY_ALL = "-dac_override,-dac_read_search"
AS_ANYBODY = ["setpriv", "--bounding-set", _MAY_ALL, "--inh-caps", _MAY_ALL]
PATIENCE = 180.0


RUNNING: list[subprocess.Popen[bytes]] = []
"""The processes that were started, so that none outlives its test."""


class Followed:
    """A run that goes on. Whatever it writes is read by threads, so that it never waits for a reader."""

    def __init__(self, folder: Path, *arguments: str, master: str = "none", obeying_modes: bool = False) -> None:
        """``obeying_modes``: it may not read what its modes forbid, even if it is root's."""
        before = AS_ANYBODY if obeying_modes and os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [*before, *COMMAND, "run", *arguments, "--master", master],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        RUNNING.append(self.process)
        self.lines: list[str] = []
        self.told: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.told), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: Any, into: list[str]) -> None:
        into.extend(line.decode().rstrip("\n") for line in stream)

    def send(self, text: str) -> None:
        """Writes to its standard input, which stays open."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    @property
    def answers(self) -> list[dict[str, Any]]:
        """What it has answered so far."""
        return [json.loads(line) for line in self.lines]

    def wait_until(self, holds: Callable[[list[dict[str, Any]]], bool]) -> None:
        """Waits until its answers are as they should be."""
        self.wait_for(lambda: holds(self.answers))

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Waits until something holds that it brings about."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, (self.lines, self.told)
            assert self.process.poll() is None or holds(), (self.lines, self.told)
            time.sleep(0.02)

    def end(self, number: int | None = None) -> int:
        """Waits for its end, after a signal if one is given; its exit status."""
        if number is not None:
            self.process.send_signal(number)
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return status


def at_least(count: int) -> Callable[[list[dict[str, Any]]], bool]:
    """Whether there are so many answers."""
    return lambda answers: len(answers) >= count


def end_all() -> None:
    """Ends what a test has left behind."""
    while RUNNING:
        process = RUNNING.pop()
        if process.poll() is None:
            process.kill()
            process.wait()
