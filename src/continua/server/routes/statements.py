"""Statements, and what an editor asks about them."""

from __future__ import annotations

from dataclasses import replace

from continua.answers.outcome import Outcome
from continua.errors import ContinuaError
from continua.explain.acknowledgement import acknowledgement
from continua.server.declared import Call, route
from continua.server.permits import check_script
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import Checked, Done, Outcomes, Script, problem
from continua.server.written import content

_SHOWN = 1000
"""So many rows of SELECT ... AT are in the answer to a script."""


@route("POST", "/api/statements", Role.READ, takes=Script, media=("text/plain",), gives=Outcomes)
def run_statements(service: Service, call: Call) -> Outcomes:
    """Runs a script.

    Its mistakes are told together, and then nothing of it is done. What only reads needs the role read; what defines,
    inserts, starts or stops needs write, and SET needs admin. Queries are live as soon as they are registered.
    """
    call.record.done += check_script(call.caller, call.body.sql)
    return Outcomes([done(outcome) for outcome in service.execute(call.body.sql, call.caller.name)])


@route("POST", "/api/check", Role.READ, takes=Script, media=("text/plain",), gives=Checked)
def check_statements(service: Service, call: Call) -> Checked:
    """Says what is wrong with a script, of which nothing is run."""
    try:
        check_script(replace(call.caller, role=Role.ADMIN), call.body.sql)
        notices = service.check(call.body.sql)
    except ContinuaError as error:
        return Checked([problem(d) for d in error.diagnostics], [])
    return Checked([], [problem(d) for d in notices])


def done(outcome: Outcome) -> Done:
    """What a statement did."""
    span, notices = outcome.statement.span, [problem(d) for d in outcome.notices]
    place = (span.line, span.column, span.length)
    if outcome.content is not None:
        found = outcome.content
        shown = content(found.query, found.instant, found.rows, _SHOWN)
        return Done("content", *place, content=shown, notices=notices)
    if outcome.query is not None:
        message = f"query {outcome.query.name} is live"
        return Done("query", *place, message=message, query=outcome.query.name, notices=notices)
    if outcome.header:
        rows = [
            [value if isinstance(value, int | float | str) else str(value) for value in row] for row in outcome.rows
        ]
        return Done("table", *place, header=list(outcome.header), table=rows, notices=notices)
    if outcome.text is not None:
        return Done("text", *place, text=outcome.text, notices=notices)
    return Done("done", *place, message=acknowledgement(outcome.statement.body), notices=notices)


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str) else str(value)
