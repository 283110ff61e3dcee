"""Live queries that go on by themselves while their session is used: a thread for each group works on what comes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from continua.errors import ContinuaError, Diagnostic, EvaluationError
from continua.runs.following import Follower, dropped_for
from continua.runs.live_groups import LiveGroups
from continua.runs.live_run import LiveRun
from continua.runtime.machines import machine_error


class FollowedGroups:
    """Follows the groups of live queries. A query that fails on its data leaves, and the others of its group go on."""

    def __init__(
        self,
        live: Callable[[], LiveGroups | None],
        trigger: float,
        failed: Callable[[LiveRun, ContinuaError], None],
        told: Callable[[LiveRun], None] = lambda _: None,
    ) -> None:
        """``live`` gives the groups that there are now. ``trigger``: seconds from epoch to epoch.

        ``failed`` is called where a query, or a whole group, has failed; ``told`` whenever sources were looked at.
        """
        self._live = live
        self._trigger = trigger
        self._failed = failed
        self._told = told
        self._over = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        """By group."""

    def work(self) -> None:
        """Works on what has come by now, and goes on doing so in threads: elsewhere there may be no end of it."""
        groups = self._live()
        for run in () if groups is None else groups.at_work.values():
            while True:
                try:
                    run.step()
                    break
                except EvaluationError as error:
                    if not self._drops(run, error):
                        raise
            self._told(run)
        self.follow()

    def follow(self) -> None:
        """Sees to it that a thread is at work for each group."""
        groups = self._live()
        for run in () if groups is None else groups.at_work.values():
            if not self.is_followed(run.group):
                thread = threading.Thread(target=self._follow, args=(run, self._over), daemon=True, name="continua")
                self._threads[run.group] = thread
                thread.start()

    def is_followed(self, group: str) -> bool:
        """Whether a thread is at work for a group."""
        return group in self._threads and self._threads[group].is_alive()

    def _follow(self, run: LiveRun, over: threading.Event) -> None:
        """What the thread does."""
        while not over.is_set():
            try:
                Follower(run, over, self._trigger).follow(lambda: self._told(run))
                return
            except EvaluationError as error:
                if self._drops(run, error):
                    continue
                self._failed(run, error)
            except ContinuaError as error:
                self._failed(run, error)
            except Exception as error:
                self._failed(run, machine_error(error) or _unexpected(error))
            return

    def _drops(self, run: LiveRun, error: EvaluationError) -> bool:
        """Goes on without a query that fails on its data; whether it is known which that is."""
        if not dropped_for(run, error):
            return False
        self._failed(run, error)
        return True

    def stop(self) -> None:
        """Ends the threads, after the epochs that they work on."""
        self._over.set()
        for thread in self._threads.values():
            thread.join()
        self._threads.clear()
        self._over = threading.Event()


def _unexpected(error: Exception) -> ContinuaError:
    """What ends a group and is nobody's fault but Continua's."""
    first = (str(error).strip().splitlines() or [""])[0]
    return ContinuaError(Diagnostic("INTERNAL", f"internal error: {type(error).__name__}: {first}"))
