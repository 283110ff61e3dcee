"""Unnesting: subqueries inside expressions become joins (Dayal's cases, as PIPES 2009 5.3 uses them).

In a WHERE conjunct, EXISTS and IN become semijoins, NOT EXISTS and ALL antijoins, NOT IN the null-aware antijoin, and a
comparison with a subquery of at most one row a semijoin. Elsewhere EXISTS, IN, ANY and ALL become a mark join, and a
scalar subquery a single join. Correlated subqueries are handled by :mod:`continua.algebra.decorrelate`, and extremes
of correlated rows by :mod:`continua.algebra.grouped_subqueries`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from continua.algebra.base import Plan
from continua.algebra.decorrelate import Decorrelator
from continua.algebra.expr import (
    Call,
    Column,
    Exists,
    Expr,
    InSubquery,
    Quantified,
    Quantifier,
    ScalarSubquery,
    conjunction,
    conjuncts,
    equal,
    has_subquery,
    negation,
    rebuild,
)
from continua.algebra.grouped_subqueries import grouped
from continua.algebra.keys import keys
from continua.algebra.relational import Aggregate, Filter, Join, JoinKind, Project, TopK
from continua.algebra.traverse import expressions_of, free_columns, with_inputs
from continua.errors import Diagnostic, NotSupportedError
from continua.types import BOOLEAN

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "<=>": "<=>"}


def unnest(plan: Plan) -> Plan:
    """An equivalent plan without subqueries in expressions."""
    return _Unnester().plan(plan)


class _Unnester:
    def __init__(self) -> None:
        self._numbers = count(1)
        self.decorrelate = Decorrelator(self.fresh)

    def fresh(self, wish: str) -> str:
        """A column name that nothing else in the plan has."""
        return f"{wish}#{next(self._numbers)}"

    def plan(self, plan: Plan) -> Plan:
        """The plan with its inputs, then the operator itself, unnested."""
        plan = with_inputs(plan, self.plan)
        match plan:
            case Filter(input=below, predicate=predicate) if has_subquery(predicate):
                return self._filter(below, predicate)
            case Project(input=below, outputs=outputs) if any(has_subquery(e) for _, e in outputs):
                extended, exprs = self._replaced(below, [e for _, e in outputs])
                return Project(extended, tuple((n, e) for (n, _), e in zip(outputs, exprs, strict=True)))
            case Aggregate() if any(map(has_subquery, expressions_of(plan))):
                return self._aggregate(plan)
            case TopK(input=below, order=order) if any(has_subquery(k.expr) for k in order):
                extended, exprs = self._replaced(below, [k.expr for k in order])
                keys_ = tuple(replace(k, expr=e) for k, e in zip(order, exprs, strict=True))
                kept = tuple((f.name, f.column) for f in below.schema)
                return Project(replace(plan, input=extended, order=keys_), kept)
            case Join(join=JoinKind.INNER, predicate=predicate) if predicate is not None and has_subquery(predicate):
                return self._filter(replace(plan, predicate=None), predicate)
            case Join(predicate=predicate) if predicate is not None and has_subquery(predicate):
                raise NotSupportedError(
                    Diagnostic(
                        "NOT_SUPPORTED",
                        f"a subquery in the condition of a {plan.join.value} is not supported",
                        parameters={"feature": "subquery in ON"},
                    )
                )
            case _:
                return plan

    def _filter(self, below: Plan, predicate: Expr) -> Plan:
        """Conjunct by conjunct: plain ones first, so that they filter early."""
        plain = [c for c in conjuncts(predicate) if not has_subquery(c)]
        nested = [c for c in conjuncts(predicate) if has_subquery(c)]
        condition = conjunction(plain)
        result = below if condition is None else Filter(below, condition)
        for part in nested:
            result = self._conjunct(result, part)
        return result

    def _conjunct(self, below: Plan, part: Expr) -> Plan:
        match part:
            case Exists(plan=sub):
                return self._join(JoinKind.SEMI, below, sub, None)
            case Call(function="NOT", arguments=(Exists(plan=sub),)):
                return self._join(JoinKind.ANTI, below, sub, None)
            case InSubquery(plan=sub) if not any(map(has_subquery, part.operands)):
                return self._join(JoinKind.SEMI, below, sub, _all_equal(part))
            case Call(function="NOT", arguments=(InSubquery(plan=sub) as inner,)) if not any(
                map(has_subquery, inner.operands)
            ):
                pairs = tuple((o, f.column) for o, f in zip(inner.operands, sub.schema, strict=True))
                return self._join(JoinKind.NULL_AWARE_ANTI, below, sub, None, pairs)
            case Quantified(quantifier=Quantifier.ANY, plan=sub) if not has_subquery(part.operand):
                return self._join(JoinKind.SEMI, below, sub, _comparison(part))
            case Quantified(quantifier=Quantifier.ALL, plan=sub) if not has_subquery(part.operand):
                return self._join(JoinKind.ANTI, below, sub, _not_true(_comparison(part)))
            case Call(function=op, arguments=(left, ScalarSubquery(plan=sub))) if (
                op in _FLIPPED and op != "<=>" and not has_subquery(left) and _at_most_one_row(sub)
            ):
                return self._compared(below, op, left, sub)
            case Call(function=op, arguments=(ScalarSubquery() as right, left)) if op in _FLIPPED and not isinstance(
                left, ScalarSubquery
            ):
                return self._conjunct(below, Call(_FLIPPED[op], (left, right), BOOLEAN))
            case _:
                extended, (condition,) = self._replaced(below, [part])
                kept = tuple((f.name, f.column) for f in below.schema)
                return Project(Filter(extended, condition), kept)

    def _compared(self, below: Plan, op: str, left: Expr, sub: Plan) -> Plan:
        """The rows for which a comparison with the one value of a subquery is true."""
        inner = self.plan(sub)
        found = grouped(inner, free_columns(inner) & frozenset(below.schema.names), self.fresh)
        if found is not None:
            parts = [*found.matching, Call(op, (left, found.value), BOOLEAN)]
            return Join(JoinKind.SEMI, below, found.plan, conjunction(parts))
        return self._join(JoinKind.SEMI, below, sub, Call(op, (left, sub.schema.fields[0].column), BOOLEAN))

    def _join(
        self,
        kind: JoinKind,
        outer: Plan,
        sub: Plan,
        predicate: Expr | None,
        null_aware: tuple[tuple[Expr, Expr], ...] = (),
        mark: str = "",
    ) -> Plan:
        """The join of a query with its subquery, whatever their correlation."""
        inner, correlation = self.decorrelate(outer, self.plan(sub), exists=kind is not JoinKind.SINGLE)
        if kind is JoinKind.MARK and correlation is not None:
            correlation = Call("IS TRUE", (correlation,), BOOLEAN, nullable=False)
        parts = [p for p in (correlation, predicate) if p is not None]
        return Join(kind, outer, inner, conjunction(parts), null_aware, mark)

    def _replaced(self, below: Plan, exprs: list[Expr]) -> tuple[Plan, list[Expr]]:
        """The input with a column for each subquery of the expressions, and the expressions over it."""
        result = below

        def change(expr: Expr) -> Expr:
            nonlocal result
            inner = rebuild(expr, change)
            match inner:
                case Exists(plan=sub):
                    result, column = self._marked(result, sub, None)
                case InSubquery(plan=sub):
                    result, column = self._marked(result, sub, _all_equal(inner))
                case Quantified(quantifier=Quantifier.ANY, plan=sub):
                    result, column = self._marked(result, sub, _comparison(inner))
                case Quantified(quantifier=Quantifier.ALL, plan=sub):
                    result, found = self._marked(result, sub, negation(_comparison(inner)))
                    return negation(found)
                case ScalarSubquery(plan=sub):
                    result, column = self._single(result, sub)
                case _:
                    return inner
            return column

        changed = [change(e) for e in exprs]
        return result, changed

    def _marked(self, below: Plan, sub: Plan, predicate: Expr | None) -> tuple[Plan, Expr]:
        name = self.fresh("mark")
        return self._join(JoinKind.MARK, below, sub, predicate, mark=name), Column(name, BOOLEAN)

    def _single(self, below: Plan, sub: Plan) -> tuple[Plan, Expr]:
        """Only the value's column of the subquery is added: two scalar subqueries may share other names."""
        value = sub.schema.fields[0]
        joined = self._join(JoinKind.SINGLE, below, sub, None)
        assert isinstance(joined, Join)
        if _at_most_one_row(sub):
            joined = replace(joined, join=JoinKind.LEFT)
        return joined, Column(value.name, value.type)

    def _aggregate(self, plan: Aggregate) -> Plan:
        exprs: list[Expr] = [e for _, e in plan.keys]
        for _, call in plan.aggregates:
            exprs += call.asked
        extended, changed = self._replaced(plan.input, exprs)
        queue = iter(changed)
        group = tuple((name, next(queue)) for name, _ in plan.keys)
        calls = tuple(
            (
                name,
                replace(
                    call,
                    arguments=tuple(next(queue) for _ in call.arguments),
                    where=next(queue) if call.where is not None else None,
                ),
            )
            for name, call in plan.aggregates
        )
        return replace(plan, input=extended, keys=group, aggregates=calls)


def _all_equal(part: InSubquery) -> Expr:
    pairs = zip(part.operands, part.plan.schema, strict=True)
    result = conjunction([equal(operand, f.column) for operand, f in pairs])
    assert result is not None
    return result


def _comparison(part: Quantified) -> Expr:
    column = part.plan.schema.fields[0].column
    nullable = part.operand.nullable or column.nullable
    return Call(part.comparison, (part.operand, column), BOOLEAN, nullable)


def _not_true(comparison: Expr) -> Expr:
    """Whether a comparison is false or unknown."""
    if not comparison.nullable:
        return negation(comparison)
    return negation(Call("IS TRUE", (comparison,), BOOLEAN, nullable=False))


def _at_most_one_row(sub: Plan) -> bool:
    return frozenset() in keys(sub)
