"""View matching: whether a query's data is contained in a view's, and what compensates (SyncSQL 5.2, step 2).

Both are blocks of selections, projections, joins and aggregations. A query is computed from a view where it has the
view's inputs, meets its conditions, groups as finely or more coarsely, and needs no more than its columns.
Where that is not sure, it is not: the condition that failed is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall, Call, Column, Expr, columns_of, conjunction, walk
from continua.algebra.expression_text import aggregate_text, expression_text
from continua.algebra.relational import Aggregate, DuplicateElimination, Filter, Join, JoinKind, Project
from continua.algebra.safety import cannot_fail
from continua.functions.scalars import SCALARS
from continua.rules.likeness import alike
from continua.sharing.blocks import Block, Grouping, is_complete, substituted, substituted_call
from continua.sharing.known_conditions import Known, known_of
from continua.sharing.offered_columns import NotOfferedError, Offered, call_text
from continua.sharing.regrouping import average, is_exact, is_own, merged, parts_of_average, regrouped

_MOST_ASSIGNMENTS = 48
"""So many ways in which the inputs of a view can stand for those of a query are tried, where some are equal."""


class NotContainedError(Exception):
    """Why a query cannot be answered from a view."""

    def __init__(self, condition: str, detail: str) -> None:
        super().__init__(detail)
        self.condition = condition
        self.detail = detail


Seen: TypeAlias = Callable[[Plan], Plan]
"""What synchronizes an input."""


@dataclass(frozen=True, slots=True)
class Compensation:
    """What makes a query's rows of a view's, in the order in which it is done."""

    build: Callable[[Plan, Seen], Plan] = field(compare=False)
    """The query's rows by a plan of the view's, and by how its other inputs are seen."""
    kinds: tuple[str, ...]
    """Of filter, projection, join, regrouping and distinct those that it has."""
    texts: tuple[str, ...]
    """The same for a reader."""


def matched(query: Block, view: Block, outputs: Sequence[str]) -> Compensation:
    """How a query's rows are computed from those of a view, whose columns have some names; or why they are not."""
    failed: NotContainedError | None = None
    for number, renamed in enumerate(_assigned(query, view)):
        if number >= _MOST_ASSIGNMENTS:
            break
        try:
            return _Matching(query, renamed, outputs).compensation()
        except NotContainedError as error:
            failed = failed or error
    raise failed or NotContainedError("INPUTS", "they do not read the same inputs")


def _assigned(query: Block, view: Block) -> Iterator[Block]:
    """The view over the query's inputs, in every way in which each of its own is one of these."""
    pairs = [[i for i, leaf in enumerate(query.leaves) if alike(leaf, own)] for own in view.leaves]
    for places in _injective(pairs):
        names: dict[str, Expr] = {}
        for own, place in zip(view.leaves, places, strict=True):
            columns = zip(own.schema, query.leaves[place].schema, strict=True)
            names |= {a.name: replace(b.column, nullable=a.nullable) for a, b in columns}
        yield _renamed(view, names, tuple(query.leaves[place] for place in places))


def check(block: Block) -> None:
    """Refuses a block of which not enough is known, whatever it is matched with."""
    if not is_complete(block):
        raise NotContainedError("TIMESTAMP", "it is asked when rows of a view came")
    for part in (part for expr in block.expressions for part in walk(expr)):
        if isinstance(part, Call) and not _is_known(part.function):
            raise NotContainedError("FUNCTION", f"nothing is known of {part.function}")


