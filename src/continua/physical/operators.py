"""Which operator runs which physical node: each calls its kernel on words, or the evaluator on columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Protocol

import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.words.columns import Codec
from continua.physical import (
    check_nodes,
    leading,
    nodes,
    partial,
    point_nodes,
    point_operators,
    split_nodes,
    view_nodes,
)
from continua.physical.evaluator import Evaluator
from continua.physical.key_checks import Checked
from continua.physical.ordered_operators import Chronons, Pieces, TopK
from continua.physical.rows import RowSet
from continua.physical.sampling import Sampled
from continua.physical.stateful_operators import Aggregate, Changes, Gate, Hold, Join, Multiplicity
from continua.physical.stateless_operators import (
    Earliest,
    LastChange,
    Leaders,
    Partial,
    Picked,
    Queried,
    Split,
    ToPoints,
    Union,
    Validity,
)
from continua.physical.swept_windows import SweptWindow
from continua.physical.tagging import TaggedView, Tagger
from continua.physical.window_rhythms import Rhythm

Codecs = Callable[[pa.Schema], Codec]


class Operator(Protocol):
    """A node at work in one partition."""

    @property
    def state_rows(self) -> int:
        """How many rows its state holds."""
        ...

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that start in (after, until]."""
        ...

    def interned(self) -> list[Int64s]:
        """The interned values that its state still needs."""
        ...


def operator_for(
    node: nodes.Node,
    arena: Arena,
    codec: Codec,
    codecs: Codecs,
    evaluator: Evaluator,
    as_changes: Container[str] = (),
) -> Operator:
    """The operator that runs a node; ``as_changes``: the nodes whose rows are read only to make changes of them."""
    below = [codecs(n.schema) for n in node.inputs]
    match node:
        case nodes.Evaluate() if node.whole:
            return Picked(node, codec)
        case nodes.Evaluate() | point_nodes.Latest():
            return Queried(node.duckdb, codec, evaluator)
        case nodes.Validity():
            return Validity(node)
        case point_nodes.ToPoints():
            return ToPoints(node)
        case point_nodes.LastChange():
            return LastChange(node, codec)
        case point_nodes.Earliest():
            return Earliest(codec)
        case nodes.Union():
            return Union(codec)
        case split_nodes.Split():
            return Split(node)
        case nodes.Hold():
            return Hold(node, arena, codec)
        case partial.Partial():
            return Partial(node, codec, below[0])
        case leading.Leaders():
            return Leaders(node, codec)
        case nodes.Aggregate():
            return Aggregate(node, arena, codec, below[0], node.id in as_changes)
        case nodes.Multiplicity():
            return Multiplicity(node, arena, codec, node.id in as_changes)
        case nodes.Changes():
            source = node.inputs[0]
            are_net = isinstance(source, nodes.Aggregate | nodes.Multiplicity) and source.id in as_changes
            return Changes(node, arena, codec, are_net)
        case nodes.Join():
            return Join(node, arena, codec, below[0], below[1], evaluator)
        case nodes.Gate():
            return Gate(node, arena, codec, below[1])
        case nodes.SweptWindow():
            return SweptWindow(node, arena, codec, node.id in as_changes)
        case nodes.TopK():
            return TopK(node, arena, codec)
        case check_nodes.Checked():
            return Checked(node, arena, codec, below[0])
        case check_nodes.Sampled():
            return Sampled(node, codec)
        case view_nodes.TaggedView():
            return TaggedView(node, arena, codec, below[0], codecs)
        case view_nodes.Tagger():
            return Tagger(node, arena, codec, below[0])
        case nodes.Chronons():
            return Chronons(node, arena, codec)
        case nodes.Pieces():
            return Pieces(node, arena, codec)
        case point_nodes.RoundUp():
            return point_operators.RoundUp(node, arena, codec, below[1])
        case point_nodes.Clock():
            return point_operators.Clock(node, arena, codec)
        case point_nodes.Ticks():
            return point_operators.Ticks(node, arena, codec)
        case point_nodes.EveryNth():
            return point_operators.EveryNth(node, arena, codec)
        case point_nodes.Rhythm():
            return Rhythm(node, arena, codec)
        case point_nodes.At():
            return point_operators.At(node, arena, codec)
        case point_nodes.Moments():
            return point_operators.Moments(node, arena, codec)
        case _:
            raise TypeError(type(node).__name__)
