"""Where the time of tasks goes, by stages of their work.

A stage is a block of code (``with stage("read"):``) or a function (``@stage("read")``). What happens in a stage within
it is that one's alone, so that the seconds of all stages together are those of the tasks. A clock is looked at where a
stage begins and ends, some dozen times for a piece of many thousand rows: it is always on.

A worker tells what has gathered since it was asked last. So what follows behind a task's report, such as writing its
blocks, is told by the next task of that worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import wraps
from time import perf_counter
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

STAGES: Mapping[str, str] = {
    "read": "bytes of files, and where records are in them",
    "convert": "texts as values, and rows with their times",
    "evaluate": "filters, projections and window arithmetic",
    "divide": "rows by partition and by pieces of time",
    "exchange": "blocks written and read on their way between tasks",
    "intern": "columns as the words of kernels",
    "kernel": "windows, joins, aggregates and all that holds state",
    "decode": "words as columns",
    "net changes": "answers of results, in the order of time",
    "encode": "answers as their format has them",
    "write": "files and segments finished, with their digests",
    "other": "the rest of tasks",
}
"""All stages in the order of a row's way, with what belongs to each."""


class _Clock(threading.local):
    """The stages that a thread is in, and the seconds of those that it was in."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.within: list[str] = []
        self.since = 0.0

    def lap(self) -> None:
        """What has passed since is the innermost stage's."""
        now = perf_counter()
        if self.within:
            name = self.within[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self.since
        self.since = now


_clock = _Clock()


class stage:  # noqa: N801
    """A stage, as a block or a function."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        _clock.lap()
        _clock.within.append(self._name)

    def __exit__(self, *_: object) -> None:
        _clock.lap()
        _clock.within.pop()

    def __call__(self, work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def staged(*given: P.args, **named: P.kwargs) -> T:
            with self:
                return work(*given, **named)

        return staged


def taken() -> dict[str, float]:
    """The seconds of the stages of this thread since it was asked last."""
    _clock.lap()
    found, _clock.seconds = _clock.seconds, {}
    return found
