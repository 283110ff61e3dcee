"""What a plan costs: how many rows are valid in it, how fast they change, and how many are touched per instant.

All numbers are estimates from :class:`~continua.rules.statistics.Statistics`, by the usual assumptions: values are
spread evenly, columns know nothing of each other, and of two columns that are compared one has the other's values.
In a join a new row of one side meets the rows that are valid on the other, so that rates multiply with sizes.

>>> from continua.rules.examples import plan_of
>>> from continua.rules.statistics import Statistics
>>> facts = Facts(1, Statistics({"bid": 10.0}, {}, {("bid", "item_id"): 50.0}))
>>> found = estimate(plan_of("SELECT price FROM Bid [RANGE 99] WHERE item_id = 7"), facts)
>>> found.size, found.rate
(20.0, 0.2)
>>> hash_join = "SELECT price FROM Bid [RANGE 99], Open [RANGE 99] WHERE Bid.item_id = Open.item_id"
>>> nested_loop = "SELECT price FROM Bid [RANGE 99], Open [RANGE 99] WHERE Bid.item_id < Open.item_id"
>>> work(plan_of(hash_join), facts) < work(plan_of(nested_loop), facts) / 10
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from continua.algebra.aggregate_facts import extreme_of
from continua.algebra.base import Kind, Plan
from continua.algebra.expr import Call, Column, Expr, columns_of, conjunction, conjuncts
from continua.algebra.keys import keys
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    TopK,
    Window,
)
from continua.algebra.streaming import RelationalView, Synchronize
from continua.algebra.traverse import domain_of, subplans_of
from continua.instants import UNITS, TimeDomain
from continua.rules.rule import Facts
from continua.rules.selectivity import selectivity, values
from continua.rules.substitution import filtered
from continua.windows.change_points import Points

TOUCH = 0.2
"""The work of an operator without state, per row."""
KEEP = 2.0
"""The work of a join per row of either side: it is kept, and it is forgotten."""
REGROUP = 5.0
"""The work of an aggregation per row: it enters a group, and it leaves it."""
HORIZON = 1_000_000
"""So many instants an unbounded window is thought to reach back, in ticks."""
LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is thought of a plan: rows that are valid at an instant, rows that appear in one, and the work for them.

    ``moments`` is at how many instants of one something changes, at most one; ``distinct`` has the numbers of
    different values of those columns of which they are known.
    """

    size: float
    rate: float
    moments: float = 1.0
    distinct: Mapping[str, float] = field(default_factory=dict)
    work: float = 0.0


def estimate(plan: Plan, facts: Facts) -> Estimate:
    """The estimate of a plan."""
    return _Estimator(facts).of(plan)


def work(plan: Plan, facts: Facts) -> float:
    """The rows that all operators of a plan touch in one instant, weighted by what they do with them."""
    return estimate(plan, facts).work


_CLEARLY_LESS = 0.9
"""Estimates are rough: only a plan with less than this part of the work of another one is called cheaper."""


def pays(before: Plan, after: Plan, facts: Facts) -> bool:
    """Whether a plan is clearly cheaper than another one."""
    return work(after, facts) < _CLEARLY_LESS * work(before, facts)


def joined(left: Estimate, right: Estimate, parts: JoinSplit, measured: Mapping[str, float] | None = None) -> Estimate:
    """An inner join: by hashing where its predicate has equalities, else of all pairs.

    >>> found = joined(Estimate(1000, 10), Estimate(500, 1), JoinSplit((), ()))
    >>> found.size, found.rate
    (500000.0, 6000.0)
    """
    distinct = {**left.distinct, **right.distinct}
    hashed = selectivity(conjunction(parts.equalities), distinct, measured or {})
    whole = hashed * selectivity(conjunction(parts.rest), distinct, measured or {})
    return replace(paired(left, right, hashed, whole), distinct=distinct)


def paired(left: Estimate, right: Estimate, hashed: float, whole: float) -> Estimate:
    """An inner join, by the part of all pairs that its equalities let through, and that all conditions do."""
    pairs = left.rate * right.size + right.rate * left.size
    own = KEEP * (left.rate + right.rate) + hashed * pairs
    moments = min(1.0, left.moments + right.moments)
    return Estimate(left.size * right.size * whole, pairs * whole, moments, work=left.work + right.work + own)


@dataclass(frozen=True, slots=True)
class JoinSplit:
    """The conditions of a join: those that rows are hashed by, and the rest."""

    equalities: tuple[Expr, ...]
    rest: tuple[Expr, ...]


def split_predicate(predicate: Expr | None, left: frozenset[str], right: frozenset[str]) -> JoinSplit:
    """The equalities of a predicate that have one side on the left and one on the right."""
    equalities: list[Expr] = []
    rest: list[Expr] = []
    for part in conjuncts(predicate):
        chosen = rest
        if isinstance(part, Call) and part.function in ("=", "<=>"):
            a, b = map(columns_of, part.arguments)
            crosses = (a <= left and b <= right) or (a <= right and b <= left)
            chosen = equalities if a and b and crosses else rest
        chosen.append(part)
    return JoinSplit(tuple(equalities), tuple(rest))


