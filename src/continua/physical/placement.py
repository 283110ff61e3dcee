"""Placement: where each operator runs, and which rows move between partitions.

Level 0 runs where the rows are read and holds no state. At every further level each partition runs its operators on
the rows that it was sent. An operator runs at the level of its inputs if these are distributed as it needs them;
otherwise rows move, and it runs one level later. So an epoch is one chain of levels, however many queries there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from continua.physical.distribution import Alone, Anywhere, ByKey, Distribution, Everywhere
from continua.physical.nodes import Changes, Hold, Node, QueryResult, Source, Union


@dataclass(frozen=True, slots=True)
class Stay:
    """Rows go on in the partition where they are."""


STAY = Stay()


@dataclass(frozen=True, slots=True)
class Channel:
    """Rows of a node on their way to a level: by key, to one partition, to all, or wherever they are."""

    node: str
    level: int
    distribution: Distribution | Stay
    held: bool = False
    """Whether rows may start behind the epoch and must wait where they arrive."""

    @property
    def name(self) -> str:
        """What tells it from others."""
        return f"{self.node}>{self.level}>{self.distribution!r}"


@dataclass(slots=True)
class Level:
    """What one level runs, in order, and what it sends."""

    nodes: list[Node] = field(default_factory=list)
    receives: list[Channel] = field(default_factory=list)
    sends: list[Channel] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node's output is: at which level, and how it is distributed there."""

    level: int
    distribution: Distribution


@dataclass
class Placement:
    """All levels of a graph."""

    levels: list[Level]
    inputs: dict[tuple[str, int], Channel | None]
    """For each input of a node the channel that brings it, or None when it is made at the same level."""
    places: dict[str, Place]

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """All nodes by their id."""
        return {node.id: node for level in self.levels for node in level.nodes}

    @cached_property
    def told_as_changes(self) -> frozenset[str]:
        """The nodes whose rows are read only where changes are made of them, beside them."""
        readers: dict[str, list[bool]] = {}
        for level in self.levels:
            for node in level.nodes:
                for number, below in enumerate(node.inputs):
                    here = self.inputs[node.id, number] is None
                    readers.setdefault(below.id, []).append(here and isinstance(node, Changes))
        return frozenset(name for name, made in readers.items() if all(made))

    @cached_property
    def users(self) -> dict[str, frozenset[str]]:
        """For each node the queries that it works for."""
        found: dict[str, frozenset[str]] = {}
        for level in reversed(self.levels):
            for node in reversed(level.nodes):
                mine = found.get(node.id, frozenset())
                if isinstance(node, QueryResult):
                    mine = found[node.id] = mine | {node.query}
                for below in node.inputs:
                    found[below.id] = found.get(below.id, frozenset()) | mine
        return found

    def by_query(self, amounts: Mapping[str, float]) -> dict[str, float]:
        """What nodes took, by queries: that of a node which works for several is divided among them alike."""
        found: dict[str, float] = {}
        for name, amount in amounts.items():
            users = self.users.get(name, frozenset())
            for query in users:
                found[query] = found.get(query, 0.0) + amount / len(users)
        return found


def placement_of(roots: Iterable[Node], single_epoch: bool = False) -> Placement:
    """Puts every node of the graphs at its level; equal nodes are one.

    ``single_epoch``: all rows are in one epoch, so that none has to wait, and what holds no state ends where rows are
    read.
    """
    result = Placement([Level()], {}, {})
    known: set[Channel] = set()
    for node in in_order(roots):
        _place(node, result, single_epoch, known)
    return result


def without(placement: Placement, results: Collection[str]) -> Placement:
    """The graph without some results, by their ids: where a node is does not depend on what else there is."""
    if not results:
        return placement
    nodes = (node for level in placement.levels for node in level.nodes)
    return placement_of([n for n in nodes if isinstance(n, QueryResult) and n.id not in results])


