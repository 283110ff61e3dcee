"""Plans that move while they run (PIPES 6.4.3): from when on another plan has what it needs, and the graph of both.

At a split time behind every interval that the old plan holds, the new plan begins: its operators get the parts of rows
that lie behind that time, so that they hold nothing before it and exactly what is valid from it on. Operators that both
plans have simply go on. Until then the old plan answers, and from then on the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from continua.instants import INFINITY, ceil_to
from continua.physical import nodes
from continua.physical.leading import Leaders
from continua.physical.partial import Partial
from continua.physical.placement import in_order
from continua.physical.split_nodes import Side, answering, from_on, told_by_start

_OF_GENERATION = "@"
"""It is in the names of sources that feed what lasts: stored relations, and what others held when a query joined."""
_PASSING = (nodes.Source, nodes.Validity, nodes.Evaluate, nodes.Union, nodes.Hold, Partial, Leaders)
"""Operators that hold nothing which lasts: what they yield is as complete as what they are given."""
_REDUCIBLE = (nodes.Join, nodes.Gate, nodes.Aggregate, nodes.Multiplicity, nodes.TopK)
"""Operators whose content at an instant follows from that of their inputs at the same instant (PIPES 6.1)."""


@dataclass(frozen=True, slots=True)
class Stays:
    """A plan that cannot be left for another one, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Move:
    """How a plan takes over from another one."""

    since: Mapping[str, int] = field(default_factory=dict)
    """For operators of the plan since when they hold what is valid; the others do since their query began."""
    split: int | None = None
    """The first instant that the plan answers; None where it answers all."""


@dataclass(frozen=True, slots=True)
class _Impossible(Exception):  # noqa: N818 - it is caught where it is raised
    why: str


def movement(
    old: nodes.QueryResult, held: Move, new: nodes.QueryResult, latest: int, chronon: int, grain: int
) -> Move | Stays:
    """How a plan takes over from the one that runs, or why it cannot.

    ``held``: how the old plan took over from another one itself. ``latest``: no row that was read starts after it.
    Both are given as they are planned, without regard to when their operators began.
    """
    known = {node.id for node in in_order([old])}
    added = [node for node in in_order([new]) if node.id not in known and not isinstance(node, nodes.QueryResult)]
    fresh = [node for node in added if not isinstance(node, _PASSING)]
    try:
        _check(added, told_apart := told_by_start(new))
        inputs = [below for node in fresh for below in node.inputs if not _is_new(below, known)]
        behind = [_ends(node, latest) for node in inputs]
        if not told_apart:
            behind += [_ends(graph.inputs[0], latest) for graph in (old, new)]
    except _Impossible as found:
        return Stays(found.why)
    least = [since for name, since in held.since.items() if name in {n.id for n in in_order([new])}]
    begin = ceil_to(max([latest + 1, *behind, *least]), grain)
    if begin >= INFINITY:
        return Stays("its windows reach to the end of time")
    kept = {node.id: held.since[node.id] for node in in_order([new]) if node.id in known and node.id in held.since}
    since = {**kept, **{node.id: begin for node in fresh}}
    return Move(since, begin + chronon if told_apart else begin)


def bound_to(graph: nodes.QueryResult) -> str | None:
    """Why no plan of a query can be left for another one, as far as the one that runs shows; None if it may."""
    try:
        for node in in_order([graph]):
            if isinstance(node, _REDUCIBLE):
                for below in node.inputs:
                    if not any(isinstance(part, _REDUCIBLE) for part in _bases(below)):
                        _ends(below, 0)
        if not told_by_start(graph):
            _ends(graph.inputs[0], 0)
    except _Impossible as found:
        return found.why
    return None


def moved(graph: nodes.QueryResult, move: Move) -> nodes.QueryResult:
    """The graph of a plan whose operators hold what is valid since some instants, and that answers from a split on."""
    found = _Moved(move.since).of(graph)
    assert isinstance(found, nodes.QueryResult)
    return found if move.split is None else answering(found, move.split, Side.FROM, not told_by_start(found))


