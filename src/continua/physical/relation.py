"""Relations on the way to physical operators: a node, and the names and types that a query knows its columns by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from continua.algebra.expr import Column, Expr, Literal, transform
from continua.algebra.schema import Field, Schema
from continua.errors import Diagnostic, NotSupportedError
from continua.physical import nodes
from continua.sqltext.expressions import ExpressionWriter, in_duckdb, quoted, typed
from continua.sqltext.values import arrow_type
from continua.types import DataType

_WRITER = ExpressionWriter()
_COLUMN = re.compile(r"`c(\d+)`")


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
    free: bool = False
    """Whether it may be chosen where they go."""


@dataclass(frozen=True)
class Relation:
    """A node and what a query calls its columns."""

    node: nodes.Node
    fields: tuple[Field, ...]
    load: Load = Load()
    """What is thought of a side of a join."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in the query."""
        return tuple(f.name for f in self.fields)

    def place(self, name: str) -> int:
        """Where a column stands."""
        return self.names.index(name)

    def named(self, columns: Schema) -> Relation:
        """The same rows under other names."""
        return replace(self, fields=columns.fields)

    def text(self, expr: Expr) -> str:
        """An expression over the columns, in Spark's SQL."""
        return _WRITER.expr(self.placed(expr))

    def placed(self, expr: Expr) -> Expr:
        """An expression with the node's columns instead of the query's."""

        def change(part: Expr) -> Expr:
            if not isinstance(part, Column) or part.name == nodes.START:
                return part
            return replace(part, name=f"c{self.place(part.name)}")

        return transform(expr, change)

    def filtered(self, predicate: Expr) -> Relation:
        """The rows that satisfy a predicate."""
        return self.computed([f.column for f in self.fields], self.fields, where=self.text(predicate))

    def computed(
        self,
        outputs: Sequence[Expr],
        fields: Sequence[Field],
        where: str | None = None,
        start: str = f"`{nodes.START}`",
        end: str = f"`{nodes.END}`",
    ) -> Relation:
        """New columns from old ones, with a condition and, if need be, another interval, as SQL over the node's."""
        passes = tuple(self.place(e.name) if isinstance(e, Column) and e.name != nodes.START else None for e in outputs)
        items = [typed(e, self.text(e)) for e in outputs]
        node = _evaluate(self.node, items, [f.type for f in fields], passes, where, start, end)
        return replace(self, node=node, fields=tuple(fields))

    def picked(self, places: Sequence[int]) -> Relation:
        """Some of the columns."""
        chosen = [self.fields[i] for i in places]
        return self.computed([f.column for f in chosen], chosen)

    def extended(self, extra: Sequence[tuple[Field, Expr]], where: str | None = None) -> Relation:
        """All columns, and more behind them."""
        outputs = [f.column for f in self.fields] + [e for _, e in extra]
        return self.computed(outputs, [*self.fields, *(f for f, _ in extra)], where)

    def cast(self, fields: Sequence[Field]) -> Relation:
        """The columns, by position, as values of other fields."""
        from continua.algebra.expr import Cast

        pairs = zip(self.fields, fields, strict=True)
        outputs: list[Expr] = [a.column if a.type == b.type else Cast(a.column, b.type) for a, b in pairs]
        return self.computed(outputs, fields)


def schema_of(types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of a node with columns of these types."""
    return pa.schema([(f"c{i}", arrow_type(t)) for i, t in enumerate(types)])


def _evaluate(
    below: nodes.Node,
    items: Sequence[str],
    types: Sequence[DataType],
    passes: tuple[int | None, ...],
    where: str | None,
    start: str,
    end: str,
) -> nodes.Node:
    plain = where is None and start == f"`{nodes.START}`" and end == f"`{nodes.END}`"
    if plain and passes == tuple(range(len(below.schema))):
        return below
    whole = plain and None not in passes
    texts = [*items, where or "", start, end]
    if isinstance(below, nodes.Evaluate) and below.whole and not any("'" in text for text in texts):
        # columns that were only picked go by their names before that
        *items, where, start, end = (_unpicked(text, below.passes) for text in texts)
        where = where or None
        passes = tuple(None if p is None else below.passes[p] for p in passes)
        below = below.inputs[0]
    columns = [f"{item} AS {quoted(f'c{i}')}" for i, item in enumerate(items)]
    columns += [f"{start} AS `{nodes.START}`", f"{end} AS `{nodes.END}`", f"`{nodes.WEIGHT}`"]
    source = "input"
    if isinstance(below, nodes.Evaluate):
        source = f"({below.sql}) AS r"
        passes = tuple(None if p is None else below.passes[p] for p in passes)
        whole = whole and below.whole
        below = below.inputs[0]
    rest = source + (f" WHERE {where}" if where else "")
    sql = f"SELECT {', '.join(columns)} FROM {rest}"
    same = start == f"`{nodes.START}`" and end == f"`{nodes.END}`"
    return nodes.Evaluate(
        schema_of(types), (below,), sql, in_duckdb(sql), passes, whole, tuple(items), rest if same else ""
    )


def _unpicked(text: str, passes: tuple[int | None, ...]) -> str:
    """A text over picked columns as one over those that they were picked from."""
    return _COLUMN.sub(lambda found: f"`c{passes[int(found[1])]}`", text)


def split(relation: Relation, chronon: int) -> Relation:
    """The rows cut into chronons: the elements of a stream."""
    below = relation.node
    return replace(relation, node=nodes.Chronons(below.schema, (below,), chronon))


def null_of(field: Field) -> Expr:
    """NULL as a value of a column's type."""
    return Literal(None, field.type)
