"""Registered queries and their answers, line by line."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from continua.algebra.base import Kind, Plan
from continua.algebra.instant_rows import is_written_as_intervals
from continua.algebra.printer import tree
from continua.algebra.streaming import Tag, ToStream
from continua.algebra.unending_relations import repeats_for_ever
from continua.answers.shown_content import ShownContent
from continua.binding.defaults import BoundQuery
from continua.catalog import Key, RelationInfo, StreamInfo
from continua.errors import BindError, ContinuaError, Diagnostic, EvaluationError, Span
from continua.instants import INFINITY, TimeDomain, ceil_to, floor_to, show_instant, too_many
from continua.lang.statements import SourceCall
from continua.reference.change_instants import goes_on
from continua.reference.elements import Inputs, Modification
from continua.reference.semantics import Reference
from continua.rules.driver import RAN_OUT, Rewritten
from continua.rules.order import optimize
from continua.rules.window_starts import starting_at
from continua.types import DataType
from continua.windows.occurrences import LIMIT, Element, Row


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of a query's answer.

    ``op`` is ``+``, ``-`` or ``u`` for changes of a relation and None for elements of a stream. ``until`` ends the
    interval of an element that occurs at more than one instant.
    """

    query: str
    instant: int
    op: str | None
    columns: tuple[str, ...]
    row: Row
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Query(ShownContent):
    """A registered query: what it means, since when it runs, what it reads and where its answers go."""

    name: str
    bound: BoundQuery
    start: int
    chronon: int
    sources: tuple[StreamInfo | RelationInfo, ...] = ()
    sink: SourceCall | None = None
    group: str = ""
    """With which others it has epochs when it is live; without a name, with those that name none."""
    rewritten: Rewritten | None = field(default=None, compare=False)
    """What the rules make of its plan; None where nothing is rewritten."""
    uses: frozenset[Key] = field(default=frozenset(), compare=False)
    """What it uses of the catalog, itself or through views and functions."""
    span: Span | None = field(default=None, compare=False)
    """Where it stands in its script."""
    carried: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """The leaves whose content it was given when it joined a live run, and since when that has been kept."""
    earliest: int | None = field(default=None, compare=False)
    """From which instant on it is to start where that can be, although it may join a live run later."""
    content: Callable[[str], pa.Table] | None = field(default=None, compare=False, repr=False)
    """How the session that it is registered in finds what a query holds at the latest instant."""

    def toArrow(self) -> pa.Table:  # noqa: N802
        """What it holds at the latest instant that is closed, or over the rows as they are where it is not live."""
        if self.content is None:
            message = f"query {self.name} is not registered in a session"
            raise BindError(Diagnostic("NOT_REGISTERED", message, parameters={"query": self.name}))
        return self.content(self.name)

    def rewritten_as(self, done: Rewritten) -> Query:
        """The query by the plan that rules have made of its own; its notices tell whether these ran out."""
        kept = (n for n in self.bound.notices if n.condition != RAN_OUT)
        return replace(self, rewritten=done, bound=replace(self.bound, notices=(*kept, *done.notices)))

    def starting_at(self, start: int) -> Query:
        """The same query with another start t0."""
        bound, done = begun(self.bound, start, self.chronon), self.rewritten
        moved = replace(self, start=start, bound=bound)
        if bound is self.bound or done is None:
            return moved
        return moved.rewritten_as(optimize(bound.plan, done.facts, done.disabled))

    @property
    def optimized(self) -> Plan:
        """The plan that is run: it has the answers of the one that was written."""
        return self.bound.logical if self.rewritten is None else self.rewritten.plan

    @property
    def kind(self) -> Kind:
        """Whether its answer is a stream, a relation or a tagged stream."""
        return self.bound.kind

    @property
    def domain(self) -> TimeDomain:
        """Its time domain."""
        return self.bound.domain

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its output columns."""
        return self.bound.plan.schema.names

    @property
    def types(self) -> dict[str, DataType]:
        """The types of its output columns."""
        return dict(zip(self.columns, self.bound.plan.schema.types, strict=True))

    def explain(self) -> str:
        """Its logical plan, as a tree."""
        return tree(self.bound.logical)


def begun(bound: BoundQuery, start: int, chronon: int) -> BoundQuery:
    """What a query is whose start is an instant: windows that are full or aligned to the start depend on it."""
    plan, logical = starting_at(bound.plan, start, chronon), starting_at(bound.logical, start, chronon)
    return bound if plan is bound.plan and logical is bound.logical else replace(bound, plan=plan, logical=logical)


def failed(query: Query, error: ContinuaError) -> EvaluationError:
    """Why a query failed on its data, with its name, its place and the instant."""
    return EvaluationError(*(d if "query" in d.parameters else _placed(query, d) for d in error.diagnostics))


def _placed(query: Query, found: Diagnostic) -> Diagnostic:
    instant = found.parameters.get("instant")
    row = found.parameters.get("row")
    on = f", on the row {', '.join(map(reprlib.repr, row))}" if isinstance(row, list) and row else ""
    at = f" (at {show_instant(instant, query.domain)}{on})" if isinstance(instant, int) else ""
    parameters = {**found.parameters, "query": query.name}
    parameters.pop("operator", None)
    message = f"query {query.name}: {found.message}{at}"
    return replace(found, message=message, span=found.span or query.span, parameters=parameters)


def can_be_endless(query: Query) -> bool:
    """Whether the answers of a query may go on after its inputs have ended, as far as its plans show."""
    return any(map(_goes_on, (query.bound.plan, query.optimized)))


def _goes_on(plan: Plan) -> bool:
    below = plan.input if isinstance(plan, ToStream | Tag) else plan
    if below.yields is not Kind.RELATION:
        return False
    return goes_on(below) or (isinstance(plan, ToStream) and repeats_for_ever(plan))


def endless_answer(query: Query, last: int) -> Diagnostic:
    """Tells that the answers of a query, shown up to an instant, can go on after it."""
    return Diagnostic(
        "ENDLESS_ANSWER",
        f"the answer of {query.name} can go on for ever: it is shown up to {show_instant(last, query.domain)}",
        parameters={"query": query.name, "until": last},
    )


def answers_of(query: Query, reference: Reference) -> list[Answer]:
    """The answer of one query: elements of a stream, or changes of a relation."""
    plan, columns = query.bound.plan, query.columns
    if query.kind is Kind.STREAM:
        return [
            Answer(query.name, e.start, None, columns, e.row, e.end if e.end != e.start + query.chronon else None)
            for e in _elements(plan, reference, query.chronon)
        ]
    if query.kind is Kind.TAGGED:
        return tagged_answers(query, reference.tagged(plan))
    return [
        Answer(query.name, c.instant, c.op, columns, c.row) for c in reference.changes(plan) for _ in range(c.count)
    ]


def tagged_answers(query: Query, modifications: Iterable[Modification]) -> list[Answer]:
    """Modifications as answers; of a deletion only the key is told, where there is one."""
    columns = query.columns
    key = [columns.index(name) for name in deletion_key(query)]
    found = []
    for m in modifications:
        short = m.op == "-" and bool(key)
        names = tuple(columns[i] for i in key) if short else columns
        row = tuple(m.row[i] for i in key) if short else m.row
        found.append(Answer(query.name, m.instant, m.op, names, row))
    return found


def deletion_key(query: Query) -> tuple[str, ...]:
    """The columns that are told of a deletion; none where all are."""
    key = getattr(query.bound.plan, "key", ()) if query.kind is Kind.TAGGED else ()
    return tuple(name for name in query.columns if name in key)


def _elements(plan: Plan, reference: Reference, chronon: int) -> Sequence[Element]:
    """The elements of a stream. Those of an Rstream over a relation whose rows stay are written as intervals."""
    elements = reference.stream(plan)
    return as_handed_out(plan, elements) if is_written_as_intervals(plan, chronon) else elements


def as_handed_out(plan: Plan, elements: Sequence[Element]) -> list[Element]:
    """The elements of a stream that is written as intervals: as few as can be, in pieces if that was asked for.

    They are cut at the multiples of the length; those that never end up to the last instant at which anything changes.
    """
    found = coalesced(elements)
    length = plan.longest if isinstance(plan, ToStream) else None
    if length is None or not found:
        return found
    last = max(t for e in found for t in (e.start, e.end) if t < INFINITY)
    pieces = [piece for e in found for piece in _cut(e, length, last)]
    return [replace(e, position=place) for place, e in enumerate(sorted(pieces, key=lambda e: e.start))]


def _cut(element: Element, length: int, last: int) -> Iterator[Element]:
    first = (element.start // length + 1) * length
    edges = range(first, min(element.end, last + 1), length)
    if len(edges) > LIMIT:
        raise too_many("every piece of elements that last", "a greater length makes fewer pieces")
    starts = [element.start, *edges]
    for start, end in zip(starts, [*edges, element.end], strict=True):
        yield replace(element, start=start, end=end)


def coalesced(elements: Sequence[Element]) -> list[Element]:
    """Intervals of equal rows that meet, as one: the compressed form of an endless stream."""
    result: list[Element] = []
    open_: dict[tuple[Row, int], list[int]] = {}
    for e in elements:
        places = open_.get((e.row, e.start), [])
        if places:
            place = places.pop(0)
            result[place] = Element(e.row, result[place].start, e.end, result[place].position)
        else:
            place = len(result)
            result.append(e)
        open_.setdefault((e.row, e.end), []).append(place)
    return result


def snapshot_of(plan: Plan, reference: Reference, instant: int) -> Counter[Row]:
    """What a query's relation, or the relation behind its stream, holds at an instant."""
    below = plan.input if isinstance(plan, ToStream | Tag) else plan
    return reference.relation(below, instant)


def floored(inputs: Inputs, chronon: int) -> Inputs:
    """Timestamps floored to the chronon."""
    if chronon == 1:
        return inputs
    streams = {
        name: tuple(
            replace(
                e,
                start=floor_to(e.start, chronon),
                end=e.end if e.end >= INFINITY else max(ceil_to(e.end, chronon), floor_to(e.start, chronon) + chronon),
            )
            for e in elements
        )
        for name, elements in inputs.streams.items()
    }
    tagged = {
        name: tuple(replace(m, instant=floor_to(m.instant, chronon)) for m in modifications)
        for name, modifications in inputs.tagged.items()
    }
    return Inputs(streams, inputs.relations, tagged)
