"""What only the pages of the console ask for: figures over time, histories, contents of windows, plans as graphs."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import Raw, Struct
from starlette.responses import Response

from continua.answers.answer_tables import content_table
from continua.answers.encoding.value_texts import json_object, json_text
from continua.answers.query import Answer, Query
from continua.answers.typed_instants import instant_at
from continua.errors import BindError, Diagnostic
from continua.explain.show import kind_name
from continua.functions.aggregates import AGGREGATES
from continua.functions.scalars import SCALARS
from continua.lang.words import KEYWORDS, UNITS
from continua.server.declared import JSON, Call, route
from continua.server.drawn_plans import all_physical, plans_json
from continua.server.histories import history_of
from continua.server.permits import QUERY, check_script
from continua.server.roles import Role
from continua.server.samples import sampler_of, state_bytes
from continua.server.service import Service
from continua.server.shapes import Column, Rows, Script
from continua.server.verifying import verified
from continua.server.window_contents import MOST_SHOWN, window_contents
from continua.server.written import closed, fields_of, rows_json


class SampleTold(Struct, frozen=True, rename="camel"):
    """What happened to a query from one moment to the next."""

    at: float
    epoch: int
    seconds: float
    rows_in: int
    rows_out: int
    state_bytes: int
    lag: int | None


class QueryProgress(Struct, frozen=True, rename="camel"):
    """How a query did lately."""

    name: str
    samples: list[SampleTold]
    state_bytes: int


class ConsoleProgress(Struct, frozen=True):
    """How the live queries did lately."""

    queries: list[QueryProgress]


@route("GET", "/api/console/progress", Role.READ, gives=ConsoleProgress)
def get_console_progress(service: Service, call: Call) -> ConsoleProgress:
    """Tells how live queries did in the last two minutes."""
    sampler, found = sampler_of(service), []
    for run in service.live.runs.values():
        held = state_bytes(run)
        for name in run.queries:
            if name in service.session.queries and call.caller.may_query(name):
                samples = [
                    SampleTold(s.at, s.epoch, s.seconds, s.rows_in, s.rows_out, s.state_bytes, s.lag)
                    for s in sampler.of(name)
                ]
                found.append(QueryProgress(name, samples, held.get(name, 0)))
    return ConsoleProgress(found)


class SeriesTold(Struct, frozen=True):
    """The least and the greatest value of a column at each instant."""

    name: str
    least: list[float | None]
    greatest: list[float | None]


class HistoryTold(Struct, frozen=True):
    """When a query changed. Instants are numbers, also where they are microseconds since 1970."""

    domain: str
    begin: int | None
    until: int | None
    whole: bool
    instants: list[int]
    counts: list[int]
    series: list[SeriesTold]
    latest: Rows


@route("GET", "/api/queries/{name}/history", Role.READ, about=QUERY, gives=HistoryTold)
def get_history(service: Service, call: Call) -> HistoryTold:
    """Tells when a query changed lately, how many rows it had then, and the range of its numbers."""
    found = history_of(service.run_of(call.name), call.name)
    series = [SeriesTold(name, *values) for name, values in found.series.items()]
    latest = Raw(("[" + ", ".join(_change(found.query, answer) for answer in found.latest) + "]").encode())
    return HistoryTold(
        found.query.domain.value, found.begin, found.until, found.whole, found.instants, found.counts, series, latest
    )


def _change(query: Query, answer: Answer) -> str:
    types = query.types
    values = zip(answer.columns, answer.row, strict=True)
    row = json_object((name, json_text(value, types[name])) for name, value in values)
    op = "null" if answer.op is None else f'"{answer.op}"'
    return f'{{"t": {answer.instant}, "op": {op}, "row": {row}}}'


class WindowsAsked(Struct):
    """At which instant windows are looked into."""

    at: str = "latest"


class WindowTold(Struct, frozen=True):
    """What a window holds, or why that is not known."""

    window: str
    source: str
    columns: list[Column]
    rows: Rows
    total: int
    why: str | None


class WindowsTold(Struct, frozen=True):
    """What the windows of a query hold at an instant."""

    windows: list[WindowTold]


@route("GET", "/api/queries/{name}/windows", Role.READ, about=QUERY, asks=WindowsAsked, gives=WindowsTold)
def get_windows(service: Service, call: Call) -> WindowsTold:
    """Tells what the windows of a query hold at an instant, where the rows of their sources can be read again."""
    query, run = service.query(call.name), service.run_of(call.name)
    latest = closed(run)
    if call.asked.at != "latest":
        try:
            at: int | None = instant_at(call.asked.at, query)
        except ValueError as error:
            raise BindError(Diagnostic("BAD_INSTANT", str(error), parameters={"instant": call.asked.at})) from None
    else:
        at = latest
    if at is None or latest is None or at > latest:
        hint = "an instant is closed when all sources are complete up to it"
        raise BindError(Diagnostic("INSTANT_OPEN", "this instant is not closed yet", hint=hint))
    found = []
    for window in window_contents(query, run, at, service.session.inputs, call.caller.may_stream):
        columns = fields_of(window.query.bound.plan.schema)
        table = content_table(window.query, window.rows[:MOST_SHOWN]).rename_columns([c.name for c in columns])
        rows = rows_json(table)
        found.append(WindowTold(window.text, window.source, columns, rows, len(window.rows), window.why))
    return WindowsTold(found)


@route("GET", "/api/queries/{name}/plans", Role.READ, about=QUERY, also=(JSON,))
def get_plans(service: Service, call: Call) -> Response:
    """Tells all stages of a query's plan as graphs, with what the operators did lately where it is live."""
    query = service.query(call.name)
    return _json(plans_json(service, query, live=query.name in service.live.queries))