def placed(join: Join, conditions: Iterable[Expr]) -> Join:
    """An inner join with the conditions of a filter above it, each where its columns are: rules bring them there."""
    sides: tuple[list[Expr], list[Expr]] = [], []
    between = list(conjuncts(join.predicate))
    for condition in conditions:
        names = columns_of(condition)
        if names <= set(join.left.schema.names):
            sides[0].append(condition)
        elif names <= set(join.right.schema.names):
            sides[1].append(condition)
        else:
            between.append(condition)
    return replace(
        join,
        left=filtered(join.left, sides[0]),
        right=filtered(join.right, sides[1]),
        predicate=conjunction(between),
    )


class _Estimator:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[Plan, Estimate] = {}

    def of(self, plan: Plan) -> Estimate:
        if plan not in self._known:
            found = self._of(plan)
            extra = sum(self.of(part).work for part in subplans_of(plan))
            self._known[plan] = replace(found, work=found.work + extra) if extra else found
        return self._known[plan]

    def _of(self, plan: Plan) -> Estimate:
        match plan:
            case Source() | TaggedSource() | BaseRelation() | Clock() | Values():
                return self._leaf(plan)
            case Window():
                return self._window(plan)
            case RelationalView(input=below):
                return self._view(plan, self.of(below))
            case Filter(input=Join(join=JoinKind.INNER) as join, predicate=predicate):
                return self.of(placed(join, conjuncts(predicate)))
            case Filter(input=below, predicate=predicate):
                return _filter(self.of(below), predicate, self._facts.statistics.conditions)
            case Project(input=below, outputs=outputs):
                found = self.of(below)
                names = {n: values(e, found.distinct) for n, e in outputs if _tells(e, found.distinct)}
                return replace(found, distinct=names, work=found.work + TOUCH * found.rate)
            case Join():
                return self._join(plan, self.of(plan.left), self.of(plan.right))
            case SetOperation():
                return _set_operation(plan, self.of(plan.left), self.of(plan.right))
            case DuplicateElimination(input=below):
                found = self.of(below)
                return _grouped(found, [f.column for f in plan.schema], found.rate)
            case Aggregate(input=below):
                return _aggregate(plan, self.of(below))
            case TopK(input=below, limit=limit):
                found = self.of(below)
                size = found.size if limit is None or plan.partition else min(found.size, limit)
                part = size / max(found.size, LEAST)
                return replace(found, size=size, rate=found.rate * part, work=found.work + REGROUP * found.rate)
            case Synchronize(input=below, step=step):
                found = self.of(below)
                return replace(found, moments=min(found.moments, 1 / step), work=found.work + found.rate)
            case Group(input=below, count=count):
                found = self.of(below)
                return replace(found, size=found.size / count, rate=found.rate / count)
            case _:
                return self._others([self.of(part) for part in plan.inputs])

    def _others(self, inputs: list[Estimate]) -> Estimate:
        first = inputs[0] if inputs else Estimate(1.0, 0.0, 0.0)
        return replace(first, work=sum(i.work + TOUCH * i.rate for i in inputs))

    def _leaf(self, plan: Plan) -> Estimate:
        known = self._facts.statistics
        match plan:
            case Source(name=name) | TaggedSource(name=name):
                share = plan.sample.percent / 100 if isinstance(plan, Source) and plan.sample is not None else 1
                rate = max(known.rate(name) * float(share), LEAST)
                return Estimate(rate * self._facts.chronon, rate, self._moments(rate), self._columns(plan, name))
            case BaseRelation(name=name):
                return _with_keys(Estimate(known.size(name), 0.0, 0.0, self._columns(plan, name)), plan)
            case Values(rows=rows):
                return Estimate(float(len(rows)), 0.0, 0.0)
            case _:
                return Estimate(1.0, 1.0 / self._facts.chronon, 1.0 / self._facts.chronon)

    def _columns(self, plan: Plan, source: str) -> dict[str, float]:
        found = ((f.name, self._facts.statistics.values(source, f.short)) for f in plan.schema)
        return {name: number for name, number in found if number is not None}

    def _moments(self, rate: float) -> float:
        return min(rate, 1 / self._facts.chronon)

    def _view(self, plan: Plan, below: Estimate) -> Estimate:
        """The relation that a tagged stream modifies."""
        stored = next((n.name for n in _leaves(plan) if isinstance(n, TaggedSource)), "")
        size = max(self._facts.statistics.size(stored), below.rate)
        return _with_keys(replace(below, size=size, work=below.work + KEEP * below.rate), plan)

    def _window(self, plan: Window) -> Estimate:
        stream, spec = self.of(plan.input), plan.spec
        ticks = domain_of(plan) is not TimeDomain.MICROSECONDS
        horizon = max(HORIZON if ticks else UNITS["DAY"], self._facts.chronon)
        partitions = prod(values(Column(name, plan.schema.types[0]), stream.distinct) for name in spec.partition)
        live = spec.live_rows(stream.rate, float(horizon), partitions)
        points = spec.points("")
        moments = min(stream.moments, 1 / points.step) if isinstance(points, Points) else stream.moments
        touch = TOUCH if spec.knows_ends else 1.0
        found = Estimate(live, stream.rate, moments, stream.distinct, stream.work + touch * stream.rate)
        return _with_keys(found, plan)

    def _join(self, plan: Join, left: Estimate, right: Estimate) -> Estimate:
        split = split_predicate(plan.predicate, frozenset(plan.left.schema.names), frozenset(plan.right.schema.names))
        pairs = joined(left, right, split, self._facts.statistics.conditions)
        part = min(1.0, pairs.size / max(left.size, LEAST))
        gate = pairs.work + KEEP * (left.rate + right.rate)
        match plan.join:
            case JoinKind.INNER:
                return pairs
            case JoinKind.SEMI:
                return replace(left, size=left.size * part, rate=left.rate * part, work=gate)
            case JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
                part = max(0.1, 1 - part)
                return replace(left, size=left.size * part, rate=left.rate * part, work=gate)
            case JoinKind.MARK:
                return replace(left, work=gate)
            case JoinKind.LEFT | JoinKind.SINGLE:
                return replace(pairs, size=max(pairs.size, left.size), rate=pairs.rate + left.rate, work=gate)
            case JoinKind.RIGHT:
                return replace(pairs, size=max(pairs.size, right.size), rate=pairs.rate + right.rate, work=gate)
            case JoinKind.FULL:
                most = max(pairs.size, left.size, right.size)
                return replace(pairs, size=most, rate=pairs.rate + left.rate + right.rate, work=gate)


