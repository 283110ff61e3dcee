"""A session: scripts in, answers out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from continua.algebra.streaming import Tag, ToStream
from continua.answers.answer_tables import content_table
from continua.answers.by_reference import reference_answers, reference_content, reference_of
from continua.answers.defined_queries import check_rules, content_query, defined_query, starting
from continua.answers.outcome import Outcome
from continua.answers.query import Answer, Query
from continua.answers.query_names import KEPT, QueryNames
from continua.binding.context import Context, UnbindableError
from continua.binding.definitions import define
from continua.catalog import (
    AggregateInfo,
    Catalog,
    FunctionInfo,
    Key,
    RelationInfo,
    StreamInfo,
    ViewInfo,
    is_flowing,
    key_of,
    same,
)
from continua.errors import BindError, ContinuaError, Diagnostic, ParseError, Span
from continua.explain.explained import explained
from continua.explain.show import describe, show
from continua.explain.show_queries import show_queries
from continua.instants import asked_instant
from continua.lang.nesting import LEVELS
from continua.lang.parse import parse_script
from continua.lang.places import Positions
from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Describe,
    Drop,
    Explain,
    LiveStatement,
    QueryStatement,
    SelectAt,
    SetOption,
    Show,
    Statement,
)
from continua.limits import MOST_NESTED, too_complex
from continua.policy import Policy, policy_of_process, refuse
from continua.recursion import room_to_recurse
from continua.reference.semantics import Reference
from continua.runs.attached_frames import as_table, declared, declared_streams, fitting, streaming
from continua.runs.helping_queries import HelpingQueries, with_helpers
from continua.runs.live_groups import LiveGroups
from continua.runs.live_options import LiveOptions, Surroundings
from continua.runs.live_queries import covered, view_name
from continua.runs.live_statements import LiveStatements
from continua.runs.plans import why_not
from continua.runs.query_handle import QueryHandle
from continua.runtime.inputs import InputReader, needs_spark
from continua.runtime.spark.brought_along import check_session
from continua.runtime.spark.masters import NONE, default_master
from continua.runtime.spark.starting import start_spark
from continua.sources.format_options import FORMATS
from continua.sources.frame_sources import FRAMES, FrameSource
from continua.sources.incoming_connections import SOCKET
from continua.sources.inserted_rows import Rows
from continua.windows.occurrences import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


EXPLAINED = "explained"
"""What a query is called that is only explained."""


class Session:
    """Statements change the catalog and register queries; queries are answered over the sources' rows.

    It may be used from several threads. One lock is held while definitions change and while sources are looked at. Each
    group of live queries has another, for its epochs and while its answers are read: nobody waits for that who holds
    the first. Rows are inserted without either, so that nobody waits for an epoch to do so.
    """

    def __init__(
        self,
        *,
        data: Path | str = ".",
        dialect: str = "cql",
        rejects: Path | str | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        spark: SparkSession | None = None,
        master: str | None = None,
        policy: Policy | None = None,
    ) -> None:
        """``spark``: a Spark session to work on, which is never stopped here.

        Without one the active session is used, or one is started on ``master`` when it is first needed; that is all
        cores of this machine unless CONTINUA_MASTER says otherwise. The master ``none`` stands for this process alone.
        ``policy``: what scripts may do; without one, what the file permits that CONTINUA_POLICY names, or everything.
        """
        self._lock = RLock()
        if spark is not None:
            check_session(spark)
        self._spark = spark
        self._master = master or default_master()
        self.live: LiveGroups | None = None
        self.watched = False
        """Whether somebody shows queries: then scripts may say WATCH."""
        self._frames: dict[str, DataFrame] = {}
        self._clock = clock
        self.catalog = Catalog((policy_of_process() if policy is None else policy).over(Path(data)))
        self.queries: dict[str, Query] = {}
        self._names = QueryNames(())
        self._helping = HelpingQueries()
        self._leaving: set[str] = set()
        """Live queries that a script has dropped: they leave when it is done."""
        self._folder = Path(data)
        self._rejects = Path(rejects) if rejects else Path("rejected")
        self._said = LiveStatements(self)
        self.inputs = InputReader(self.catalog, self._folder, self._rejects, clock, self._frame_rows)
        self.execute(f"SET dialect = {dialect}")

    def execute(self, text: str, registered: Callable[[list[Outcome]], None] = lambda _: None) -> list[Outcome]:
        """Runs a script's statements; all its mistakes are raised together, and then nothing of it is registered.

        ``registered`` is called once it is known to be right, before anything follows from it; where that fails nothing
        of it is registered either.
        """
        with self._lock, room_to_recurse():
            queries = dict(self.queries)
            outcomes, before = self._execute(text)
            try:
                registered(outcomes)
            except BaseException:
                self._take_back(before, queries)
                raise
        found: list[Outcome] = []
        for outcome in outcomes:
            with self._lock:
                left, live = self._took_effect(outcome, before), self.live
            if live is not None:
                for name in left:
                    live.drop(name)
            found.append(outcome.done())
        return found

    def check(self, text: str) -> list[Outcome]:
        """What a script's statements are to do, of which nothing is done; its mistakes are raised together."""
        with self._lock, room_to_recurse():
            queries = dict(self.queries)
            outcomes, before = self._execute(text)
            self._take_back(before, queries)
        return outcomes

    def _take_back(self, catalog: Catalog, queries: dict[str, Query]) -> None:
        self.catalog.restore(catalog)
        self.queries, self._names = queries, QueryNames(queries)
        self._leaving.clear()

    def _execute(self, text: str) -> tuple[list[Outcome], Catalog]:
        """What statements are to do, and the catalog as it was before."""
        script = parse_script(text)
        before = self.catalog.copy(), dict(self.queries)
        self._leaving.clear()
        self._names = QueryNames(self.queries)
        self.catalog.broken = {name.casefold() for name in script.failed}
        errors = list(script.errors)
        outcomes: list[Outcome] = []
        positions = Positions(text)
        for statement in script.statements:
            try:
                outcomes.append(self._statement(statement, positions))
            except ContinuaError as error:
                errors += error.diagnostics
        if errors:
            self.catalog.restore(before[0])
            self.queries = before[1]
            kind = BindError if len(script.errors) < len(errors) else ParseError
            raise kind(*sorted(errors, key=_place))
        return outcomes, before[0]

    def _took_effect(self, outcome: Outcome, before: Catalog) -> list[str]:
        """What follows from a statement for rows, now that its script is known to be right; the queries that leave."""
        match body := outcome.statement.body:
            case Drop():
                return self._dropped(body)
            case CreateSource(name=name):
                info = self.catalog.table(name.text)
                if isinstance(info, StreamInfo | RelationInfo):
                    self.inputs.created(info)
            case CreateDerived(name=name) if self.live is not None:
                earlier, now = before.table(name.text), self.catalog.table(name.text)
                if earlier is not None and now is not None and not same(earlier, now):
                    return [view_name(name.text)]
        return []

    def _dropped(self, drop: Drop) -> list[str]:
        """Live queries leave with what is dropped, and so do the rows that were inserted into it."""
        if drop.kind not in ("QUERY", "FUNCTION", "AGGREGATE", "WINDOW"):
            self.inputs.waiting.drop(drop.name.text.casefold())
        if drop.kind in ("QUERY", "VIEW"):
            return [drop.name.text if drop.kind == "QUERY" else view_name(drop.name.text)]
        return []

    def sql(self, text: str) -> Query | None:
        """Runs a script and returns its last query, if it has one; that of SELECT ... AT holds what was found."""
        found = [o.answering for o in self.execute(text) if o.answering is not None]
        return found[-1] if found else None

    def insert(self, name: str, rows: Rows) -> None:
        """Adds rows to a stream, relation or table of this session, from any thread.

        Rows are lists or tuples in the declared order of columns, or dicts. A table (of Arrow, pandas, Polars, Spark,
        or an array of NumPy) has the declared columns by name. A row that does not fit is an error: none is taken.
        """
        live = self.live
        if live is None or not (is_flowing(self.catalog.table(name)) or live.reads(name)):
            self.inputs.insert(name, rows)
        else:
            live.insert(name, rows)

    def register_source(self, name: str, function: Callable[..., Iterable[object]]) -> None:
        """Has definitions say ``SOURCE name(...)``: the function gives the rows of the source, once, one by one.

        It is called with what stands in the parentheses. If the last of these is the name of a converter, that is
        called with each item that the function gives, and makes a row of it.
        """
        if name.casefold() in (*FORMATS, *FRAMES, SOCKET):
            message = f"{name} is built in"
            raise BindError(Diagnostic("BAD_NAME", message, hint="choose another name", parameters={"name": name}))
        with self._lock:
            self.catalog.row_functions[name.casefold()] = function

    def register_converter(self, name: str, function: Callable[[Any], object]) -> None:
        """Has sources by registered functions name a converter: of an item it makes a row, or None for no row."""
        with self._lock:
            self.catalog.converters[name.casefold()] = function

    @property
    def spark(self) -> SparkSession | None:
        """The Spark session on which live queries run; None where they run in this process."""
        with self._lock:
            if self._spark is None and self._master != NONE:
                from pyspark.sql import SparkSession

                active = SparkSession.getActiveSession()
                if active is not None:
                    check_session(active)
                self._spark = active or start_spark(self._master)
            return self._spark

    def _frame_rows(self, source: FrameSource) -> pa.Table:
        """The rows of a source that Spark reads."""
        if self.spark is None:
            raise needs_spark(source.info)
        from continua.runtime.executors.frame_rows import frame_of

        return frame_of(self.spark, source).toArrow()

    # Live queries.

    def attach(self, name: str, frame: DataFrame) -> None:
        """Makes a DataFrame the rows of a declared stream or relation: it has the declared columns, in any order.

        A streaming one is read by live runs that begin after that. Another is read once: by runs over what is there,
        and by a live run when it begins.
        """
        with self._lock:
            info = declared(self.catalog, name)
            frame = fitting(info, frame, self.live is not None)
            if frame.isStreaming:
                self._frames[name.casefold()] = frame
            else:
                self._frames.pop(name.casefold(), None)
                self.inputs.attach(name, as_table(frame))

    def start(self, queries: Iterable[Query] | None = None, options: LiveOptions | None = None) -> list[QueryHandle]:
        """Starts the queries: from now on they work on rows as these come. Returns a handle for each.

        Without a choice these are all queries, but for those that were stopped. Queries that run in the checkpoint go
        on in any case. COMPLETE views are kept up to date along with them.
        """
        chosen = None if queries is None else {q.name: q for q in queries}
        live, names = self._start(chosen, options)
        return [QueryHandle(live.run_of(name), name) for name in names]

    def run_live(self, options: LiveOptions) -> LiveGroups:
        """Starts all queries like :meth:`start`, and returns the runs that they are part of."""
        return self._start(None, options)[0]

    def _start(self, chosen: dict[str, Query] | None, options: LiveOptions | None) -> tuple[LiveGroups, list[str]]:
        """The live runs, and the names of queries that were asked for."""
        with self._lock:
            views = self._complete_views()
            asked = {**self.queries, **(chosen or {})}
            functions = self.functions
            known = self.live.options if self.live is not None else options or LiveOptions()
            if known.checkpoint is not None:
                refuse(self.catalog.policy.keeps(known.checkpoint))
            definitions = {**asked, **views, **self._helping.of(asked, views, functions, known)}
            wanted = None if chosen is None else with_helpers([*chosen, *covered(views, chosen)], definitions)
            if self.live is None:
                settings = self.catalog.settings
                retention, slots = known.retention or settings.retention, known.slots or settings.slots
                known = replace(known, retention=retention, slots=slots)
                self.live = LiveGroups(self._surroundings(), known, definitions, functions, wanted)
            live = self.live
        names = live.start(definitions, functions, wanted)
        if wanted is None:  # unlike a query, a view is never stopped: one that left is defined again
            needed = with_helpers([n for n in live.queries if n in asked or n in views], definitions)
            live.start(definitions, functions, {*views, *needed})
        return live, [name for name in names if name in asked]

    def _surroundings(self) -> Surroundings:
        declared = declared_streams(self.inputs, self.queries.values(), self.spark)
        frames = streaming(self.catalog, {**declared, **self._frames})
        return Surroundings(self.inputs, self.spark, frames, self._clock, self._folder, self._rejects, self._lock)

    def _complete_views(self) -> dict[str, Query]:
        """For each COMPLETE view that the engine can run, a query for its content."""
        views = [e for e in self.catalog.entries() if isinstance(e, ViewInfo) and e.kind == "COMPLETE"]
        found = [content_query(self.catalog, view, view_name(view.name)) for view in views]
        return {q.name: q for q in found if why_not(q, self.functions) is None}

    def table(self, name: str, as_of: int | datetime | None = None) -> DataFrame | pa.Table:
        """What a view or a query holds at an instant, by default the latest that is closed.

        While queries are live these are the COMPLETE views and the live queries; otherwise all views and queries, over
        the rows of the sources as they are. It is a DataFrame, or an Arrow table where there is no Spark.
        """
        table = self._table(name, as_of)
        return table if self.spark is None else self.spark.createDataFrame(table)

    def _table(self, name: str, as_of: int | datetime | None = None) -> pa.Table:
        live = self.live
        with self._lock:
            view = self.catalog.table(name)
        kept = view_name(name) if isinstance(view, ViewInfo) else name
        running = None if live is None else live.queries.get(kept)
        if live is not None and running is not None:
            return content_table(running, live.content(kept, as_of))
        with self._lock:
            query, rows = self._content(name, kept, as_of)
        return content_table(query, rows)

    def _content(self, name: str, kept: str, as_of: int | datetime | None) -> tuple[Query, list[Row]]:
        """A query that is not live, and what it holds."""
        view = self.catalog.table(name)
        query = content_query(self.catalog, view, kept) if isinstance(view, ViewInfo) else self.queries.get(name)
        if query is None or self.live is not None:
            what = "query or view" if self.live is None else "live query or COMPLETE view"
            raise BindError(Diagnostic("UNKNOWN_NAME", f"there is no {what} {name}", parameters={"name": name}))
        if as_of is not None:
            return query, self.snapshot(query, asked_instant(as_of, query.domain))
        below = query.bound.plan.input if isinstance(query.bound.plan, ToStream | Tag) else query.bound.plan
        return query, self.snapshot(query, self.reference([query])[query.name].instants(below)[-1])

    def stop(self) -> None:
        """Ends all live queries."""
        with self._lock:
            live, self.live = self.live, None
        if live is not None:
            live.stop()

    def _in_use(self) -> dict[str, frozenset[Key]]:
        """What live queries use, unless the script has dropped them; a view does not keep itself in use."""
        live = {} if self.live is None else self.live.queries
        views = {view_name(e.name): {key_of(e)} for e in self.catalog.entries() if isinstance(e, ViewInfo)}
        return {n: q.uses - views.get(n, set()) for n, q in live.items() if n not in self._leaving}

    def _statement(self, statement: Statement, positions: Positions) -> Outcome:
        body, unbindable = statement.body, False
        context = Context(self.catalog, positions)
        if self.live is not None:
            context = replace(context, live=self._in_use(), known={key_of(e): e for e in self.live.known.values()})
        try:
            if isinstance(body, LiveStatement):
                return self._for_live(context, statement, body)
            match body:
                case QueryStatement():
                    query = self._query(context, body, statement.span)
                    return Outcome(statement, query=query, notices=query.bound.notices)
                case Explain():
                    query = defined_query(context, EXPLAINED, body.query)
                    text = self.explain(query, body.stage)
                    return Outcome(statement, explained=query, text=text, notices=query.bound.notices)
                case Show(what="QUERIES"):
                    header, rows = show_queries(self.queries, self.live)
                    return Outcome(statement, header=header, rows=rows)
                case Show():
                    header, rows = show(self.catalog, body.what)
                    return Outcome(statement, header=header, rows=rows)
                case Describe():
                    header, rows = describe(context, body.name)
                    return Outcome(statement, header=header, rows=rows)
                case Drop(kind="QUERY", name=name) if self.queries.pop(name.text, None) is not None:
                    self._names = QueryNames(self.queries)
                    self._leaving.add(name.text)
                    return Outcome(statement)
                case _:
                    define(context, body)
                    if isinstance(body, Drop) and body.kind == "VIEW":
                        self._leaving.add(view_name(body.name.text))
                    if isinstance(body, SetOption):
                        check_rules(context, body.name)
        except UnbindableError:
            unbindable = True
        except RecursionError:
            raise BindError(too_complex(LEVELS, MOST_NESTED, statement.span)) from None
        if (context.errors or unbindable) and isinstance(
            body, CreateSource | CreateTagged | CreateDerived | CreateFunction | CreateAggregate | CreateWindow
        ):
            self.catalog.broken.add(body.name.text.casefold())
        context.raise_errors()
        return Outcome(statement, notices=tuple(context.notices))

    def _for_live(self, context: Context, statement: Statement, body: LiveStatement) -> Outcome:
        free = self._names.free(self.queries)
        if isinstance(body, SelectAt):
            self._names.taken(free)
        return self._said.outcome(context, statement, free)

    def _query(self, context: Context, body: QueryStatement, span: Span) -> Query:
        name = body.name.text if body.name else self._names.free(self.queries)
        if name in self.queries:
            message, at = f"query {name} exists already", body.name.span if body.name else None
            context.fail("ALREADY_EXISTS", message, at, f"DROP QUERY {name} first", name=name)
        if name.startswith(KEPT):
            kept = next(prefix for prefix in KEPT if name.startswith(prefix))
            message, at = f"no query can have a name that begins with {kept!r}", body.name.span if body.name else None
            context.fail("NAME_NOT_FREE", message, at, "live runs name queries of their own so", name=name)
        defined = defined_query(context, name, body.query, body.sink)
        group = body.group.text.casefold() if body.group else ""
        query = replace(starting(context, defined, body.starting), span=span, content=self._table, group=group)
        self.queries[name] = query
        self._names.taken(name)
        return query

    def explain(self, query: Query, stage: str = "LOGICAL") -> str:
        """A stage of a query's plan as text: LOGICAL, REWRITES, PHYSICAL, or what it SHARES with registered ones."""
        live = {} if self.live is None else self.live.queries
        if self.live is not None and query.name not in live:
            query = query.starting_at(max(query.start, self.live.run_of(query.name).next_start(query)))
        queries = [live.get(name, known) for name, known in self.queries.items()]
        return explained(query, stage, queries, self.functions, self.inputs)

    # Answers.

    @property
    def functions(self) -> list[FunctionInfo | AggregateInfo]:
        """The user's functions and aggregates."""
        return [e for e in self.catalog.entries() if isinstance(e, FunctionInfo | AggregateInfo)]

    def reference(self, queries: Iterable[Query]) -> Mapping[str, Reference]:
        """For each query the reference semantics over the rows of its sources."""
        return {query.name: reference_of(query, self.inputs, self.functions) for query in queries}

    def answers(self, queries: Iterable[Query] | None = None) -> list[Answer]:
        """All answers of the queries by the reference, in time order; at one instant in the order of registration."""
        with self._lock:
            chosen = list(self.queries.values() if queries is None else queries)
            return reference_answers(chosen, self.reference(chosen), self.inputs.notices)

    def snapshot(self, query: Query, instant: int) -> list[Row]:
        """The content of a query's relation at an instant, by the reference."""
        with self._lock:
            return reference_content(query, instant, self.reference([query])[query.name])


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span or Span(1 << 30, 1)
    return span.line, span.column
