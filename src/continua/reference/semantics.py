"""The meaning of a query, by definition.

R(t) of a relation: the contents of its windows and stored relations at t, then the query as plain SQL over them.
Streams: the formulas of CQL 5.1 over R. Tagged streams: SyncSQL's operators over R. Slow and short on purpose: this is
the judge of the engine and shares none of its code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource
from continua.algebra.relational import Filter, Project, Timeslice, Window
from continua.algebra.streaming import Coalesce, RelationalView, Split, StreamOperator, Synchronize, Tag, ToStream
from continua.algebra.synchronization import latest_point, points_of_sync, synchronization
from continua.algebra.traverse import domain_of, nodes_of
from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import EvaluationError
from continua.instants import INFINITY, TimeDomain, floor_to, goes_on_for_ever, too_many, value_of
from continua.reference.change_instants import change_instants, earlier_points, goes_on, refresh_instants, sync_points
from continua.reference.each import each
from continua.reference.elements import Inputs, Modification
from continua.reference.judge_database import Database
from continua.reference.leaf_names import input_name
from continua.reference.long_clocks import is_long, last_point, latest_row
from continua.reference.snapshot_sql import SqlWriter
from continua.windows.change_points import Points
from continua.windows.occurrences import Element, Row, Timeline

LEAVES = (Window, BaseRelation, RelationalView, Synchronize, Timeslice)
_LIMIT = 500_000


@dataclass(frozen=True, slots=True)
class Change:
    """A net change of a relation: ``op`` is ``+`` or ``-``; ``count`` copies of a row."""

    instant: int
    op: str
    row: Row
    count: int


class Reference:
    """Answers queries over given inputs. ``start`` is the query's t0: nothing exists before it.

    ``domain`` is that of instants where no input of a query has a time.
    """

    def __init__(
        self,
        inputs: Inputs,
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        start: int = 0,
        chronon: int = 1,
        domain: TimeDomain = TimeDomain.TICKS,
    ) -> None:
        functions = list(functions)
        self._domain = domain
        self.inputs = inputs
        self.start = start
        self.chronon = chronon
        self._database = Database(functions)
        self._user_aggregates = frozenset(f.name for f in functions if isinstance(f, AggregateInfo))
        self._sql: dict[Plan, tuple[str, list[Plan]]] = {}
        self._streams: dict[Plan, tuple[Element, ...]] = {}
        self._tagged: dict[Plan, tuple[Modification, ...]] = {}
        self._relations: dict[tuple[Plan, int], Counter[Row]] = {}
        self._instants: dict[Plan, list[int]] = {}
        self.points: dict[Plan, list[int]] = {}
        self._timelines: dict[Plan, Timeline] = {}
        self._long: bool | None = None
        self.followed_until = start
        """Up to where the clock stream has been followed: it never ends."""

    @property
    def has_long_clock(self) -> bool:
        """Whether the clock has too many instants for a look at each of them."""
        if self._long is None:
            last = self.inputs.last_instant()
            self._long = last is not None and is_long(self, last)
        return self._long

    # Relations.

    def relation(self, plan: Plan, t: int) -> Counter[Row]:
        """R(t)."""
        if t < self.start:
            return Counter()
        if t > self.followed_until and uses_clock(plan):
            self.follow_clock(t)
        key = (plan, t)
        if key not in self._relations:
            self._relations[key] = self._evaluate(plan, t)
        return self._relations[key]

    def follow_clock(self, until: int) -> None:
        """Looks at the clock up to a later instant than before; what was found with an earlier one is forgotten."""
        if until > self.followed_until:
            self.followed_until = until
            for found in (self._streams, self._tagged, self._relations, self._instants, self.points):
                found.clear()

    def _evaluate(self, plan: Plan, t: int) -> Counter[Row]:
        if isinstance(plan, LEAVES) or self._is_latest(plan):
            return Counter(self._leaf(plan, t))
        if plan not in self._sql:
            self._sql[plan] = self._compile(plan)
        sql, leaves = self._sql[plan]
        contents = [self.relation(leaf, t) for leaf in leaves]
        for number, (leaf, bag) in enumerate(zip(leaves, contents, strict=True)):
            self._database.load(f"leaf_{number}", leaf.schema, bag.elements())
        if "GETVARIABLE" in sql:
            self._database.set_now(value_of(t, domain_of(plan) or self._domain))
        try:
            return self._database.rows(sql, plan.schema)
        except EvaluationError as error:
            first = error.diagnostics[0]
            raise EvaluationError(replace(first, parameters={**first.parameters, "instant": t})) from None

    def _compile(self, plan: Plan) -> tuple[str, list[Plan]]:
        leaves: list[Plan] = []

        def leaf(part: Plan) -> str | None:
            if not isinstance(part, LEAVES) and not self._is_latest(part):
                return None
            if part not in leaves:
                leaves.append(part)
            return f"leaf_{leaves.index(part)}"

        return SqlWriter(leaf, self._user_aggregates).duckdb(plan), leaves

    def _is_latest(self, plan: Plan) -> bool:
        """Whether it holds the latest instant of a clock that is too long to be listed."""
        return self.has_long_clock and latest_point(plan) is not None

    def _leaf(self, plan: Plan, t: int) -> Iterable[Row]:
        match plan:
            case _ if self._is_latest(plan):
                return [latest_row(self, plan, t)]
            case Window(input=stream, spec=spec):
                places = {name: i for i, name in enumerate(stream.schema.names)}
                return [o.row for o in spec.content(self.timeline(stream), t, places.__getitem__)]
            case BaseRelation(name=name):
                return self.inputs.relations[name.casefold()]
            case RelationalView():
                return self._view(plan, t)
            case Synchronize(input=below, step=step, offset=offset):
                return self.relation(below, floor_to(t - offset, step) + offset).elements()
            case Timeslice(input=below, instant=instant):
                return self.relation(below, instant).elements() if t >= instant else ()
            case _:
                raise TypeError(type(plan).__name__)

    def _view(self, plan: RelationalView, t: int) -> Iterable[Row]:
        """The relation that results from the modifications up to t, or up to the last synchronization point."""
        if isinstance(plan.input, Clock):
            if (t - self.start) // self.chronon > _LIMIT:
                raise too_many("the clock since the start")
            domain, width = plan.input.domain, len(plan.schema)
            return [(value_of(i, domain),) * width for i in range(self.start, t + 1, self.chronon)]
        until = t
        if plan.sync is not None:
            last = self._last_point(plan.sync, t)
            if last is None:
                return []
            until = last
        domain = domain_of(plan.input) or TimeDomain.TICKS
        key = _key_places(plan.input)
        state = _apply([m for m in self.tagged(plan.input) if m.instant <= until], key)
        if plan.timestamp is None:
            return [row for row, _ in state]
        return [(*row, value_of(ts, domain)) for row, ts in state]

    def _last_point(self, sync: Plan, t: int) -> int | None:
        """The last point of a synchronization stream up to t."""
        long = self.has_long_clock or is_long(self, t)
        if long and (points := points_of_sync(sync, self.chronon)) is not None:
            return last_point(self, points, t)
        return max((p for p in sync_points(self, sync, t) if p <= t), default=None)

    # Streams.

    def stream(self, plan: Plan) -> tuple[Element, ...]:
        """The elements of a stream, in order of their instants."""
        if plan not in self._streams:
            self._streams[plan] = tuple(self._stream(plan))
        return self._streams[plan]

    def _stream(self, plan: Plan) -> Iterable[Element]:
        match plan:
            case Source():
                elements = self.inputs.streams[input_name(plan)]
                seen = [e for e in elements if e.start >= self.start or e.end > self.start]
                return _by_position(seen, plan) if plan.order else seen
            case ToStream(operator=StreamOperator.RSTREAM, input=below):
                return self._rstream(below)
            case ToStream(operator=operator, input=below):
                return self._changes_as_stream(below, "+" if operator is StreamOperator.ISTREAM else "-")
            case Split(input=below) | Coalesce(input=below):
                return self.stream(below)
            case Filter(input=below) | Project(input=below):
                return each(plan, self.stream(below), self._database)
            case _:
                raise TypeError(f"{type(plan).__name__} is no stream")

    def _changes_as_stream(self, below: Plan, op: str) -> list[Element]:
        """Istream: R(t) - R(t-1). Dstream: R(t-1) - R(t)."""
        found: list[Element] = []
        for change in self.changes(below):
            if change.op == op:
                for _ in range(change.count):
                    found.append(self._element(change.row, change.instant, len(found)))
        return found

    def _element(self, row: Row, instant: int, position: int) -> Element:
        return Element(row, instant, instant + self.chronon, position)

    def _rstream(self, below: Plan) -> list[Element]:
        """Everything that is in R at every instant: once per synchronization point, or as intervals."""
        instants = self.instants(below)
        found: list[Element] = []
        if synchronization(below).is_synchronized:
            points = refresh_instants(self, below, instants[-1])
            if self.relation(below, self.start):
                points |= earlier_points(below, self.start, min(points, default=instants[-1] + 1))
            for t in sorted(points):
                for row in ordered_rows(self.relation(below, t)):
                    found.append(self._element(row, t, len(found)))
            return found
        for t, until in zip(instants, [*instants[1:], INFINITY], strict=True):
            for row in ordered_rows(self.relation(below, t)):
                found.append(Element(row, t, until, len(found)))
        return found

    # Changes.

    def instants(self, plan: Plan) -> list[int]:
        """Instants from t0 on that include all at which a plan's answer can change, in order."""
        if plan not in self._instants:
            self._instants[plan] = sorted(t for t in change_instants(self, plan) | {self.start} if t >= self.start)
        return self._instants[plan]

    def changes(self, plan: Plan) -> list[Change]:
        """The net changes of a relation: at each instant, deletions before insertions, rows in order."""
        found: list[Change] = []
        before: Counter[Row] = Counter()
        for t in self.instants(plan):
            now = self.relation(plan, t)
            for op, difference in (("-", before - now), ("+", now - before)):
                counts = Counter(difference)
                found += [Change(t, op, row, counts[row]) for row in ordered_rows(Counter(set(counts)))]
            before = now
        return found

    def endless_after(self, plan: Plan) -> int | None:
        """The last instant that was looked at, where an answer may go on for ever; None where it does not."""
        below = plan.input if isinstance(plan, ToStream | Tag) else plan
        if kind_of(below) is not Kind.RELATION:
            return None
        endless = goes_on(below) or (isinstance(plan, ToStream) and self._repeats_for_ever(plan))
        return self.instants(below)[-1] if endless else None

    def _repeats_for_ever(self, plan: ToStream) -> bool:
        """Whether an Rstream is written point by point, and there is no last point."""
        points = synchronization(plan.input)
        if plan.operator is not StreamOperator.RSTREAM or not points.is_synchronized:
            return False
        if not any(isinstance(leaf, Points) for leaf in points.leaves):
            return False
        return bool(self.relation(plan.input, self.instants(plan.input)[-1]))

    # Tagged streams.

    def tagged(self, plan: Plan) -> tuple[Modification, ...]:
        """The modifications of a tagged stream, in order."""
        if plan not in self._tagged:
            self._tagged[plan] = tuple(self._tag(plan))
        return self._tagged[plan]

    def _tag(self, plan: Plan) -> Iterable[Modification]:
        match plan:
            case TaggedSource():
                return self.inputs.tagged[input_name(plan)]
            case Tag(input=below) if kind_of(below) is Kind.STREAM:
                return self._tag_stream(plan)
            case Tag():
                return self._tag_changes(plan)
            case _:
                raise TypeError(f"{type(plan).__name__} is no tagged stream")

    def _tag_stream(self, plan: Tag) -> Iterable[Modification]:
        """The tagger (SyncSQL 2.1): the first tuple of a key inserts, later ones update."""
        visible = [i for i, f in enumerate(plan.input.schema) if not f.hidden]
        key = _key_places(plan)
        seen: set[Row] = set()
        found: list[Modification] = []
        for e in self.stream(plan.input):
            row = tuple(e.row[i] for i in visible)
            identity = tuple(row[i] for i in key) if key else None
            found.append(Modification("u" if identity in seen else "+", row, e.start))
            if self.chronon < e.end - e.start < INFINITY // 2:
                found.append(Modification("-", row, e.end))
            elif identity is not None:
                seen.add(identity)
        return sorted(found, key=lambda m: m.instant)

    def _tag_changes(self, plan: Tag) -> Iterable[Modification]:
        return tagged_changes(plan, self.changes(plan.input))

    def timeline(self, stream: Plan) -> Timeline:
        """A stream with the query's start and chronon."""
        if isinstance(stream, ToStream) and self._repeats_for_ever(stream):
            raise goes_on_for_ever()
        elements = self.stream(stream)
        known = self._timelines.get(stream)
        if known is None or known.elements is not elements:
            known = self._timelines[stream] = Timeline(elements, self.start, self.chronon)
        return known


