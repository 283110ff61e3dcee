"""Logical operators. An operator is its typed fields: frozen, compared by value, its schema derived.

A plan that makes no sense cannot be built: each constructor checks its inputs and raises :class:`PlanError`.
A plan yields a *relation* (a bag at every instant, CQL definition 4.2), a *stream* (a bag of timestamped elements,
CQL definition 4.1) or a *tagged* stream of inserts, updates and deletes (SyncSQL 2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, TypeVar

from continua.algebra.expr import AggregateCall, Expr, SortKey, columns_of
from continua.algebra.schema import Field, Schema
from continua.errors import Diagnostic, PlanError
from continua.instants import TimeDomain
from continua.types import BIGINT, BOOLEAN, TIMESTAMP, Value, common_type
from continua.windows.spec import RowsWindow, SequenceWindow, WindowSpec


_INPUT_FIELDS = ("input", "left", "right", "sync")


class Kind(Enum):
    """What a plan yields."""

    RELATION = "relation"
    STREAM = "stream"
    TAGGED = "tagged stream"


@dataclass(frozen=True)
class Plan:
    """The base of all operators."""

    kind: ClassVar[Kind] = Kind.RELATION
    schema: Schema = field(init=False, compare=False, repr=False)

    def _derive(self, schema_fields: tuple[Field, ...]) -> None:
        schema = Schema(schema_fields)
        duplicates = schema.duplicates()
        _require(not duplicates, "DUPLICATE_COLUMN", f"column {duplicates} twice in one row", columns=duplicates)
        object.__setattr__(self, "schema", schema)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The plans that this operator reads."""
        found = (getattr(self, name, None) for name in _INPUT_FIELDS)
        return tuple(part for part in found if part is not None)


P = TypeVar("P", bound=Plan)


@dataclass(frozen=True)
class Source(Plan):
    """A base stream (CQL 4, PIPES 2.3.1). Its ordering column is hidden. Holds no state."""

    kind: ClassVar[Kind] = Kind.STREAM
    name: str
    alias: str
    columns: tuple[Field, ...]
    domain: TimeDomain = TimeDomain.TICKS
    key: tuple[str, ...] = ()
    interval: bool = False

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class BaseRelation(Plan):
    """A stored relation: the same at every instant, unless timestamped updates change it."""

    name: str
    alias: str
    columns: tuple[Field, ...]
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class TaggedSource(Plan):
    """A stream of timestamped inserts, deletes and updates against a relation (SyncSQL 2.1)."""

    kind: ClassVar[Kind] = Kind.TAGGED
    name: str
    alias: str
    columns: tuple[Field, ...]
    domain: TimeDomain = TimeDomain.TICKS
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class Clock(Plan):
    """The clock stream: +<t>t at every instant t (SyncSQL 3.2)."""

    kind: ClassVar[Kind] = Kind.TAGGED
    alias: str
    domain: TimeDomain = TimeDomain.TICKS

    def __post_init__(self) -> None:
        time = TIMESTAMP if self.domain is TimeDomain.MICROSECONDS else BIGINT
        self._derive((Field(f"{self.alias}.Timepoint", time, nullable=False),))


@dataclass(frozen=True)
class Values(Plan):
    """A constant relation."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            _require(len(row) == len(self.columns), "ROW_WIDTH", "a row of another width", row=row)
        self._derive(self.columns)


@dataclass(frozen=True)
class Window(Plan):
    """Stream to relation: the elements in the window at each instant. State: the window's content."""

    input: Plan
    spec: WindowSpec

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.STREAM, "a window")
        if isinstance(self.spec, RowsWindow | SequenceWindow):
            for name in self.spec.partition:
                _require(
                    self.input.schema.get(name) is not None,
                    "UNKNOWN_COLUMN",
                    f"the window partitions by {name}, which the stream does not have",
                    column=name,
                )
        self._derive(self.input.schema.fields)


@dataclass(frozen=True)
class Filter(Plan):
    """The rows that satisfy a predicate (PIPES 2005 eq. 1). Holds no state."""

    input: Plan
    predicate: Expr

    def __post_init__(self) -> None:
        _boolean(self.predicate, "a filter")
        object.__setattr__(self, "schema", self.input.schema)

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)


