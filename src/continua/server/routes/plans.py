"""Plans, of queries that are registered and of those that are only asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from continua.errors import BindError, Diagnostic
from continua.explain.told_plans import FORMATS, Explained, explained_in, explained_query, picture, told
from continua.server.declared import JSON, Call, route
from continua.server.permits import QUERY, check_script
from continua.server.roles import Role
from continua.server.service import Service

SVG, DOT, TEXT = "image/svg+xml", "text/vnd.graphviz", "text/plain"
_TYPES = {"svg": SVG, "dot": DOT, "text": TEXT}


class PlanAsked(Struct):
    """Which stage of a plan is asked for, and how it is to be told."""

    stage: Literal["logical", "rewrites", "physical", "sharing", "windows"] = "logical"
    format: Literal["json", "text", "svg", "dot"] = "json"


class ToExplain(Struct):
    """A script whose queries are explained, of which nothing is run."""

    sql: str
    stage: Literal["logical", "rewrites", "physical", "sharing", "windows"] = "logical"
    format: Literal["json", "text", "svg", "dot"] = "json"


_GIVEN = (JSON, SVG, DOT, TEXT)


@route("GET", "/api/queries/{name}/plan", Role.READ, about=QUERY, asks=PlanAsked, also=_GIVEN)
def get_plan(service: Service, call: Call) -> Response:
    """Tells a stage of a query's plan."""
    found = [explained_query(service.query(call.name), service.session.functions)]
    return _shown(service, found, call.asked.stage, call.asked.format)


@route("GET", "/api/plan", Role.READ, asks=PlanAsked, also=_GIVEN)
def get_whole_plan(service: Service, call: Call) -> Response:
    """Tells a stage of the plan of all queries together."""
    functions, may = service.session.functions, call.caller.may_query
    found = [explained_query(service.query(name), functions) for name in list(service.session.queries) if may(name)]
    return _shown(service, found, call.asked.stage, call.asked.format)


@route("POST", "/api/explain", Role.READ, takes=ToExplain, also=_GIVEN)
def explain_statements(service: Service, call: Call) -> Response:
    """Tells a stage of the plans of a script's queries, of which nothing is run."""
    asked: ToExplain = call.body
    check_script(replace(call.caller, role=Role.ADMIN), asked.sql)
    functions = service.session.functions
    found = [e for outcome in service.session.check(asked.sql) for e in explained_in(outcome, functions)]
    return _shown(service, found, asked.stage, asked.format)


def _shown(service: Service, found: list[Explained], stage: str, form: str) -> Response:
    if stage not in FORMATS[form]:
        *others, last = FORMATS[form]
        message = f"{form} is of {', '.join(others)} and {last}, not of {stage}"
        raise BindError(Diagnostic("BAD_REQUEST", message))
    if form in ("svg", "dot"):
        return Response(picture(found, stage, form, service.session.functions, "sql"), media_type=_TYPES[form])
    parts, shown = told(found, stage, service.session.functions, "sql")
    if form == "text":
        return Response("\n\n".join(parts), media_type=TEXT)
    return Response(msgspec.json.encode(shown, enc_hook=str), media_type=JSON)
