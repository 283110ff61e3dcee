"""A query that goes on with operators which started before it: up to an instant by its own, from then on by theirs.

Up to that instant its own operators have seen all that they need; behind it both hold the same
(:mod:`continua.sharing.later_starts`), so that no answer is told twice and none is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from continua.algebra.expr import Expr
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.physical.relation import evaluate
from continua.physical.steps import OLD_END, OLD_START, Step, column
from continua.physical.times import compared, earlier, instant, later
from continua.types import UNKNOWN


def tells_instants(graph: nodes.QueryResult) -> bool:
    """Whether each row of a result is told of the instant at which it starts, and none of a longer interval."""
    node = graph.inputs[0]
    while isinstance(node, nodes.Evaluate) and node.keeps_times:
        node = node.inputs[0]
    return isinstance(node, nodes.Changes)


def follows_input(graph: nodes.QueryResult) -> bool:
    """Whether anything in a graph goes on for as long as rows come: then it must see all of them."""
    return any(node.goes_on for node in in_order([graph]))


@dataclass(frozen=True)
class EarlierAnswers(nodes.Union):
    """What a query is told of before it joined, and what it yields.

    Like the result of the query whose operators it has it runs where rows wait for their epoch, so that those are seen
    which were read before it joined; hence it counts as stateful although it holds nothing.
    """

    stateful: ClassVar[bool] = True


def with_earlier_answers(graph: nodes.QueryResult, source: str) -> nodes.QueryResult:
    """The graph of a query that is told what it would have answered before it joined, by a source of its own."""
    told = nodes.Source(graph.schema, (), source)
    return replace(graph, inputs=(EarlierAnswers(graph.schema, (told, graph.inputs[0])),))


def handed_over(own: nodes.QueryResult, other: nodes.QueryResult, after: int) -> nodes.QueryResult:
    """The result of a query up to an instant by one graph, and behind it by another one.

    Of rows with intervals each graph tells the part on its side; those that another graph told before it was taken up
    must all have come by this one, which is so where both run from the beginning.
    """
    before, behind = own.inputs[0], other.inputs[0]
    if tells_instants(own) and tells_instants(other):
        before = _kept(before, [compared(OLD_START, "<=", after)])
        behind = _kept(behind, [compared(OLD_START, ">", after)])
    else:
        turn = instant(after + 1)
        before = _kept(before, [compared(OLD_START, "<=", after)], end=earlier(OLD_END, turn))
        behind = _kept(behind, [compared(OLD_END, ">", turn)], start=later(OLD_START, turn))
        behind = nodes.Hold(behind.schema, (behind,))
    return replace(own, inputs=(nodes.Union(own.schema, (before, behind)),))


def _kept(node: nodes.Node, where: Sequence[Expr], start: Expr = OLD_START, end: Expr = OLD_END) -> nodes.Node:
    columns = tuple(column(place, UNKNOWN) for place in range(len(node.schema)))
    return evaluate(node, Step(columns, tuple(where), start, end), node.schema)
