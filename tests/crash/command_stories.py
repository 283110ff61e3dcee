"""Stories of the command: one script, given again after every crash, and what it leaves in the folders of its sinks."""

from __future__ import annotations

import random
import re
import signal
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tests.crash.command_world import CommandWorld, Rows, difference, leftovers, sink_rows
from tests.crash.commands import Command, Ended, forked
from tests.crash.disks import Disk, can_mount, closed
from tests.crash.injection import CHECKPOINT, ERRORS, INTERRUPT, KILL, KINDS, SINKS, Plan
from tests.crash.summary import Summary

WORLDS = 8
SAID = 600
"""Files may become so large at least: what the command says goes to a file as well."""
_UNTOLD = ("internal error", "Traceback", "Exception ignored", "Error in sys.excepthook")
"""What nobody should ever read."""
_HARMLESS = ("note: query latest is not what it was", "WARNING: Using incubator modules")
"""What is told of a query that was corrected, until it has finished an epoch, and by a JVM without an archive."""
_MACHINE_ERROR = re.compile(
    r"^error\[((SPARK|WORKER)_[A-Z_]+\]: .+|[A-Z_]+\]: (/|standard output: ).+)\n  hint: ", re.MULTILINE
)
"""What is told of a machine: of what, unless it is Spark as a whole."""


class WrongError(AssertionError):
    """A command did what it should not."""


