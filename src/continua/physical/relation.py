"""Relations on the way to physical operators: a node, and the names and types that a query knows its columns by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import pyarrow as pa

from continua.algebra.expr import Cast, Expr, Literal, conjuncts
from continua.algebra.schema import Field, Schema
from continua.errors import Diagnostic, NotSupportedError
from continua.physical import nodes
from continua.physical.steps import OLD_END, OLD_START, Step, composed, placed
from continua.sqltext.duckdb_types import arrow_type
from continua.types import DataType


def cannot(what: str) -> NotSupportedError:
    """The engine has no physical operator for it."""
    return NotSupportedError(
        Diagnostic("NO_PHYSICAL_OPERATOR", f"the engine cannot run {what}", parameters={"feature": what})
    )


@dataclass(frozen=True, slots=True)
class Load:
    """How many rows are thought to be valid at an instant, and to appear in one."""

    size: float = 1.0
    rate: float = 1.0
    sure: bool = False
    """Whether the sizes of stored relations among them are known."""
    may_go_everywhere: bool = False
    """Whether they may be sent to every partition where that pays."""


@dataclass(frozen=True)
class Relation:
    """A node and what a query calls its columns."""

    node: nodes.Node
    fields: tuple[Field, ...]
    load: Load = Load()
    """What is thought of a side of a join."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names in the query."""
        return tuple(f.name for f in self.fields)

    def place(self, name: str) -> int:
        """Where a column stands."""
        return self.names.index(name)

    def named(self, columns: Schema) -> Relation:
        """The same rows under other names."""
        return replace(self, fields=columns.fields)

    def placed(self, expr: Expr) -> Expr:
        """An expression with the node's columns instead of the query's."""
        return placed(expr, self.place)

    def filtered(self, *conditions: Expr) -> Relation:
        """The rows that satisfy conditions, which are asked of the same rows, in any order."""
        return self.kept(conditions)

    def kept(self, where: Sequence[Expr], start: Expr = OLD_START, end: Expr = OLD_END) -> Relation:
        """All columns of the rows that satisfy conditions, each row during an interval."""
        return self.computed([f.column for f in self.fields], self.fields, where, start, end)

    def computed(
        self,
        outputs: Sequence[Expr],
        fields: Sequence[Field],
        where: Sequence[Expr] = (),
        start: Expr = OLD_START,
        end: Expr = OLD_END,
    ) -> Relation:
        """New columns from old ones, with conditions and, if need be, another interval."""
        asked = [part for condition in where for part in conjuncts(self.placed(condition))]
        step = Step(tuple(map(self.placed, outputs)), tuple(asked), self.placed(start), self.placed(end))
        return replace(self, node=evaluate(self.node, step, schema_of([f.type for f in fields])), fields=tuple(fields))

    def picked(self, places: Sequence[int]) -> Relation:
        """Some of the columns."""
        chosen = [self.fields[i] for i in places]
        return self.computed([f.column for f in chosen], chosen)

    def extended(self, extra: Sequence[tuple[Field, Expr]], where: Sequence[Expr] = ()) -> Relation:
        """All columns, and more behind them."""
        outputs = [f.column for f in self.fields] + [e for _, e in extra]
        return self.computed(outputs, [*self.fields, *(f for f, _ in extra)], where)

    def cast(self, fields: Sequence[Field]) -> Relation:
        """The columns, by position, as values of other fields."""
        pairs = zip(self.fields, fields, strict=True)
        outputs: list[Expr] = [a.column if a.type == b.type else Cast(a.column, b.type) for a, b in pairs]
        return self.computed(outputs, fields)


def schema_of(types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of a node with columns of these types."""
    return _schema_of(tuple(types))


@lru_cache(maxsize=4096)
def _schema_of(types: tuple[DataType, ...]) -> pa.Schema:
    return pa.schema([(f"c{i}", arrow_type(t)) for i, t in enumerate(types)])


def evaluate(below: nodes.Node, step: Step, schema: pa.Schema) -> nodes.Node:
    """A step over the rows of a node, together with the steps that the node itself makes."""
    if step.whole and step.keeps_all(len(below.schema)):
        return below
    steps: tuple[Step, ...] = ()
    if isinstance(below, nodes.Evaluate):
        steps, below = below.steps, below.inputs[0]
    steps = composed(steps, step)
    only = steps[0]
    if len(steps) == 1 and only.whole and only.keeps_all(len(below.schema)):
        return below
    return nodes.Evaluate(schema, (below,), steps)


def split(relation: Relation, chronon: int, span: int | None = None) -> Relation:
    """The rows cut into chronons: the elements of a stream; ``span``: how many instants the window over it holds."""
    below = relation.node
    return replace(relation, node=nodes.Chronons(below.schema, (below,), chronon, span=span))


def null_of(field: Field) -> Expr:
    """NULL as a value of a column's type."""
    return Literal(None, field.type)
