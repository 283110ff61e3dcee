"""Conditions on NOW: a row satisfies them during an interval, which cuts its own.

``NOW`` compared with a value that does not depend on it holds before or after an instant, so a filter on it is
arithmetic on the row's interval (SyncSQL 3.3: windows by predicate). Where such comparisons are parts of something
larger, rows are cut at these instants: then NOW can be taken to be the start of each piece.
"""

from __future__ import annotations

from collections.abc import Iterator

from continua.algebra.expr import Call, Cast, Expr, InList, Now, children, transform, walk
from continua.errors import NotSupportedError
from continua.instants import TimeDomain
from continua.physical.joins import union
from continua.physical.relation import Relation, cannot
from continua.physical.steps import OLD_END, OLD_START
from continua.physical.times import (
    NEVER,
    compared,
    earlier,
    is_known,
    is_null,
    later,
    microseconds,
    plus,
    rounded_up,
)
from continua.types import BIGINT, BOOLEAN, INTERVAL, TIMESTAMP

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_COMPARISONS = {**_TURNED, "<>": "<>", "<=>": "<=>"}


def has_now(expr: Expr) -> bool:
    """Whether NOW stands in an expression."""
    return any(isinstance(part, Now) for part in walk(expr))


def clips(predicate: Expr) -> bool:
    """Whether a condition is NOW compared with a value that does not depend on it."""
    match predicate:
        case Call(function=comparison, arguments=(left, right)) if comparison in _TURNED:
            return _is_threshold(left, right)
        case _:
            return False


def clipped(relation: Relation, predicate: Expr, domain: TimeDomain, chronon: int) -> Relation:
    """The rows, each during the instants at which the predicate holds."""
    assert isinstance(predicate, Call)
    comparison, (left, right) = predicate.function, predicate.arguments
    if has_now(right):
        left, right, comparison = right, left, _TURNED[comparison]
    bound = _instant(_isolated(left, right), domain)
    return _cut(relation, comparison, bound, chronon)


def _is_threshold(left: Expr, right: Expr) -> bool:
    """Whether a comparison of two expressions is one of NOW with an instant."""
    if has_now(left) == has_now(right):
        return False
    if has_now(right):
        left, right = right, left
    try:
        bound = _isolated(left, right)
    except NotSupportedError:
        return False
    return bound.type in (TIMESTAMP, INTERVAL) or bound.type.is_integer


def _isolated(left: Expr, right: Expr) -> Expr:
    """The value with which NOW itself is compared: what is added to NOW goes to the other side."""
    while not isinstance(left, Now):
        match left:
            case Call(function="+", arguments=(a, b)) if has_now(a) != has_now(b):
                left, other = (a, b) if has_now(a) else (b, a)
                right = _sum("-", right, other)
            case Call(function="-", arguments=(a, b)) if has_now(a) and not has_now(b):
                left, right = a, _sum("+", right, b)
            case _:
                raise cannot("NOW inside a function")
    return right


def _sum(function: str, left: Expr, right: Expr) -> Expr:
    return Call(function, (left, right), left.type, left.nullable or right.nullable)


def _instant(bound: Expr, domain: TimeDomain) -> Expr:
    """A value of time as an instant."""
    if domain is TimeDomain.MICROSECONDS:
        if bound.type not in (TIMESTAMP, INTERVAL):
            raise cannot(f"NOW compared with {bound.type}")
        return microseconds(bound)
    if not bound.type.is_integer:
        raise cannot(f"NOW compared with {bound.type}")
    return Cast(bound, BIGINT)


def _cut(relation: Relation, comparison: str, bound: Expr, chronon: int) -> Relation:
    """Cuts the interval; instants are those of the chronon, so both ends are rounded up to them."""
    start: Expr = OLD_START
    end: Expr = OLD_END
    if comparison in (">", ">=", "="):
        start = later(start, rounded_up(plus(bound, 1) if comparison == ">" else bound, chronon))
    if comparison in ("<", "<=", "="):
        end = earlier(end, rounded_up(bound if comparison == "<" else plus(bound, 1), chronon))
    known = [is_known(bound)] if bound.nullable else []
    return relation.kept([*known, compared(start, "<", end), compared(start, "<", NEVER)], start, end)


# NOW as a part of larger expressions.


def thresholds(expr: Expr) -> Iterator[Expr]:
    """The values at which comparisons with NOW in an expression change; fails where NOW stands elsewhere."""
    match expr:
        case Call(function=comparison, arguments=(left, right)) if comparison in _COMPARISONS and has_now(expr):
            if not _is_threshold(left, right):
                raise cannot("NOW inside a function")
            yield _isolated(right, left) if has_now(right) else _isolated(left, right)
        case InList(operand=operand, items=items) if has_now(operand):
            for item in items:
                yield from thresholds(Call("=", (operand, item), BIGINT))
        case Now():
            raise cannot("NOW outside of a comparison")
        case _:
            for part in children(expr):
                yield from thresholds(part)


def is_piecewise(expr: Expr) -> bool:
    """Whether an expression changes only where NOW passes one of its thresholds."""
    try:
        list(thresholds(expr))
    except NotSupportedError:
        return False
    return True


def cut_at(relation: Relation, bound: Expr, domain: TimeDomain, chronon: int) -> Relation:
    """The rows cut where NOW reaches a value, and where it has passed it."""
    place = _instant(bound, domain)
    for edge in (place, plus(place, 1)):
        relation = _divided(relation, rounded_up(edge, chronon))
    return relation


def _divided(relation: Relation, place: Expr) -> Relation:
    """Every row as one before an instant and one from it on."""
    starts_before = Call("OR", (is_null(place), compared(OLD_START, "<", place)), BOOLEAN, False)
    before = relation.kept([starts_before], end=earlier(OLD_END, place))
    reached = [is_known(place), compared(OLD_END, ">", place), compared(place, "<", NEVER)]
    return union(before, relation.kept(reached, start=later(OLD_START, place)))


def with_start(expr: Expr, domain: TimeDomain) -> Expr:
    """The expression with the start of the row's interval as NOW."""
    start: Expr = OLD_START
    if domain is TimeDomain.MICROSECONDS:
        start = Call("MAKE_TIMESTAMP", (start,), TIMESTAMP, False)
    return transform(expr, lambda part: start if isinstance(part, Now) else part)
