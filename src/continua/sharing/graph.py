"""The graph of queries that run together: for each query the plan that serves all of them best.

To push a filter below an aggregation, or to drop columns below a join, makes that query's work less, and the operator
its own. Where other queries would share the operator instead, one of it and a filter each are less work (CQL 7.2.2,
PIPES 2009 6.3.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from continua.physical import nodes
from continua.physical.placement import in_order
from continua.rules.laws import filter_below_aggregation, projection_pruning

LEAST = 8
"""From so many queries on, an aggregation that they share is less work than one for each."""

_PRUNING, _PUSHING = projection_pruning.RULE.name, filter_below_aggregation.RULE.name
LESS_WORK = (frozenset({_PRUNING}), frozenset({_PRUNING, _PUSHING}))
"""Rules that make the work of a query less and sharing impossible: without them there are other graphs of it."""


def choices(graphs: Sequence[Sequence[nodes.QueryResult]]) -> list[int]:
    """For each query the place of one of its graphs: the first is the best for it alone, others leave more to share.

    A later one is taken where enough queries would share a stateful operator of it that its first has not.
    """
    useful = [[shareable(form) for form in forms] for forms in graphs]
    users = Counter((n, node.id) for forms in useful for n, operators in enumerate(forms) for node in operators)

    def best(forms: Sequence[Sequence[nodes.Node]]) -> int:
        own = {node.id for node in forms[0]}
        for number in range(len(forms) - 1, 0, -1):
            for node in forms[number]:
                enough = LEAST if isinstance(node, nodes.Aggregate) else 2
                if node.id not in own and users[number, node.id] >= enough:
                    return number
        return 0

    return [best(forms) for forms in useful]


def shareable(form: nodes.QueryResult) -> list[nodes.Node]:
    """The operators with state that it pays to share."""
    return [n for n in in_order([form]) if isinstance(n, nodes.Aggregate | nodes.Join)]


def is_less_work(form: nodes.QueryResult, own: nodes.QueryResult, view: nodes.QueryResult) -> bool:
    """Whether a graph adds fewer operators with state to that of a view than another one, or as many and uses more."""
    return _work(form, view) < _work(own, view)


def _work(form: nodes.QueryResult, view: nodes.QueryResult) -> tuple[int, int]:
    """How many operators with state a graph has that another one has not; and, negative, how many both have."""
    known = {node.id for node in in_order([view])}
    mine = list(in_order([form]))
    new = [node for node in mine if node.id not in known]
    return sum(node.stateful for node in new), len(new) - len(mine)
