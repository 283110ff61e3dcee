"""From SQL to a graph of operators. What has no operator of its own is one operator of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from continua.catalog import AggregateInfo, Catalog
from continua.functions.aggregates import AGGREGATES
from continua.lang.dialect import render_query
from continua.lang.statements import WindowSyntax
from continua.lang.stream_nodes import StreamList, StreamQuery, StreamSubquery, StreamTable
from continua.server.builder.graph import Graph, Input, Node

_SET_OPERATIONS: dict[type[exp.Expr], str] = {
    exp.Union: "union",
    exp.Except: "difference",
    exp.Intersect: "intersection",
}
Named = dict[str, exp.Expr]
"""The named queries of WITH that can be seen."""


class _NoOperatorError(Exception):
    """Some part of a query has no operator of its own."""


@dataclass
class _Drawing:
    """The operators so far; what is there already is shared."""

    catalog: Catalog
    nodes: dict[tuple[object, ...], Node] = field(default_factory=dict)

    def add(self, kind: str, *inputs: Input, **properties: str) -> Input:
        """An operator, which may be there already."""
        given = {name: text for name, text in properties.items() if text}
        key = (kind, inputs, tuple(given.items()))
        if key not in self.nodes:
            self.nodes[key] = Node(f"n{len(self.nodes) + 1}", kind, given, inputs)
        return Input(self.nodes[key].id)

    # Queries.

    def query(self, node: exp.Expr, named: Named) -> Input:
        """A query; where some part of it has no operator it is one of SQL, unless it needs what stands around it."""
        known = dict(self.nodes)
        try:
            return self._query(node, named)
        except _NoOperatorError:
            self.nodes = known
            if any(t.name.casefold() in named for t in node.find_all(exp.Table)):
                raise
            return self.add("sql", sql=render_query(node))

    def _query(self, node: exp.Expr, named: Named) -> Input:
        named = {**named, **self._named(node)}
        match node:
            case StreamQuery():
                return self.add("stream", self.query(node.this, named), operator=str(node.args["operator"]))
            case exp.Subquery() if not node.args.get("alias") and not node.args.get("window"):
                return self._first(node, self.query(node.this, named))
            case exp.SetOperation():
                return self._set_operation(node, named)
            case exp.Select():
                return self._select(node, named)
        raise _NoOperatorError

    def _named(self, node: exp.Expr) -> Named:
        with_ = node.args.get("with_")
        if with_ is None:
            return {}
        if any(cte.args["alias"].args.get("columns") for cte in with_.expressions):
            raise _NoOperatorError
        return {cte.alias.casefold(): cte.this for cte in with_.expressions}

    def _set_operation(self, node: exp.SetOperation, named: Named) -> Input:
        multiplicity = node.args.get("multiplicity")
        rows = str(multiplicity) if multiplicity else "" if node.args.get("distinct") is not False else "ALL"
        both = self.query(node.this, named), self.query(node.expression, named)
        return self._first(node, self.add(_SET_OPERATIONS[type(node)], *both, rows=rows))

    def _select(self, node: exp.Select, named: Named) -> Input:
        if node.args.get("laterals") or node.args.get("from_") is None:
            raise _NoOperatorError
        at = self._from(node, named)
        if where := node.args.get("where"):
            at = self.add("filter", at, predicate=render_query(where.this))
        group, having = node.args.get("group"), node.args.get("having")
        if group is not None:
            if not group.expressions or any(v for k, v in group.args.items() if k != "expressions"):
                raise _NoOperatorError
            at = self.add("group", at, keys=", ".join(map(render_query, group.expressions)))
        if having is not None:
            if group is None:
                raise _NoOperatorError
            at = self.add("filter", at, predicate=render_query(having.this))
        items, operator, distinct = node.expressions, "", node.args.get("distinct")
        if len(items) == 1 and isinstance(items[0], StreamList):
            (only,) = items
            operator, distinct, items = str(only.this), distinct or only.args.get("distinct"), only.expressions
        columns = ",\n  ".join(map(render_query, items)) if len(items) > 4 else ", ".join(map(render_query, items))
        if group is not None or any(map(self._aggregates, items)):
            at = self.add("aggregate", at, columns=columns)
        elif columns != "*" or at.alias:
            at = self.add("map", at, columns=columns)
        if distinct:
            if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
                raise _NoOperatorError
            at = self.add("distinct", at)
        at = self._first(node, at)
        return self.add("stream", at, operator=operator) if operator else at

    def _first(self, node: exp.Expr, at: Input) -> Input:
        order, limit, offset = (node.args.get(part) for part in ("order", "limit", "offset"))
        if order is None and limit is None and offset is None:
            return at
        return self.add(
            "first",
            at,
            order=", ".join(map(render_query, order.expressions)) if order else "",
            limit=render_query(limit.expression) if limit else "",
            offset=render_query(offset.expression) if offset else "",
        )

    def _aggregates(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Query):
            return False
        if isinstance(node, exp.Anonymous):
            name = str(node.name)
            user = self.catalog.function(name)
            if isinstance(user, AggregateInfo) or (name.upper() in AGGREGATES and user is None):
                return True
        return any(map(self._aggregates, node.iter_expressions()))

    # FROM.

    def _from(self, node: exp.Select, named: Named) -> Input:
        first = node.args["from_"].this
        at = self._item(first, named)
        for join in [*(first.args.get("joins") or []), *(node.args.get("joins") or [])]:
            at = self._join(at, join, named)
        return at

    def _join(self, left: Input, join: exp.Join, named: Named) -> Input:
        if join.this.args.get("joins"):
            raise _NoOperatorError
        right = self._item(join.this, named)
        words = [str(join.args.get(part) or "") for part in ("method", "side", "kind")]
        kind = " ".join(filter(None, words))
        on, using = join.args.get("on"), join.args.get("using")
        if not kind and on is None and not using:
            kind = ","
        names = ", ".join(map(render_query, using or []))
        return self.add("join", left, right, join=kind, on=render_query(on) if on is not None else "", using=names)

    def _item(self, item: exp.Expr, named: Named) -> Input:
        alias = item.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            raise _NoOperatorError
        called = alias.name if alias else ""
        window: WindowSyntax | None = item.args.get("window")
        match item:
            case StreamTable() if not item.args.get("view") and not item.args.get("db"):
                inner = named.get(item.name.casefold())
                if inner is None:
                    at = self.add("source", name=item.name)
                else:
                    earlier = {name: query for name, query in named.items() if name != item.name.casefold()}
                    at, called = self._nested(inner, earlier), called or item.name
            case StreamSubquery():
                at = self._nested(item.this, named)
            case _:
                raise _NoOperatorError
        if window is not None:
            at = self.add("window", at, window=window.text)
        return Input(at.node, called)

    def _nested(self, node: exp.Expr, named: Named) -> Input:
        """A query in FROM: one that maps nothing still makes new names of its columns."""
        at = self.query(node, named)
        kind = next(n.kind for n in self.nodes.values() if n.id == at.node)
        return self.add("map", at, columns="*") if kind in ("source", "window", "join", "filter") else at


def drawn(query: exp.Expr, catalog: Catalog, registered: Mapping[str, str]) -> Graph:
    """The graph of a query; ``registered`` are the properties of its sink."""
    drawing = _Drawing(catalog)
    try:
        top = drawing.query(query, {})
    except _NoOperatorError:
        return drawn_whole(render_query(query), registered)
    drawing.add("sink", top, **registered)
    return _needed(Graph(tuple(drawing.nodes.values())))


def drawn_whole(sql: str, registered: Mapping[str, str]) -> Graph:
    """A query as one operator."""
    drawing = _Drawing(Catalog())
    drawing.add("sink", drawing.add("sql", sql=sql), **registered)
    return Graph(tuple(drawing.nodes.values()))


def _needed(graph: Graph) -> Graph:
    """Without operators that were drawn for a part of a query that became SQL."""
    wanted, found = [graph.nodes[-1].id], set[str]()
    while wanted:
        node = graph.by_id[wanted.pop()]
        if node.id not in found:
            found.add(node.id)
            wanted += [i.node for i in node.inputs if i is not None]
    return Graph(tuple(node for node in graph.nodes if node.id in found))
