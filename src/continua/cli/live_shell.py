"""The live queries of a shell: a thread for each group works on what comes while statements are typed."""

from __future__ import annotations

import atexit
import signal
import threading
import time
from collections.abc import Collection, Sequence

from rich.console import Console

from continua.answers.query import Query
from continua.catalog import is_timed
from continua.cli.epoch_answers import EpochAnswers
from continua.cli.follow import at_work, say_no_more, tell
from continua.cli.follow_options import TRIGGER
from continua.cli.interrupts import asking
from continua.cli.live_lines import LiveLines
from continua.cli.live_view import LiveView
from continua.cli.output import utf8_stdout
from continua.cli.report import Report
from continua.errors import ContinuaError
from continua.instants import UNITS
from continua.lang.statements import Watch
from continua.runs.followed_groups import FollowedGroups
from continua.runs.live_groups import LiveGroups
from continua.runs.live_options import LiveOptions
from continua.runtime.machines import STANDARD_OUTPUT, writing_to
from continua.runtime.spark.starting import StartingSpark
from continua.session import Session
from continua.sources.intervals import Source

_PAUSE = 0.1
"""So many seconds pass before it is looked again what is new."""


class LiveShell:
    """Starts queries, shows them, and tells of those that fail."""

    def __init__(
        self,
        session: Session,
        out: Console,
        follow: bool = False,
        idle_timeout: float | None = None,
        spark: StartingSpark | None = None,
    ) -> None:
        """``follow``: files are read on as they grow, so that queries over them are live too."""
        self.follow = follow
        self._idle_timeout = idle_timeout
        self._spark = spark
        self._session = session
        self._out = out
        self._failures: list[ContinuaError] = []
        self._groups = FollowedGroups(lambda: session.live, TRIGGER, lambda _, error: self._failures.append(error))
        self._shown: dict[str, int] = {}
        """By query up to which epoch its changes were shown, where there is no screen."""

    def takes(self, query: Query) -> bool:
        """Whether a query is live: some of its rows are still to come."""
        return any(self._comes(source) for source in query.sources)

    def _comes(self, source: Source) -> bool:
        if not is_timed(source):
            return False
        inputs = self._session.inputs
        return self.follow or inputs.waits_for_rows(source) or inputs.follows(source)

    def start(self, query: Query) -> None:
        """Starts a query with what has come so far."""
        with at_work(self._spark):
            self._session.start([query], LiveOptions(partitions=1, idle_timeout=self._idle_timeout))
        self._shown.pop(query.name, None)
        self.work()

    def work(self) -> None:
        """Works on what has come by now, and goes on doing so in threads."""
        self._groups.work()

    def tell(self, report: Report) -> bool:
        """Tells of what has failed and of what was kept apart since; whether anything has failed."""
        found, self._failures = self._failures, []
        for error in found:
            report.error(error)
        tell(self._session.inputs.notices, report)
        if self._session.live is not None:
            report.warnings(self._session.live.kept_apart())
        return bool(found)

    def left(self) -> None:
        """Ends the run when no query is live any more, so that the next begins anew."""
        run = self._session.live
        if run is not None and not any(name in self._session.queries for name in run.queries) and not run.failed:
            self.stop()

    def forget(self, name: str) -> None:
        """A query that could not be started runs no more."""
        run = self._session.live
        if run is not None and name in run.queries:
            run.drop(name)
        self.left()

    def stop(self) -> None:
        """Ends the live run, if there is one."""
        self._groups.stop()
        groups = self._session.live
        if groups is not None and groups.has_streams:
            atexit.register(say_no_more)
        self._session.stop()
        self._shown.clear()

    # WATCH.

    def watch(self, statement: Watch) -> str | None:
        """Shows live queries, if there are any, until Ctrl-C or as long as was said.

        Where nobody sits at a terminal, it ends as well when only statements behind it could bring changes: they would
        wait for its end. Returns what is to be told of that.
        """
        groups = self._session.live
        names = [n.text for n in statement.names] or ([] if groups is None else list(groups.queries))
        if groups is None or not names:
            return None
        asked = threading.Event()
        length = _seconds(statement)
        end = None if length is None else time.monotonic() + length
        with asking(asked, (signal.SIGINT,)):
            if self._out.is_terminal:
                utf8_stdout()
                answers = _answers(groups, names, {})
                with LiveView(answers, self._out, "Ctrl-C ends it") as screen:
                    return self._show(answers, screen, statement, asked, end)
            answers = _answers(groups, names, self._shown)
            with writing_to(STANDARD_OUTPUT), LiveLines(answers, "jsonl") as lines:
                return self._show(answers, lines, statement, asked, end)

    def _show(
        self,
        answers: Sequence[EpochAnswers],
        view: LiveView | LiveLines,
        statement: Watch,
        asked: threading.Event,
        end: float | None,
    ) -> str | None:
        """Shows what is new until there is a reason to end, which it tells where nobody has asked for it."""
        by_statements = end is None and isinstance(view, LiveLines)
        while True:
            at_work = any(self._groups.is_followed(some.run.group) for some in answers)
            waits = by_statements and all(some.run.waits_for_rows for some in answers)
            for some in answers:
                view.show(some)
            enough = statement.changes is not None and view.changed >= statement.changes
            left = None if end is None else end - time.monotonic()
            runs = any(some.queries for some in answers)
            if asked.is_set() or enough or not (runs and at_work) or (left is not None and left <= 0):
                return None
            if waits:
                found = "" if statement.changes is None else f"{view.changed:,} of {statement.changes:,} changes: "
                return f"{found}nothing changes any more until rows are inserted"
            asked.wait(_PAUSE if left is None else min(_PAUSE, left))


def _answers(groups: LiveGroups, names: Collection[str], given: dict[str, int]) -> list[EpochAnswers]:
    """The answers of queries, group by group."""
    mine = {run: [name for name in run.queries if name in names] for run in groups.runs.values()}
    return [EpochAnswers(run, some, given) for run, some in mine.items() if some]


def _seconds(statement: Watch) -> float | None:
    """For how long a query is to be shown."""
    if statement.length is None:
        return None
    return statement.length.amount * UNITS[statement.length.unit or "SECOND"] / 1e6
