"""What an editor and a slider ask: completions, the instants at which something changes, the contents of windows."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from continua.explain.completing import candidates
from continua.instants import INFINITY, show_instant
from continua.physical.nodes import END, START
from continua.server.declared import Call, route
from continua.server.permits import QUERY
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import Instant
from continua.server.written import closed, shown_instant
from continua.sources.intervals import NEVER


class ToComplete(Struct, frozen=True):
    """A text up to the cursor, and what stands behind it."""

    text: str
    after: str = ""


class Candidate(Struct, frozen=True):
    """What the last word may become, and what that is."""

    text: str
    kind: str


class Candidates(Struct, frozen=True):
    """All of them, the likeliest first."""

    candidates: list[Candidate]


@route("POST", "/api/complete", Role.READ, takes=ToComplete, gives=Candidates)
def complete_text(service: Service, call: Call) -> Candidates:
    """Tells what the word before the cursor may become: names, functions, columns and words of the language."""
    asked: ToComplete = call.body
    caller = call.caller
    names = [name for name in service.session.queries if caller.may_query(name)]
    found = candidates(service.session.catalog, asked.text, asked.after, (), names)
    known = (c for c in found if not caller.is_limited or c.kind in _OF_LANGUAGE or caller.may_stream(c.text))
    return Candidates([Candidate(c.text, c.kind) for c in known])


_OF_LANGUAGE = ("keyword", "function", "aggregate", "unit", "setting", "value", "query")


class InstantsAsked(Struct):
    """Between which instants, and how many at most."""

    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000


class Instants(Struct, frozen=True):
    """At which instants the content of a query changes, as far as history is kept."""

    horizon: Instant | None
    """What is before it can not be asked; None: everything is kept."""
    until: Instant | None
    """The latest instant that is closed."""
    changes: list[Instant]
    """The last of them."""


@route("GET", "/api/queries/{name}/instants", Role.READ, about=QUERY, asks=InstantsAsked, gives=Instants)
def get_instants(service: Service, call: Call) -> Instants:
    """Tells at which closed instants the content of a query changes, the latest ones, for a slider over them."""
    run, query = service.run_of(call.name), service.query(call.name)
    with run.live.lock:
        horizon = run.engine.yielded.past.horizon
        first, last = run.first_epoch(call.name), run.engine.epoch_number
        found = run.engine.results(call.name, first, last) if first <= last else None
        until = closed(run)
    times = np.array([], np.int64)
    if found is not None:
        columns = [np.asarray(found.column(name).to_numpy(), np.int64) for name in (START, END)]
        times = np.unique(np.concatenate(columns))
        times = times[(times < INFINITY) & (times <= (until if until is not None else NEVER))]
    shown = [show_instant(int(t), query.domain) for t in times[-call.asked.limit :]]
    behind = None if horizon.until <= NEVER else show_instant(horizon.until, query.domain)
    return Instants(behind, shown_instant(until, query), shown)
