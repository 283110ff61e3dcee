"""Decorrelation: a subquery that names columns of the enclosing query, freed of them.

Where the correlated conditions can be pulled to the top of the subquery they become part of the join's predicate. In
all other cases the subquery is evaluated once for each distinct combination of the columns that it names: that
relation of combinations is joined into it where the names are used, and the result is joined with the query on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from continua.algebra.aggregate_facts import of_nothing
from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, columns_of, conjunction, conjuncts, transform
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Join,
    JoinKind,
    Project,
    SetOperation,
    TopK,
)
from continua.algebra.schema import Field
from continua.algebra.traverse import free_columns
from continua.errors import Diagnostic, NotSupportedError
from continua.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class _Domain:
    """The distinct combinations of the outer columns that a subquery names, under names of their own."""

    plan: Plan
    names: tuple[tuple[str, str], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.plan.schema.fields

    def substitute(self, expr: Expr) -> Expr:
        """The expression with outer columns replaced by those of the domain."""
        names = dict(self.names)

        def change(part: Expr) -> Expr:
            return replace(part, name=names.get(part.name, part.name)) if isinstance(part, Column) else part

        return transform(expr, change)


class Decorrelator:
    """Frees subqueries of references to the plan around them."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh

    def __call__(self, outer: Plan, sub: Plan, exists: bool) -> tuple[Plan, Expr | None]:
        """The subquery without references to ``outer``, and the condition that connects the two.

        ``exists``: only whether there are rows matters, not how many.
        """
        names = free_columns(sub) & set(outer.schema.names)
        if not names:
            return sub, None
        pulled = _pull(sub, names, exists)
        if pulled is not None:
            plan, conditions = pulled
            return plan, conjunction(conditions)
        domain = self._domain(outer, names)
        plan = self._push(domain, sub)
        outer_fields = {f.name: f for f in outer.schema}
        pairs = [(outer_fields[n], d) for (n, _), d in zip(domain.names, domain.fields, strict=True)]
        return plan, conjunction([_same(a.column, b.column) for a, b in pairs])

    def _domain(self, outer: Plan, names: frozenset[str] | set[str]) -> _Domain:
        fields = [f for f in outer.schema if f.name in names]
        renamed = tuple((f.name, self._fresh(f.name)) for f in fields)
        outputs = tuple((new, f.column) for f, (_, new) in zip(fields, renamed, strict=True))
        return _Domain(DuplicateElimination(Project(outer, outputs)), renamed)

    def _again(self, domain: _Domain) -> _Domain:
        """The same combinations under other names, for the other side of an operator."""
        renamed = tuple((n, self._fresh(n)) for n, _ in domain.names)
        outputs = tuple((new, f.column) for (_, new), f in zip(renamed, domain.fields, strict=True))
        return _Domain(Project(domain.plan, outputs), renamed)

    def _push(self, domain: _Domain, plan: Plan) -> Plan:
        """The rows of ``plan`` for each combination: its columns, then those of the domain."""
        if not free_columns(plan) & {n for n, _ in domain.names}:
            return _ordered(Join(JoinKind.INNER, plan, domain.plan), plan, domain)
        match plan:
            case Filter(input=below, predicate=predicate):
                return Filter(self._push(domain, below), domain.substitute(predicate))
            case Project(input=below, outputs=outputs):
                own = tuple((n, domain.substitute(e)) for n, e in outputs)
                return Project(self._push(domain, below), own + tuple((f.name, f.column) for f in domain.fields))
            case DuplicateElimination(input=below):
                return DuplicateElimination(self._push(domain, below))
            case TopK(input=below):
                order = tuple(replace(k, expr=domain.substitute(k.expr)) for k in plan.order)
                partition = (*plan.partition, *(f.column for f in domain.fields))
                return replace(plan, input=self._push(domain, below), order=order, partition=partition)
            case Aggregate():
                return self._push_aggregate(domain, plan)
            case SetOperation(left=left, right=right):
                other = self._again(domain)
                return replace(plan, left=self._push(domain, left), right=self._push(other, right))
            case Join():
                return self._push_join(domain, plan)
            case _:
                raise _not_supported(type(plan).__name__)

    def _push_aggregate(self, domain: _Domain, plan: Aggregate) -> Plan:
        below = self._push(domain, plan.input)
        keys = tuple((n, domain.substitute(e)) for n, e in plan.keys)
        calls = tuple(
            (
                name,
                replace(
                    call,
                    arguments=tuple(map(domain.substitute, call.arguments)),
                    where=None if call.where is None else domain.substitute(call.where),
                ),
            )
            for name, call in plan.aggregates
        )
        own = tuple((f.name, f.column) for f in domain.fields)
        grouped = Aggregate(below, keys + own, calls)
        if not plan.scalar or not plan.empty_row:
            return _ordered(grouped, plan, domain)
        # A scalar aggregate has a row for every combination, also where there is nothing to aggregate.
        other = self._again(domain)
        match_ = conjunction([_same(a.column, b.column) for a, b in zip(other.fields, domain.fields, strict=True)])
        joined = Join(JoinKind.LEFT, other.plan, grouped, match_)
        outputs: list[tuple[str, Expr]] = []
        for name, call in plan.aggregates:
            column: Expr = Column(name, call.type)
            if (nothing := of_nothing(call)) is not None:
                column = Call("COALESCE", (column, nothing), call.type, nullable=False)
            outputs.append((name, column))
        outputs += [(d.name, o.column) for d, o in zip(domain.fields, other.fields, strict=True)]
        return Project(joined, tuple(outputs))

    def _push_join(self, domain: _Domain, plan: Join) -> Plan:
        outer_names = {n for n, _ in domain.names}
        right_correlated = bool(free_columns(plan.right) & outer_names)
        kind = plan.join
        if kind is JoinKind.FULL or (kind is JoinKind.RIGHT and not right_correlated):
            raise _not_supported(kind.value)
        left = self._push(domain, plan.left)
        parts: list[Expr] = [] if plan.predicate is None else [domain.substitute(plan.predicate)]
        right = plan.right
        if right_correlated:
            other = self._again(domain)
            right = self._push(other, plan.right)
            parts += [_same(a.column, b.column) for a, b in zip(domain.fields, other.fields, strict=True)]
            if kind is JoinKind.RIGHT:
                raise _not_supported(kind.value)
        pairs = tuple((domain.substitute(a), domain.substitute(b)) for a, b in plan.null_aware)
        joined = replace(plan, left=left, right=right, predicate=conjunction(parts), null_aware=pairs)
        return _ordered(joined, plan, domain)


