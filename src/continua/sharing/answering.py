"""Which queries of a run are answered from which: each from the view that leaves it least to do.

A view is another query of the run. Where queries have the same data, and none has the points of the other, they are
answered from their data at the greatest common divisor of their synchronizations (SyncSQL 5.2): that is the clock then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge

from continua.algebra.base import Plan
from continua.algebra.relational import Aggregate, DuplicateElimination, Join
from continua.algebra.traverse import nodes_of
from continua.sharing.containment import clock_of
from continua.sharing.normal_forms import with_clock
from continua.sharing.query_matching import Answered, Candidate, Missed, match
from continua.windows.change_points import EVERY_INSTANT

MOST_VIEWS = 16
"""So many views of the same inputs are tried for a query."""


@dataclass
class Answering:
    """For queries by which others they are answered, and for the others why not."""

    answered: dict[str, Answered] = field(default_factory=dict)
    missed: dict[Missed, None] = field(default_factory=dict)
    clocks: dict[str, Candidate] = field(default_factory=dict)
    """Data at a common divisor of synchronizations, by the names of those queries that it was made of."""
    tried: dict[tuple[str, str], Answered | Missed | None] = field(default_factory=dict, repr=False)
    """What came of pairs of queries."""

    def match(self, query: Candidate, view: Candidate) -> Answered | Missed | None:
        """How a query is answered from a view, or why not: each pair is asked once."""
        pair = query.name, view.name
        if pair not in self.tried:
            self.tried[pair] = match(query, view)
        return self.tried[pair]


class _Views:
    """Views by one of their inputs each: a query looks through those only that may have no inputs but its own."""

    def __init__(self, views: Iterable[Candidate] = ()) -> None:
        self._by_input: dict[Plan | None, list[tuple[int, Candidate]]] = {}
        self._count = 0
        for view in views:
            self.add(view)

    def add(self, view: Candidate) -> None:
        """One more; one whose inputs cannot be compared answers nobody."""
        if view.inputs is not None:
            self._by_input.setdefault(next(iter(view.inputs), None), []).append((self._count, view))
            self._count += 1

    def of(self, query: Candidate) -> Iterator[Candidate]:
        """Those that may answer a query, in the order in which they were added."""
        known = [] if query.inputs is None else [self._by_input.get(own, []) for own in (None, *query.inputs)]
        return (view for _, view in merge(*known, key=lambda numbered: numbered[0]))


def answering(candidates: Sequence[Candidate], most: int = MOST_VIEWS) -> Answering:
    """How queries that run together are answered from one another, in whatever order they were registered."""
    result = Answering()
    views = _Views()
    for query in candidates:
        if not _answer(result, query, views.of(query), most):
            views.add(query)
    for query in candidates:
        others = (v for v in views.of(query) if v is not query and query.name not in _behind(result, v.name))
        _answer(result, query, others, most)
    _by_clocks(result, [q for q in candidates if q.name not in result.answered], most)
    result.missed = {m: None for m in result.missed if m.query not in result.answered}
    return result


def _answer(result: Answering, query: Candidate, views: Iterable[Candidate], most: int) -> bool:
    """Whether a query is answered from a view that leaves no groups or pairs of rows to find.

    Of several views it is the one that leaves least to do.
    """
    found: list[Answered] = []
    tried = 0
    for view in views:
        if tried >= most:
            break
        answer = result.match(query, view)
        tried += answer is not None
        if isinstance(answer, Answered):
            found.append(answer)
        elif answer is not None:
            result.missed[answer] = None
    if found:
        result.answered[query.name] = min(found, key=_work)
    return bool(found) and not _work(result.answered[query.name])[0]


def _work(answer: Answered) -> tuple[bool, int]:
    """What is left to do for a query."""
    return any(kind in ("grouping", "regrouping", "join") for kind in answer.kinds), len(answer.texts)


def _behind(result: Answering, name: str) -> set[str]:
    """The views that a query is answered from, one behind the other."""
    found: set[str] = set()
    while name in result.answered and name not in found:
        found.add(name)
        name = result.answered[name].view
    return found | {name}


def _by_clocks(result: Answering, queries: Sequence[Candidate], most: int) -> None:
    """Queries with the same data, synchronized by points of which none has the others.

    The data of so many queries at most is tried for each.
    """
    near: dict[Plan, list[Candidate]] = {}
    for query in queries:
        if _is_worth_it(query):
            for own in query.inputs or ():
                near.setdefault(own, []).append(query)
    # where all have the same points these are their greatest common divisor
    near = {own: some for own, some in near.items() if len({_points_of(q) for q in some}) > 1}
    tried = Counter[str]()
    for query in queries:
        if query.name in result.answered or not _is_worth_it(query) or query.normal is None:
            continue
        others = near.get(next(iter(query.inputs or ()), query.plan), [])
        view = _at_clock(query, query.normal.data)
        members = []
        for other in others:
            if other is query:
                members.append(other)
            elif other.name not in result.answered and tried[other.name] < most:
                found = match(other, view)
                tried[other.name] += found is not None
                if isinstance(found, Answered):
                    members.append(other)
        if len(members) > 1:
            _share_clock(result, query, members)


def _is_worth_it(query: Candidate) -> bool:
    """Whether its data is more than a choice of rows, and synchronized."""
    normal = query.normal
    if query.inputs is None or normal is None or normal.points in (None, EVERY_INSTANT) or not normal.everywhere:
        return False
    return any(isinstance(n, Aggregate | Join | DuplicateElimination) for n in nodes_of(normal.data))


def _at_clock(view: Candidate, data: Plan) -> Candidate:
    return replace(view, name=f"the data of {view.name}", plan=data)


def _share_clock(result: Answering, view: Candidate, members: Sequence[Candidate]) -> None:
    points = clock_of(m.normal.points for m in members if m.normal is not None and m.normal.points is not None)
    normal = view.normal
    if normal is None or points.step <= view.chronon or all(_points_of(m) == points for m in members):
        return
    data = with_clock(normal.data, points)
    if data is None:
        return
    common = replace(_at_clock(view, data), name=f"the data of {view.name} every {points.step}")
    found = [match(m, common) for m in members]
    answers = [a for a in found if isinstance(a, Answered)]
    if len(answers) > 1:
        result.clocks[common.name] = common
        for answer in answers:
            theorem = f"{answer.theorem}, at the greatest common divisor of {len(answers)} synchronizations"
            result.answered[answer.query] = replace(answer, theorem=theorem)


def _points_of(query: Candidate) -> object:
    return None if query.normal is None else query.normal.points
