"""Scalar expressions, typed. Columns are referred to by name; every column name of a query is unique in it.

A subquery inside an expression refers to columns of the enclosing query simply by naming them: a name that its own
inputs do not supply is a correlated reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeAlias

from continua.types import BIGINT, BOOLEAN, DataType, Value

if TYPE_CHECKING:
    from continua.algebra.base import Plan


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the input, or of an enclosing query."""

    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Value
    type: DataType

    @property
    def nullable(self) -> bool:
        """Only NULL is."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class Call:
    """An operator (``+``, ``=``, ``AND``, ``IS NULL``, ``LIKE``) or a function, under Spark's name."""

    function: str
    arguments: tuple[Expr, ...]
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST(operand AS type)."""

    operand: Expr
    type: DataType

    @property
    def nullable(self) -> bool:
        """As its operand."""
        return self.operand.nullable


@dataclass(frozen=True, slots=True)
class Case:
    """CASE WHEN condition THEN result ... ELSE otherwise END."""

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None
    type: DataType

    @property
    def nullable(self) -> bool:
        """Unless no result can be NULL."""
        return self.otherwise is None or self.otherwise.nullable or any(r.nullable for _, r in self.branches)


@dataclass(frozen=True, slots=True)
class InList:
    """operand IN (items)."""

    operand: Expr
    items: tuple[Expr, ...]
    type: DataType = BOOLEAN

    @property
    def nullable(self) -> bool:
        """If a NULL can take part in a comparison."""
        return self.operand.nullable or any(i.nullable for i in self.items)


@dataclass(frozen=True, slots=True)
class Now:
    """The instant at which the query is asked (SyncSQL 3.3): a tick, or a timestamp."""

    type: DataType = BIGINT
    nullable: bool = False


class Quantifier(Enum):
    """ANY (SOME) or ALL."""

    ANY = "ANY"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS (plan)."""

    plan: Plan
    type: DataType = BOOLEAN
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class InSubquery:
    """(operands) IN (plan)."""

    operands: tuple[Expr, ...]
    plan: Plan
    type: DataType = BOOLEAN
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Quantified:
    """operand comparison ANY|ALL (plan)."""

    comparison: str
    quantifier: Quantifier
    operand: Expr
    plan: Plan
    type: DataType = BOOLEAN
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class ScalarSubquery:
    """The one value of a one-column subquery, NULL when it is empty."""

    plan: Plan
    type: DataType
    nullable: bool = True


SubqueryExpr: TypeAlias = Exists | InSubquery | Quantified | ScalarSubquery
Expr: TypeAlias = Column | Literal | Call | Cast | Case | InList | Now | SubqueryExpr

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)

MOST_IN_A_CHAIN = 32
"""More parts than these are joined by AND and OR as a tree of halves: what walks over it does not go deep."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate function of a grouping: SUM(DISTINCT x) FILTER (WHERE p) ... under Spark's name."""

    function: str
    arguments: tuple[Expr, ...]
    type: DataType
    distinct: bool = False
    where: Expr | None = None
    nullable: bool = True
    by_time: bool = False
    """Whether the last argument is no argument of the function but the instant by which it gets its rows in order."""

    @property
    def asked(self) -> tuple[Expr, ...]:
        """All that is evaluated for a row: the arguments, and the condition by which rows count."""
        return self.arguments if self.where is None else (*self.arguments, self.where)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of an ORDER BY."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct scalar parts of an expression (the plans of subqueries are not scalar parts)."""
    match expr:
        case Call(arguments=arguments):
            return arguments
        case Cast(operand=operand):
            return (operand,)
        case Case(branches=branches, otherwise=otherwise):
            parts = tuple(part for branch in branches for part in branch)
            return parts if otherwise is None else (*parts, otherwise)
        case InList(operand=operand, items=items):
            return (operand, *items)
        case InSubquery(operands=operands):
            return operands
        case Quantified(operand=operand):
            return (operand,)
        case Column() | Literal() | Now() | Exists() | ScalarSubquery():
            return ()


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with ``change`` applied to each of its direct scalar parts."""
    match expr:
        case Call():
            return replace(expr, arguments=tuple(map(change, expr.arguments)))
        case Cast():
            return replace(expr, operand=change(expr.operand))
        case Case():
            branches = tuple((change(c), change(r)) for c, r in expr.branches)
            otherwise = None if expr.otherwise is None else change(expr.otherwise)
            return replace(expr, branches=branches, otherwise=otherwise)
        case InList():
            return replace(expr, operand=change(expr.operand), items=tuple(map(change, expr.items)))
        case InSubquery():
            return replace(expr, operands=tuple(map(change, expr.operands)))
        case Quantified():
            return replace(expr, operand=change(expr.operand))
        case Column() | Literal() | Now() | Exists() | ScalarSubquery():
            return expr


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression rebuilt from its leaves up."""
    return change(rebuild(expr, lambda part: transform(part, change)))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its scalar parts, each before its own parts."""
    ahead = [expr]
    while ahead:
        part = ahead.pop()
        yield part
        ahead.extend(reversed(children(part)))


def columns_of(expr: Expr) -> frozenset[str]:
    """The names that an expression uses, those used freely inside its subqueries included."""
    names: set[str] = set()
    for part in walk(expr):
        match part:
            case Column(name=name):
                names.add(name)
            case Exists(plan=plan) | InSubquery(plan=plan) | Quantified(plan=plan) | ScalarSubquery(plan=plan):
                from continua.algebra.traverse import free_columns

                names |= free_columns(plan)
            case _:
                pass
    return frozenset(names)


def has_subquery(expr: Expr) -> bool:
    """Whether a subquery stands anywhere in the expression."""
    return any(isinstance(part, Exists | InSubquery | Quantified | ScalarSubquery) for part in walk(expr))


def conjuncts(predicate: Expr | None) -> tuple[Expr, ...]:
    """The parts of a conjunction; nothing for no predicate and for TRUE."""
    found: list[Expr] = []
    ahead = [] if predicate is None else [predicate]
    while ahead:
        part = ahead.pop()
        if isinstance(part, Call) and part.function == "AND":
            ahead.extend(reversed(part.arguments))
        elif part != TRUE:
            found.append(part)
    return tuple(found)


def conjunction(parts: tuple[Expr, ...] | list[Expr]) -> Expr | None:
    """The parts joined by AND; None for no parts."""
    return connected("AND", parts) if parts else None


def connected(word: str, parts: Sequence[Expr]) -> Expr:
    """The parts joined by AND, or by OR, in their order: one after the other, or halves of many, so that it is flat."""
    if len(parts) > MOST_IN_A_CHAIN:
        half = len(parts) // 2
        return _logical(word, connected(word, parts[:half]), connected(word, parts[half:]))
    return reduce(partial(_logical, word), parts)


def both(left: Expr, right: Expr) -> Expr:
    """left AND right."""
    return _logical("AND", left, right)


def _logical(word: str, left: Expr, right: Expr) -> Expr:
    return Call(word, (left, right), BOOLEAN, left.nullable or right.nullable)


def negation(expr: Expr) -> Expr:
    """NOT expr, with a comparison turned round instead where there is one."""
    opposite = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
    if isinstance(expr, Call):
        if expr.function in opposite:
            return replace(expr, function=opposite[expr.function])
        if expr.function == "NOT":
            return expr.arguments[0]
    return Call("NOT", (expr,), BOOLEAN, expr.nullable)


def equal(left: Expr, right: Expr) -> Expr:
    """left = right."""
    return Call("=", (left, right), BOOLEAN, left.nullable or right.nullable)
