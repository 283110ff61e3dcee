"""Windows and the operators on relations: the bag algebra at every instant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from continua.algebra.base import Kind, Plan, boolean, kind_of, nullable, of_kind, require
from continua.algebra.expr import AggregateCall, Expr, SortKey
from continua.algebra.schema import Field
from continua.types import BOOLEAN, common_type
from continua.windows.spec import WindowSpec


@dataclass(frozen=True)
class Window(Plan):
    """Stream to relation: the elements in the window at each instant. State: the window's content."""

    input: Plan
    spec: WindowSpec

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.STREAM, "a window")
        for name in self.spec.partition:
            require(
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
        boolean(self.predicate, "a filter")
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
        of_kind(self.left, Kind.RELATION, "a join")
        of_kind(self.right, Kind.RELATION, "a join")
        if self.predicate is not None:
            boolean(self.predicate, "a join")
        left, right = self.left.schema.fields, self.right.schema.fields
        clash = sorted(set(self.left.schema.names) & set(self.right.schema.names))
        require(not clash, "DUPLICATE_COLUMN", f"column {clash} on both sides of a join", columns=clash)
        match self.join:
            case JoinKind.SEMI | JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
                self._derive(left)
            case JoinKind.MARK:
                self._derive((*left, Field(self.mark, BOOLEAN)))
            case JoinKind.INNER:
                self._derive(left + right)
            case JoinKind.LEFT | JoinKind.SINGLE:
                self._derive(left + nullable(right))
            case JoinKind.RIGHT:
                self._derive(nullable(left) + right)
            case JoinKind.FULL:
                self._derive(nullable(left) + nullable(right))


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
        of_kind(self.left, Kind.RELATION, f"a {self.operator.value}")
        of_kind(self.right, Kind.RELATION, f"a {self.operator.value}")
        left, right = self.left.schema.fields, self.right.schema.fields
        require(
            len(left) == len(right),
            "COLUMN_COUNT",
            f"a {self.operator.value} of {len(left)} and {len(right)} columns",
            left=len(left),
            right=len(right),
        )
        merged = []
        for a, b in zip(left, right, strict=True):
            common = common_type(a.type, b.type)
            require(
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
        of_kind(self.input, Kind.RELATION, "duplicate elimination")
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
        of_kind(self.input, Kind.RELATION, "aggregation")
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
        of_kind(self.input, Kind.RELATION, "LIMIT")
        require((self.limit or 0) >= 0 and self.offset >= 0, "NEGATIVE_LIMIT", "a limit is not negative")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Timeslice(Plan):
    """The snapshot of a relation at one instant, for ever after (PIPES 2009 definition 6.1)."""

    input: Plan
    instant: int

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.RELATION, "a timeslice")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Group(Plan):
    """The j-th of the k relations into which a function divides one (PIPES 2005 eq. 6, with projection)."""

    input: Plan
    function: Expr
    count: int
    index: int

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.RELATION, "a group")
        require(
            1 <= self.index <= self.count,
            "GROUP_INDEX",
            f"group {self.index} of {self.count}",
            index=self.index,
            count=self.count,
        )
        object.__setattr__(self, "schema", self.input.schema)