@dataclass(frozen=True)
class Project(Plan):
    """Each row mapped to a new one (map, PIPES 2005 eq. 2). Holds no state."""

    input: Plan
    outputs: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        self._derive(tuple(Field(name, e.type, e.nullable) for name, e in self.outputs))

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)


class JoinKind(Enum):
    """How rows of two relations meet."""

    INNER = "join"
    LEFT = "left outer join"
    RIGHT = "right outer join"
    FULL = "full outer join"
    SEMI = "semijoin"
    ANTI = "antijoin"
    NULL_AWARE_ANTI = "null-aware antijoin"
    MARK = "mark join"
    SINGLE = "single join"


@dataclass(frozen=True)
class Join(Plan):
    """Rows of both sides that are valid at one instant and satisfy a predicate (PIPES 2005 eq. 3, 15, 16).

    Without a predicate an inner join is the Cartesian product. The null-aware antijoin keeps a left row unless some
    right row satisfies the predicate and has ``null_aware`` pairs whose equality is true or unknown (NOT IN). The mark
    join adds a column that says, in three-valued logic, whether some right row satisfies the predicate. The single
    join is a left outer join in which a second match is an error. State: both sides, while they are valid.
    """

    join: JoinKind
    left: Plan
    right: Plan
    predicate: Expr | None = None
    null_aware: tuple[tuple[Expr, Expr], ...] = ()
    mark: str = ""

    def __post_init__(self) -> None:
        _of_kind(self.left, Kind.RELATION, "a join")
        _of_kind(self.right, Kind.RELATION, "a join")
        if self.predicate is not None:
            _boolean(self.predicate, "a join")
        left, right = self.left.schema.fields, self.right.schema.fields
        clash = sorted(set(self.left.schema.names) & set(self.right.schema.names))
        _require(not clash, "DUPLICATE_COLUMN", f"column {clash} on both sides of a join", columns=clash)
        match self.join:
            case JoinKind.SEMI | JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
                self._derive(left)
            case JoinKind.MARK:
                self._derive((*left, Field(self.mark, BOOLEAN)))
            case JoinKind.INNER:
                self._derive(left + right)
            case JoinKind.LEFT | JoinKind.SINGLE:
                self._derive(left + _nullable(right))
            case JoinKind.RIGHT:
                self._derive(_nullable(left) + right)
            case JoinKind.FULL:
                self._derive(_nullable(left) + _nullable(right))


class SetOperator(Enum):
    """Operations on multiplicities (PIPES 2005 eq. 5, 8, 17, 18, 19)."""

    UNION = "union"
    MAX_UNION = "max-union"
    INTERSECTION = "intersection"
    DIFFERENCE = "difference"
    STRICT_DIFFERENCE = "strict difference"


@dataclass(frozen=True)
class SetOperation(Plan):
    """Two bags of like rows combined; ``distinct`` works on sets instead.

    Union holds no state, the others hold both sides while they are valid.
    """

    operator: SetOperator
    left: Plan
    right: Plan
    distinct: bool = False

    def __post_init__(self) -> None:
        _of_kind(self.left, Kind.RELATION, f"a {self.operator.value}")
        _of_kind(self.right, Kind.RELATION, f"a {self.operator.value}")
        left, right = self.left.schema.fields, self.right.schema.fields
        _require(
            len(left) == len(right),
            "COLUMN_COUNT",
            f"a {self.operator.value} of {len(left)} and {len(right)} columns",
            left=len(left),
            right=len(right),
        )
        merged = []
        for a, b in zip(left, right, strict=True):
            common = common_type(a.type, b.type)
            _require(
                common is not None,
                "TYPE_MISMATCH",
                f"column {a.short} is {a.type} on one side and {b.type} on the other",
                left=str(a.type),
                right=str(b.type),
            )
            merged.append(Field(a.name, common or a.type, a.nullable or b.nullable))
        self._derive(tuple(merged))


