"""A session: scripts in, answers out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from continua.algebra.plan import BaseRelation, Plan, Source, TaggedSource
from continua.algebra.printer import tree
from continua.answers import Answer, Query, answers_of, floored, snapshot_of
from continua.binding.context import Context, UnbindableError
from continua.binding.defaults import BoundQuery, bind_query
from continua.binding.definitions import define
from continua.catalog import AggregateInfo, Catalog, FunctionInfo, RelationInfo, StreamInfo
from continua.errors import BindError, ContinuaError, Diagnostic, NotSupportedError, ParseError, Span
from continua.handles import LiveOptions, LiveRun, QueryHandle
from continua.instants import TimeDomain, show_instant
from continua.lang.parse import parse_script
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
    QueryStatement,
    Show,
    Statement,
)
from continua.lang.text import Positions
from continua.listing import describe, show
from continua.physical.explain import explain
from continua.reference.elements import Row
from continua.reference.semantics import Reference, ordered_rows, used_inputs
from continua.running import sink_of
from continua.runtime.inputs import InputReader
from continua.types import Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement did: registered a query, explained one, or produced text or a table for the reader."""

    statement: Statement
    query: Query | None = None
    explained: BoundQuery | None = None
    text: str | None = None
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    notices: tuple[Diagnostic, ...] = ()


__all__ = ["Answer", "Outcome", "Query", "Session"]


