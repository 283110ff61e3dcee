"""Conditions on NOW: a row satisfies them during an interval, which cuts its own.

``NOW`` compared with a value that does not depend on it holds before or after an instant, so a filter on it is
arithmetic on the row's interval (SyncSQL 3.3: windows by predicate). Where such comparisons are parts of something
larger, rows are cut at these instants: then NOW can be taken to be the start of each piece.
"""

from __future__ import annotations

from collections.abc import Iterator

from continua.algebra.expr import Call, Column, Expr, InList, Now, children, transform, walk
from continua.errors import NotSupportedError
from continua.instants import INFINITY, TimeDomain
from continua.physical import nodes
from continua.physical.joins import union
from continua.physical.relation import Relation, cannot
from continua.types import BIGINT, INTERVAL, TIMESTAMP

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_COMPARISONS = {**_TURNED, "<>": "<>", "<=>": "<=>"}
_START, _END = f"`{nodes.START}`", f"`{nodes.END}`"


def remainder(text: str, step: int) -> str:
    """The remainder of a division, never negative, as SQL."""
    return f"(((({text}) % {step}) + {step}) % {step})"


def rounded_up(text: str, step: int, offset: int = 0) -> str:
    """The next of the points ``offset`` + multiples of ``step``, as SQL."""
    return text if step == 1 else f"({text} + {remainder(f'{offset} - ({text})', step)})"


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
    bound = _instant(relation, _isolated(left, right), domain)
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


def _instant(relation: Relation, bound: Expr, domain: TimeDomain) -> str:
    """A value of time as an instant, in SQL."""
    text = relation.text(bound)
    if domain is TimeDomain.MICROSECONDS:
        if bound.type not in (TIMESTAMP, INTERVAL):
            raise cannot(f"NOW compared with {bound.type}")
        return f"CAST(EPOCH_US({text}) AS BIGINT)"
    if not bound.type.is_integer:
        raise cannot(f"NOW compared with {bound.type}")
    return f"CAST({text} AS BIGINT)"


def _cut(relation: Relation, comparison: str, bound: str, chronon: int) -> Relation:
    """Cuts the interval; instants are those of the chronon, so both ends are rounded up to them."""
    start, end = _START, _END
    if comparison in (">", ">=", "="):
        first = f"{bound} + 1" if comparison == ">" else bound
        start = f"GREATEST({start}, {rounded_up(first, chronon)})"
    if comparison in ("<", "<=", "="):
        last = bound if comparison == "<" else f"{bound} + 1"
        end = f"LEAST({end}, {rounded_up(last, chronon)})"
    where = f"{bound} IS NOT NULL AND {start} < {end} AND {start} < {INFINITY}"
    return relation.computed([f.column for f in relation.fields], relation.fields, where, start, end)


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
    place = _instant(relation, bound, domain)
    for text in (place, f"({place} + 1)"):
        relation = _divided(relation, rounded_up(text, chronon))
    return relation


def _divided(relation: Relation, place: str) -> Relation:
    """Every row as one before an instant and one from it on."""
    columns = [f.column for f in relation.fields]
    before = relation.computed(
        columns, relation.fields, f"{place} IS NULL OR {_START} < {place}", end=f"LEAST({_END}, {place})"
    )
    behind = relation.computed(
        columns,
        relation.fields,
        f"{place} IS NOT NULL AND {_END} > {place} AND {place} < {INFINITY}",
        start=f"GREATEST({_START}, {place})",
    )
    return union(before, behind)


def with_start(expr: Expr, domain: TimeDomain) -> Expr:
    """The expression with the start of the row's interval as NOW."""
    start: Expr = Column(nodes.START, BIGINT, False)
    if domain is TimeDomain.MICROSECONDS:
        start = Call("MAKE_TIMESTAMP", (start,), TIMESTAMP, False)
    return transform(expr, lambda part: start if isinstance(part, Now) else part)
