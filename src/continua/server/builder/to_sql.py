"""From a graph of operators to SQL: operators that follow each other as the clauses of SELECT do become one SELECT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum, auto

from continua.algebra.expression_text import name_text
from continua.server.builder.graph import Graph, Input, Node

_SET_OPERATORS = {"union": "UNION", "difference": "EXCEPT", "intersection": "INTERSECT"}


class Clause(IntEnum):
    """How far a query is written, in the order of the clauses."""

    NAME = auto()
    ITEM = auto()
    FROM = auto()
    WHERE = auto()
    GROUP = auto()
    SELECT = auto()
    DISTINCT = auto()
    FIRST = auto()
    WHOLE = auto()


@dataclass(frozen=True, slots=True)
class Written:
    """A query that is being written."""

    clause: Clause
    item: str = ""
    """What stands behind FROM."""
    where: tuple[str, ...] = ()
    keys: str = ""
    having: tuple[str, ...] = ()
    columns: str = "*"
    distinct: bool = False
    body: str = ""
    """A query that is not a SELECT of its own: a set operation, or what stands in a relation-to-stream operator."""
    first: tuple[str, ...] = ()
    """ORDER BY, LIMIT and OFFSET."""

    @property
    def sql(self) -> str:
        """The query."""
        if self.body:
            return "\n".join((self.body, *self.first))
        lines = [f"SELECT {'DISTINCT ' if self.distinct else ''}{self.columns}", f"FROM {_indented(self.item, 5)}"]
        lines += [f"WHERE {_indented(_all_of(self.where), 6)}"] if self.where else []
        lines += [f"GROUP BY {self.keys}"] if self.keys else []
        lines += [f"HAVING {_indented(_all_of(self.having), 7)}"] if self.having else []
        return "\n".join((*lines, *self.first))

    @property
    def is_grouped(self) -> bool:
        """Whether there are groups that no aggregation has made rows of."""
        return self.clause is Clause.GROUP


def written(graph: Graph, node: Node) -> Written:
    """The query of an operator. All that it needs has been checked: see :mod:`checking`."""
    known: dict[str, Written] = {}
    for other in graph.in_order():
        if all(i is not None and i.node in known for i in other.inputs):
            known[other.id] = _written(other, [(known[i.node], i) for i in other.inputs if i is not None])
        if other.id == node.id:
            break
    return known[node.id]


def statement_sql(graph: Graph, root: Node) -> str:
    """The statement of a root: a query that is registered where it is a sink with a name."""
    query = written(graph, root).sql
    if root.kind != "sink" or not any(root.properties.values()):
        return query
    group = f" GROUP {name_text(root['group'])}" if root["group"] else ""
    starting = f" STARTING AT {root['starting']}" if root["starting"] else ""
    begin = f"REGISTER QUERY {name_text(root['name'])}{group}{starting} AS\n{query}"
    return f"{begin}\nINTO {root['sink']}" if root["sink"] else begin


def probe_sql(query: Written) -> str:
    """A query to check what is written so far: groups are counted where nothing has been made of them."""
    return replace(query, columns="COUNT(*) AS rows").sql if query.is_grouped else query.sql


def _written(node: Node, inputs: list[tuple[Written, Input]]) -> Written:
    match node.kind:
        case "source":
            return Written(Clause.NAME, item=name_text(node["name"]))
        case "sql":
            return Written(Clause.WHOLE, body=node["sql"])
        case "join":
            return _joined(node, *inputs)
        case "union" | "difference" | "intersection":
            return _combined(node, inputs[0][0], inputs[1][0])
        case "sink":
            return inputs[0][0]
    below, read = inputs[0]
    match node.kind:
        case "window":
            whole = below.item if below.clause is Clause.NAME else _nested(below)
            return Written(Clause.ITEM, item=f"{whole} {node['window']}")
        case "filter" if below.is_grouped:
            return replace(below, having=(*below.having, node["predicate"]))
        case "filter":
            at = _at(below, Clause.WHERE, read.alias)
            return replace(at, clause=Clause.WHERE, where=(*at.where, node["predicate"]))
        case "group":
            return replace(_at(below, Clause.WHERE, read.alias), clause=Clause.GROUP, keys=node["keys"])
        case "aggregate":
            return replace(_at(below, Clause.GROUP, read.alias), clause=Clause.SELECT, columns=node["columns"])
        case "map":
            return replace(_at(below, Clause.WHERE, read.alias), clause=Clause.SELECT, columns=node["columns"])
        case "distinct":
            return replace(_at(below, Clause.SELECT, read.alias), clause=Clause.DISTINCT, distinct=True)
        case "first":
            words = (("ORDER BY", "order"), ("LIMIT", "limit"), ("OFFSET", "offset"))
            parts = tuple(f"{word} {node[name]}" for word, name in words if node[name])
            return replace(_at(below, Clause.DISTINCT, read.alias), clause=Clause.FIRST, first=parts)
        case _:
            return Written(Clause.WHOLE, body=f"{node['operator']}(\n  {_indented(_plain(below).sql, 2)}\n)")


def _at(below: Written, last: Clause, alias: str) -> Written:
    """The query below, if a clause may follow it, or a query over it."""
    if below.clause <= last and not (below.clause > Clause.ITEM and alias) and not _cannot_follow(below, last):
        return _plain(below, alias)
    return Written(Clause.FROM, item=_named(_nested(below), alias))


def _cannot_follow(below: Written, last: Clause) -> bool:
    return bool(below.body) and last is not Clause.DISTINCT


def _plain(below: Written, alias: str = "") -> Written:
    """A query whose FROM is whole: an item has its name."""
    if below.clause > Clause.ITEM:
        return below
    return Written(Clause.FROM, item=_named(below.item, alias))


def _nested(below: Written) -> str:
    return f"(\n  {_indented(_plain(below).sql, 2)}\n)"


def _named(item: str, alias: str) -> str:
    return f"{item} AS {name_text(alias.strip())}" if alias.strip() else item


def _joined(node: Node, left: tuple[Written, Input], right: tuple[Written, Input]) -> Written:
    first = _side(*left, together=True)
    second = _side(*right, together=False)
    word = node["join"].upper()
    if word == ",":
        return Written(Clause.FROM, item=f"{first},\n{second}")
    on = f" USING ({node['using']})" if node["using"] else f" ON {node['on']}" if node["on"] else ""
    return Written(Clause.FROM, item=f"{first}\n{f'{word} JOIN'.strip()} {second}{on}")


def _side(below: Written, read: Input, *, together: bool) -> str:
    """An item of FROM; joins on the left side go on."""
    if below.clause <= Clause.ITEM or (together and below.clause is Clause.FROM and not read.alias.strip()):
        return _named(below.item, read.alias)
    return _named(_nested(below), read.alias)


def _combined(node: Node, left: Written, right: Written) -> Written:
    rows = node["rows"].upper()
    operator = f"{_SET_OPERATORS[node.kind]} {rows}".strip()
    return Written(Clause.DISTINCT, body=f"{_operand(left)}\n{operator}\n{_operand(right)}")


def _operand(below: Written) -> str:
    whole = _plain(below)
    return f"({whole.sql})" if whole.body or whole.first else whole.sql


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({c})" for c in conditions)


def _indented(text: str, by: int) -> str:
    return text.replace("\n", "\n" + " " * by)
