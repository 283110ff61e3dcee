"""The matching algorithm of SyncSQL 5.2: whether a query is contained in a view, and by what it is answered from it.

1. Both are brought to their normal forms, data and points (theorem 2).
2. The data are matched (:mod:`continua.sharing.view_matching`).
3. The query's points must be among the view's (proposition 3), and
4. the view seen at the query's points is then, with the compensation, the query (theorem 1, corollary 1).

Theorem 1 speaks of full points. An answer must be right at every instant: a query between whose full points there are
partial ones is answered from a view with the same synchronizations alone, unless it was asked for full points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import columns_of
from continua.algebra.leaves import Clock
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Aggregate, Project, Window
from continua.algebra.streaming import RelationalView, StreamOperator, Tag, ToStream
from continua.algebra.traverse import expressions_of, nodes_of, with_inputs
from continua.rules.driver import refreshes_alike
from continua.rules.likeness import canonical
from continua.sharing.blocks import Block, block_of
from continua.sharing.containment import is_contained
from continua.sharing.normal_forms import NormalForm, normal_form, seen_at, with_clock
from continua.sharing.view_matching import Compensation, NotContainedError, check, matched
from continua.windows.change_points import EVERY_INSTANT, Points


@dataclass(frozen=True)
class Candidate:
    """A query or view that runs, or is to run, as far as matching asks about it."""

    name: str
    plan: Plan
    """What it yields, as it was written."""
    start: int = 0
    chronon: int = 1

    @cached_property
    def relation(self) -> Plan | None:
        """The relation that it yields, or whose changes; None where it is a stream of something else."""
        return relation_in(self.plan)

    @cached_property
    def normal(self) -> NormalForm | None:
        """Its normal form."""
        return None if self.relation is None else normal_form(without_unused_times(self.relation))

    @cached_property
    def block(self) -> Block | None:
        """Its relation as it is, as a block."""
        return None if self.relation is None else block_of(without_unused_times(self.relation))

    @cached_property
    def data(self) -> Block | None:
        """The data of its normal form, as a block."""
        return None if self.normal is None else block_of(self.normal.data)

    @cached_property
    def obstacle(self) -> NotContainedError | None:
        """Why nothing is matched with it, if that is so whatever the other one is."""
        try:
            for block in (self.block, self.data):
                if block is not None:
                    check(block)
        except NotContainedError as failed:
            return failed
        return None

    @cached_property
    def inputs(self) -> Counter[Plan] | None:
        """The inputs of its data, whatever they are called; None where they cannot be compared."""
        if self.data is None or self.normal is None or any(f.hidden for f in relation_of(self).schema):
            return None
        if any(isinstance(n, Clock) or any(map(uses_now, expressions_of(n))) for n in nodes_of(self.normal.data)):
            return None
        found = [canonical(leaf) for leaf in self.data.leaves]
        return None if None in found else Counter(leaf for leaf in found if leaf is not None)


@dataclass(frozen=True, slots=True)
class Answered:
    """How a query is answered from a view."""

    query: str
    view: str
    theorem: str
    """By what it is contained."""
    kinds: tuple[str, ...]
    """What compensates: filter, projection, regrouping, synchronization, ..."""
    texts: tuple[str, ...]
    """The same for a reader."""
    build: Callable[[Plan], Plan] = field(compare=False, repr=False)
    """The query's plan by a plan of the view's relation."""

    @property
    def text(self) -> str:
        """All of it in a line."""
        by = f", with {', '.join(self.texts)}" if self.texts else ""
        return f"{self.query} is answered from {self.view} by {self.theorem}{by}"


@dataclass(frozen=True, slots=True)
class Missed:
    """Why a query that has the inputs of a view is not answered from it."""

    query: str
    view: str
    condition: str
    detail: str

    @property
    def text(self) -> str:
        """All of it in a line."""
        return f"{self.query} is not answered from {self.view}: {self.detail} ({self.condition})"


def match(query: Candidate, view: Candidate) -> Answered | Missed | None:
    """How a query is answered from a view, or why it is not; None where they have no inputs in common."""
    if query.inputs is None or view.inputs is None or not _may_fit(query.inputs, view.inputs):
        return None
    if (query.start, query.chronon) != (view.start, view.chronon):
        return Missed(query.name, view.name, "START", "they do not start together")
    try:
        obstacle = query.obstacle or view.obstacle
        if obstacle is not None:
            raise obstacle
        return _matched(query, view)
    except NotContainedError as failed:
        return Missed(query.name, view.name, failed.condition, failed.detail)


def _may_fit(query: Counter[Plan], view: Counter[Plan]) -> bool:
    return all(query[leaf] >= number for leaf, number in view.items())


def _matched(query: Candidate, view: Candidate) -> Answered:
    assert query.block is not None and view.block is not None and query.normal is not None and view.normal is not None
    alike = query.normal.points == view.normal.points == EVERY_INSTANT and query.normal.everywhere
    try:
        found = matched(query.block, view.block, shown_names(view))
    except NotContainedError:
        if alike:
            raise
        return _coarser(query, view)
    theorem = "view matching (5.2)" if alike else "view matching at equal points (5.2, corollaries 2 and 3)"
    return _answered(query, view, theorem, found, EVERY_INSTANT)


def _coarser(query: Candidate, view: Candidate) -> Answered:
    """By theorem 1: from the view, seen at the query's points."""
    mine, theirs = query.normal, view.normal
    assert mine is not None and theirs is not None and query.data is not None and view.data is not None
    found = matched(query.data, view.data, shown_names(view))
    if mine.points is None:
        raise NotContainedError("NO_FULL_POINTS", "it has no full synchronization point")
    if not mine.everywhere:
        raise NotContainedError(
            "PARTIAL_POINTS", "theorem 1 holds at full points, and it tells partial ones too (SET output_points = full)"
        )
    if theirs.points is None or not is_contained(mine.points, theirs.points):
        where = "at no full points" if theirs.points is None else f"every {theirs.points.step}"
        raise NotContainedError("SYNCHRONIZATION", f"it is refreshed every {mine.points.step}, the view {where}")
    if not mine.points.contains(query.start) and not _is_empty_at_first(query.data):
        raise NotContainedError("START", "it begins between two of its points")
    theorem = "theorem 1 and corollary 1" if mine.points != theirs.points else "theorem 2"
    return _answered(query, view, theorem, found, mine.points)