def _injective(choices: Sequence[Sequence[int]], taken: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    if len(taken) == len(choices):
        yield taken
        return
    for place in choices[len(taken)]:
        if place not in taken:
            yield from _injective(choices, (*taken, place))


def _renamed(view: Block, names: dict[str, Expr], leaves: tuple[Plan, ...]) -> Block:
    conditions = tuple(substituted(c, names) for c in view.conditions)
    grouping = view.grouping
    if grouping is None:
        return Block(leaves, conditions, tuple((n, substituted(e, names)) for n, e in view.outputs))
    keys = tuple((n, substituted(e, names)) for n, e in grouping.keys)
    calls = tuple((n, substituted_call(c, names)) for n, c in grouping.calls)
    return Block(leaves, conditions, view.outputs, replace(grouping, keys=keys, calls=calls))


class _Matching:
    """One query against one view over the same inputs."""

    def __init__(self, query: Block, view: Block, outputs: Sequence[str]) -> None:
        self.query, self.view = query, view
        self.columns = [Column(name, e.type, True) for name, (_, e) in zip(outputs, view.outputs, strict=True)]
        """The columns of the view's rows."""
        self.of_query = known_of(query.conditions)
        self.kinds: list[str] = []
        self.texts: list[str] = []

    @cached_property
    def of_view(self) -> Known:
        """What is known of the view's rows."""
        return Known.of(self.view.conditions)

    def compensation(self) -> Compensation:
        """What makes the query's rows."""
        for condition in self.view.conditions:
            if not self.of_query.implies(condition):
                raise NotContainedError("PREDICATE", f"its rows meet {expression_text(condition)}")
        residual = [c for c in self.of_query.conditions if not self.of_view.implies(c)]
        if residual:
            self.kinds.append("filter")
            self.texts.append(f"filter {' and '.join(map(expression_text, residual))}")
        try:
            build = self._ungrouped(residual) if self.view.grouping is None else self._grouped(residual)
        except NotOfferedError as missing:
            raise NotContainedError("COLUMNS", f"{missing.what} is not among its columns") from None
        return Compensation(build, tuple(self.kinds), tuple(self.texts))

    # No error may come or go.

    def _cannot_fail(self, residual: Sequence[Expr], same_groups: bool) -> None:
        """What can fail is evaluated by both, for the same rows or groups."""
        own = {self._text(e, self.query.grouping) for e in self.query.expressions}
        for expr in self.view.expressions:
            of_groups = self.view.grouping is not None and not columns_of(expr) <= self.view.names
            alone = residual or (of_groups and not same_groups) or self._text(expr, self.view.grouping) not in own
            if alone and not cannot_fail(expr):
                raise _can_fail(expression_text(_told(expr, self.view.grouping)))
        asked = set() if self.query.grouping is None else {self._call(c) for _, c in self.query.grouping.calls}
        for _, call in () if self.view.grouping is None else self.view.grouping.calls:
            if is_own(call) and (residual or not same_groups or self._call(call) not in asked):
                raise _can_fail(aggregate_text(call, ()))
        for condition in self.query.conditions if residual else ():
            if not cannot_fail(condition):
                raise _can_fail(expression_text(condition))

    def _call(self, call: AggregateCall) -> str:
        return call_text(call, self.of_query)

    def _text(self, expr: Expr, grouping: Grouping | None) -> str:
        """An expression by what it is of the rows, not by the names of a grouping."""
        return self.of_query.text(self._by_meaning(expr, grouping))

    def _by_meaning(self, expr: Expr, grouping: Grouping | None) -> Expr:
        if grouping is None:
            return expr
        names: dict[str, Expr] = {n: Column(self.of_query.text(e), e.type, e.nullable) for n, e in grouping.keys}
        names |= {n: Column(self._call(c), c.type, c.nullable) for n, c in grouping.calls}
        return substituted(expr, names)

    # A view without groups.

    def _ungrouped(self, residual: Sequence[Expr]) -> Callable[[Plan, Seen], Plan]:
        self._cannot_fail(residual, False)
        mine = [(e, column) for (_, e), column in zip(self.view.outputs, self.columns, strict=True)]
        others = [leaf for leaf in self.query.leaves if leaf not in self.view.leaves]
        theirs: list[tuple[Expr, Column]] = [(f.column, f.column) for leaf in others for f in leaf.schema]
        before, after = Offered(mine + theirs, self.of_view), Offered(mine + theirs, self.of_query)
        tests = [before.computed(c) for c in residual]
        if others:
            self._tell("join", "join with its other inputs")
        grouping = self.query.grouping
        if grouping is None:
            shown = tuple((name, after.computed(e)) for name, e in self.query.outputs)
            self.kinds.append("projection")
            return lambda rows, seen: Project(_joined(rows, map(seen, others), tests), shown)
        keys = tuple((name, after.computed(e)) for name, e in grouping.keys)
        calls = tuple((name, after.computed_call(c)) for name, c in grouping.calls)
        self._tell("grouping", f"grouping {_by(grouping)}")
        if _is_distinct(grouping):
            return lambda rows, seen: self._shown(_distinct(_joined(rows, map(seen, others), tests), keys))
        return lambda rows, seen: self._shown(
            Aggregate(_joined(rows, map(seen, others), tests), keys, calls, grouping.empty_row)
        )

    # A view with groups.

    def _grouped(self, residual: Sequence[Expr]) -> Callable[[Plan, Seen], Plan]:
        view, query = self.view.grouping, self.query.grouping
        assert view is not None
        if query is None:
            raise NotContainedError("GROUPING", "it has groups of rows, and the query the rows themselves")
        if len(self.view.leaves) != len(self.query.leaves):
            raise NotContainedError("INPUTS", "it groups before other inputs of the query are joined")
        same = self._has_same_groups(view, query, residual)
        self._cannot_fail(residual, same)
        self._keeps_groups(view, query, same)
        before, after = self._offered(view, self.of_view), self._offered(view, self.of_query)
        tests = [before.computed(c) for c in residual]
        keys = tuple((name, after.computed(e)) for name, e in query.keys)
        groups = self._of_groups(after, query) if same else None
        if groups is not None:
            self.kinds.append("projection")
            if query.having:
                self._tell("having", f"filter {' and '.join(expression_text(_told(c, query)) for c in query.having)}")
            return lambda rows, _: self._shown(Project(_filtered(rows, tests), (*keys, *groups)))
        if not all(is_exact(e.type) for _, e in (*view.keys, *query.keys)):
            raise NotContainedError("GROUPING", "equal keys may look different")
        self._tell("regrouping", f"regrouping {_by(query)}")
        if _is_distinct(query):
            return lambda rows, _: self._shown(_distinct(_filtered(rows, tests), keys))
        calls = [(name, call, merged(call, after)) for name, call in query.calls]
        return lambda rows, _: self._shown(regrouped(_filtered(rows, tests), keys, calls, query.empty_row))

    def _offered(self, view: Grouping, known: Known) -> Offered:
        """Of a view with groups: its keys, what it computes of them, and its aggregates."""
        own, calls = dict(view.keys), dict(view.calls)
        outputs = [(e, column) for (_, e), column in zip(self.view.outputs, self.columns, strict=True)]
        of_keys = [(substituted(e, own), c) for e, c in outputs if columns_of(e) and columns_of(e) <= own.keys()]
        of_calls = {
            call_text(calls[e.name], known): column
            for e, column in outputs
            if isinstance(e, Column) and e.name in calls
        }
        return Offered(of_keys, known, of_calls)

    def _has_same_groups(self, view: Grouping, query: Grouping, residual: Sequence[Expr]) -> bool:
        """Whether the query's groups are the view's: its keys and conditions tell the keys of the view."""
        if not view.keys:
            if query.keys:
                raise NotContainedError("GROUPING", "it has one group of all rows")
            if residual:
                raise NotContainedError("PREDICATE", "one group of all rows cannot be filtered")
            if view.empty_row != query.empty_row:
                raise NotContainedError("GROUPING", "of no rows it has another row")
            return True
        mine = {self.of_query.text(e) for _, e in query.keys}
        return bool(query.keys) and all(
            self.of_query.text(key) in mine or (isinstance(key, Column) and self.of_query.constant(key) is not None)
            for _, key in view.keys
        )

    def _keeps_groups(self, view: Grouping, query: Grouping, same: bool) -> None:
        """The view must not have dropped groups that are needed."""
        if view.having and not same:
            raise NotContainedError("HAVING", "groups that it has dropped belong to larger ones")
        known = Known.of(self._by_meaning(c, query) for c in query.having)
        for condition in view.having:
            if not known.implies(self._by_meaning(condition, view)):
                raise NotContainedError("HAVING", f"its groups meet {expression_text(_told(condition, view))}")

    def _of_groups(self, view: Offered, query: Grouping) -> tuple[tuple[str, Expr], ...] | None:
        """The aggregates of groups that both have; None where some must be computed of the view's keys."""
        try:
            return tuple((name, self._of_group(view, call)) for name, call in query.calls)
        except NotOfferedError:
            if not query.keys or self.view.grouping is None or self.view.grouping.having:
                raise
            return None

    def _of_group(self, view: Offered, call: AggregateCall) -> Expr:
        """An aggregate of a group that both have."""
        found = view.call(call)
        if found is not None:
            return found
        averaged = parts_of_average(call)
        if averaged is not None:
            total, number = (view.call(part) for part in averaged)
            if total is not None and number is not None:
                return average(total, number)
        raise NotOfferedError(aggregate_text(call, ()))

    def _shown(self, groups: Plan) -> Plan:
        """What the query computes of its groups."""
        grouping = self.query.grouping
        assert grouping is not None
        return Project(_filtered(groups, grouping.having), self.query.outputs)

    def _tell(self, kind: str, text: str) -> None:
        self.kinds.append(kind)
        self.texts.append(text)


def _can_fail(what: str) -> NotContainedError:
    return NotContainedError("CAN_FAIL", f"{what} can fail for rows of which only one of them asks")


def _is_known(function: str) -> bool:
    """Whether a function is one of the language, or an operator."""
    return function in SCALARS or not function[:1].isalpha() or function in _WORDS


_WORDS = ("AND", "OR", "NOT", "IS NULL", "IS TRUE", "IS FALSE", "LIKE", "ILIKE", "RLIKE", "DIV")


def _is_distinct(grouping: Grouping) -> bool:
    """Whether only the different rows are asked for."""
    return not grouping.calls and bool(grouping.keys)


def _distinct(rows: Plan, keys: tuple[tuple[str, Expr], ...]) -> Plan:
    return DuplicateElimination(Project(rows, keys))


def _filtered(rows: Plan, tests: Sequence[Expr]) -> Plan:
    condition = conjunction(list(tests))
    return rows if condition is None else Filter(rows, condition)


def _joined(rows: Plan, others: Iterable[Plan], tests: Sequence[Expr]) -> Plan:
    """The rows that meet all tests, joined with those of other inputs; each test as early as its columns are there."""
    left = list(tests)

    def ready(plan: Plan) -> list[Expr]:
        names = set(plan.schema.names)
        found = [t for t in left if columns_of(t) <= names]
        left[:] = [t for t in left if t not in found]
        return found

    rows = _filtered(rows, ready(rows))
    for other in others:
        side = _filtered(other, ready(other))
        pairs = Join(JoinKind.INNER, rows, side)
        rows = Join(JoinKind.INNER, rows, side, conjunction(ready(pairs)))
    return _filtered(rows, left)


def _told(expr: Expr, grouping: Grouping | None) -> Expr:
    """An expression over groups, for a reader."""
    if grouping is None:
        return expr
    names: dict[str, Expr] = {n: Column(expression_text(e), e.type) for n, e in grouping.keys}
    return substituted(expr, names | {n: Column(aggregate_text(c, ()), c.type) for n, c in grouping.calls})


def _by(grouping: Grouping) -> str:
    return f"by {', '.join(expression_text(e) for _, e in grouping.keys)}" if grouping.keys else "of all rows"
