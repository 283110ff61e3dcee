"""Physical operators: what runs in the levels of an epoch.

A node yields rows of a physical stream: payload columns ``c0``, ``c1``, ... by position, and the interval and weight
of each row. Names of queries play no part, so that equal work of different queries is one node. Stateful nodes say how
their inputs must be distributed over the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from typing import ClassVar

import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.physical.distribution import Alone, Anywhere, Distribution, Everywhere, by_key
from continua.physical.stable_text import stable_text
from continua.physical.step_sql import condition_sql, duckdb_sql, picking_sql
from continua.physical.steps import END as END
from continua.physical.steps import START as START
from continua.physical.steps import WEIGHT as WEIGHT
from continua.physical.steps import Step
from continua.windows.spec import WindowSpec

ORIGIN, OFFSET = "#origin", "#offset"
"""The columns that tell where a row stands: a number for the file, or whatever it is from, and its place there."""
UNIT = "#unit"
"""The source that has one row without columns, always."""

_OUTSIDE = ("schema", "inputs")


@dataclass(frozen=True)
class Node:
    """The base of all physical operators."""

    stateful: ClassVar[bool] = True
    goes_on: ClassVar[bool] = False
    """Whether it has instants of its own, and follows them behind the end of the input as far as anything changes."""
    schema: pa.Schema
    inputs: tuple[Node, ...]

    @cached_property
    def id(self) -> str:
        """A fingerprint of all that the node does: equal nodes have equal ids."""
        own = [
            f"{f.name}={stable_text(getattr(self, f.name))}"
            for f in fields(self)
            if f.compare and f.name not in _OUTSIDE
        ]
        text = "|".join([type(self).__name__, str(self.schema), *own, *(n.id for n in self.inputs)])
        return sha256(text.encode()).hexdigest()[:16]

    @property
    def requires(self) -> tuple[Distribution, ...]:
        """How each input must be distributed."""
        return tuple(Anywhere() for _ in self.inputs)

    @property
    def retracts(self) -> bool:
        """Whether rows of negative weight can come out: ends that were not known in advance."""
        return True

    @property
    def is_fed(self) -> bool:
        """Whether rows come out as they were fed, each with its own interval: none is merged or taken back."""
        return not self.stateful and all(n.is_fed for n in self.inputs)

    def keeps(self, column: int) -> int | None:
        """The output column that holds an input column as it was."""
        return column

    @property
    def title(self) -> str:
        """What the node does, for readers."""
        return type(self).__name__


@dataclass(frozen=True)
class Source(Node):
    """Rows that are fed: of a stream, of a stored relation, or of a tagged stream (with its tag as last column)."""

    stateful: ClassVar[bool] = False
    name: str
    columns: tuple[str, ...] = field(default=(), compare=False)
    """What queries call its columns."""
    placed: bool = False
    """Whether two more columns tell where each row stands: what it is from, and the offset there."""

    @property
    def retracts(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return f"Source {self.name}"


@dataclass(frozen=True)
class Evaluate(Node):
    """Filters and projections in one pass."""

    stateful: ClassVar[bool] = False
    steps: tuple[Step, ...]
    """What is done to the rows, one after the other; there is at least one step."""

    def __getstate__(self) -> dict[str, object]:
        """With its text, so that it is written once and not in every process that runs it."""
        if not self.whole:
            _ = self.duckdb
        return self.__dict__

    @cached_property
    def duckdb(self) -> str:
        """It as a query over the table ``input``, in DuckDB's SQL."""
        if self.condition is None:
            return duckdb_sql(self.steps)
        return picking_sql([place for place in self.passes if place is not None], self.condition)

    @cached_property
    def condition(self) -> str | None:
        """What it asks of rows, in DuckDB's SQL, where it picks columns of some and nothing of it can fail."""
        (step, *others) = self.steps
        simple = not others and step.picks and bool(step.where) and step.is_safe
        return condition_sql(step.where) if simple else None

    @cached_property
    def passes(self) -> tuple[int | None, ...]:
        """For each output column the input column that it is, if it is one."""
        places: tuple[int | None, ...] = tuple(range(len(self.inputs[0].schema)))
        for step in self.steps:
            places = tuple(None if place is None else places[place] for place in step.passes)
        return places

    @property
    def whole(self) -> bool:
        """Whether it only picks columns: every row, its interval and weight stay."""
        return all(step.whole for step in self.steps)

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts

    @property
    def keeps_times(self) -> bool:
        """Whether intervals stay as they are, and nothing depends on them."""
        return all(step.keeps_times for step in self.steps)

    @property
    def only_filters(self) -> bool:
        """Whether rows come out as they are, with all their columns in some order, if they do."""
        return self.keeps_times and set(self.passes) == set(range(len(self.inputs[0].schema)))

    def keeps(self, column: int) -> int | None:
        return self.passes.index(column) if column in self.passes else None