def _is_empty_at_first(data: Block) -> bool:
    """Whether nothing is there before the first point, whatever is computed of nothing."""
    grouping = data.grouping
    rows = grouping is None or bool(grouping.keys) or not grouping.empty_row
    return rows and any(isinstance(leaf, Window | RelationalView) for leaf in data.leaves)


def _answered(query: Candidate, view: Candidate, theorem: str, found: Compensation, points: Points) -> Answered:
    relation = query.relation
    assert relation is not None
    names = shown_names(view)

    def build(rows: Plan) -> Plan:
        renamed = Project(rows, tuple((n, f.column) for n, f in zip(names, rows.schema, strict=True)))
        return with_relation(
            query.plan,
            found.build(seen_at(renamed, points), lambda other: with_clock(other, points) or seen_at(other, points)),
        )

    synchronized = points != EVERY_INSTANT
    kinds = (*(("synchronization",) if synchronized else ()), *found.kinds)
    texts = (*((f"synchronization every {points.step}",) if synchronized else ()), *found.texts)
    result = build(relation_of(view))
    if _lists_all(query.plan) and not refreshes_alike(relation, relation_of_plan(result), query.chronon):
        raise NotContainedError("RSTREAM", "an RSTREAM would list it at other instants")
    return Answered(query.name, view.name, theorem, kinds, texts, build)


def _lists_all(plan: Plan) -> bool:
    return isinstance(plan, ToStream) and plan.operator is StreamOperator.RSTREAM


def shown_names(view: Candidate) -> list[str]:
    """The names of a view's columns in the plans of others."""
    relation = relation_of(view)
    return [f"{view.name}.{f.short}" if view.name else f.name for f in relation.schema]


def relation_of(candidate: Candidate) -> Plan:
    """The relation of a candidate that has one."""
    assert candidate.relation is not None
    return candidate.relation


def relation_of_plan(plan: Plan) -> Plan:
    """The relation that a plan yields, or whose changes."""
    found = relation_in(plan)
    assert found is not None
    return found


def relation_in(plan: Plan) -> Plan | None:
    """The relation that a plan yields, or whose changes; None where there is none."""
    below = plan.input if isinstance(plan, ToStream | Tag) else plan
    return below if below.yields is Kind.RELATION else None


def with_relation(plan: Plan, relation: Plan) -> Plan:
    """What a plan yields, of another plan of its relation."""
    return replace(plan, input=relation) if isinstance(plan, ToStream | Tag) else relation


def without_unused_times(plan: Plan) -> Plan:
    """A plan whose views of relations do not tell when their rows came, where nobody asks for that."""
    used = frozenset(name for node in nodes_of(plan) for expr in expressions_of(node) for name in columns_of(expr))

    def without(part: Plan, exposed: bool) -> Plan:
        match part:
            case RelationalView(input=Tag(input=below), timestamp=str() as name) if below.yields is Kind.RELATION:
                part = replace(part, timestamp=name if exposed or name in used else None)
            case _:
                pass
        return with_inputs(part, lambda below: without(below, _exposes(part, exposed)))

    return without(plan, True)


def _exposes(plan: Plan, exposed: bool) -> bool:
    """Whether all columns of what is below are asked for."""
    if isinstance(plan, Project | Aggregate):
        return False
    return exposed or len(plan.inputs) > 1 or isinstance(plan, Tag | Window)
