"""Conditions on NOW: a row satisfies them during an interval, which cuts its own.

``NOW`` compared with a value that does not depend on it holds before or after an instant, so a filter on it is
arithmetic on the row's interval (SyncSQL 3.3: windows by predicate).
"""

from __future__ import annotations

from continua.algebra.expr import Call, Expr, Now, walk
from continua.instants import INFINITY, TimeDomain
from continua.physical import nodes
from continua.physical.relation import Relation, cannot
from continua.types import INTERVAL, TIMESTAMP

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


def remainder(text: str, step: int) -> str:
    """The remainder of a division, never negative, as SQL."""
    return f"(((({text}) % {step}) + {step}) % {step})"


def clipped(relation: Relation, predicate: Expr, domain: TimeDomain, chronon: int) -> Relation:
    """The rows, each during the instants at which the predicate holds."""
    match predicate:
        case Call(function=comparison, arguments=(left, right)) if comparison in _TURNED:
            pass
        case _:
            raise cannot("NOW outside of a comparison")
    if _has_now(right) and not _has_now(left):
        left, right, comparison = right, left, _TURNED[comparison]
    if _has_now(right):
        raise cannot("NOW on both sides of a comparison")
    bound = _instant(relation, _isolated(left, right), domain)
    return _cut(relation, comparison, bound, chronon)


def _has_now(expr: Expr) -> bool:
    return any(isinstance(part, Now) for part in walk(expr))


def _isolated(left: Expr, right: Expr) -> Expr:
    """The value with which NOW itself is compared: what is added to NOW goes to the other side."""
    while not isinstance(left, Now):
        match left:
            case Call(function="+", arguments=(a, b)) if _has_now(a) != _has_now(b):
                left, other = (a, b) if _has_now(a) else (b, a)
                right = _difference(right, other)
            case Call(function="-", arguments=(a, b)) if _has_now(a) and not _has_now(b):
                left, right = a, Call("+", (right, b), right.type, right.nullable or b.nullable)
            case _:
                raise cannot("NOW inside a function")
    return right


def _difference(left: Expr, right: Expr) -> Expr:
    return Call("-", (left, right), left.type, left.nullable or right.nullable)


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
    start, end = f"`{nodes.START}`", f"`{nodes.END}`"

    def up(text: str) -> str:
        return text if chronon == 1 else f"({text} + {remainder(f'-({text})', chronon)})"

    if comparison in (">", ">=", "="):
        first = f"{bound} + 1" if comparison == ">" else bound
        start = f"GREATEST({start}, {up(first)})"
    if comparison in ("<", "<=", "="):
        last = bound if comparison == "<" else f"{bound} + 1"
        end = f"LEAST({end}, {up(last)})"
    where = f"{bound} IS NOT NULL AND {start} < {end} AND {start} < {INFINITY}"
    return relation.computed([f.column for f in relation.fields], relation.fields, where, start, end)