@dataclass(frozen=True)
class Validity(Node):
    """A window whose validity is arithmetic on the instant of an element."""

    stateful: ClassVar[bool] = False
    spec: WindowSpec

    @property
    def retracts(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return f"Window {self.spec.text}"


@dataclass(frozen=True)
class Union(Node):
    """The rows of all inputs."""

    stateful: ClassVar[bool] = False

    @property
    def retracts(self) -> bool:
        return any(n.retracts for n in self.inputs)


@dataclass(frozen=True)
class Hold(Node):
    """Rows that start behind the epoch wait for theirs."""

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts


@dataclass(frozen=True)
class Aggregate(Node):
    """Grouping with aggregation; the input has the keys first, then the arguments."""

    keys: int
    specs: tuple[AggregateSpec, ...]
    empty_row: bool
    start: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (by_key(tuple(range(self.keys))),)

    def keeps(self, column: int) -> int | None:
        return column if column < self.keys else None


@dataclass(frozen=True)
class Multiplicity(Node):
    """Duplicate elimination and the set operations, by their rule on multiplicities."""

    rule: str

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return tuple(by_key(tuple(range(len(self.schema)))) for _ in self.inputs)


@dataclass(frozen=True)
class Changes(Node):
    """Net changes per row and instant: Istream, Dstream, or both with their signs."""

    kind: str
    chronon: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (by_key(tuple(range(len(self.schema)))),)

    @property
    def retracts(self) -> bool:
        return self.kind == "NET"


@dataclass(frozen=True)
class Join(Node):
    """Inner join: by equal keys, or of all pairs; then a residual predicate over the pairs."""

    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_columns: int
    """How many columns of the left side come out, before those of the right: keys that were computed do not."""
    residual: Step | None = None
    """What is asked of pairs besides: a step that lets all columns of some through."""
    everywhere: bool = False
    """Whether the right side is on every partition, so that rows of the left need not move."""

    def __getstate__(self) -> dict[str, object]:
        """With the text of its residual, as an evaluation has its own."""
        if self.residual is not None:
            _ = self.residual_duckdb
        return self.__dict__

    @cached_property
    def residual_duckdb(self) -> str:
        """The residual as a query over the pairs, the table ``input``, in DuckDB's SQL."""
        return duckdb_sql(() if self.residual is None else (self.residual,))

    @property
    def requires(self) -> tuple[Distribution, ...]:
        if self.everywhere:
            return Anywhere(), Everywhere()
        return by_key(self.left_keys), by_key(self.right_keys)

    @property
    def retracts(self) -> bool:
        return any(n.retracts for n in self.inputs)

    def keeps(self, column: int) -> int | None:
        return column if column < self.left_columns else None

    @property
    def title(self) -> str:
        return "Hash join" if self.left_keys else "Nested-loop join"


@dataclass(frozen=True)
class Gate(Node):
    """Left rows while their key has a partner on the right (SEMI), or none (ANTI)."""

    mode: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    null_safe: bool
    limit_one: bool = False
    everywhere: bool = False
    """Whether the right side is on every partition, so that rows of the left need not move."""
    together: Distribution | None = None
    """How both sides are distributed where partners meet by less than all their keys."""

    @property
    def requires(self) -> tuple[Distribution, ...]:
        if self.together is not None:
            return self.together, self.together
        if self.everywhere:
            return Anywhere(), Everywhere()
        return by_key(self.left_keys), by_key(self.right_keys)

    @property
    def title(self) -> str:
        return "Semijoin" if self.mode == "SEMI" else "Antijoin"


@dataclass(frozen=True)
class SweptWindow(Node):
    """A window whose content a kernel finds by sweeping over the elements of each of its partitions."""

    spec: WindowSpec
    partition: tuple[int, ...]
    chronon: int
    start: int
    by_value: bool
    """Whether elements of one instant are in the order of their values, as in derived streams."""
    order: tuple[int, ...] = ()
    """The columns by which they are in order, where the stream has some."""
    batch: int | None = None
    """The column that tells their batches apart."""

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (by_key(self.partition),)

    @property
    def title(self) -> str:
        return f"Window {self.spec.text}"


@dataclass(frozen=True, slots=True)
class Order:
    """One key of an order: a column."""

    column: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class TopK(Node):
    """The first rows in an order, per partition if there are any."""

    order: tuple[Order, ...]
    limit: int | None
    offset: int
    partition: tuple[int, ...]

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (by_key(self.partition),)


@dataclass(frozen=True)
class Chronons(Node):
    """Rows cut into chronons: the elements of a stream (split, PIPES 2005, 4.2.5).

    At the end of the input what never ends must not occur, unless it is for a window of ``span`` instants: then as many
    rows are left as it has chronons, each from one of them on for ever.
    """

    goes_on: ClassVar[bool] = True
    chronon: int
    distribution: Distribution = field(default_factory=Anywhere)
    """How rows must be distributed so that those whose order counts stay in the order in which they came."""
    span: int | None = None

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (self.distribution,)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return "Split into chronons"


@dataclass(frozen=True)
class Pieces(Node):
    """Net changes by which rows end at every multiple of a length, and begin anew (split, PIPES 2005, 4.2.5).

    At the end of the input rows that never end are cut up to the last change.
    """

    goes_on: ClassVar[bool] = True
    length: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (Alone(),)

    @property
    def title(self) -> str:
        return f"Split at multiples of {self.length}"


@dataclass(frozen=True)
class QueryResult(Node):
    """The result of a query: its rows are written to result segments."""

    query: str
    first: int = field(default=1, compare=False)
    """The first epoch in which its graph has run, where that is another than the first one of its query."""

    @property
    def title(self) -> str:
        return f"Result of {self.query}"