class Expected:
    """What a run that nothing disturbs leaves in sinks and prints, for each world."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, tuple[dict[str, Rows], Rows]] = {}

    def of(self, world: int) -> tuple[dict[str, Rows], Rows]:
        """The rows of every sink, and the lines of standard output."""
        if world not in self._known:
            folder = self._folder / f"undisturbed-{world}"
            folder.mkdir()
            CommandWorld(world).write(folder)
            ended = forked(folder, ["run", str(folder / "script.sql"), "--master", "none"])
            if ended.status or ended.err:
                raise WrongError(f"undisturbed: status {ended.status}, {ended.err}")
            self._known[world] = sink_rows(folder / SINKS), Counter(ended.out.splitlines())
            if not all(self._known[world][0].values()) or not self._known[world][1]:
                raise WrongError("undisturbed: a query without answers")
        return self._known[world]


class CommandStory(ABC):
    """One checkpoint and its sinks, from the beginning to the end."""

    master = "none"

    def __init__(self, seed: int, number: int, folder: Path, expected: Expected) -> None:
        self._number = number
        self.rng = random.Random(f"command {seed} {number} {self.master}")
        self._world = self.rng.randrange(WORLDS)
        self._partitions = self.rng.choice((None, 1, 2, 3))
        self.folder = folder
        self._sinks, self._lines = expected.of(self._world)
        self._lives: list[str] = []
        self._broken = self.rng.random() < 0.2
        self._failing = not self._broken and self.rng.random() < 0.25
        self._mended = ""
        self.disks: list[Disk] = []

    def tell(self, most: int, summary: Summary) -> None:
        """Lives one after the other, with at most so many crashes; the last comes to its end."""
        CommandWorld(self._world).write(self.folder, self.rng if self._broken else None, self._failing)
        for name in (CHECKPOINT, SINKS):
            (self.folder / name).mkdir()
        try:
            if can_mount() and self.rng.random() < 0.3:
                self.disks = [Disk(self.folder / name) for name in (CHECKPOINT, SINKS)]
            self._tell(most, summary)
        except Exception as error:
            wrong = str(error) if isinstance(error, WrongError) else traceback.format_exc()
            summary.wrong.append(f"{type(self).__name__} {self._number}, {self._lives}: {wrong}")
        finally:
            self.end()
            for disk in self.disks:
                disk.remove()

    def _tell(self, most: int, summary: Summary) -> None:
        finished = False
        for _ in range(most):
            what, ended = self.life()
            finished = self._judged(what, ended)
            if finished:
                break
            summary.crashes[f"{self.master}: {self._mended or ended.hit or what}"] += 1
        while not finished or self.rng.random() < 0.2:
            what, finished = "nothing", self._judged("nothing", self.undisturbed())
            if not finished and not self._mended:
                raise WrongError("a life that nothing disturbs did not come to its end")
        self._check_sinks()
        self.check_end()

    def _judged(self, what: str, ended: Ended) -> bool:
        """Checks how a life ended; whether it came to its end."""
        self._lives.append(f"{what} ({ended.hit}): {ended.status}")
        self._mended = ""
        told = "".join(line for line in ended.err.splitlines(keepends=True) if not line.startswith(_HARMLESS))
        if any(words in ended.err for words in _UNTOLD):
            raise WrongError(f"status {ended.status}, said {ended.err}")
        printed = Counter(ended.out[: ended.out.rfind("\n") + 1].splitlines())
        if more := printed - self._lines:
            raise WrongError(f"printed {list(more.elements())[:5]}")
        # an interrupt that comes when Python itself ends has no handler any more, and ends the process
        late = INTERRUPT in what and ended.status == -signal.SIGINT
        match (1 if told else 130) if late else ended.status:
            case 0 if not self._broken and not self._failing:
                wrong = difference(printed, self._lines)
                if told or wrong:
                    raise WrongError(f"at the end it said {ended.err!r} and printed {wrong}")
                return True
            case 1 if self._broken and "s.csv" in ended.err:
                CommandWorld(self._world).write(self.folder)
                self._broken, self._mended = False, "a malformed row"
            case 1 if self._failing and "error[EVALUATION_FAILED]: query latest" in ended.err:
                CommandWorld(self._world).write(self.folder)
                self._failing, self._mended = False, "a query that fails"
            case 3 if what != "nothing" and _MACHINE_ERROR.search(ended.err):
                pass
            case 130 if INTERRUPT in what and not told:
                pass
            case -9 if KILL in what:
                pass
            case _:
                raise WrongError(f"status {ended.status}, said {ended.err}")
        return False

    def _check_sinks(self) -> None:
        found = sink_rows(self.folder / SINKS)
        for name, rows in self._sinks.items():
            if wrong := difference(found[name], rows):
                raise WrongError(f"sink {name}: {wrong}")
        if left := leftovers(self.folder):
            raise WrongError(f"files are left: {left[:5]}")

    def arguments(self) -> list[str]:
        """The command; epochs have another size in every life."""
        found = ["run", str(self.folder / "script.sql"), "--master", self.master]
        found += ["--checkpoint", str(self.folder / CHECKPOINT)]
        if rows := self.rng.choice((1, 1, 2, 2, 2, 3, 3, 5, 8, None)):
            found += ["--batch-rows", str(rows)]
        return found if self._partitions is None else [*found, "--partitions", str(self._partitions)]

    def plan(self, how: str, role: str) -> Plan:
        """A random step: of all, or of those with one kind of file, so that rare ones have their share."""
        lasting = self.rng.random() < 0.5
        if self.rng.random() < 0.4:
            return Plan(how, int(self.rng.expovariate(1 / 120)) + 1, "", lasting, role)
        return Plan(how, int(self.rng.expovariate(1 / 6)) + 1, self.rng.choice(KINDS), lasting, role)

    def with_bad_disk(self) -> tuple[str, Ended]:
        """A life with a disk that is full or cannot be written; with a folder that is closed, where there is none."""
        chosen = self.rng.choice((self.disks[:1], self.disks[1:], self.disks))
        full = self.rng.random() < 0.7
        with ExitStack() as bad:
            if self.disks:
                told = [bad.enter_context(d.full(self.rng) if full else d.read_only()) for d in chosen]
            else:
                told = [bad.enter_context(closed(self.folder / self.rng.choice((CHECKPOINT, SINKS))))]
            return " and ".join(told), self.undisturbed()

    @abstractmethod
    def life(self) -> tuple[str, Ended]:
        """One life: what was done to it, and how it ended."""

    @abstractmethod
    def undisturbed(self) -> Ended:
        """A life to which nothing is done."""

    def check_end(self) -> None:  # noqa: B027 - most have nothing to check
        """Checks what is to be so when the last life has ended."""

    def end(self) -> None:  # noqa: B027 - most have nothing to end
        """Ends what is still running."""


def at_work(command: Command, folder: Path) -> bool:
    """Whether a command has taken the checkpoint: everything before that is its start."""
    try:
        return (folder / CHECKPOINT / "lock").read_text() == f"{command.number}\n"
    except OSError:
        return False


class InProcessStory(CommandStory):
    """The command without Spark."""

    def life(self) -> tuple[str, Ended]:
        """One life, with a disk that fails if the story has one."""
        chance = self.rng.random()
        if self.disks and chance < 0.5:
            return self.with_bad_disk()
        if chance < 0.7:
            how = self.rng.choice((KILL, KILL, KILL, INTERRUPT, *ERRORS))
            plan = self.plan(how, "driver")
            return str(plan), forked(self.folder, self.arguments(), plan)
        if chance < 0.82:
            limit = int(self.rng.expovariate(1 / 3000)) + SAID
            return "files of limited size", forked(self.folder, self.arguments(), limit=limit)
        if chance < 0.9 and not can_mount():
            return self.with_bad_disk()
        return self._at_some_time()

    def _at_some_time(self) -> tuple[str, Ended]:
        """A kill or an interrupt at a random time of the command's work."""
        command = Command(self.folder, self.arguments())
        what = self.rng.choice((KILL, KILL, INTERRUPT))
        try:
            if what == INTERRUPT or self.rng.random() < 0.8:
                command.wait(lambda: at_work(command, self.folder))
            command.wait(lambda: False, self.rng.uniform(0, 1))
            command.send(signal.SIGKILL if what == KILL else signal.SIGINT)
            return f"{what} at some time", command.ended()
        finally:
            command.remove()

    def undisturbed(self) -> Ended:
        """A life to which nothing is done."""
        return forked(self.folder, self.arguments())
