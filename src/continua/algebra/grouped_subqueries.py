"""Extremes of correlated rows, found at once for all values by which rows are correlated (Kim's and Dayal's grouping).

``x >= (SELECT MIN(y) FROM T WHERE T.k = o.k)`` asks one value of T for each k. Grouped by k, T has them all: nothing is
evaluated for each row of the outer query, nor for the combinations of its columns. Where there is no row of T the
subquery is NULL, the comparison is unknown, and there is no group to be compared with either.

1. The subquery is an extreme of a scalar aggregation, which is NULL of no rows: others, such as COUNT, have a value
   where there is no group.
2. Its rows are correlated by equalities alone, each between an expression over them and one over the outer query, and
   none of floating-point numbers, of which several stand for 0.
3. No expression can fail, since groups are made that no outer row asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from continua.algebra.aggregate_facts import extreme_of
from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, columns_of, conjunction, conjuncts, equal, has_subquery
from continua.algebra.relational import Aggregate, DuplicateElimination, Filter, Join, JoinKind, Project, TopK
from continua.algebra.safety import cannot_fail
from continua.algebra.traverse import expressions_of, free_columns

_FLOATING = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class Grouped:
    """The values of a subquery with the columns by which they are found, and how the outer query finds its own."""

    plan: Plan
    value: Column
    matching: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Rows with columns of their own for what they are correlated by, each beside the outer expression."""

    plan: Plan
    keys: tuple[tuple[Expr, Column], ...] = ()


def grouped(sub: Plan, names: frozenset[str], fresh: Callable[[str], str]) -> Grouped | None:
    """The extremes that a subquery is for all values of what it is correlated by; ``names``: its outer columns."""
    outputs: list[tuple[tuple[str, Expr], ...]] = []
    plan = sub
    while isinstance(plan, Project):
        outputs.append(plan.outputs)
        plan = plan.input
    if not isinstance(plan, Aggregate) or not plan.scalar or len(plan.aggregates) != 1:
        return None
    ((name, call),) = plan.aggregates
    if extreme_of(call) is None or not _are_plain(expressions_of(plan), names):
        return None  # 1, 3
    for level in reversed(outputs):
        if len(level) != 1 or not isinstance(level[0][1], Column) or level[0][1].name != name:
            return None
        name = level[0][0]
    below = _Puller(names, fresh)(plan.input)
    if below is None or not below.keys:
        return None
    keys = tuple((column.name, column) for _, column in below.keys)
    result: Plan = replace(plan, input=below.plan, keys=keys)
    value = plan.schema.fields[0].name
    result = Project(result, ((name, Column(value, call.type)), *keys))
    return Grouped(result, Column(name, call.type), tuple(equal(outer, key) for outer, key in below.keys))


def _are_plain(expressions: Iterable[Expr], names: frozenset[str]) -> bool:
    """Whether expressions have nothing of the outer query, no subquery, and nothing that can fail."""
    return all(cannot_fail(e) and not has_subquery(e) and not columns_of(e) & names for e in expressions)


class _Puller:
    """Pulls up the equalities by which rows are correlated, as columns."""

    def __init__(self, names: frozenset[str], fresh: Callable[[str], str]) -> None:
        self._names = names
        self._fresh = fresh

    def __call__(self, plan: Plan) -> _Keyed | None:
        """The rows for all values at once; None where a condition stands against it."""
        if not free_columns(plan) & self._names:
            return _Keyed(plan)
        match plan:
            case Filter(input=below, predicate=predicate):
                found = self(below)
                return None if found is None else self._filtered(found, conjuncts(predicate))
            case Project(input=below, outputs=outputs) if _are_plain((e for _, e in outputs), self._names):
                found = self(below)
                return None if found is None else _Keyed(Project(found.plan, outputs + _columns(found)), found.keys)
            case TopK(input=below) if _are_plain(expressions_of(plan), self._names):
                found = self(below)
                if found is None:
                    return None
                partition = (*plan.partition, *(column for _, column in found.keys))
                return _Keyed(replace(plan, input=found.plan, partition=partition), found.keys)
            case DuplicateElimination(input=below):
                found = self(below)
                return None if found is None else _Keyed(DuplicateElimination(found.plan), found.keys)
            case Join(join=JoinKind.INNER, left=left, right=right, predicate=predicate):
                first, second = self(left), self(right)
                if first is None or second is None:
                    return None
                both = _Keyed(Join(JoinKind.INNER, first.plan, second.plan), first.keys + second.keys)
                return self._filtered(both, conjuncts(predicate))
            case _:
                return None

    def _filtered(self, rows: _Keyed, conditions: Iterable[Expr]) -> _Keyed | None:
        own: list[Expr] = []
        keys: list[tuple[Expr, Column]] = []
        outputs: list[tuple[str, Expr]] = []
        for condition in conditions:
            if not columns_of(condition) & self._names:
                own.append(condition)
                continue
            sides = self._sides(condition, rows.plan)
            if sides is None:
                return None  # 2
            outer, inner = sides
            name = self._fresh("key")
            keys.append((outer, Column(name, inner.type, inner.nullable)))
            outputs.append((name, inner))
        if not _are_plain((*own, *(e for _, e in outputs)), self._names) or not all(cannot_fail(e) for e, _ in keys):
            return None  # 3
        kept = conjunction(own)
        plan = rows.plan if kept is None else _filter(rows.plan, kept)
        if outputs:
            plan = Project(plan, (*((f.name, f.column) for f in plan.schema), *outputs))
        return _Keyed(plan, rows.keys + tuple(keys))

    def _sides(self, condition: Expr, rows: Plan) -> tuple[Expr, Expr] | None:
        """The outer and the inner side of an equality."""
        match condition:
            case Call(function="=", arguments=(left, right)) if left.type.name not in _FLOATING:
                for outer, inner in ((left, right), (right, left)):
                    of_rows = columns_of(inner) <= frozenset(rows.schema.names)
                    if columns_of(outer) <= self._names and columns_of(inner) and of_rows:
                        return outer, inner
        return None


def _filter(plan: Plan, condition: Expr) -> Plan:
    """The filter of a plan; that of a product is its join."""
    if isinstance(plan, Join) and plan.predicate is None:
        return replace(plan, predicate=condition)
    return Filter(plan, condition)


def _columns(rows: _Keyed) -> tuple[tuple[str, Expr], ...]:
    return tuple((column.name, column) for _, column in rows.keys)
