"""Physical operators in the words of their queries: nodes know columns by position, readers by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from continua.algebra.expr import Column, Expr, transform, walk
from continua.algebra.expression_text import physical_text
from continua.physical import check_nodes, nodes, point_nodes, view_nodes
from continua.physical.partial import Partial
from continua.physical.steps import place_is
from continua.physical.times import NEVER
from continua.types import UNKNOWN

Names = Mapping[str, tuple[str, ...]]
"""What the columns of a node are called, by the id of the node."""

_LONGEST = 40
"""A column is called by its expression if that is not longer."""
_CONSTANTS = ("NULL", "TRUE", "FALSE", "NOW")
_LARGEST = 60
"""Expressions of more parts are left out where others are made of them: these would grow and grow."""


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation does: its columns, conditions and, where these change, intervals, over its input's names."""

    columns: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    interval: tuple[str, str | None] | None = None
    """From when on rows are valid, and until when; None for what never ends."""

    def text(self, names: tuple[str, ...]) -> str:
        """It for readers who know the names of the input's columns."""
        parts = [] if self.columns == names else [", ".join(self.columns) or "no columns"]
        parts += [f"where {' and '.join(self.conditions)}"] if self.conditions else []
        if self.interval is not None:
            start, end = self.interval
            parts += [f"valid from {start}" + ("" if end is None else f" to {end}")]
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
        case (
            nodes.Source(columns=columns) | check_nodes.Checked(columns=columns) | check_nodes.Sampled(columns=columns)
        ):
            return columns
        case point_nodes.Latest() | point_nodes.LastChange():
            return ("instant",)
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
            return _different(next(filter(_is_name, names), names[0]) for names in choices)
        case _:
            return inputs[0] if inputs else ()


def _is_name(text: str) -> bool:
    """Whether a column is called by a name, not by what is computed."""
    return text.isidentifier() and text not in _CONSTANTS


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
        found.append(f"{spec.function}({'DISTINCT ' if spec.distinct else ''}{arguments or '*'})")
    return found


def evaluated(node: nodes.Evaluate, names: tuple[str, ...]) -> Evaluated:
    """What an evaluation does, in the words of its input's columns."""
    known = _called(names)
    conditions: list[Expr] = []
    for step in node.steps:
        conditions += [_over(known, condition) for condition in step.where]
        outputs = {f"c{place}": expr for place, expr in enumerate(step.columns)}
        outputs |= {nodes.START: step.start, nodes.END: step.end}
        known = {name: _short(_over(known, expr)) for name, expr in outputs.items()}
    start, end = known.pop(nodes.START), known.pop(nodes.END)
    same = place_is(start, nodes.START) and place_is(end, nodes.END)
    columns = tuple(map(physical_text, known.values()))
    interval = None if same else (physical_text(start), None if end == NEVER else physical_text(end))
    return Evaluated(columns, tuple(map(physical_text, conditions)), interval)


def conditions_on_pairs(node: nodes.Join, left: tuple[str, ...], right: tuple[str, ...]) -> list[str]:
    """What a join asks of pairs besides its keys, in the words of both sides' columns."""
    if node.residual is None:
        return []
    width = node.left_columns
    names = [f"left.{n}" for n in left[:width]] + [f"right.{n}" for n in right[: len(node.schema) - width]]
    known = _called(tuple(names))
    return [physical_text(_over(known, condition)) for condition in node.residual.where]


def _called(names: tuple[str, ...]) -> dict[str, Expr]:
    """The columns of an input under the names that readers know."""
    return {f"c{place}": Column(name, UNKNOWN) for place, name in enumerate(names)}


def _over(known: Mapping[str, Expr], expr: Expr) -> Expr:
    """An expression over columns as one over what these are known as."""
    return transform(expr, lambda part: known.get(part.name, part) if isinstance(part, Column) else part)


def _short(expr: Expr) -> Expr:
    parts = sum(1 for _ in islice(walk(expr), _LARGEST + 1))
    return expr if parts <= _LARGEST else Column("...", expr.type)
