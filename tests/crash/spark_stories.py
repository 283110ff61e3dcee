"""Stories of the command on Spark: the driver, the JVM and single Python workers are killed while they work."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from continua.runtime.spark.jvm_archive import find_archive
from tests.crash.command_stories import CommandStory, Expected, WrongError, at_work
from tests.crash.commands import Command, Ended
from tests.crash.injection import CHECKPOINT, DRIVER, ERRORS, INTERRUPT, KILL, WORKER, Plan
from tests.crash.killing import children, running

_WAYS = ("driver",) * 2 + ("JVM",) * 3 + ("worker",) * 3 + ("daemon", INTERRUPT) + ("step",) * 3
_AFTERWARDS = 60.0
"""Seconds that what a command has started may still be there when it has been killed."""


class SparkStory(CommandStory):
    """The command on Spark. What a process that was killed has started may still be at work in the next life."""

    master = "local[2]"

    def __init__(self, seed: int, number: int, folder: Path, expected: Expected) -> None:
        super().__init__(seed, number, folder, expected)
        self._commands: list[Command] = []

    def life(self) -> tuple[str, Ended]:
        """One life, with a disk that fails if the story has one."""
        if self.disks and self.rng.random() < 0.3:
            return self.with_bad_disk()
        way = self.rng.choice(_WAYS)
        if way == "step":
            role = self.rng.choice((DRIVER, WORKER, WORKER))
            plan = self.plan(self.rng.choice((KILL, *ERRORS)), role)
            command = self._start(plan)
            return str(plan), command.ended()
        command = self._start()
        if way == INTERRUPT or self.rng.random() < 0.85:
            self._wait_for_epochs(command)
        command.wait(lambda: False, self.rng.uniform(0, 0.5))
        self._hit(command, way)
        what = {INTERRUPT: INTERRUPT, "driver": f"{KILL} of the driver"}.get(way, f"end of the {way}")
        return what, command.ended()

    def undisturbed(self) -> Ended:
        """A life to which nothing is done."""
        return self._start().ended()

    def _start(self, plan: Plan | None = None) -> Command:
        command = Command(self.folder, self.arguments(), plan, _linked_archive(self.folder))
        self._commands.append(command)
        return command

    def _wait_for_epochs(self, command: Command) -> None:
        """Waits until the command is at work, and for some epochs."""
        command.wait(lambda: at_work(command, self.folder))
        epochs = self.folder / CHECKPOINT / "epochs"
        wanted = _count(epochs) + self.rng.randrange(6)
        command.wait(lambda: _count(epochs) >= wanted, 20)

    def _hit(self, command: Command, way: str) -> None:
        if way in ("driver", INTERRUPT):
            command.send(signal.SIGKILL if way == "driver" else signal.SIGINT)
            return
        found: Callable[[], list[int]] = {
            "JVM": lambda: children(command.number, "java"),
            "daemon": lambda: _daemons(command),
            "worker": lambda: [w for d in _daemons(command) for w in children(d, "python")],
        }[way]
        if command.wait(lambda: bool(found())):
            with suppress(ProcessLookupError, IndexError):
                os.kill(self.rng.choice(found()), signal.SIGKILL)

    def check_end(self) -> None:
        """What commands have started is gone soon after them."""
        end = time.monotonic() + _AFTERWARDS
        mine = {command.number for command in self._commands}
        while left := [p for p in running() if p.session in mine]:
            if time.monotonic() > end:
                raise WrongError(f"processes are left: {left}")
            time.sleep(0.1)

    def end(self) -> None:
        """Ends what is still running."""
        for command in self._commands:
            command.remove()


def _daemons(command: Command) -> list[int]:
    """The processes that workers are forked from."""
    return [d for jvm in children(command.number, "java") for d in children(jvm, "python")]


def _count(folder: Path) -> int:
    return sum(1 for name in os.listdir(folder) if name.isdigit()) if folder.exists() else 0  # noqa: PTH208


def _linked_archive(folder: Path) -> Path | None:
    """A cache with the archive of this user, if he has one: what a story does to it is not done to his."""
    archive = find_archive()
    if archive is None:
        return None
    cache = folder / "cache"
    mine = cache / "continua" / "jvm"
    mine.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (mine / archive.folder.name).exists():
        shutil.copytree(archive.folder, mine / archive.folder.name, copy_function=_linked)
    return cache


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