def _ordered(result: Plan, plan: Plan, domain: _Domain) -> Plan:
    """The columns of ``plan``, then those of the domain, and no others."""
    columns = {f.name: f.column for f in result.schema}
    names = (*plan.schema.names, *(f.name for f in domain.fields))
    if result.schema.names == names:
        return result
    return Project(result, tuple((n, columns[n]) for n in names))


def _same(left: Expr, right: Expr) -> Expr:
    """Equal, NULLs included."""
    if not left.nullable and not right.nullable:
        return Call("=", (left, right), BOOLEAN, nullable=False)
    return Call("<=>", (left, right), BOOLEAN, nullable=False)


def _not_supported(what: str) -> NotSupportedError:
    return NotSupportedError(
        Diagnostic(
            "NOT_SUPPORTED",
            f"a correlated subquery with a {what} that uses columns of the enclosing query is not supported",
            hint="rewrite the subquery as a join",
            parameters={"feature": f"correlated {what}"},
        )
    )


def _pull(plan: Plan, names: frozenset[str], exists: bool) -> tuple[Plan, list[Expr]] | None:
    """The plan without its correlated conditions, and those conditions; None where they cannot be pulled up."""
    if not free_columns(plan) & names:
        return plan, []
    match plan:
        case Filter(input=below, predicate=predicate):
            inner = _pull(below, names, exists)
            if inner is None:
                return None
            result, conditions = inner
            own = [c for c in conjuncts(predicate) if not columns_of(c) & names]
            pulled = [c for c in conjuncts(predicate) if columns_of(c) & names]
            condition = conjunction(own)
            return (result if condition is None else Filter(result, condition)), conditions + pulled
        case Project(input=below, outputs=outputs):
            inner = _pull(below, names, exists)
            if inner is None or any(columns_of(e) & names for _, e in outputs):
                return None
            result, conditions = inner
            needed = {n for c in conditions for n in columns_of(c)} & set(result.schema.names)
            taken = {n for n, _ in outputs}
            extra = tuple((f.name, f.column) for f in result.schema if f.name in needed - taken)
            if any(dict(outputs).get(n) not in (None, f.column) for n in needed for f in [result.schema.get(n)] if f):
                return None
            return Project(result, outputs + extra), conditions
        case DuplicateElimination(input=below) if exists:
            inner = _pull(below, names, exists)
            return None if inner is None else (DuplicateElimination(inner[0]), inner[1])
        case Join(join=JoinKind.INNER, left=left, right=right, predicate=predicate):
            sides = _pull(left, names, exists), _pull(right, names, exists)
            if sides[0] is None or sides[1] is None:
                return None
            own = [c for c in conjuncts(predicate) if not columns_of(c) & names]
            pulled = [c for c in conjuncts(predicate) if columns_of(c) & names]
            joined = Join(JoinKind.INNER, sides[0][0], sides[1][0], conjunction(own))
            return joined, sides[0][1] + sides[1][1] + pulled
        case _:
            return None
