"""``continua run --follow``: queries that are answered while rows come."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import click

from continua.answers.query import Query
from continua.answers.typed_instants import instant_at
from continua.cli.engine_answers import counted
from continua.cli.engine_options import EngineOptions
from continua.cli.epoch_answers import EpochAnswers
from continua.cli.follow_options import FollowOptions
from continua.cli.interrupts import asking
from continua.cli.json_report import JsonReport
from continua.cli.live_lines import LiveLines
from continua.cli.live_view import LiveView
from continua.cli.output import utf8_stdout
from continua.cli.report import Report, exit_status
from continua.cli.run_script import PreparedScript
from continua.cli.tables import stdout_console
from continua.errors import ContinuaError, Diagnostic, EvaluationError, NotSupportedError
from continua.runs.following import Follower, dropped_for, follow_all
from continua.runs.live_groups import LiveGroups
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.runs.metrics import MetricsServer
from continua.runs.plans import why_not
from continua.runtime.machines import spark_at_work, spark_starting
from continua.runtime.spark.starting import StartingSpark
from continua.runtime.spark.waiting import telling_of_none
from continua.session import Session
from continua.sinks.named import CONSOLE


def is_endless(ready: PreparedScript) -> bool:
    """Whether some query reads a source that never ends, so that it can only be followed."""
    inputs = ready.session.inputs
    with ready.report.errors():
        return any(inputs.follows(source) for query in ready.session.queries.values() for source in query.sources)


def follow_script(
    ready: PreparedScript,
    form: str | None,
    options: EngineOptions,
    following: FollowOptions,
    spark: StartingSpark | None,
) -> None:
    """Answers the queries of a script as rows come. ``form``: of the answers, where the command line names one."""
    on_screen = form == "table" or (form is None and sys.stdout.isatty())
    if on_screen and not sys.stdout.isatty():
        raise click.UsageError("a table that follows the queries needs a terminal: name another --format")
    ready.write_contents(form or ("table" if on_screen else "jsonl"))
    if not ready.session.queries:
        return
    with _following(ready, options, following, spark) as run:
        view = _screen(run) if on_screen else LiveLines(list(run.answers.values()), form or "jsonl")
        _follow(run, view, following, options.keep_going)


def watch(
    ready: PreparedScript,
    options: EngineOptions,
    following: FollowOptions,
    spark: StartingSpark | None,
    title: str,
    rows: int | None = None,
) -> None:
    """Shows the queries of a script on the screen, until so many rows have come if a number is given.

    Where there is no terminal, the screen is shown once, at the end.
    """
    with _following(ready, options, following, spark) as run:
        view = _screen(run, title)
        view.rows = rows
        _follow(run, view, following, options.keep_going)


@dataclass(frozen=True)
class _Following:
    """Runs that go on, and whoever asks them to end."""

    live: LiveGroups
    answers: Mapping[str, EpochAnswers]
    """By group."""
    asked: threading.Event
    report: Report
    notices: list[Diagnostic]


@contextmanager
def _following(
    ready: PreparedScript, options: EngineOptions, following: FollowOptions, spark: StartingSpark | None
) -> Iterator[_Following]:
    """The live runs of a script's queries, which are stopped at the end."""
    session, report = ready.session, ready.report
    asked, began = threading.Event(), time.monotonic()
    with report.errors(), asking(asked):
        _refuse_unable(session)
        until = _until(following.until, list(session.queries.values()))
        with at_work(spark, report):
            live = _started(session, options, following, until)
            try:
                shown = [q for q in session.queries.values() if q.sink is None]
                answers = {
                    group: EpochAnswers(run, [q.name for q in shown if q.group == group])
                    for group, run in live.at_work.items()
                }
                with _metrics(live, following):
                    yield _Following(live, answers, asked, report, session.inputs.notices)
                report.closing(_written(live, time.monotonic() - began))
            finally:
                if live.has_streams:
                    atexit.register(say_no_more)
                session.stop()
                tell(session.inputs.notices, report)
                report.warnings(live.kept_apart())


def _screen(run: _Following, title: str = "") -> LiveView:
    utf8_stdout()
    return LiveView(list(run.answers.values()), stdout_console(), title)


def _follow(run: _Following, view: LiveLines | LiveView, following: FollowOptions, keep_going: bool) -> None:
    """Follows to the end; a query that fails on its data ends its group, unless the others in it are to go on."""
    groups = _FollowedGroups(run, view, following, keep_going)
    try:
        with view:
            follow_all(groups.work, list(run.live.at_work.values()), run.asked)
    finally:
        groups.tell_the_rest()
    if groups.failures:
        raise click.exceptions.Exit(max(map(exit_status, groups.failures)))


