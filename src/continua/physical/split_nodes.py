"""The two sides of a split time: what one graph answers before it, and another one from it on (PIPES 6.4.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from continua.physical.nodes import Changes, Evaluate, Hold, Node, QueryResult


class Side(Enum):
    """A side of a split time."""

    BEFORE = "before"
    FROM = "from"


@dataclass(frozen=True)
class Split(Node):
    """The part of the rows that is on one side of a split time."""

    stateful: ClassVar[bool] = False
    instant: int
    side: Side
    cuts: bool = True
    """Whether rows that are valid on both sides are cut. If not, every row is on the side on which it starts."""

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts

    @property
    def title(self) -> str:
        return f"{'Valid' if self.cuts else 'Starting'} {self.side.value} {self.instant}"


def told_by_start(graph: QueryResult) -> bool:
    """Whether the rows of a result are changes, each at the instant at which it starts, and not intervals."""
    node = graph.inputs[0]
    while (isinstance(node, Evaluate) and node.keeps_times) or (isinstance(node, Split) and not node.cuts):
        node = node.inputs[0]
    return isinstance(node, Changes)


def from_on(node: Node, instant: int, cuts: bool = True) -> Node:
    """What a node yields from an instant on. Rows that are cut begin there, so they wait until time has come to it."""
    part = Split(node.schema, (node,), instant, Side.FROM, cuts)
    return Hold(part.schema, (part,)) if cuts else part


def answering(graph: QueryResult, instant: int, side: Side, cuts: bool) -> QueryResult:
    """A graph that answers on one side of a split time only."""
    below = graph.inputs[0]
    before = side is Side.BEFORE
    part = Split(below.schema, (below,), instant, side, cuts) if before else from_on(below, instant, cuts)
    return replace(graph, inputs=(part,))