@route("POST", "/api/console/plans", Role.READ, takes=Script, also=(JSON,))
def get_plans_of_text(service: Service, call: Call) -> Response:
    """Tells all stages of the plan of the last query of a script, of which nothing is run."""
    check_script(replace(call.caller, role=Role.ADMIN), call.body.sql)
    checked = service.session.check(call.body.sql)
    queries = [q for outcome in checked if (q := outcome.query or outcome.explained) is not None]
    if not queries:
        raise BindError(Diagnostic("NO_QUERY", "there is no query in this text", hint="SELECT ... FROM ..."))
    return _json(plans_json(service, queries[-1], live=False))


@route("GET", "/api/console/graph", Role.READ, also=(JSON,))
def get_graph(service: Service, call: Call) -> Response:
    """Tells the graph of all live queries, with what they share and what the operators did lately."""
    return _json(all_physical(service, call.caller.may_query))


@route("POST", "/api/console/verify", Role.READ, takes=Script, also=(JSON,))
def verify_text(service: Service, call: Call) -> Response:
    """Compares the engine with the reference semantics on a script, over the first rows of its sources."""
    check_script(replace(call.caller, role=Role.ADMIN), call.body.sql)
    return _json(verified(service, call.body.sql))


class Function(Struct, frozen=True):
    """A function or aggregate."""

    name: str
    kind: str
    told: str


class Words(Struct, frozen=True):
    """What an editor can complete besides the names of the catalog."""

    keywords: list[str]
    functions: list[Function]
    dialect: str


@route("GET", "/api/console/words", Role.READ, gives=Words)
def get_words(service: Service, call: Call) -> Words:
    """Tells the words of the language, and its functions."""
    del call
    catalog = service.session.catalog
    functions = [Function(n, "function", "") for n in SCALARS] + [Function(n, "aggregate", "") for n in AGGREGATES]
    functions += [
        Function(e.name, kind_name(e), "") for e in catalog.entries() if kind_name(e) in ("function", "aggregate")
    ]
    return Words([*KEYWORDS, *UNITS], functions, catalog.settings.dialect)


def _json(found: object) -> Response:
    return Response(msgspec.json.encode(found, enc_hook=str), media_type=JSON)
