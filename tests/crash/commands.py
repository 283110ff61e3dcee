"""The command ``continua run`` in processes of its own: how it ended, and what it said.

A command without Spark is run by a process that has loaded everything and forks, so that it takes a fraction of a
second; or, as all others, by an interpreter that starts anew.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crash.injection import VARIABLE, Plan, hit_file, inject
from tests.crash.killing import ROOT, kill_session

PATIENCE = 1200.0
"""Seconds that a command may take: on a busy machine, kernels are compiled for minutes."""
_LOADED = ["continua.cli.main", "continua.cli.run", "continua.cli.run_script", "continua.sinks.folder_sink"]
_MAIN = "from continua.cli.main import main; main()"
_ESCAPED = 70
"""The status of a command that an exception has got through."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status (negative if it was killed), what it said, and what was done to it."""

    status: int
    out: str
    err: str
    hit: str | None = None


def forked(folder: Path, arguments: Sequence[str], plan: Plan | None = None, limit: int | None = None) -> Ended:
    """A command without Spark, perhaps with a fault, or with a limit to the size of files."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    _forget(folder)
    process = context.Process(target=_command, args=(str(folder), tuple(arguments), plan, limit))
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGUSR1)
        process.join(1)
        process.kill()
        process.join()
        raise AssertionError(f"the command did not end: {_said(folder, 'stderr')}")
    return _ended(folder, process.exitcode)


def _command(folder: str, arguments: Sequence[str], plan: Plan | None, limit: int | None) -> None:
    """In a process that was forked: the command."""
    os.setsid()
    os.chdir(folder)
    for name, number in (("stdout", 1), ("stderr", 2)):
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    from continua.cli.main import main

    faulthandler.register(signal.SIGUSR1)
    status = _ESCAPED
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if plan is not None:
        inject(plan, folder)
    try:
        main(list(arguments), prog_name="continua")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else _ESCAPED
    except BaseException:
        traceback.print_exc()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


class Command:
    """A command by an interpreter that starts anew."""

    def __init__(
        self, folder: Path, arguments: Sequence[str], plan: Plan | None = None, cache: Path | None = None
    ) -> None:
        """``cache``: the folder with the archive of the JVM's classes; without it none is used or made."""
        self._folder = folder
        _forget(folder)
        environment = {**os.environ, "PYTHONPATH": _path(folder), "CONTINUA_JVM_ARCHIVE": "0"}
        if cache is not None:
            environment |= {"XDG_CACHE_HOME": str(cache), "CONTINUA_JVM_ARCHIVE": "1"}
        if plan is not None:
            environment[VARIABLE] = plan.told(str(folder))
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            self._started = subprocess.Popen(
                [sys.executable, "-c", _MAIN, *arguments],
                cwd=folder,
                env=environment,
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def number(self) -> int:
        """The number of the process."""
        return self._started.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._started.poll() is None

    def wait(self, until: Callable[[], bool], seconds: float = PATIENCE) -> bool:
        """Waits until something is so, or the command has ended, or for so long; whether it is so."""
        end = time.monotonic() + seconds
        while self.running and time.monotonic() < end:
            if until():
                return True
            time.sleep(0.01)
        return False

    def send(self, number: int) -> None:
        """Sends it a signal, unless it has ended."""
        self._started.send_signal(number)

    def ended(self) -> Ended:
        """Waits for its end. Others that it has started may be there for a while."""
        try:
            status = self._started.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.remove()
            raise AssertionError(f"the command did not end: {_said(self._folder, 'stderr')}") from None
        return _ended(self._folder, status)

    def remove(self) -> None:
        """Kills it and all that it started."""
        kill_session(self.number)
        self._started.wait()


def _path(folder: Path) -> str:
    """Where a process finds the program, and what injects faults when it starts."""
    start = folder / "start"
    if not start.exists():
        start.mkdir()
        text = "from tests.crash.injection import inject_as_told\n\ninject_as_told()\n"
        (start / "sitecustomize.py").write_text(text, encoding="utf-8")
    known = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(start), str(ROOT), str(ROOT / "src"), *([known] if known else [])])


def _forget(folder: Path) -> None:
    """Removes what the command before has said: what it had started may be there still, and say more in its file."""
    for path in (Path(hit_file(str(folder))), folder / "stdout", folder / "stderr"):
        path.unlink(missing_ok=True)


def _ended(folder: Path, status: int) -> Ended:
    hit = Path(hit_file(str(folder)))
    return Ended(status, _said(folder, "stdout"), _said(folder, "stderr"), hit.read_text() if hit.exists() else None)


def _said(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8", errors="replace")
