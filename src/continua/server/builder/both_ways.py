"""SQL to a graph that means the same: what is drawn is bound again, and its plan compared."""

from __future__ import annotations

from continua.catalog import Catalog
from continua.errors import ContinuaError, Diagnostic, ParseError
from continua.lang.dialect import render_query
from continua.lang.parse import parse_script
from continua.lang.statements import CreateDerived, Explain, QueryStatement, SourceCall
from continua.server.builder.checking import bound
from continua.server.builder.from_sql import drawn, drawn_whole
from continua.server.builder.graph import Graph
from continua.server.builder.to_sql import written


def graph_from_sql(catalog: Catalog, text: str) -> Graph:
    """The graph of the last query of a text; its plan is equal to that of the text, or it is one operator of SQL."""
    script = parse_script(text).checked()
    queries = [s for s in script.statements if isinstance(s.body, QueryStatement | Explain | CreateDerived)]
    if not queries:
        raise ParseError(Diagnostic("NO_QUERY", "there is no query in this text", hint="SELECT ... FROM ..."))
    statement = queries[-1]
    body = statement.body
    assert isinstance(body, QueryStatement | Explain | CreateDerived)
    registered = _registered(body) if isinstance(body, QueryStatement) else {}
    text = render_query(body.query)
    plan, _ = bound(catalog, text)
    graph = drawn(body.query, catalog, registered)
    try:
        if bound(catalog, written(graph, graph.roots[0]).sql)[0] == plan:
            return graph
    except ContinuaError:
        pass
    return drawn_whole(text, registered)


def _registered(body: QueryStatement) -> dict[str, str]:
    """What a statement says of the query that it registers."""
    at = (
        ""
        if body.starting is None
        else "EARLIEST"
        if body.starting.instant is None
        else _literal(body.starting.instant)
    )
    return {
        "name": "" if body.name is None else body.name.text,
        "group": "" if body.group is None else body.group.text,
        "starting": at,
        "sink": "" if body.sink is None else _call_text(body.sink),
    }


def _call_text(call: SourceCall) -> str:
    """A sink as it could be written."""
    parts = [*map(_literal, call.arguments), *(f"{name} => {_literal(value)}" for name, value in call.options)]
    return f"{call.function}({', '.join(parts)})"


def _literal(value: object) -> str:
    match value:
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return str(value)