def _by_position(elements: list[Element], source: Source) -> list[Element]:
    """Elements by instant, batch and position (Astral 3.3); those without one come first, then as they arrived."""
    places = [source.schema.names.index(name) for name in source.order]
    batch = places[0] if source.batch is not None else None

    def number(element: Element, place: int) -> int | None:
        value = element.row[place]
        return value if isinstance(value, int) else None

    def order(element: Element) -> tuple[int, ...]:
        numbers = [number(element, place) for place in places]
        return element.start, *(part for n in numbers for part in ((0, 0) if n is None else (1, n)))

    told = [e if batch is None else replace(e, batch=number(e, batch)) for e in elements]
    return [replace(e, position=n) for n, e in enumerate(sorted(told, key=order))]


def tagged_changes(plan: Tag, changes: Iterable[Change]) -> Iterable[Modification]:
    """The operator ξ (SyncSQL 4.2.1): what changed since the point before, as inserts, updates and deletes."""
    key = _key_places(plan)
    by_instant: dict[int, list[Change]] = {}
    for change in changes:
        by_instant.setdefault(change.instant, []).append(change)
    for t, found in by_instant.items():
        gone = [c.row for c in found if c.op == "-" for _ in range(c.count)]
        come = [c.row for c in found if c.op == "+" for _ in range(c.count)]
        if plan.single and gone and come:
            yield Modification("u", come[0], t)
            continue
        replaced = {tuple(r[i] for i in key): r for r in gone} if key else {}
        updates = {tuple(r[i] for i in key) for r in come} & set(replaced) if key else set()
        yield from (Modification("-", r, t) for r in gone if not key or tuple(r[i] for i in key) not in updates)
        for row in come:
            identity = tuple(row[i] for i in key)
            yield Modification("u" if key and identity in updates else "+", row, t)


