"""At which instants an answer can change: a set that is large enough, found without asking the engine.

Between two neighbouring instants of the set the answer stays the same. It is a question of effort, not of meaning:
R(t) is defined, and can be asked for, at every t.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Case, Column, Expr, Literal, Now, transform, walk
from continua.algebra.leaves import BaseRelation, Clock
from continua.algebra.relational import Timeslice, Window
from continua.algebra.streaming import RelationalView, Synchronize
from continua.algebra.synchronization import latest_point, points_of_sync, synchronization
from continua.algebra.traverse import all_inputs, expressions_of, nodes_of
from continua.instants import ceil_to, instant_of, too_many
from continua.reference.long_clocks import latest_columns, next_point
from continua.windows.change_points import EVERY_INSTANT, Points
from continua.windows.occurrences import LIMIT, Row
from continua.windows.periodic import Periodic

if TYPE_CHECKING:
    from continua.reference.semantics import Reference

_LOGICAL = {"AND", "OR", "NOT", "IS TRUE", "IS FALSE", "IS NULL"}
_COMPARISONS = {"=", "<>", "<", "<=", ">", ">=", "<=>"}


def change_instants(reference: Reference, plan: Plan) -> set[int]:
    """Instants that include all at which the relation can change."""
    if any(isinstance(node, Clock) for node in nodes_of(plan)):
        reference.follow_clock(horizon(reference, plan))
    clocks = latest_columns(plan) if reference.has_long_clock else {}
    found = _structural(reference, plan)
    clocked = _clocked(plan, clocks)
    if not clocked:
        return found
    constants, terms = _constants(clocked), _terms(clocked)
    chronon = reference.chronon
    if _by_thresholds(clocked):
        near = _near(_time_values(reference) | found | _moments(clocked) | {0}, terms, constants)
        edges = {ceil_to(v, chronon) + d * chronon for v in near for d in (0, 1)}
        points = [p for p in clocks.values() if p != EVERY_INSTANT]
        return found | edges | {ceil_to(v, p.step, p.offset) for p in points for v in edges | {reference.start}}
    last = max(found | _time_values(reference) | {reference.start})
    return found | _dense(reference, last + 2 * max(constants) + 64 * chronon)


def goes_on(plan: Plan) -> bool:
    """Whether an answer may change for ever: it holds the clock, or the instant itself."""
    match plan:
        case RelationalView(input=Clock()):
            return True
        case RelationalView(input=below) | Window(input=below):
            return goes_on(below)
        case _:
            here = [e for e in expressions_of(plan) if _has_now(e)]
            return not _by_thresholds(here) or any(map(goes_on, all_inputs(plan)))


def _clocked(plan: Plan, clocks: Mapping[str, Points]) -> list[Expr]:
    """The expressions that ask for NOW, or for the latest instant of a clock in one of these columns."""
    if clocks and latest_point(plan) is not None:
        return []

    def present(part: Expr) -> Expr:
        return Now(part.type) if isinstance(part, Column) and part.name in clocks else part

    here = [transform(e, present) for e in expressions_of(plan)]
    return [e for e in here if _has_now(e)] + [e for part in all_inputs(plan) for e in _clocked(part, clocks)]


def _has_now(expr: Expr) -> bool:
    return any(isinstance(part, Now) for part in walk(expr))


def _by_thresholds(clocked: list[Expr]) -> bool:
    """Whether NOW is only compared, so that what depends on it changes where the other side is passed."""
    return all(map(_is_threshold, clocked)) and (not clocked or _terms(clocked) <= 2)


def _terms(clocked: list[Expr]) -> int:
    """How many columns stand in a comparison with NOW, at most."""
    parts = (part for expr in clocked for part in walk(expr))
    compared = (p for p in parts if isinstance(p, Call) and p.function in _COMPARISONS and _has_now(p))
    return max((len({p.name for p in walk(c) if isinstance(p, Column)}) for c in compared), default=0)


def _is_threshold(expr: Expr) -> bool:
    if not _has_now(expr):
        return True
    match expr:
        case Call(function=function, arguments=arguments) if function in _LOGICAL:
            return all(map(_is_threshold, arguments))
        case Call(function=function, arguments=arguments) if function in _COMPARISONS:
            return all(map(_is_sum, arguments))
        case Case(branches=branches, otherwise=otherwise):
            values = [r for _, r in branches] + ([otherwise] if otherwise is not None else [])
            return all(_is_threshold(c) for c, _ in branches) and not any(map(_has_now, values))
        case _:
            return False


def _is_sum(expr: Expr) -> bool:
    """NOW, columns and constants, added and subtracted."""
    match expr:
        case Now() | Column() | Literal():
            return True
        case Call(function="+" | "-", arguments=arguments):
            return all(map(_is_sum, arguments))
        case _:
            return False


def _near(values: set[int], terms: int, constants: set[int]) -> set[int]:
    """The instants at which a comparison of NOW with a sum of that many columns and constants can change."""
    if terms > 1:
        if len(values) ** 2 > LIMIT:
            raise too_many("NOW is compared with a sum of two columns")
        values = values | {a + s * b for a in values for b in values for s in (1, -1)}
    return {v + s * c for v in values for c in constants for s in (1, -1)}


def _structural(reference: Reference, plan: Plan) -> set[int]:
    match plan:
        case _ if reference.has_long_clock and latest_point(plan) is not None:
            return {reference.start}
        case Window(input=stream, spec=spec):
            return spec.change_points(reference.timeline(stream))
        case BaseRelation():
            return {reference.start}
        case RelationalView(input=Clock()):
            return _dense(reference, reference.followed_until)
        case RelationalView(sync=None):
            return {m.instant for m in reference.tagged(plan.input)}
        case RelationalView(sync=Plan() as sync):
            instants = [m.instant for m in reference.tagged(plan.input)]
            if reference.has_long_clock and points_of_sync(sync, reference.chronon) is not None:
                return {p for i in instants if (p := next_point(reference, sync, i)) is not None}
            points = sync_points(reference, sync, max(instants, default=reference.start))
            return {min(later) for i in instants if (later := [p for p in points if p >= i])}
        case Synchronize(input=below, step=step, offset=offset):
            return {ceil_to(t, step, offset) for t in reference.instants(below)}
        case Timeslice(instant=instant):
            return {instant}
        case _:
            return {t for part in all_inputs(plan) for t in _structural(reference, part)}


def earlier_points(plan: Plan, start: int, end: int) -> set[int]:
    """The points in time, from the start on, at which slides over time are due before anything has arrived."""
    found: set[int] = set()
    for leaf in synchronization(plan).leaves:
        if isinstance(leaf, Points):
            if (end - start) // leaf.step > LIMIT:
                raise too_many("points of a slide before the first element")
            found |= set(range(ceil_to(start, leaf.step, leaf.offset), end, leaf.step))
    return found


def sync_points(reference: Reference, sync: Plan, until: int) -> list[int]:
    """The points of a synchronization stream, up to one at or after ``until`` if there is any."""
    if not any(isinstance(node, Clock) for node in nodes_of(sync)):
        if sync not in reference.points:
            reference.points[sync] = _told(r for t in reference.instants(sync) for r in reference.relation(sync, t))
        return reference.points[sync]
    known = points_of_sync(sync, reference.chronon)
    if isinstance(known, Periodic) and not known.stretches:
        return []  # looking for one would not end
    found = reference.points.get(sync, [])
    if reference.has_long_clock:
        raise too_many("the points of a synchronization stream since the start")
    if not found or found[-1] < until:
        ahead = 16 * reference.chronon
        while ahead <= LIMIT * reference.chronon:
            found = _told(reference.relation(sync, until + ahead))
            if found and found[-1] >= until:
                break
            ahead *= 4
        reference.points[sync] = found
    return found


def _told(rows: Iterable[Row]) -> list[int]:
    """The time points in the rows of a synchronization stream."""
    return sorted({_as_instant(row[0]) for row in rows if row[0] is not None})


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


def _moments(exprs: Iterable[Expr]) -> set[int]:
    """The timestamps that are written in expressions."""
    parts = (part for expr in exprs for part in walk(expr) if isinstance(part, Literal))
    return {instant_of(part.value) for part in parts if isinstance(part.value, datetime)}


def refresh_instants(reference: Reference, plan: Plan, last: int) -> set[int]:
    """The points, up to ``last``, at which the synchronized inputs of a plan are refreshed."""
    match plan:
        case Window(input=stream, spec=spec):
            return spec.evaluated_at(reference.timeline(stream), last)
        case RelationalView(sync=Plan() as sync):
            return {p for p in sync_points(reference, sync, last) if p <= last}
        case Synchronize(step=step, offset=offset):
            first = ceil_to(reference.instants(plan)[0], step, offset)
            return set(range(first, last + 1, step))
        case _:
            return {t for part in all_inputs(plan) for t in refresh_instants(reference, part, last)}


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
