"""The builder: graphs of operators to SQL and back, what is wrong with them, and what they do to a sample of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct
from starlette.responses import Response

from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.encoding.value_texts import json_object, json_text
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import BindError, ContinuaError, Diagnostic, ParseError
from continua.explain.pictures.window_sample import COLUMNS
from continua.explain.pictures.window_sample import sample as window_sample
from continua.instants import UNITS, TimeDomain, show_instant
from continua.server.builder.both_ways import graph_from_sql
from continua.server.builder.checking import Checked, bound, check
from continua.server.builder.graph import Graph, graph_of
from continua.server.builder.sample import Sample, SampledRows, sampled, sources_of
from continua.server.builder.to_sql import statement_sql
from continua.server.declared import JSON, Call, route
from continua.server.permits import EITHER, STREAM, Need
from continua.server.permits import check as check_right
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import Column, Problem, Rows, Script, problem

_WORDS = re.compile(r"\w+")


class GraphAsked(Struct):
    """A graph of operators; of a sample the instant, where one is asked for."""

    nodes: list[msgspec.Raw]
    at: int | None = None


class NodeTold(Struct, frozen=True):
    """What is known of an operator."""

    id: str
    kind: str
    columns: list[Column]
    errors: list[Problem]


class GraphChecked(Struct, frozen=True):
    """What is known of a graph: its operators, and its SQL where it is right."""

    nodes: list[NodeTold]
    sql: str | None
    errors: list[Problem]


class EdgeTold(Struct, frozen=True):
    """What an operator yields for a sample."""

    id: str
    columns: list[str]
    rows: Rows
    total: int
    instants: list[int]


class SampleTold(Struct, frozen=True):
    """What all operators of a graph yield at an instant, for the first rows of its sources."""

    at: int
    shown: int | str
    domain: str
    instants: list[int]
    edges: list[EdgeTold]
    errors: list[Problem]


class WindowAsked(Struct):
    """A window over a stream, as it is written."""

    source: str
    window: str


@route("POST", "/api/builder/check", Role.READ, takes=GraphAsked, gives=GraphChecked)
def check_graph(service: Service, call: Call) -> GraphChecked:
    """Says what is wrong with a graph operator by operator, what each yields, and the SQL of the whole."""
    graph = _graph(service, call)
    found = check(graph, service.session.catalog)
    nodes = [NodeTold(name, c.kind, _columns(c), [problem(d) for d in c.errors]) for name, c in found.items()]
    roots = graph.roots
    errors: list[Problem] = []
    sql = None
    if len(roots) > 1:
        message = f"a query has one end, and here are {len(roots)}: {', '.join(r.id for r in roots)}"
        errors.append(problem(Diagnostic("SEVERAL_ENDS", message, hint="connect them, or delete what is not needed")))
    elif roots and found[roots[0].id].is_right and found[roots[0].id].kind != "groups":
        sql = statement_sql(graph, roots[0])
        try:
            if len(service.session.check(sql)) > 1:
                raise ParseError(Diagnostic("SYNTAX", "this is more than one query"))
        except ContinuaError as error:
            last = nodes[[n.id for n in nodes].index(roots[0].id)]
            last.errors.extend(problem(d) for d in error.diagnostics)
            sql = None
    return GraphChecked(nodes, sql, errors)


@route("POST", "/api/builder/graph", Role.READ, takes=Script, media=("text/plain",), also=(JSON,))
def graph_of_text(service: Service, call: Call) -> Response:
    """Tells the graph of the last query of a script; what has no operator of its own is one operator of SQL."""
    _check_rights(service, call, [call.body.sql])
    graph = graph_from_sql(service.session.catalog, call.body.sql)
    return Response(msgspec.json.encode(graph.json()), media_type=JSON)


@route("POST", "/api/builder/sample", Role.READ, takes=GraphAsked, gives=SampleTold)
def sample_graph(service: Service, call: Call) -> SampleTold:
    """Tells what every operator of a graph yields for the first rows of the sources, at an instant."""
    session, graph = service.session, _graph(service, call)
    found = check(graph, session.catalog)
    names = sources_of(c.plan for c in found.values() if c.plan is not None)
    for name in names:  # what is shown are rows of these, also where a view is asked
        check_right(call.caller, Need(Role.READ, STREAM, name))
    entries = [session.catalog.table(name) for name in sorted(names)]
    sources = [e for e in entries if isinstance(e, StreamInfo | RelationInfo)]
    chronon = session.catalog.settings.chronon
    sample = sampled(found, sources, session.inputs, session.functions, chronon, call.body.at)
    return _told(sample, found)


@route("POST", "/api/builder/window", Role.READ, takes=WindowAsked, also=(JSON,))
def draw_window(service: Service, call: Call) -> Response:
    """Tells what a window holds of a stream that shows what it does, over a time line."""
    asked: WindowAsked = call.body
    catalog = service.session.catalog
    _check_rights(service, call, [asked.source, asked.window])
    plan, context = bound(catalog, f"SELECT * FROM `{asked.source.replace('`', '``')}` {asked.window}")
    window = next((n for n in nodes_of(plan) if isinstance(n, Window)), None)
    if window is None:
        raise BindError(Diagnostic("NO_WINDOW", f"{asked.source} has no window", hint="[RANGE 10 MINUTES]"))
    domain = context.domain or TimeDomain.TICKS
    chronon = catalog.settings.chronon if domain is TimeDomain.MICROSECONDS else 1
    tick = chronon if domain is TimeDomain.TICKS else max(chronon, UNITS["SECOND"])
    drawn = window_sample(window.spec, chronon, tick)
    told = {
        "domain": domain.value,
        "origin": drawn.origin,
        "step": drawn.step,
        "parts": drawn.parts,
        "elements": [drawn.has_elements(column) for column in range(COLUMNS)],
        "contents": [
            {"at": c.instant, "shown": show_instant(c.instant, domain), "shares": c.shares} for c in drawn.contents
        ],
    }
    return Response(msgspec.json.encode(told), media_type=JSON)


def _graph(service: Service, call: Call) -> Graph:
    asked: GraphAsked = call.body
    graph = graph_of({"nodes": [msgspec.json.decode(node) for node in asked.nodes]})
    _check_rights(service, call, [text for node in graph.nodes for text in node.properties.values()])
    return graph


def _check_rights(service: Service, call: Call, texts: Iterable[str]) -> None:
    """Refuses texts with words that are names of streams or views to which somebody has no right."""
    if not call.caller.is_limited:
        return
    known = {name.casefold(): name for name in service.session.catalog.table_names()}
    for word in {word.casefold() for text in texts for word in _WORDS.findall(text)} & known.keys():
        check_right(call.caller, Need(Role.READ, EITHER, known[word]))


def _columns(found: Checked) -> list[Column]:
    return [] if found.plan is None else [Column(f.short, str(f.type)) for f in found.plan.schema]


def _told(sample: Sample, checked: dict[str, Checked]) -> SampleTold:
    edges = [_edge(name, rows, checked[name]) for name, rows in sample.edges.items()]
    return SampleTold(
        sample.instant,
        show_instant(sample.instant, sample.domain),
        sample.domain.value,
        list(sample.instants),
        edges,
        [problem(d) for d in sample.errors],
    )


def _edge(name: str, found: SampledRows, checked: Checked) -> EdgeTold:
    assert checked.plan is not None
    types = checked.plan.schema.types
    texts = [
        json_object((c, json_text(v, of)) for c, v, of in zip(found.columns, row, types, strict=True))
        for row in found.rows
    ]
    rows = msgspec.Raw(f"[{', '.join(texts)}]".encode())
    return EdgeTold(name, list(found.columns), rows, found.count, list(found.instants))
