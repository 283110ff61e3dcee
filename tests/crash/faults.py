"""Faults: a run is stopped at a chosen step of a chosen write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from continua.errors import EvaluationError
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint import files
from tests.crash.world import World, fresh_process

Step = tuple[str, Path]
KINDS = {"checkpoint", "epochs", "intents", "logs", "queries", "results", "segments", "snapshots", "terms"}
"""What files of a checkpoint are."""


class Stopped(BaseException):
    """The process ends here. Not an Exception, so that nothing on the way can take it for an error of a task."""


class FailedError(OSError):
    """The disk fails here: a task tells the driver, and tasks beside it go on."""


@dataclass
class Fault:
    """Counts steps, and ends the run at one of them."""

    number: int | None = None
    error: type[BaseException] = Stopped
    where: Callable[[str, Path], bool] = lambda _what, _path: True
    """Which steps count."""
    steps: list[Step] = field(default_factory=list)

    def __call__(self, what: str, path: Path) -> None:
        if not self.where(what, path):
            return
        self.steps.append((what, path))
        if len(self.steps) == self.number:
            raise self.error(f"{what} {path}")


def kind(path: Path) -> str:
    """What a file of a checkpoint is."""
    return next(part for part in reversed(path.parts) if part in KINDS)


@contextmanager
def hooked(fault: Fault) -> Iterator[Fault]:
    """Steps go through a fault."""
    files.hook = fault
    try:
        yield fault
    finally:
        files.hook = None


def stop(world: World, options: BoundedOptions, fault: Fault) -> bool:
    """Runs until a fault ends it; whether it did. What is in the checkpoint is all that is left."""
    with fresh_process(), hooked(fault):
        try:
            world.answers(options)
        except (Stopped, FailedError):
            return True
        except EvaluationError as error:
            if FailedError.__name__ not in str(error.parameters.get("trace")):
                raise
            return True
    return False


def stop_after(world: World, options: BoundedOptions, epoch: int) -> None:
    """Runs until an epoch is finished, but what it leaves has not been tidied up."""
    assert stop(
        world, options, Fault(finishing(epoch), where=lambda what, path: what == "done" and kind(path) == "epochs")
    )


def finishing(epoch: int) -> int:
    """Which write among epochs finishes one of a process: the first is the handover by which it begins."""
    return epoch + 1
