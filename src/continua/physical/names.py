"""Physical operators in the words of their queries: nodes know columns by position, readers by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

import sqlglot
from sqlglot import exp

from continua.instants import INFINITY
from continua.physical import nodes, view_nodes
from continua.physical.partial import Partial

Names = Mapping[str, tuple[str, ...]]
"""What the columns of a node are called, by the id of the node."""

_LONGEST = 40
"""A column is called by its expression if that is not longer."""
_LARGEST = 60
"""Expressions of more parts are left out where others are made of them: these would grow and grow."""


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation does: its columns, conditions and, where these change, intervals, over its input's names."""

    columns: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    interval: tuple[str, str] | None = None

    def text(self, names: tuple[str, ...]) -> str:
        """It for readers who know the names of the input's columns."""
        parts = [] if self.columns == names else [", ".join(self.columns) or "no columns"]
        parts += [f"where {' and '.join(self.conditions)}"] if self.conditions else []
        if self.interval is not None:
            start, end = self.interval
            parts += [f"valid from {start}" + ("" if end == str(INFINITY) else f" to {end}")]
        return ", ".join(parts) or "all columns"


def column_names(in_order: Iterable[nodes.Node]) -> Names:
    """What the columns of nodes are called; the nodes come after their inputs."""
    found: dict[str, tuple[str, ...]] = {}
    for node in in_order:
        names = _names(node, [found[below.id] for below in node.inputs])
        width = len(node.schema)
        found[node.id] = names if len(names) == width else tuple(f"c{i}" for i in range(width))
    return found


def _names(node: nodes.Node, inputs: list[tuple[str, ...]]) -> tuple[str, ...]:
    match node:
        case nodes.Source(columns=columns):
            return columns
        case nodes.Evaluate():
            columns = evaluated(node, inputs[0]).columns
            return _different(text if len(text) <= _LONGEST else f"c{i}" for i, text in enumerate(columns))
        case nodes.Aggregate(keys=keys) | Partial(keys=keys):
            return _different([*inputs[0][:keys], *calls(node, inputs[0])])
        case nodes.Join(left_columns=width):
            return _different([*inputs[0][:width], *inputs[1][: len(node.schema) - width]])
        case view_nodes.TaggedView(timestamp=True, origin=origin):
            rows = inputs[0][:-1] if origin == "TAGS" else inputs[0]
            return _different([*rows, "TS"])
        case view_nodes.TaggedView(origin="TAGS"):
            return inputs[0][:-1]
        case view_nodes.Tagger():
            return (*inputs[0], "tag")
        case nodes.Union():
            choices = zip(*inputs, strict=False)
            return _different(next((n for n in names if n.isidentifier()), names[0]) for names in choices)
        case _:
            return inputs[0] if inputs else ()


def _different(names: Iterable[str]) -> tuple[str, ...]:
    """The names, those that are there already with a number."""
    found: dict[str, None] = {}
    for name in names:
        number, chosen = 2, name
        while chosen in found:
            chosen, number = f"{name}_{number}", number + 1
        found[chosen] = None
    return tuple(found)


def calls(node: nodes.Aggregate | Partial, names: tuple[str, ...]) -> list[str]:
    """The calls of an aggregation."""
    found = []
    for spec in node.specs:
        arguments = ", ".join(names[a] for a in spec.arguments)
        name = "COUNT" if spec.function == "COUNT_ALL" else spec.function
        found.append(f"{name}({'DISTINCT ' if spec.distinct else ''}{arguments or '*'})")
    return found


@dataclass
class _Flat:
    """A query over a query over the input as one over the input."""

    columns: dict[str, exp.Expr]
    conditions: list[exp.Expr] = field(default_factory=list)

    def over(self, expression: exp.Expr) -> exp.Expr:
        """An expression over these columns as one over the input."""

        def change(part: exp.Expr) -> exp.Expr:
            known = self.columns.get(part.name) if isinstance(part, exp.Column) else None
            return part if known is None else known.copy()

        return expression.copy().transform(change)


def evaluated(node: nodes.Evaluate, names: tuple[str, ...]) -> Evaluated:
    """What an evaluation does, in the words of its input's columns."""
    select = sqlglot.parse_one(node.sql, read="spark")
    assert isinstance(select, exp.Select)
    flat = _flat(select, names)
    times = [_text(flat.columns.pop(time)) for time in (nodes.START, nodes.END)]
    flat.columns.pop(nodes.WEIGHT, None)
    same = times == [nodes.START, nodes.END]
    columns = tuple(_text(e) for e in flat.columns.values())
    conditions = tuple(_text(c) for c in flat.conditions)
    return Evaluated(columns, conditions, None if same else (times[0], times[1]))


def conditions_on_pairs(node: nodes.Join, left: tuple[str, ...], right: tuple[str, ...]) -> list[str]:
    """What a join asks of pairs besides its keys, in the words of both sides' columns."""
    if node.residual is None:
        return []
    select = sqlglot.parse_one(node.residual, read="duckdb")
    assert isinstance(select, exp.Select)
    width = node.left_columns
    names = [f"left.{n}" for n in left[:width]] + [f"right.{n}" for n in right[: len(node.schema) - width]]
    return [_text(c) for c in _flat(select, tuple(names)).conditions]


def _flat(select: exp.Select, names: tuple[str, ...]) -> _Flat:
    source = select.args["from_"].this
    if isinstance(source, exp.Subquery):
        inner = source.this
        assert isinstance(inner, exp.Select)
        below = _flat(inner, names)
    else:
        known = {f"c{i}": name for i, name in enumerate(names)}
        below = _Flat({column: exp.Column(this=exp.Identifier(this=name)) for column, name in known.items()})
    columns = {item.alias_or_name: _short(below.over(item.unalias())) for item in select.expressions}
    where = select.args.get("where")
    parts = [] if where is None else _conjuncts(where.this)
    return _Flat(columns, [*below.conditions, *map(below.over, parts)])


def _short(expression: exp.Expr) -> exp.Expr:
    parts = sum(1 for _ in islice(expression.walk(), _LARGEST + 1))
    return expression if parts <= _LARGEST else exp.Column(this=exp.Identifier(this="..."))


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    plain = condition.unnest()
    return [*_conjuncts(plain.left), *_conjuncts(plain.right)] if isinstance(plain, exp.And) else [plain]


def _text(expression: exp.Expr) -> str:
    """An expression without the signs that nobody needs: quotes, and parentheses in parentheses."""

    def change(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Paren) and isinstance(part.parent, exp.Func):
            return part.unnest()
        return exp.Identifier(this=part.this) if isinstance(part, exp.Identifier) else part

    return expression.copy().transform(change).unnest().sql("spark")