@dataclass(frozen=True)
class DuplicateElimination(Plan):
    """Every row once (PIPES 2005 eq. 4). State: the rows that are valid."""

    input: Plan

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "duplicate elimination")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Aggregate(Plan):
    """Grouping with aggregation; without keys, scalar aggregation (PIPES 2009 eq. 4).

    ``empty_row``: whether a scalar aggregation over an empty snapshot yields SQL's one row, or none.
    State: per group, what the aggregates need of the rows that are valid.
    """

    input: Plan
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]
    empty_row: bool = True

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "aggregation")
        keys = tuple(Field(name, e.type, e.nullable) for name, e in self.keys)
        self._derive(keys + tuple(Field(name, a.type, a.nullable) for name, a in self.aggregates))

    @property
    def scalar(self) -> bool:
        """Whether there are no grouping keys."""
        return not self.keys


@dataclass(frozen=True)
class TopK(Plan):
    """The first rows in an order, per partition if there are any. Ties go by all columns of the row.

    State: the rows that are valid.
    """

    input: Plan
    order: tuple[SortKey, ...]
    limit: int | None
    offset: int = 0
    partition: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "LIMIT")
        _require((self.limit or 0) >= 0 and self.offset >= 0, "NEGATIVE_LIMIT", "a limit is not negative")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Timeslice(Plan):
    """The snapshot of a relation at one instant, for ever after (PIPES 2009 definition 6.1)."""

    input: Plan
    instant: int

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "a timeslice")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Group(Plan):
    """The j-th of the k relations into which a function divides one (PIPES 2005 eq. 6, with projection)."""

    input: Plan
    function: Expr
    count: int
    index: int

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "a group")
        _require(
            1 <= self.index <= self.count,
            "GROUP_INDEX",
            f"group {self.index} of {self.count}",
            index=self.index,
            count=self.count,
        )
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class RelationalView(Plan):
    """The relation that a tagged stream modifies, with the timestamp TS of each row (SyncSQL definition 1).

    With ``sync`` it is modified only at the points of that stream (SyncSQL definition 2). State: the relation, and
    the modifications that wait for the next point.
    """

    input: Plan
    sync: Plan | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.TAGGED, "the relational view")
        if self.sync is not None:
            _require(
                len(self.sync.schema) == 1,
                "SYNC_COLUMNS",
                "a synchronization stream has one attribute, the time point",
                columns=list(self.sync.schema.names),
            )
        extra: tuple[Field, ...] = ()
        if self.timestamp is not None:
            time = TIMESTAMP if domain_of(self.input) is TimeDomain.MICROSECONDS else BIGINT
            extra = (Field(self.timestamp, time, nullable=False),)
        self._derive(self.input.schema.fields + extra)


@dataclass(frozen=True)
class Synchronize(Plan):
    """A relation as it was at the last multiple of ``step``: a slide over a relation (SyncSQL 3.1)."""

    input: Plan
    step: int
    offset: int = 0

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "synchronization")
        _require(self.step > 0, "WINDOW_RATE", "a slide must be positive", amount=self.step)
        object.__setattr__(self, "schema", self.input.schema)


class StreamOperator(Enum):
    """Relation to stream (CQL 5.1)."""

    ISTREAM = "Istream"
    DSTREAM = "Dstream"
    RSTREAM = "Rstream"


@dataclass(frozen=True)
class ToStream(Plan):
    """Istream, Dstream, Rstream by the formulas of CQL 5.1. State: the relation at the instant before."""

    kind: ClassVar[Kind] = Kind.STREAM
    operator: StreamOperator
    input: Plan

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, self.operator.value)
        self._derive(tuple(replace(f, hidden=False) for f in self.input.schema))


@dataclass(frozen=True)
class Tag(Plan):
    """A tagged stream: of a relation's changes (the operator ξ, SyncSQL 4.2.1; STREAMED output), or of a raw
    stream's elements by key (the tagger, SyncSQL 2.1). State: the key values, with their rows.
    """

    kind: ClassVar[Kind] = Kind.TAGGED
    input: Plan
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        visible = tuple(f for f in self.input.schema if not f.hidden)
        for name in self.key:
            _require(
                any(f.name == name for f in visible), "UNKNOWN_COLUMN", f"there is no key column {name}", column=name
            )
        self._derive(visible)


@dataclass(frozen=True)
class Complete(Plan):
    """COMPLETE output: the relation itself, to be read at any instant (SyncSQL 2.1)."""

    input: Plan

    def __post_init__(self) -> None:
        _of_kind(self.input, Kind.RELATION, "COMPLETE")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Split(Plan):
    """Intervals cut to pieces of at most ``length`` instants: no effect on the logical stream (PIPES 2005 4.2.5)."""

    input: Plan
    length: int = 1

    def __post_init__(self) -> None:
        _require(self.length > 0, "SPLIT_LENGTH", "a piece has at least one instant", length=self.length)
        object.__setattr__(self, "schema", self.input.schema)

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)