def running_ids(some: Iterable[nodes.Node], move: Move) -> list[str]:
    """The ids that operators of a plan have where it runs."""
    made = _Moved(move.since)
    return [made.of(node).id for node in some]


def leaving(graph: nodes.QueryResult, split: int) -> nodes.QueryResult:
    """A graph that runs, as it answers until another one does."""
    return answering(graph, split, Side.BEFORE, not told_by_start(graph))


class _Moved:
    """Puts a split below operators that are to hold nothing from before it."""

    def __init__(self, since: Mapping[str, int]) -> None:
        self._since = since
        self._made: dict[str, nodes.Node] = {}

    def of(self, node: nodes.Node) -> nodes.Node:
        if node.id not in self._made:
            self._made[node.id] = self._of(node)
        return self._made[node.id]

    def _of(self, node: nodes.Node) -> nodes.Node:
        since = self._since.get(node.id)
        if since is None:
            inputs = tuple(map(self.of, node.inputs))
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            return node if same else replace(node, inputs=inputs)
        inputs = tuple(self._from(below, since) for below in node.inputs)
        if isinstance(node, nodes.Aggregate):
            return replace(node, inputs=inputs, start=max(node.start, since))
        return replace(node, inputs=inputs)

    def _from(self, below: nodes.Node, since: int) -> nodes.Node:
        """What a node yields that is valid from an instant on."""
        made = self.of(below)
        bases = list(_bases(below))
        if bases and all(self._since.get(base.id) == since for base in bases):
            return made
        return from_on(made, since)


def _bases(node: nodes.Node) -> Iterator[nodes.Node]:
    """The nearest operators below that hold something, or the sources."""
    if not isinstance(node, _PASSING) or not node.inputs:
        yield node
        return
    for below in node.inputs:
        yield from _bases(below)


def _is_new(node: nodes.Node, known: set[str]) -> bool:
    """Whether all that a node yields comes of operators that only the new plan has."""
    return all(not isinstance(base, nodes.Source) and base.id not in known for base in _bases(node))


def _check(added: list[nodes.Node], told_apart: bool) -> None:
    """Refuses operators whose content does not follow from that of their inputs at the same instant."""
    top = next((node for node in reversed(added) if isinstance(node, nodes.Changes)), None) if told_apart else None
    for node in added:
        match node:
            case nodes.Join(residual=residual) if residual is not None and not residual.keeps_times:
                raise _Impossible("a join depends on when its rows began")
            case nodes.Evaluate() if not node.keeps_times and not node.is_fed:
                raise _Impossible("an expression depends on when rows began")
            case _ if isinstance(node, (*_PASSING, *_REDUCIBLE)) or node is top:
                pass
            case _:
                raise _Impossible(f"{_named(node)} would have to begin anew")


def _ends(node: nodes.Node, latest: int) -> int:
    """An instant at which nothing is valid any more that a node has yielded of rows up to ``latest``."""
    match node:
        case nodes.Source(name=name) if _OF_GENERATION not in name:
            return latest + 1
        case nodes.Validity(spec=spec, inputs=(below,)) if spec.lifetime is not None and below.is_fed:
            return max(latest, spec.last_change(latest)) + 1
        case nodes.Evaluate(inputs=(below,), steps=steps) if node.keeps_times or (
            node.is_fed and all(step.same_times for step in steps)
        ):
            return _ends(below, latest)
        case nodes.Hold(inputs=(below,)) | Partial(inputs=(below,)) | Leaders(inputs=(below,)):
            return _ends(below, latest)
        case nodes.Union(inputs=inputs):
            return max(_ends(below, latest) for below in inputs)
        case nodes.Join(inputs=inputs) if not node.retracts:
            return min(_ends_or_never(below, latest) for below in inputs)
        case _:
            raise _Impossible(f"{_named(node)} has rows of which nothing tells when they end")


def _ends_or_never(node: nodes.Node, latest: int) -> int:
    try:
        return _ends(node, latest)
    except _Impossible:
        return INFINITY


def _named(node: nodes.Node) -> str:
    below = node
    while isinstance(below, nodes.Evaluate) and below.inputs:
        below = below.inputs[0]
    return below.title