class Session:
    """Statements change the catalog and register queries; queries are answered over the sources' rows."""

    def __init__(
        self,
        *,
        data: Path | str = ".",
        dialect: str = "cql",
        rejects: Path | str | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        spark: SparkSession | None = None,
    ) -> None:
        self.spark = spark
        """The Spark session that was passed in; it is never stopped here. Without one, live queries run in process."""
        self.live: LiveRun | None = None
        self._frames: dict[str, DataFrame] = {}
        self._clock = clock
        self.catalog = Catalog()
        self.queries: dict[str, Query] = {}
        self.inputs = InputReader(self.catalog, Path(data), Path(rejects) if rejects else None, clock)
        self.execute(f"SET dialect = {dialect}")

    def execute(self, text: str) -> list[Outcome]:
        """Runs a script's statements; all its mistakes are raised together, and then nothing of it is registered."""
        with _room_to_recurse():
            return self._execute(text)

    def _execute(self, text: str) -> list[Outcome]:
        script = parse_script(text)
        before = self.catalog.copy(), dict(self.queries)
        self.catalog.broken = {name.casefold() for name in script.failed}
        errors = list(script.errors)
        outcomes: list[Outcome] = []
        for statement in script.statements:
            try:
                outcomes.append(self._statement(statement, text))
            except ContinuaError as error:
                errors += error.diagnostics
        if errors:
            self.catalog.restore(before[0])
            self.queries = before[1]
            kind = BindError if len(script.errors) < len(errors) else ParseError
            raise kind(*sorted(errors, key=_place))
        return outcomes

    def sql(self, text: str) -> Query | None:
        """Runs a script and returns its last query, if it has one."""
        found = [o.query for o in self.execute(text) if o.query is not None]
        return found[-1] if found else None

    def insert(self, name: str, rows: Iterable[Sequence[Value]]) -> None:
        """Adds rows, in the declared column order, to a stream, relation or table of this session."""
        if self.live is None:
            self.inputs.insert(name, rows)
        else:
            self.live.insert(name, rows)

    # Live queries.

    def attach(self, name: str, frame: DataFrame) -> None:
        """Makes a streaming DataFrame the rows of a declared stream; its columns are taken in their order."""
        self._frames[name.casefold()] = frame

    def start(self, queries: Iterable[Query] | None = None, options: LiveOptions | None = None) -> list[QueryHandle]:
        """Starts the queries: from now on they work on rows as these come. Returns a handle for each."""
        chosen = list(self.queries.values() if queries is None else queries)
        if self.live is None:
            self.live = LiveRun(
                self.inputs,
                chosen,
                self.functions,
                options or LiveOptions(),
                self.spark,
                self._frames,
                self._clock,
            )
        else:
            for query in chosen:
                self.queries[query.name] = self.live.register(query)
        return [QueryHandle(self.live, q.name) for q in chosen]

    def stop(self) -> None:
        """Ends all live queries."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def _statement(self, statement: Statement, text: str) -> Outcome:
        context = Context(self.catalog, Positions(text))
        body, unbindable = statement.body, False
        try:
            match body:
                case QueryStatement():
                    query = self._query(context, body)
                    return Outcome(statement, query=query, notices=query.bound.notices)
                case Explain():
                    bound = bind_query(context, body.query)
                    plan = self._explained(bound, body.stage)
                    return Outcome(statement, explained=bound, text=plan, notices=bound.notices)
                case Show():
                    header, rows = show(self.catalog, body.what, self.queries)
                    return Outcome(statement, header=header, rows=rows)
                case Describe():
                    header, rows = describe(context, body.name)
                    return Outcome(statement, header=header, rows=rows)
                case Drop(kind="QUERY", name=name) if self.queries.pop(name.text, None) is not None:
                    return Outcome(statement)
                case _:
                    define(context, body)
                    if isinstance(body, Drop) and not context.errors:
                        self.inputs.drop(body.name.text)
        except UnbindableError:
            unbindable = True
        except RecursionError:
            raise BindError(Diagnostic("TOO_DEEP", "the statement is nested too deeply", statement.span)) from None
        if (context.errors or unbindable) and isinstance(
            body, CreateSource | CreateTagged | CreateDerived | CreateFunction | CreateAggregate | CreateWindow
        ):
            self.catalog.broken.add(body.name.text.casefold())
        context.raise_errors()
        return Outcome(statement, notices=tuple(context.notices))

    def _query(self, context: Context, body: QueryStatement) -> Query:
        name = body.name.text if body.name else self._free_name()
        if name in self.queries:
            context.fail(
                "ALREADY_EXISTS", f"query {name} exists already", body.name.span if body.name else None, name=name
            )
        bound = bind_query(context, body.query)
        settings = self.catalog.settings
        chronon = settings.chronon if bound.domain is TimeDomain.MICROSECONDS else 1
        found = {self.catalog.table(_input_name(p)) for p in used_inputs(bound.plan)}
        sources = tuple(s for s in found if isinstance(s, StreamInfo | RelationInfo))
        query = Query(name, bound, settings.start_time, chronon, sources, body.sink)
        self.queries[name] = query
        return query

    def _free_name(self) -> str:
        number = 1 + sum(1 for n in self.queries if n.startswith("q") and n[1:].isdigit())
        while f"q{number}" in self.queries:
            number += 1
        return f"q{number}"

    def _explained(self, bound: BoundQuery, stage: str) -> str:
        if stage == "PHYSICAL":
            settings = self.catalog.settings
            chronon = settings.chronon if bound.domain is TimeDomain.MICROSECONDS else 1
            query = Query("explained", bound, settings.start_time, chronon)
            return explain([sink_of(query, bound.logical, self.functions)])
        if stage != "LOGICAL":
            raise NotSupportedError(
                Diagnostic("NOT_SUPPORTED", f"EXPLAIN {stage} is not supported yet", parameters={"feature": stage})
            )
        return tree(bound.logical)

    # Answers.

    @property
    def functions(self) -> list[FunctionInfo | AggregateInfo]:
        """The user's functions and aggregates."""
        return [e for e in self.catalog.entries() if isinstance(e, FunctionInfo | AggregateInfo)]

    def reference(self, queries: Iterable[Query]) -> Mapping[str, Reference]:
        """For each query the reference semantics over the rows of its sources."""
        functions = self.functions
        result: dict[str, Reference] = {}
        for query in queries:
            inputs = floored(self.inputs.read(query.sources), query.chronon)
            result[query.name] = Reference(inputs, functions, query.start, query.chronon)
        return result

    def answers(self, queries: Iterable[Query] | None = None) -> list[Answer]:
        """All answers of the queries, in time order; at one instant in the order of registration."""
        chosen = list(self.queries.values() if queries is None else queries)
        references = self.reference(chosen)
        found: list[Answer] = []
        for query in chosen:
            reference = references[query.name]
            found += answers_of(query, reference)
            last = reference.endless_after(query.bound.plan)
            if last is not None:
                self.inputs.notices.append(_endless(query, last))
        return sorted(found, key=lambda a: a.instant)

    def snapshot(self, query: Query, instant: int) -> list[Row]:
        """The content of a query's relation at an instant, a row a copy."""
        reference = self.reference([query])[query.name]
        return ordered_rows(snapshot_of(query.bound.plan, reference, instant))


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """Long conditions are deep trees: Python's usual limit stops at some 200 ORs."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, 5000))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _endless(query: Query, last: int) -> Diagnostic:
    return Diagnostic(
        "ENDLESS_ANSWER",
        f"the answer of {query.name} can go on for ever: it is shown up to {show_instant(last, query.domain)}",
        parameters={"query": query.name, "until": last},
    )


def _input_name(plan: Plan) -> str:
    assert isinstance(plan, Source | BaseRelation | TaggedSource)
    return plan.name


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span or Span(1 << 30, 1)
    return span.line, span.column