def in_order(roots: Iterable[Node]) -> list[Node]:
    """All nodes, each once and after its inputs."""
    seen: set[str] = set()
    found: list[Node] = []

    def visit(node: Node) -> None:
        if node.id not in seen:
            seen.add(node.id)
            for below in node.inputs:
                visit(below)
            found.append(node)

    for root in roots:
        visit(root)
    return found


def _place(node: Node, placement: Placement, single_epoch: bool, known: set[Channel]) -> None:
    """Puts a node at its level; ``known`` are the channels that there are already."""
    below = [placement.places[n.id] for n in node.inputs]
    level, moves = (0, []) if isinstance(node, Source) else _moves(node, below, single_epoch)
    kept = [p.distribution if move is None else move for p, move in zip(below, moves, strict=True)]
    placement.places[node.id] = Place(level, _after(node, kept) if level else Anywhere())
    while len(placement.levels) <= level:
        placement.levels.append(Level())
    here = placement.levels[level]
    here.nodes.append(node)
    for number, (source, at, move) in enumerate(zip(node.inputs, below, moves, strict=True)):
        if at.level == level:
            placement.inputs[node.id, number] = None
            continue
        channel = Channel(source.id, level, STAY if move is None else move, held=at.level == 0)
        placement.inputs[node.id, number] = channel
        if channel not in known:
            known.add(channel)
            here.receives.append(channel)
            placement.levels[at.level].sends.append(channel)


def _moves(node: Node, below: list[Place], single_epoch: bool) -> tuple[int, list[Distribution | None]]:
    """The level at which a node runs, and how each input moves to get there: None for one that stays where it is."""
    highest = max(p.level for p in below)
    if highest == 0:
        passive = not node.stateful or isinstance(node, Hold) or (single_epoch and isinstance(node, QueryResult))
        return (0, [None for _ in below]) if passive else (1, list(node.requires))
    if all(isinstance(r, Anywhere | Everywhere) for r in node.requires):
        return _anywhere(node, below, highest)
    if len({p.level for p in below}) == 1 and _aligned([p.distribution for p in below], node.requires):
        return highest, [None for _ in below]
    here = [(p.distribution, r) for p, r in zip(below, node.requires, strict=True) if p.level == highest]
    if all(have == want for have, want in here):
        pairs = zip(below, node.requires, strict=True)
        return highest, [None if p.level == highest else r for p, r in pairs]
    return highest + 1, list(node.requires)


def _anywhere(node: Node, below: list[Place], highest: int) -> tuple[int, list[Distribution | None]]:
    """Inputs stay where they are, those of level 0 go to any partition, and what is needed everywhere is sent."""
    pairs = list(zip(below, node.requires, strict=True))
    late = any(p.level == highest and isinstance(r, Everywhere) for p, r in pairs)
    moves = [r if isinstance(r, Everywhere) or p.level == 0 else None for p, r in pairs]
    return highest + 1 if late else highest, moves


def _aligned(given: list[Distribution], needed: tuple[Distribution, ...]) -> bool:
    """Whether rows that belong together are in one partition: by the same key columns, or all in one."""
    if all(isinstance(have, Alone) for have in given):
        return True
    places: set[tuple[int, ...]] = set()
    for have, want in zip(given, needed, strict=True):
        if not isinstance(have, ByKey) or not isinstance(want, ByKey) or not set(have.columns) <= set(want.columns):
            return False
        places.add(tuple(want.columns.index(c) for c in have.columns))
    return len(places) == 1


def _after(node: Node, kept: list[Distribution]) -> Distribution:
    """How the result is distributed: as the first input was, by the columns that are still there."""
    first = kept[0]
    if isinstance(node, Union) and any(d != first for d in kept):
        return Anywhere()
    match first:
        case ByKey(columns=columns):
            moved = [node.keeps(c) for c in columns]
            places = tuple(c for c in moved if c is not None)
            return ByKey(places) if len(places) == len(moved) else Anywhere()
        case Everywhere():
            return Anywhere()
        case _:
            return first
