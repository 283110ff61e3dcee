"""INSERT, START, STOP, WATCH and SELECT ... AT: what a script says to rows and to live queries.

They are checked when they are read, and take effect once their whole script is known to be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from continua.answers.outcome import Outcome
from continua.answers.query import Query
from continua.binding.context import Context
from continua.binding.inserted_values import InsertedValues, bind_insert
from continua.catalog import AggregateInfo, Catalog, FunctionInfo, ViewInfo, is_timed
from continua.errors import BindError, DataError, Diagnostic, did_you_mean
from continua.lang.statements import Insert, Name, SelectAt, Start, Statement, Stop, Watch
from continua.physical.ordered_operators import FINAL
from continua.runs.asked_content import Asked, Contents, KnownContent, asked, content_over_sources
from continua.runs.live_groups import LiveGroups
from continua.runs.live_queries import view_name
from continua.runs.live_run import LiveRun
from continua.runtime.inputs import InputReader
from continua.sources.inserted_rows import Rows, inserted
from continua.sources.intervals import NEVER
from continua.windows.occurrences import Row


class Host(Protocol):
    """The session that a script is run by."""

    catalog: Catalog
    inputs: InputReader
    queries: dict[str, Query]
    live: LiveGroups | None
    watched: bool

    @property
    def functions(self) -> list[FunctionInfo | AggregateInfo]:
        """The user's functions and aggregates."""
        ...

    def insert(self, name: str, rows: Rows) -> None:
        """Adds rows to a source."""
        ...

    def start(self, queries: Iterable[Query]) -> object:
        """Starts queries."""
        ...


class LiveStatements:
    """Checks them, and has them take effect."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def outcome(self, context: Context, statement: Statement, free: str) -> Outcome:
        """What a statement will do; ``free`` is a name that no query has."""
        live = {} if self._host.live is None else self._host.live.queries
        live = {name: query for name, query in live.items() if name in self._host.queries}
        match statement.body:
            case Insert() as body:
                given = bind_insert(context, body)
                _check_rows(given)
                return Outcome(statement, later=lambda: self._host.insert(given.source.name, given.rows))
            case SelectAt() as body:
                question = self._question(context, free, body)
                notices = question.query.bound.notices
                return Outcome(
                    statement,
                    notices=notices,
                    later=lambda: question.answered(self._host.inputs, self._host.functions),
                )
            case Start(name=name):
                wanted = _named(context, name, self._host.queries, "query")
                return Outcome(statement, later=lambda: self._start(wanted))
            case Stop(name=name):
                _named(context, name, live, "live query")
                return Outcome(statement, later=lambda: self._stop(name.text))
            case Watch() if not self._host.watched:
                hint = "continua run --follow shows what queries hold, and handle.show() in Python"
                context.fail("ONLY_IN_SHELL", "WATCH is a statement of the shell", statement.span, hint)
            case Watch(names=names):
                for name in names:
                    _named(context, name, live, "live query")
        return Outcome(statement)

    def _start(self, query: Query) -> None:
        self._host.start([query])

    def _stop(self, name: str) -> None:
        if self._host.live is not None:
            self._host.live.drop(name)

    # SELECT ... AT.

    def _question(self, context: Context, free: str, body: SelectAt) -> Asked:
        question = asked(context, free, body, lambda name: self._kept(context, name, body))
        live = self._host.live
        gone = [] if live is None else [s.name for s in question.query.sources if is_timed(s) and live.reads(s.name)]
        if live is None or not gone:
            return question
        same = None if question.kept else live.alike(question.query, self._host.functions)
        if same is not None:
            return replace(question, same=_live_contents(live, same))
        message = f"the rows of {gone[0]} are worked on as they come, and are not kept"
        hint = "ask a live query or a COMPLETE view: SELECT * FROM its name AT the instant"
        context.fail("NOT_KEPT", message, _place_of(body.query, gone[0]), hint, source=gone[0])

    def _kept(self, context: Context, name: str, body: SelectAt) -> KnownContent | None:
        """The query or live view of a name."""
        live, entry = self._host.live, self._host.catalog.table(name)
        running = {} if live is None else live.queries
        if entry is not None and (entry.name == name or name not in self._host.queries):
            kept = view_name(name) if isinstance(entry, ViewInfo) else ""
            return (
                KnownContent(running[kept], _live_contents(live, kept))
                if live is not None and kept in running
                else None
            )
        known = (*running, *self._host.queries)
        found = name if name in known else next((n for n in known if n.casefold() == name.casefold()), None)
        if found is None:
            return None
        if live is not None and found in running:
            return KnownContent(running[found], _live_contents(live, found))
        query = self._host.queries[found]
        if live is not None and any(is_timed(s) and live.reads(s.name) for s in query.sources):
            message, hint = f"query {found} is not live, and its rows have gone by", f"START {found}"
            context.fail("NOT_LIVE", message, _place_of(body.query, name), hint, name=found)
        return KnownContent(query, self._contents_now(query))

    def _contents_now(self, query: Query) -> Contents:
        """What a query holds over the rows of its sources as they are."""
        return lambda instant: content_over_sources(query, instant, self._host.inputs, self._host.functions)


def _live_contents(groups: LiveGroups, name: str) -> Contents:
    live = groups.run_of(name)

    def contents(instant: int | None) -> tuple[int, list[Row]]:
        with live.live.lock:
            at = _latest(live) if instant is None else instant
            return at, live.content(name, at)

    return contents


def _latest(live: LiveRun) -> int:
    """The latest instant that is closed; of a run whose sources have ended, the latest of any row."""
    until = live.engine.until
    if until <= NEVER:
        hint = "an instant is closed when all sources are complete up to it"
        raise BindError(Diagnostic("INSTANT_OPEN", "nothing is closed yet", hint=hint, parameters={"closed": until}))
    return until if until < FINAL else live.live.latest


def _place_of(tree: exp.Query, name: str) -> exp.Expr:
    """Where a name stands in FROM."""
    named = (table for table in tree.find_all(exp.Table) if table.name.casefold() == name.casefold())
    return next(named, tree)


def _named(context: Context, name: Name, queries: Mapping[str, Query], what: str) -> Query:
    """The query of a name, or a mistake."""
    if name.text not in queries:
        hint = did_you_mean(name.text, queries) or (f"there are {', '.join(queries)}" if queries else None)
        context.fail("UNKNOWN_NAME", f"there is no {what} {name}", name.span, hint, name=name.text)
    return queries[name.text]


def _check_rows(given: InsertedValues) -> None:
    """Refuses rows that do not fit, at their places in the script."""
    wrong = inserted(given.source, given.rows).wrong
    if wrong and not given.source.skip_errors:
        raise DataError(
            *(
                replace(diagnostic, span=given.places[malformed.line - 1])
                for malformed in wrong
                for diagnostic in malformed.error(given.source.name).diagnostics
            )
        )
