"""Blocks: relations as select-project-join queries over leaves, with one grouping above that or none.

Filters, maps and inner joins are taken apart, whatever their order in the plan; duplicate elimination is a grouping
without aggregates. Anything else is a leaf, which is compared as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import AggregateCall, Column, Expr, columns_of, conjuncts, has_subquery, rebuild
from continua.algebra.keys import keys
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Join,
    JoinKind,
    Project,
    Window,
)
from continua.algebra.streaming import Coalesce, Complete, RelationalView, Split, Tag
from continua.algebra.traverse import expressions_of


@dataclass(frozen=True, slots=True)
class Grouping:
    """Keys and aggregates over the columns of leaves, each under a name, and what groups must meet."""

    keys: tuple[tuple[str, Expr], ...]
    calls: tuple[tuple[str, AggregateCall], ...]
    empty_row: bool
    having: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of leaves that meet all conditions; their groups, if there is a grouping; and what is computed of these.

    All names of columns are different. ``outputs`` are over the columns of leaves, or over the names of the grouping.
    """

    leaves: tuple[Plan, ...]
    conditions: tuple[Expr, ...]
    outputs: tuple[tuple[str, Expr], ...]
    grouping: Grouping | None = None

    @property
    def names(self) -> frozenset[str]:
        """The columns of all leaves."""
        return frozenset(name for leaf in self.leaves for name in leaf.schema.names)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that is computed."""
        grouping = self.grouping
        below = () if grouping is None else (
            *(e for _, e in grouping.keys), *(e for _, c in grouping.calls for e in c.asked), *grouping.having
        )  # fmt: skip
        return (*self.conditions, *below, *(e for _, e in self.outputs))


def block_of(plan: Plan) -> Block:
    """A relation as a block; as one leaf where nothing else is known of it."""
    return _Taking().block(plan)


def substituted(expr: Expr, outputs: Mapping[str, Expr]) -> Expr:
    """The expression with columns replaced by what they stand for."""
    if isinstance(expr, Column):
        return outputs.get(expr.name, expr)
    return rebuild(expr, lambda part: substituted(part, outputs))


def substituted_call(call: AggregateCall, outputs: Mapping[str, Expr]) -> AggregateCall:
    """The same of an aggregate."""
    where = None if call.where is None else substituted(call.where, outputs)
    return replace(call, arguments=tuple(substituted(a, outputs) for a in call.arguments), where=where)


class _Taking:
    """Takes one plan apart; the names of its groupings are numbered, so that all are different."""

    def __init__(self) -> None:
        self._numbers = count()

    def block(self, plan: Plan) -> Block:
        if any(has_subquery(e) or uses_now(e) for e in expressions_of(plan)):
            return _leaf(plan)
        match plan:
            case Project(input=below, outputs=outputs):
                return self._projected(self.block(below), outputs)
            case Filter(input=below, predicate=predicate):
                return _filtered(self.block(below), conjuncts(predicate))
            case Join(join=JoinKind.INNER, left=left, right=right, predicate=predicate):
                return _joined(self._ungrouped(left), self._ungrouped(right), conjuncts(predicate))
            case Aggregate():
                return self._grouped(plan)
            case DuplicateElimination(input=below):
                return self._distinct(plan, self.block(below))
            case Complete(input=below) | Split(input=below) | Coalesce(input=below) if below.yields is Kind.RELATION:
                return self.block(below)
            case RelationalView(input=Tag(input=below) as tag, sync=None) if is_told_whole(tag):
                return self._of_view(plan, tag)
            case Window(input=Filter() | Project() as stream, spec=spec) if spec.time_based and not spec.partition:
                return self.block(_above_window(plan, stream))
            case _:
                return _leaf(plan)

    def _ungrouped(self, plan: Plan) -> Block:
        found = self.block(plan)
        return found if found.grouping is None else _leaf(plan)

    def _projected(self, block: Block, outputs: Iterable[tuple[str, Expr]]) -> Block:
        known = dict(block.outputs)
        return replace(block, outputs=tuple((name, substituted(e, known)) for name, e in outputs))

    def _grouped(self, plan: Aggregate) -> Block:
        below = self._ungrouped(plan.input)
        known = dict(below.outputs)
        own = tuple((self._name(), substituted(e, known)) for _, e in plan.keys)
        calls = tuple((self._name(), substituted_call(c, known)) for _, c in plan.aggregates)
        names = [name for name, _ in (*own, *calls)]
        outputs = tuple((f.name, replace(f.column, name=n)) for f, n in zip(plan.schema, names, strict=True))
        return Block(below.leaves, below.conditions, outputs, Grouping(own, calls, plan.empty_row))

    def _distinct(self, plan: Plan, below: Block) -> Block:
        if below.grouping is not None:
            shown = {e.name for _, e in below.outputs if isinstance(e, Column)}
            if below.grouping.keys and shown.issuperset(name for name, _ in below.grouping.keys):
                return below
            return _leaf(plan)
        own = tuple((self._name(), e) for _, e in below.outputs)
        outputs = tuple((f.name, replace(f.column, name=n)) for f, (n, _) in zip(plan.schema, own, strict=True))
        return Block(below.leaves, below.conditions, outputs, Grouping(own, (), False))

    def _of_view(self, plan: RelationalView, tag: Tag) -> Block:
        """The relation whose changes a view is of. When its rows came is known to the view alone."""
        below = self.block(tag.input)
        if plan.timestamp is None:
            return self._projected(below, [(f.name, f.column) for f in tag.schema])
        visible = {f.name: e for f, (_, e) in zip(tag.input.schema, below.outputs, strict=True) if not f.hidden}
        stamp = plan.schema.fields[-1]
        outputs = (*((n, visible[n]) for n in tag.schema.names), (stamp.name, replace(stamp.column, name=_STAMP)))
        return replace(below, outputs=outputs)

    def _name(self) -> str:
        return f"{_GROUPED}{next(self._numbers)}"


_GROUPED = "grouped "
_STAMP = "when it came"
"""The timestamp of rows of a view, which nothing else has."""


def is_complete(block: Block) -> bool:
    """Whether all that is computed is computed of columns of leaves."""
    return not any(_STAMP in columns_of(e) for e in block.expressions)


def is_told_whole(tag: Tag) -> bool:
    """Whether the changes of a relation make that relation again: by their key, its rows are told apart."""
    if tag.input.yields is not Kind.RELATION or any(f.hidden for f in tag.input.schema):
        return False
    return not tag.key or any(key <= frozenset(tag.key) for key in keys(tag.input))


def _leaf(plan: Plan) -> Block:
    return Block((plan,), (), tuple((f.name, f.column) for f in plan.schema))


def _filtered(block: Block, parts: Iterable[Expr]) -> Block:
    known = dict(block.outputs)
    conditions = [substituted(part, known) for part in parts]
    grouping = block.grouping
    if grouping is None:
        return replace(block, conditions=(*block.conditions, *conditions))
    own: Mapping[str, Expr] = dict(grouping.keys)
    of_keys = [c for c in conditions if columns_of(c) and columns_of(c) <= own.keys()]
    having = tuple(c for c in conditions if c not in of_keys)
    below = tuple(substituted(c, own) for c in of_keys)
    grouping = replace(grouping, having=(*grouping.having, *having))
    return replace(block, conditions=(*block.conditions, *below), grouping=grouping)


def _joined(left: Block, right: Block, parts: Iterable[Expr]) -> Block:
    outputs = (*left.outputs, *right.outputs)
    known = dict(outputs)
    conditions = tuple(substituted(part, known) for part in parts)
    return Block((*left.leaves, *right.leaves), (*left.conditions, *right.conditions, *conditions), outputs)


def _above_window(window: Window, stream: Filter | Project) -> Plan:
    """A filter or a map above the window instead of below it (CQL 7.2.2)."""
    return replace(stream, input=replace(window, input=stream.input))