@cache
def uses_clock(plan: Plan) -> bool:
    """Whether the clock stream stands anywhere in a plan."""
    return any(isinstance(node, Clock) for node in nodes_of(plan))


def _key_places(plan: Plan) -> list[int]:
    key = plan.key if isinstance(plan, Tag | TaggedSource) else ()
    names = plan.schema.names
    return [names.index(k) for k in key]


def _apply(modifications: Sequence[Modification], key: list[int]) -> list[tuple[Row, int]]:
    """The rows that remain, each with the instant of the operation that put it there.

    An update without a key is of a relation with one row.
    """
    state: list[tuple[Row, int]] = []
    for m in modifications:
        identity = tuple(m.row[i] for i in key) if key else m.row
        if m.op == "u" and not key:
            state.clear()
        elif m.op in ("-", "u") or key:
            for place, (row, _) in enumerate(state):
                if (tuple(row[i] for i in key) if key else row) == identity:
                    del state[place]
                    break
        if m.op in ("+", "u"):
            state.append((m.row, m.instant))
    return state


def ordered_rows(bag: Counter[Row]) -> list[Row]:
    """The rows of a bag, copies included, in an order that depends on their values alone."""
    return sorted(bag.elements(), key=_sort_key)


def _sort_key(row: Row) -> tuple[tuple[bool, str, object], ...]:
    return tuple((v is not None, "" if _comparable(v) else repr(v), v if _comparable(v) else 0) for v in row)


def _comparable(value: object) -> bool:
    return (value is not None and not isinstance(value, tuple | float)) or (isinstance(value, float) and value == value)
