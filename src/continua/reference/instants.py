"""At which instants an answer can change: a set that is large enough, found without asking the engine.

Between two neighbouring instants of the set the answer stays the same. It is a question of effort, not of meaning:
R(t) is defined, and can be asked for, at every t.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING

from continua.algebra.expr import Call, Column, Expr, Literal, Now, walk
from continua.algebra.plan import (
    BaseRelation,
    Clock,
    Plan,
    RelationalView,
    Synchronize,
    Timeslice,
    Window,
    all_inputs,
    expressions_of,
    nodes_of,
)
from continua.instants import ceil_to, instant_of
from continua.reference.window_contents import LIMIT, change_points, too_many

if TYPE_CHECKING:
    from continua.reference.semantics import Reference

_LINEAR = {"+", "-", "=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR", "NOT", "IS TRUE", "IS FALSE", "IS NULL"}


def change_instants(reference: Reference, plan: Plan) -> set[int]:
    """Instants that include all at which the relation can change."""
    if any(isinstance(node, Clock) for node in nodes_of(plan)):
        reference.follow_clock(horizon(reference, plan))
    found = _structural(reference, plan)
    clocked = [e for node in nodes_of(plan) for e in expressions_of(node) if any(isinstance(p, Now) for p in walk(e))]
    if not clocked:
        return found
    constants = _constants(clocked)
    terms = max(len({p.name for p in walk(e) if isinstance(p, Column)}) for e in clocked)
    if all(map(_is_linear, clocked)) and terms <= 2:
        near = _near(_time_values(reference) | found | {0}, terms, constants)
        return found | {v + d * reference.chronon for v in near for d in (0, 1)}
    return found | _dense(reference, max(found | {reference.start}) + max(constants))


def _near(values: set[int], terms: int, constants: set[int]) -> set[int]:
    """The instants at which a comparison of NOW with a sum of that many columns and constants can change."""
    if terms > 1:
        if len(values) ** 2 > LIMIT:
            raise too_many("NOW is compared with a sum of two columns")
        values = values | {a + s * b for a in values for b in values for s in (1, -1)}
    return {v + s * c for v in values for c in constants for s in (1, -1)}


def _structural(reference: Reference, plan: Plan) -> set[int]:
    match plan:
        case Window(input=stream, spec=spec):
            return change_points(spec, reference.timeline(stream))
        case BaseRelation():
            return {reference.start}
        case RelationalView(input=Clock()):
            reference.endless_after = reference.followed_until
            return _dense(reference, reference.followed_until)
        case RelationalView(sync=None):
            return {m.instant for m in reference.tagged(plan.input)}
        case RelationalView(sync=Plan() as sync):
            points = sync_points(reference, sync)
            instants = [m.instant for m in reference.tagged(plan.input)]
            return {min(later) for i in instants if (later := [p for p in points if p >= i])}
        case Synchronize(input=below, step=step, offset=offset):
            return {ceil_to(t, step, offset) for t in reference.instants(below)}
        case Timeslice(instant=instant):
            return {instant}
        case _:
            return {t for part in all_inputs(plan) for t in _structural(reference, part)}


def sync_points(reference: Reference, sync: Plan) -> list[int]:
    """The points of a synchronization stream, up to one that follows all inputs."""
    if sync not in reference._points:
        last = reference.inputs.last_instant() or reference.start
        ahead = 16 * reference.chronon
        points: list[int] = []
        while ahead <= LIMIT * reference.chronon:
            rows = reference.relation(sync, last + ahead)
            points = sorted({_as_instant(row[0]) for row in rows if row[0] is not None})
            if points and points[-1] >= last:
                break
            if not any(isinstance(node, Clock) for node in nodes_of(sync)):
                break
            ahead *= 4
        reference._points[sync] = points
    return reference._points[sync]


def horizon(reference: Reference, plan: Plan) -> int:
    """Up to where the clock is followed: a little beyond the last input."""
    last = reference.inputs.last_instant()
    constants = _constants(e for node in nodes_of(plan) for e in expressions_of(node))
    return (reference.start if last is None else last) + max(constants) + 8 * reference.chronon


def _dense(reference: Reference, last: int) -> set[int]:
    if (last - reference.start) // reference.chronon > LIMIT // 10:
        raise too_many(f"every instant from {reference.start} to {last}")
    return set(range(reference.start, last + 1, reference.chronon))


def _constants(exprs: Iterable[Expr]) -> set[int]:
    """The lengths of time in expressions and the sums of up to three of them; 0 is always among them."""
    single = {
        abs(_as_instant(part.value))
        for expr in exprs
        for part in walk(expr)
        if isinstance(part, Literal) and isinstance(part.value, int | timedelta) and not isinstance(part.value, bool)
    }
    sums = {sum(group) for size in (2, 3) for group in combinations(sorted(single)[:12], size)}
    return {0} | single | sums


def _is_linear(expr: Expr) -> bool:
    """Whether NOW is only added to, subtracted from and compared."""
    if not any(isinstance(part, Now) for part in walk(expr)):
        return True
    match expr:
        case Now():
            return True
        case Call(function=function, arguments=arguments) if function in _LINEAR:
            if function in ("+", "-"):
                return all(isinstance(a, Now | Column | Literal) or _is_linear(a) for a in arguments)
            return all(map(_is_linear, arguments)) and expr.type.name == "BOOLEAN"
        case _:
            return False


def _time_values(reference: Reference) -> set[int]:
    """Every integer and timestamp in any input: a comparison with NOW can change only near one of them."""
    inputs = reference.inputs
    rows = [e.row for elements in inputs.streams.values() for e in elements]
    rows += [m.row for modifications in inputs.tagged.values() for m in modifications]
    rows += [row for relation in inputs.relations.values() for row in relation]
    found = {_as_instant(v) for row in rows for v in row if isinstance(v, int | datetime) and not isinstance(v, bool)}
    found |= {e.start for elements in inputs.streams.values() for e in elements}
    return found | {m.instant for modifications in inputs.tagged.values() for m in modifications}


def _as_instant(value: object) -> int:
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    assert isinstance(value, int | datetime)
    return instant_of(value)