def _leaves(plan: Plan) -> Iterable[Plan]:
    if not plan.inputs:
        yield plan
    for part in plan.inputs:
        yield from _leaves(part)


def _tells(expr: Expr, distinct: Mapping[str, float]) -> bool:
    """Whether the number of an expression's values follows from what is known."""
    names = columns_of(expr)
    return bool(names) and names <= distinct.keys()


def _with_keys(found: Estimate, plan: Plan) -> Estimate:
    """A column that is a key has as many values as there are rows."""
    if plan.yields is not Kind.RELATION:
        return found
    single = (next(iter(key)) for key in keys(plan) if len(key) == 1)
    extra = {name: max(1.0, found.size) for name in single if name not in found.distinct}
    return replace(found, distinct={**found.distinct, **extra}) if extra else found


def _filter(below: Estimate, predicate: Expr, measured: Mapping[str, float]) -> Estimate:
    part = selectivity(predicate, below.distinct, measured)
    fixed = {c: 1.0 for p in conjuncts(predicate) for c in _fixed(p)}
    return Estimate(
        below.size * part,
        below.rate * part,
        min(below.moments, below.rate * part),
        {**below.distinct, **fixed},
        below.work + TOUCH * below.rate,
    )


def _fixed(part: Expr) -> Iterable[str]:
    """The column that a condition leaves one value."""
    match part:
        case Call(function="=", arguments=(Column(name=name), other) | (other, Column(name=name))) if not columns_of(
            other
        ):
            yield name
        case _:
            return


def _grouped(below: Estimate, by: Iterable[Expr], changes: float) -> Estimate:
    """Groups by some expressions, of which so many change in an instant."""
    groups = 1.0
    for expr in by:
        groups *= values(expr, below.distinct)
    groups = min(groups, max(below.size, LEAST))
    rate = min(changes, groups * below.moments)
    return Estimate(groups, rate, below.moments, below.distinct, below.work + REGROUP * below.rate + rate)


def _aggregate(plan: Aggregate, below: Estimate) -> Estimate:
    found = _grouped(below, [e for _, e in plan.keys], 2 * below.rate)
    if plan.aggregates and all(extreme_of(call) for _, call in plan.aggregates):
        # In rows without order one of n is the greatest: so seldom it changes when one comes or goes.
        members = max(1.0, below.size / max(found.size, LEAST))
        found = replace(found, rate=min(found.rate, 2 * below.rate / members))
    names = {n: values(e, below.distinct) for n, e in plan.keys if _tells(e, below.distinct)}
    if len(plan.keys) == 1:
        names.setdefault(plan.keys[0][0], max(1.0, found.size))
    return replace(found, distinct=names)


def _set_operation(plan: SetOperation, left: Estimate, right: Estimate) -> Estimate:
    size = left.size + right.size if plan.operator in (SetOperator.UNION, SetOperator.MAX_UNION) else left.size
    rate = left.rate + right.rate
    both = {n: left.distinct.get(n, 0) + right.distinct.get(m, 0) for n, m in _matching(plan, left, right)}
    touched = TOUCH if plan.operator is SetOperator.UNION and not plan.distinct else KEEP
    moments = min(1.0, left.moments + right.moments)
    return Estimate(size, rate, moments, both, left.work + right.work + touched * rate)


def _matching(plan: SetOperation, left: Estimate, right: Estimate) -> Iterable[tuple[str, str]]:
    pairs = zip(plan.left.schema.names, plan.right.schema.names, strict=True)
    return ((a, b) for a, b in pairs if a in left.distinct and b in right.distinct)