class _FollowedGroups:
    """Groups of queries that are followed, each in a thread of its own, and shown by one view."""

    def __init__(self, run: _Following, view: LiveLines | LiveView, following: FollowOptions, keep_going: bool) -> None:
        self._run, self._view, self._following, self._keep_going = run, view, following, keep_going
        self._showing = threading.Lock()
        self._several = len(run.answers) > 1
        self._untold: list[Callable[[], None]] = []
        """What failed and is told when the screen is gone, where it would be lost."""
        self._logged = {live.group: live.engine.epoch_number for live in run.live.at_work.values()}
        """The last epoch of each group that is in the log."""
        self.failures: list[ContinuaError] = []

    def work(self, live: LiveRun) -> None:
        """Follows one group to its end."""
        follower = Follower(live, self._run.asked, self._following.trigger, self._following.duration)
        while True:
            try:
                follower.follow(lambda: self._looked(live))
            except ContinuaError as error:
                if isinstance(error, EvaluationError) and self._goes_on(live, error):
                    self._failed(error, partial(self._run.report.error, error))
                    continue
                if not self._several:
                    raise
                live.given_up()
                self._failed(error, partial(_tell_end, live, error, self._run.report))
            return

    def tell_the_rest(self) -> None:
        """Tells of what failed while the screen was shown."""
        for say in self._untold:
            say()

    def _goes_on(self, live: LiveRun, error: EvaluationError) -> bool:
        """Whether a group goes on without the query that has failed."""
        return self._keep_going and len(live.queries) > 1 and dropped_for(live, error)

    def _looked(self, live: LiveRun) -> None:
        """Shows what an epoch has brought."""
        run, view = self._run, self._view
        with self._showing:
            view.show(run.answers[live.group])
            if isinstance(view, LiveLines):
                tell(run.notices, run.report)
                run.report.warnings(live.kept_apart(first=True))
            elif view.is_enough:
                run.asked.set()
            if isinstance(run.report, JsonReport):
                self._log(live, run.report)

    def _log(self, live: LiveRun, report: JsonReport) -> None:
        with live.live.lock:
            recent = list(live.recent)
        for entry in recent:
            if isinstance(entry["epoch"], int) and entry["epoch"] > self._logged[live.group]:
                report.epoch(entry)
        self._logged[live.group] = live.engine.epoch_number

    def _failed(self, error: ContinuaError, say: Callable[[], None]) -> None:
        """What has failed is told at once, unless that would be lost on the screen."""
        with self._showing:
            self.failures.append(error)
            if isinstance(self._view, LiveLines):
                say()
            else:
                self._untold.append(say)


def _tell_end(live: LiveRun, error: ContinuaError, report: Report) -> None:
    """Tells that a group has ended, and why."""
    report.error(error)
    report.note(f"{f'group {live.group}' if live.group else 'what is in no group'} has ended")


@contextmanager
def _metrics(live: LiveGroups, following: FollowOptions) -> Iterator[None]:
    """Serves figures while the run goes on, if that was asked for."""
    if following.metrics is None:
        yield
        return
    host, port = following.metrics
    with closing(MetricsServer(live, port, host)):
        yield


def _written(live: LiveGroups, seconds: float) -> Iterator[str]:
    """A line for each query that writes where INTO says."""
    for name, files in live.written().items():
        call = live.queries[name].sink
        where = "" if call is None else f" -> {call.function}({', '.join(map(repr, call.arguments))})"
        rows = counted(live.run_of(name).totals.answers[name], "row")
        yield f"{name}{where}: {rows} in {counted(files, 'file')}, {seconds:.1f} s"


def say_no_more() -> None:
    """Spark's thread in Python holds on to what it has used, and DuckDB complains of that at the very end."""
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def tell(notices: list[Diagnostic], report: Report) -> None:
    """Tells what was not told yet."""
    told = [notices.pop(0) for _ in range(len(notices))]
    report.warnings(told)


@contextmanager
def at_work(spark: StartingSpark | None, report: Report | None = None) -> Iterator[None]:
    """While Spark is at work, if the run is on Spark."""
    if spark is None:
        yield
        return
    with spark_starting():
        session = spark.session()
    with spark_at_work(), telling_of_none(session, lambda found: (report or Report()).warnings([found])):
        yield


def _refuse_unable(session: Session) -> None:
    """Refuses queries that only the reference semantics can answer, which needs all rows."""
    found = [(q, why_not(q, session.functions)) for q in session.queries.values()]
    wrong = [
        Diagnostic("NOT_SUPPORTED", f"query {q.name} cannot be followed: {why}", q.span, parameters={"query": q.name})
        for q, why in found
        if why is not None
    ]
    if wrong:
        raise NotSupportedError(*wrong)


def _until(text: str | None, queries: list[Query]) -> int | None:
    """The last instant that is wanted, which must be one of all queries."""
    if text is None:
        return None
    try:
        return min(instant_at(text, query) for query in queries)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--until'") from None


def _started(session: Session, options: EngineOptions, following: FollowOptions, until: int | None) -> LiveGroups:
    """The live runs of all queries of a session; what goes to the console is printed here."""
    for name, query in session.queries.items():
        if query.sink is not None and query.sink.function.text.lower() == CONSOLE:
            session.queries[name] = replace(query, sink=None)
    return session.run_live(
        LiveOptions(
            checkpoint=options.checkpoint,
            partitions=_partitions(session, options),
            idle_timeout=following.idle_timeout,
            max_rows=following.max_rows,
            asked=False,
            until=until,
        )
    )


def _partitions(session: Session, options: EngineOptions) -> int:
    """Into how many parts work is divided: as is said, else as many as there are cores."""
    if options.partitions is not None:
        return options.partitions
    return 1 if session.spark is None else session.spark.sparkContext.defaultParallelism
