"""What bounds the state of physical operators: for how long a row of a node can be valid."""

from __future__ import annotations

from continua.algebra.leaves import Check, Rule
from continua.instants import TimeDomain, length_in_parts
from continua.physical import check_nodes, nodes, point_nodes, view_nodes


def lifetime(node: nodes.Node) -> int | None:
    """The most instants for which a row of a node is valid; None where nothing is known to end it."""
    match node:
        case nodes.Source():
            return 1
        case nodes.Validity(spec=spec):
            return spec.lifetime
        case nodes.SweptWindow():
            return None
        case nodes.Evaluate():
            return lifetime(node.inputs[0]) if node.keeps_times else None
        case nodes.Changes() | nodes.Chronons():
            return 1
        case point_nodes.Earliest():
            return 1
        case view_nodes.TaggedView() | point_nodes.Clock() | point_nodes.Latest() | point_nodes.LastChange():
            return None
        case point_nodes.ToPoints():
            return None
        case nodes.Join():
            known = [n for n in map(lifetime, node.inputs) if n is not None]
            return min(known, default=None)
        case nodes.Gate():
            return lifetime(node.inputs[0])
        case _:
            lives = [lifetime(n) for n in node.inputs]
            return None if None in lives or not lives else max(n for n in lives if n is not None)


def has_instants(node: nodes.Node) -> bool:
    """Whether every row is as short as a momentary one that was fed: none is merged with the next."""
    if isinstance(node, nodes.Join):
        return lifetime(node) == 1 and all(map(_is_unmerged, node.inputs))
    if isinstance(node, nodes.Evaluate) and node.keeps_times:
        return has_instants(node.inputs[0])
    return node.is_fed


def _is_unmerged(node: nodes.Node) -> bool:
    return node.is_fed or (isinstance(node, nodes.Join | nodes.Evaluate) and all(map(_is_unmerged, node.inputs)))


def held_state(node: nodes.Node, domain: TimeDomain) -> str:
    """What a stateful node holds, and what bounds that."""
    match node:
        case nodes.SweptWindow(spec=spec) if spec.counts_rows:
            return spec.holds("the stream").by
        case nodes.Join():
            left, right = (_life(n, domain) for n in node.inputs)
            return f"the left side's rows, {left}; the right side's, {right}"
        case nodes.Gate():
            left, right = (_life(n, domain) for n in node.inputs)
            return f"the left side's rows, {left}; the right side's keys, {right}"
        case nodes.Aggregate(keys=keys):
            return (
                f"{'a result per group' if keys else 'one result'} and what it needs of rows, {_inputs(node, domain)}"
            )
        case view_nodes.TaggedView():
            return "the relation's rows, as long as no modification removes them"
        case check_nodes.Checked(check=check):
            return _remembered(check)
        case nodes.Hold():
            return "rows that wait for their instant"
        case point_nodes.Clock() | point_nodes.Ticks() | point_nodes.EveryNth():
            return "a few numbers"
        case nodes.Pieces():
            return "the rows that are there"
        case nodes.Changes():
            return f"changes to come of rows, {_inputs(node, domain)}"
        case _:
            return f"rows, {_inputs(node, domain)}"


def _remembered(check: Check) -> str:
    match check.rule:
        case Rule.TAGS:
            return "the keys that are there" if check.key else "the rows that are there"
        case Rule.WITHIN:
            return f"keys, each for at most {_length(check.within, check.domain)}"
        case Rule.DISJOINT:
            return "keys, as long as their elements last"


def _inputs(node: nodes.Node, domain: TimeDomain) -> str:
    texts = list(dict.fromkeys(_life(n, domain) for n in node.inputs))
    return " or ".join(texts) if texts else "one"


def _life(node: nodes.Node, domain: TimeDomain) -> str:
    longest = lifetime(node)
    if longest is None:
        return "without a bound in time"
    if longest == 1:
        return "each for an instant"
    return f"each for at most {_length(longest, domain)}"


def _length(length: int, domain: TimeDomain) -> str:
    return length_in_parts(length) if domain is TimeDomain.MICROSECONDS else f"{length} instants"