@dataclass(frozen=True)
class Coalesce(Plan):
    """Adjacent intervals of equal rows merged: no effect on the logical stream (PIPES 2005 4.2.5)."""

    input: Plan
    max_length: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)


def kind_of(plan: Plan) -> Kind:
    """What a plan yields; some operators yield what their input does."""
    match plan:
        case Filter() | Project() | Split() | Coalesce():
            return plan.yields
        case _:
            return plan.kind


def domain_of(plan: Plan) -> TimeDomain | None:
    """The time domain of a plan's timed inputs; None when it has none."""
    match plan:
        case Source(domain=domain) | TaggedSource(domain=domain) | Clock(domain=domain):
            return domain
        case _:
            return next((d for d in map(domain_of, all_inputs(plan)) if d is not None), None)


def expressions_of(plan: Plan) -> tuple[Expr, ...]:
    """The scalar expressions that stand in an operator itself."""
    match plan:
        case Filter(predicate=predicate):
            return (predicate,)
        case Project(outputs=outputs):
            return tuple(e for _, e in outputs)
        case Join(predicate=predicate, null_aware=pairs):
            both = tuple(e for pair in pairs for e in pair)
            return both if predicate is None else (predicate, *both)
        case Aggregate(keys=keys, aggregates=aggregates):
            wheres = tuple(a.where for _, a in aggregates if a.where is not None)
            return tuple(e for _, e in keys) + tuple(e for _, a in aggregates for e in a.arguments) + wheres
        case TopK(order=order, partition=partition):
            return tuple(k.expr for k in order) + partition
        case Group(function=function):
            return (function,)
        case _:
            return ()


def subplans_of(plan: Plan) -> tuple[Plan, ...]:
    """The plans of the subqueries that stand in an operator's own expressions."""
    from continua.algebra.expr import Exists, InSubquery, Quantified, ScalarSubquery, walk

    subqueries = (Exists, InSubquery, Quantified, ScalarSubquery)
    parts = (part for expr in expressions_of(plan) for part in walk(expr))
    return tuple(part.plan for part in parts if isinstance(part, subqueries))


def all_inputs(plan: Plan) -> tuple[Plan, ...]:
    """Inputs and the plans of subqueries."""
    return plan.inputs + subplans_of(plan)


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """The plan's operators, those of subqueries included, from the top."""
    yield plan
    for part in all_inputs(plan):
        yield from nodes_of(part)


def with_inputs(plan: P, change: Callable[[Plan], Plan]) -> P:
    """The operator with its inputs changed (subqueries are left as they are)."""
    changes: dict[str, Any] = {
        name: change(getattr(plan, name)) for name in _INPUT_FIELDS if getattr(plan, name, None) is not None
    }
    return replace(plan, **changes) if changes else plan


def free_columns(plan: Plan) -> frozenset[str]:
    """The names that a plan uses and its own inputs do not supply: its correlated references."""
    supplied = {name for part in plan.inputs for name in part.schema.names}
    used = {name for expr in expressions_of(plan) for name in columns_of(expr)}
    below = {name for part in plan.inputs for name in free_columns(part)}
    return frozenset((used - supplied) | below)


def _of_kind(plan: Plan, kind: Kind, what: str) -> None:
    actual = kind_of(plan)
    _require(
        actual is kind,
        "WRONG_KIND",
        f"{what} needs a {kind.value}, not a {actual.value}",
        needs=kind.value,
        got=actual.value,
    )


def _boolean(predicate: Expr, what: str) -> None:
    _require(
        predicate.type.name in ("BOOLEAN", "NULL", "UNKNOWN"),
        "TYPE_MISMATCH",
        f"{what} needs a condition, not {predicate.type}",
        left="BOOLEAN",
        right=str(predicate.type),
    )


def _nullable(columns: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(f, nullable=True) for f in columns)


def _require(holds: bool, condition: str, message: str, **parameters: object) -> None:
    if not holds:
        raise PlanError(Diagnostic(condition, message, parameters=parameters))
