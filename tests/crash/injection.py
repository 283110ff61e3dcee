"""Faults within a process of the command: it is stopped at a chosen step of what it does to files.

Python tells of every file that is opened, renamed or removed (audit events), so that the program need not know of this:
steps are those with the files of the checkpoint and of sinks, whoever takes them. This module is loaded when a process
starts, before anything of the program is, and so imports little.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

VARIABLE = "CONTINUA_CRASH_FAULT"
"""The environment variable with a plan."""
CHECKPOINT, SINKS = "checkpoint", "out"
"""The folders, within that of a story, whose files count."""
DRIVER, WORKER = "driver", "worker"
KILL, INTERRUPT = "kill", "interrupt"
ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EACCES")
KINDS = ("epochs", "intents", "queries", "results", "logs", "segments", "snapshots", "terms", "staged", "published")
"""What files are, of a checkpoint or of sinks."""
_EVENTS = {
    "open": "open",
    "os.rename": "rename",
    "os.link": "rename",
    "os.remove": "remove",
    "shutil.rmtree": "remove",
    "os.mkdir": "make",
    "os.rmdir": "remove",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_ROOM = ("ENOSPC", "EDQUOT")
"""What removing does not fail of."""


@dataclass(frozen=True)
class Plan:
    """What happens at which step."""

    how: str
    """A kill, an interrupt, or the name of an error of the operating system."""
    number: int
    """The step, counted in each process from 1."""
    kind: str = ""
    """Of which kind of files steps count; of all, if it is none."""
    lasting: bool = False
    """Whether all steps from that on fail."""
    role: str = DRIVER

    def told(self, folder: str) -> str:
        """The plan as it is given to a process, with the folder of its story."""
        return json.dumps({"plan": asdict(self), "folder": folder})


class Injected:
    """Counts steps, and has happen what the plan says."""

    def __init__(self, plan: Plan, folder: str) -> None:
        self._plan = plan
        self._folder = folder
        self._steps = 0
        self._busy = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        what = _EVENTS.get(event)
        if what is None or self._busy:
            return
        path = arguments[1] if event in ("os.rename", "os.link") else arguments[0]
        if isinstance(path, int) or path is None:
            return
        if what == "open":
            what = "write" if arguments[2] & _WRITING else "read"
        self.step(what, os.fsdecode(path))

    def step(self, what: str, path: str) -> None:
        """A step of a process."""
        kind = kind_of(path, self._folder)
        plan = self._plan
        if kind is None or (plan.kind and kind != plan.kind) or not _concerned(plan, what):
            return
        self._steps += 1
        if self._steps == plan.number or (plan.lasting and self._steps > plan.number):
            self._tell(f"{plan.role} {plan.how} {what} {kind}")
            self._happen(None if what == "sync" else path)

    def _tell(self, text: str) -> None:
        """Leaves a word of what happened, for whoever has started the process."""
        self._busy = True
        try:
            opened = os.open(hit_file(self._folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(opened, text.encode())
            os.close(opened)
        finally:
            self._busy = False

    def _happen(self, path: str | None) -> None:
        match self._plan.how:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            case name:
                number = getattr(errno, name)
                raise (
                    OSError(number, os.strerror(number)) if path is None else OSError(number, os.strerror(number), path)
                )


def _concerned(plan: Plan, what: str) -> bool:
    """Whether a plan can be about a kind of step: everything can be interrupted, but not everything fails."""
    if plan.how in (KILL, INTERRUPT):
        return True
    return what != "read" and not (what == "remove" and plan.how in _ROOM)


def kind_of(path: str, folder: str) -> str | None:
    """What a file is; None if it is neither of the checkpoint nor of a sink."""
    parts = os.path.relpath(path, folder).split("/")
    if parts[0] == SINKS:
        return "staged" if "_staged" in parts else "published"
    if parts[0] != CHECKPOINT:
        return None
    return next((part for part in reversed(parts) if part in KINDS), CHECKPOINT)


def hit_file(folder: str) -> str:
    """Where a process leaves word of what happened."""
    return os.path.join(folder, "hit")  # noqa: PTH118 - nothing more is imported


def inject(plan: Plan, folder: str) -> None:
    """From now on this process has a fault."""
    injected = Injected(plan, folder)
    fsync = os.fsync

    def synced(opened: int) -> None:
        injected.step("sync", os.readlink(f"/proc/self/fd/{opened}"))  # noqa: PTH115
        fsync(opened)

    if os.path.exists("/proc/self/fd"):  # noqa: PTH110
        vars(os)["fsync"] = synced
    sys.addaudithook(injected)


def inject_as_told(environment: Mapping[str, str] = os.environ) -> None:
    """The same, if the environment of this process says so, and it is one that is meant."""
    told = environment.get(VARIABLE)
    if told is None:
        return
    given = json.loads(told)
    plan = Plan(**given["plan"])
    if ("continua.runtime.spark.daemon" if plan.role == WORKER else "-c") in sys.orig_argv:
        inject(plan, given["folder"])
