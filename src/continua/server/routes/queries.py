"""Queries: registered, started, stopped and dropped."""

from __future__ import annotations

from msgspec.structs import replace

from continua.answers.query import Query
from continua.errors import BindError, Diagnostic
from continua.explain.show import columns_of as columns_of_entry
from continua.explain.show import kind_name
from continua.lang.statements import QueryStatement
from continua.physical.ordered_operators import FINAL
from continua.server.declared import Call, route
from continua.server.permits import QUERY, check_script
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import CatalogTold, Column, Entry, NewQuery, Queries, QueryInfo, problem
from continua.server.written import closed, columns_of, shown_instant


@route("GET", "/api/catalog", Role.READ, gives=CatalogTold)
def get_catalog(service: Service, call: Call) -> CatalogTold:
    """Tells what is defined: streams, relations, views, functions and windows."""
    catalog = service.session.catalog
    found = []
    for entry in catalog.entries():
        if not call.caller.may_stream(entry.name):
            continue
        kind = kind_name(entry)
        space = kind if kind == "window" else "function" if kind in ("function", "aggregate") else "table"
        columns = [Column(name, of) for name, of, _ in columns_of_entry(catalog, entry)]
        found.append(Entry(entry.name, kind, columns, service.kept.text_of(space, entry.name)))
    return CatalogTold(found, catalog.settings.dialect)


@route("GET", "/api/queries", Role.READ, gives=Queries)
def list_queries(service: Service, call: Call) -> Queries:
    """Lists all registered queries, and how they are doing."""
    known = [query for name, query in list(service.session.queries.items()) if call.caller.may_query(name)]
    return Queries([info(service, query) for query in known])


@route("POST", "/api/queries", Role.WRITE, takes=NewQuery, gives=QueryInfo, status=201)
def register_query(service: Service, call: Call) -> QueryInfo:
    """Registers a query, which is live from then on.

    ``sql`` is a query, or REGISTER QUERY as a whole; ``name`` and ``group`` belong to the former.
    """
    asked: NewQuery = call.body
    text = asked.sql
    if asked.name is not None:
        group = f" GROUP {quoted(asked.group)}" if asked.group else ""
        text = f"REGISTER QUERY {quoted(asked.name)}{group} AS {text}"
    call.record.done += check_script(call.caller, text)
    checked = service.session.check(text)
    if [type(outcome.statement.body) for outcome in checked] != [QueryStatement]:
        message = "one query is registered at a time, and nothing else with it"
        raise BindError(Diagnostic("NOT_A_QUERY", message, hint="POST /api/statements runs scripts"))
    (outcome,) = service.execute(text, call.caller.name)
    assert outcome.query is not None
    return info(service, service.query(outcome.query.name))


@route("GET", "/api/queries/{name}", Role.READ, about=QUERY, gives=QueryInfo)
def get_query(service: Service, call: Call) -> QueryInfo:
    """Tells how a query is doing."""
    return info(service, service.query(call.name))


@route("DELETE", "/api/queries/{name}", Role.WRITE, about=QUERY, status=204)
def drop_query(service: Service, call: Call) -> None:
    """Drops a query, with what is kept of its answers."""
    service.execute(f"DROP QUERY {quoted(service.query(call.name).name)}")


@route("POST", "/api/queries/{name}/start", Role.WRITE, about=QUERY, gives=QueryInfo)
def start_query(service: Service, call: Call) -> QueryInfo:
    """Starts a query that was stopped: it begins anew, after the rows that have been read."""
    service.execute(f"START QUERY {quoted(service.query(call.name).name)}")
    return info(service, service.query(call.name))


@route("POST", "/api/queries/{name}/stop", Role.WRITE, about=QUERY, gives=QueryInfo)
def stop_query(service: Service, call: Call) -> QueryInfo:
    """Stops a query, which stays registered."""
    service.run_of(call.name)
    service.execute(f"STOP QUERY {quoted(call.name)}")
    return info(service, service.query(call.name))


def quoted(name: str) -> str:
    """A name as an identifier of SQL, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def info(service: Service, query: Query) -> QueryInfo:
    """A query, and how it is doing."""
    failure = service.failure_of(query)
    found = QueryInfo(
        name=query.name,
        sql=service.kept.text_of("query", query.name),
        expanded=query.bound.expanded,
        answer=query.kind.value,
        time=query.domain.value,
        columns=columns_of(query),
        sources=[source.name for source in query.sources],
        group=query.group,
        state="stopped" if failure is None else "failed",
        sink=None if query.sink is None else query.sink.function.text,
        failure=None if failure is None else problem(failure.diagnostics[0]),
    )
    if query.name not in service.live.queries:
        return found
    run = service.live.run_of(query.name)
    until = run.engine.until
    lags = run.live.lag(until)
    behind = [lags[s.name.casefold()] for s in query.sources if s.name.casefold() in lags]
    return replace(
        found,
        state="live" if failure is None else "failed",
        start=shown_instant(query.start, query),
        until=shown_instant(closed(run), query),
        ended=until >= FINAL,
        epoch=run.engine.epoch_number,
        rows=run.totals.answers[query.name],
        lag=max(behind, default=None),
    )
