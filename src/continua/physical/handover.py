"""A query that goes on with operators which started before it: up to an instant by its own, from then on by theirs.

Up to that instant its own operators have seen all that they need; behind it both hold the same
(:mod:`continua.sharing.later_starts`), so that no answer is told twice and none is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from continua.physical import nodes
from continua.physical.placement import in_order
from continua.physical.split_nodes import Side, answering, told_by_start


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
    cuts = not (told_by_start(own) and told_by_start(other))
    before, behind = answering(own, after + 1, Side.BEFORE, cuts), answering(other, after + 1, Side.FROM, cuts)
    return replace(own, inputs=(nodes.Union(own.schema, (before.inputs[0], behind.inputs[0])),))
