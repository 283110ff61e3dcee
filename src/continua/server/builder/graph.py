"""What is drawn: operators with their properties, and which reads which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from continua.errors import BindError, Diagnostic

MOST_NODES = 200
"""A graph of more operators is refused: nobody has drawn it."""


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """A kind of operator: how many inputs it has, which properties, and which of these may be empty."""

    inputs: int
    properties: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()


KINDS: Mapping[str, OperatorKind] = {
    "source": OperatorKind(0, ("name",)),
    "sql": OperatorKind(0, ("sql",)),
    "window": OperatorKind(1, ("window",)),
    "filter": OperatorKind(1, ("predicate",)),
    "map": OperatorKind(1, ("columns",)),
    "join": OperatorKind(2, ("join", "on", "using"), frozenset({"join", "on", "using"})),
    "group": OperatorKind(1, ("keys",)),
    "aggregate": OperatorKind(1, ("columns",)),
    "distinct": OperatorKind(1),
    "first": OperatorKind(1, ("order", "limit", "offset"), frozenset({"order", "limit", "offset"})),
    "union": OperatorKind(2, ("rows",), frozenset({"rows"})),
    "difference": OperatorKind(2, ("rows",), frozenset({"rows"})),
    "intersection": OperatorKind(2, ("rows",), frozenset({"rows"})),
    "stream": OperatorKind(1, ("operator",)),
    "sink": OperatorKind(1, ("name", "group", "starting", "sink"), frozenset({"name", "group", "starting", "sink"})),
}


@dataclass(frozen=True, slots=True)
class Input:
    """An operator that another one reads, and what its rows are called there."""

    node: str
    alias: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator."""

    id: str
    kind: str
    properties: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Input | None, ...] = ()
    """What it reads; None where nothing is connected yet."""

    def __getitem__(self, name: str) -> str:
        return self.properties.get(name, "").strip()

    def json(self) -> dict[str, object]:
        """It as plain data."""
        inputs = [None if i is None else {"node": i.node, "alias": i.alias} for i in self.inputs]
        return {"id": self.id, "kind": self.kind, "properties": dict(self.properties), "inputs": inputs}


@dataclass(frozen=True)
class Graph:
    """Operators that read each other, never in a circle."""

    nodes: tuple[Node, ...]

    @cached_property
    def by_id(self) -> dict[str, Node]:
        """The operators by their names."""
        return {node.id: node for node in self.nodes}

    @property
    def roots(self) -> list[Node]:
        """The operators that nobody reads."""
        read = {i.node for node in self.nodes for i in node.inputs if i is not None}
        return [node for node in self.nodes if node.id not in read]

    def in_order(self) -> Iterator[Node]:
        """All operators, each behind those that it reads."""
        done: set[str] = set()
        for node in self.nodes:
            yield from self._behind(node, done, ())

    def _behind(self, node: Node, done: set[str], above: tuple[str, ...]) -> Iterator[Node]:
        if node.id in above:
            raise _wrong("CIRCLE", f"{node.id} reads itself by way of others", node=node.id)
        if node.id in done:
            return
        for read in node.inputs:
            if read is not None:
                yield from self._behind(self.by_id[read.node], done, (*above, node.id))
        if node.id not in done:
            done.add(node.id)
            yield node

    def json(self) -> dict[str, object]:
        """It as plain data."""
        return {"nodes": [node.json() for node in self.nodes]}


def graph_of(data: object) -> Graph:
    """The graph that plain data describes; a :class:`BindError` where it describes none."""
    nodes = data.get("nodes") if isinstance(data, Mapping) else None
    if not isinstance(nodes, list):
        raise _wrong("NOT_A_GRAPH", "a graph is an object with a list of nodes")
    if len(nodes) > MOST_NODES:
        raise _wrong("TOO_MANY_NODES", f"a graph has at most {MOST_NODES} operators, not {len(nodes)}", most=MOST_NODES)
    graph = Graph(tuple(map(_node, nodes)))
    if len(graph.by_id) < len(nodes):
        raise _wrong("NOT_A_GRAPH", "two operators have the same id")
    for node in graph.nodes:
        for read in node.inputs:
            if read is not None and read.node not in graph.by_id:
                raise _wrong("NOT_A_GRAPH", f"{node.id} reads {read.node}, which is not there", node=node.id)
    list(graph.in_order())
    return graph


def _node(data: object) -> Node:
    if not isinstance(data, Mapping):
        raise _wrong("NOT_A_GRAPH", "an operator is an object with id and kind")
    id_, kind = data.get("id"), data.get("kind")
    if not isinstance(id_, str) or not id_ or not isinstance(kind, str) or kind not in KINDS:
        raise _wrong("NOT_A_GRAPH", f"an operator has an id, and one of the kinds {', '.join(KINDS)}")
    properties, inputs = data.get("properties", {}), data.get("inputs", [])
    if not isinstance(properties, Mapping) or not all(isinstance(v, str) for v in properties.values()):
        raise _wrong("NOT_A_GRAPH", f"the properties of {id_} are texts by name", node=id_)
    known = KINDS[kind]
    if unknown := sorted(set(properties) - set(known.properties)):
        raise _wrong("NOT_A_GRAPH", f"a {kind} has no property {unknown[0]}", node=id_)
    if not isinstance(inputs, list) or len(inputs) > known.inputs:
        raise _wrong("NOT_A_GRAPH", f"a {kind} has {known.inputs} inputs", node=id_)
    read = [_input(id_, i) for i in inputs]
    return Node(id_, kind, dict(properties), (*read, *[None] * (known.inputs - len(read))))


def _input(node: str, data: object) -> Input | None:
    if data is None:
        return None
    read = data.get("node") if isinstance(data, Mapping) else None
    alias = data.get("alias", "") if isinstance(data, Mapping) else None
    if not isinstance(read, str) or not isinstance(alias, str):
        raise _wrong("NOT_A_GRAPH", f"an input of {node} is an object with node and alias", node=node)
    return Input(read, alias)


def _wrong(condition: str, message: str, **parameters: object) -> BindError:
    return BindError(Diagnostic(condition, message, parameters=parameters))
