"""Queries that move to another plan while they run (PIPES 6.4.3): what a run works by, and what its checkpoint says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from continua.algebra.base import Plan
from continua.answers.query import Query
from continua.errors import NotSupportedError
from continua.physical.migration import Move, Stays, leaving, moved, movement, running_ids
from continua.physical.nodes import Evaluate, Node, QueryResult
from continua.physical.ordered_operators import FINAL
from continua.physical.placement import in_order
from continua.rules.statistics import Statistics
from continua.runs.later_queries import Earlier
from continua.runs.plans import as_recorded, graph_of, operators_of
from continua.runs.sampling import rewritten_by
from continua.runtime.checkpoint.registrations import Moved, Registered
from continua.runtime.fingerprints import Function
from continua.sources.intervals import NEVER


@dataclass(frozen=True, slots=True)
class Running:
    """A query by the plan that it runs by, what the checkpoint knows of it, and its graph."""

    query: Query
    registered: Registered
    graph: QueryResult
    begun: Query
    """The query as it was defined, from its start on."""
    changes: bool = True
    """Whether it yields net changes where its answer is a relation."""
    leaving: QueryResult | None = None
    """The graph of the plan before, while that still answers."""
    taken: Earlier | None = None
    """The operators that it goes on with, if these started before it."""

    @property
    def graphs(self) -> list[QueryResult]:
        """The graphs that work for it."""
        return [self.graph] if self.leaving is None else [self.leaving, self.graph]

    def operators_are(self, others: Earlier) -> bool:
        """Whether the operators that it goes on with are some others, and no new ones."""
        return self.taken is not None and self.taken.graph.inputs[0].id == others.graph.inputs[0].id

    @property
    def offered(self) -> Earlier:
        """The operators with which others may go on that join later."""
        if self.taken is not None:
            return self.taken
        known = self.registered
        return Earlier(self.query, self.graph, known.generation, known.since, is_there=False)


def again(known: Registered, begun: Query, functions: Sequence[Function], changes: bool = True) -> Running:
    """A query from its start on, as the checkpoint knows it: by the plan that it began with or has moved to."""
    how = known.moved
    query, graph = _planned(begun, known, how, functions, changes)
    graph = _moved_graph(graph, how)
    if how is None or not how.leaving:
        return Running(query, known, graph, begun, changes)
    _, before = _planned(begun, known, how.before, functions, changes)
    return Running(query, known, graph, begun, changes, leaving(_moved_graph(before, how.before), how.split))


def moved_to(
    running: Running,
    statistics: Statistics | None,
    without: Collection[str],
    functions: Sequence[Function],
    latest: int,
    grain: int,
    first: int,
) -> Running | Stays:
    """A query on its way to the plan that the rules make of it by other statistics, or without other rules.

    ``latest``: no row that was read starts after it. ``first``: the next epoch.
    """
    known, begun, changes = running.registered, running.begun, running.changes
    if running.leaving is not None:
        return Stays("it is moving already")
    if known.plan is not None:
        return Stays("it is answered from another query")
    if known.goes_on is not None:
        return Stays("it goes on with operators of another query")
    if not NEVER < latest < FINAL:
        return Stays("no row has come yet, or none will come any more")
    before = known.moved
    how = Moved(0, first, 1 if before is None else before.count + 1, (), tuple(sorted(without)), statistics, True)
    _, old = _planned(begun, known, before, functions, changes)
    if _moved_graph(old, before).id != running.graph.id:
        return Stays("its operators are merged with those of other queries")
    try:
        _, new = _planned(begun, known, how, functions, changes)
    except NotSupportedError as error:
        return Stays(error.diagnostics[0].message)
    if new.id == old.id:
        return Stays("its plan is the best one that is known")
    found = movement(old, _held(before), new, latest, running.query.chronon, grain)
    if isinstance(found, Stays):
        return found
    assert found.split is not None
    how = replace(how, split=found.split, since=tuple(sorted(found.since.items())), before=_settled(before))
    return again(replace(known, moved=how), begun, functions, changes)


def arrived(running: Running, until: int, functions: Sequence[Function]) -> Running | None:
    """A query that has moved, once all is closed that its plan before has to answer; None while it has not."""
    known = running.registered
    if running.leaving is None or known.moved is None or until < known.moved.split - 1:
        return None
    return again(replace(known, moved=_settled(known.moved)), running.begun, functions, running.changes)


def operators(running: Running, functions: Sequence[Function]) -> dict[Plan, str]:
    """By relations of the plan of a query the operators that have as many rows; none where its plan as written runs."""
    try:
        made = operators_of(running.query, functions, running.changes, running.registered.generation)
    except NotSupportedError:
        return {}
    at_work = {node.id for node in in_order([running.graph])}
    found: dict[Plan, str] = {}
    for plan, node in made.items():
        ids = running_ids(_alike(node), _held(running.registered.moved))
        known = next((name for name in ids if name in at_work), None)
        if known is not None:
            found[plan] = known
    return found


def _alike(node: Node) -> Iterator[Node]:
    """A node, and those below of which it only picks columns: such picking may be done along with what is above."""
    yield node
    while isinstance(node, Evaluate) and node.whole:
        node = node.inputs[0]
        yield node


def _settled(how: Moved | None) -> Moved | None:
    """A move that is done with."""
    return None if how is None else replace(how, leaving=False, before=None)


def _planned(
    begun: Query, known: Registered, how: Moved | None, functions: Sequence[Function], changes: bool
) -> tuple[Query, QueryResult]:
    """A query by one of its plans, and the graph of that, without regard to when its operators began."""
    if how is None:
        own = as_recorded(rewritten_by(begun, known.statistics, known.without), known.plan)
    else:
        own = rewritten_by(begun, how.statistics, how.without)
    query = replace(own, carried=known.carried)
    return query, graph_of(query, functions, changes, known.generation)


def _held(how: Moved | None) -> Move:
    return Move() if how is None else Move(dict(how.since), how.split)


def _moved_graph(graph: QueryResult, how: Moved | None) -> QueryResult:
    """The graph of a plan that has taken over from another one."""
    return graph if how is None else replace(moved(graph, _held(how)), first=how.first)
