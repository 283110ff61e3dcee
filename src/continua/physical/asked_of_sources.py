"""What all queries together ask of the rows of a source: others may be left out where rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from continua.algebra.expr import Call, Expr, walk
from continua.algebra.safety import cannot_fail
from continua.physical.nodes import Evaluate, Hold, Node, Source, Validity
from continua.physical.placement import Placement
from continua.physical.steps import END, START, WEIGHT, place_is
from continua.sqltext.plain import is_plain
from continua.types import BOOLEAN


def asked_of(placement: Placement, source: str) -> Expr | None:
    """A condition over the columns ``c0``, ``c1``, ... of a source that holds for every row that a query needs.

    It cannot fail, and means the same to all who may evaluate it. None: there is no such condition.
    """
    nodes = [node for level in placement.levels for node in level.nodes]
    above: dict[str, list[Node]] = {}
    for node in nodes:
        for below in node.inputs:
            above.setdefault(below.id, []).append(node)

    def asked(below: Node) -> Expr | None:
        """Of the rows of a node, by any that works on them."""
        alternatives: list[Expr] = []
        for node in above.get(below.id, []):
            mine = asked(node) if isinstance(node, Validity | Hold) else _joined("AND", list(_first_conditions(node)))
            if mine is None:
                return None
            alternatives.append(mine)
        return _joined("OR", alternatives)

    return _joined("OR", found) if all(found := [asked(n) for n in nodes if _is(n, source)]) else None


def _is(node: Node, source: str) -> bool:
    return isinstance(node, Source) and node.name == source


def _first_conditions(node: Node) -> Iterator[Expr]:
    """The conditions that are asked of all rows of the node's input, before anything that can fail."""
    if not isinstance(node, Evaluate):
        return
    for part in node.steps[0].where:
        if not cannot_fail(part):
            return
        if is_plain(part) and not any(place_is(p, name) for p in walk(part) for name in (START, END, WEIGHT)):
            yield part


def _joined(word: str, parts: Sequence[Expr | None]) -> Expr | None:
    different = tuple(dict.fromkeys(part for part in parts if part is not None))
    if not different:
        return None
    return different[0] if len(different) == 1 else Call(word, different, BOOLEAN)
