"""Live runs that go on by themselves: epochs as rows come, until one asks them to stop or sources have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from continua.errors import BindError, EvaluationError
from continua.runs.live_run import LiveRun

IDLE = 0.05
"""So many seconds are waited at least before sources are looked at again that had nothing."""


class Follower:
    """Runs the epochs of a live run, which is one group of queries."""

    def __init__(
        self, run: LiveRun, asked: threading.Event, trigger: float = 0.0, duration: float | None = None
    ) -> None:
        """``asked`` is set by whoever wants it to stop after the epoch that runs.

        ``trigger``: the seconds from the beginning of one epoch to that of the next, unless there is much to do.
        ``duration``: after so many seconds no other epoch begins.
        """
        self._run = run
        self._trigger = trigger
        self._duration = duration
        self._asked = asked

    def follow(self, told: Callable[[], None] = lambda: None) -> None:
        """Goes on until it is asked to stop, the time is over, nothing more can come, or somebody has ended the run.

        ``told`` is called every time that sources were looked at.
        """
        end = None if self._duration is None else time.monotonic() + self._duration
        while not self._asked.is_set():
            began = time.monotonic()
            try:
                worked = self._run.step()
            except BindError as error:
                if error.condition == "RUN_ENDED":
                    return
                raise
            self._check_stream()
            self._check_watch()
            told()
            if self._run.has_ended or (end is not None and time.monotonic() >= end):
                return
            if worked and self._run.is_behind:
                continue
            self._wait(began, worked, end)

    def _wait(self, began: float, worked: bool, end: float | None) -> None:
        """Waits until the next epoch is due: that is at once if nothing was there and something has come."""
        pause = max(began + self._trigger - time.monotonic(), 0.0 if worked else IDLE)
        if end is not None:
            pause = max(min(pause, end - time.monotonic()), 0.0)
        if worked or self._trigger:
            self._asked.wait(pause)
        else:
            self._run.arrivals.news.wait(pause)

    def _check_stream(self) -> None:
        """What has ended a streaming query of Spark ends the run."""
        stream = self._run.stream
        if stream is not None and not stream.isActive and (failure := stream.exception()) is not None:
            raise failure

    def _check_watch(self) -> None:
        """What the watch over silent sources met when it closed instants ends the run."""
        live = self._run.live
        with live.lock:
            failure, live.failure = live.failure, None
        if failure is not None:
            raise self._run.named(failure) if isinstance(failure, EvaluationError) else failure


def follow_all(work: Callable[[LiveRun], None], runs: Sequence[LiveRun], asked: threading.Event) -> None:
    """Follows runs, each in a thread of its own if there are several: what fails in one is raised when all have ended.

    ``work`` follows one of them. ``asked`` is set where it fails, since nobody else has told of that and dealt with it,
    and where waiting for them is interrupted.
    """
    if len(runs) == 1:
        work(runs[0])
        return
    failures: list[BaseException] = []

    def worked(run: LiveRun) -> None:
        try:
            work(run)
        except BaseException as error:
            failures.append(error)
            asked.set()

    names = [f"continua-group-{run.group}" for run in runs]
    threads = [
        threading.Thread(target=worked, args=(r,), name=n, daemon=True) for r, n in zip(runs, names, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(IDLE)  # signals come in between
    except BaseException:
        asked.set()
        raise
    if failures:
        raise failures[0]


def dropped_for(run: LiveRun, error: EvaluationError) -> bool:
    """Has a run go on without the query that failed on its data; whether it is known which one that is."""
    name = error.parameters.get("query")
    if not isinstance(name, str) or name not in run.queries:
        return False
    run.drop(name, error)
    return True
