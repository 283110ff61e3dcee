"""A command as a process of its own: on so many cores, with how long it takes and how much memory it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EVERY = 0.5
"""Seconds between looks at the memory: to add up the pages of a process takes some milliseconds."""
_SHOWN = 2_000


class CommandError(Exception):
    """A command that did not end well, with what it said."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run took: seconds, and the most bytes that the process and its descendants held at one time."""

    seconds: float
    peak: int


@dataclass(frozen=True, slots=True)
class Waited:
    """What a run took: seconds to the first line that it printed, and to its end."""

    first: float
    seconds: float


def end_tidily() -> None:
    """Makes a request to end one that also ends the command that runs and removes temporary folders."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def pinned(command: Sequence[str], cores: int) -> list[str]:
    """A command that may use so many of this process's cores only."""
    available = sorted(os.sched_getaffinity(0))
    if cores > len(available):
        raise CommandError(f"{cores} cores are needed, and there are {len(available)}")
    return ["taskset", "--cpu-list", ",".join(map(str, available[:cores])), *command]


def run(
    command: Sequence[str], cores: int, folder: Path, environment: Mapping[str, str], limit: float | None = None
) -> Usage:
    """Runs a command in a folder, where it should exit with 0, within so many seconds if there is a limit."""
    began = time.perf_counter()
    with _started(command, cores, folder, environment) as process:
        watch = _Watch(process.pid)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            raise CommandError(f"it takes more than {limit:.0f} seconds") from None
        finally:
            taken = time.perf_counter() - began
            watch.stop()
    return Usage(taken, watch.peak)


def wait_for_line(command: Sequence[str], cores: int, folder: Path, environment: Mapping[str, str]) -> Waited:
    """Runs a command in a folder, where it should print some lines and exit with 0."""
    began = time.perf_counter()
    with _started(command, cores, folder, environment, subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - began
        process.wait()
        taken = time.perf_counter() - began
        process.stdout.close()
    return Waited(first, taken)


@contextmanager
def _started(
    command: Sequence[str], cores: int, folder: Path, environment: Mapping[str, str], output: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is waited for in the block; what it says, and without ``output`` prints, is told if it fails."""
    said = folder / "said.txt"
    with said.open("wb") as file:
        process = subprocess.Popen(
            pinned(command, cores), cwd=folder, env=dict(environment), stdout=output or file, stderr=file
        )
        try:
            yield process
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise CommandError(said.read_text(encoding="utf-8", errors="replace")[-_SHOWN:].strip())


class _Watch:
    """Looks at the memory of a process and its descendants until it is told to stop."""

    def __init__(self, process: int) -> None:
        self.peak = 0
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Looks no more."""
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(EVERY):
            self.peak = max(self.peak, sum(map(held, family(self._process))))


def family(process: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found = [process]
    for member in found:
        found += children.get(member, [])
    return found


def _parent(entry: Path) -> int | None:
    try:
        # the name of the program is in parentheses and may have blanks in it
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def name_of(process: int) -> str:
    """The name of a process's program; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def held(process: int) -> int:
    """The bytes that a process holds: pages that several share are divided among them. 0 if it has ended."""
    for file, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0
