"""What an editor and a slider ask: completions, the instants at which something changes, the contents of windows."""

from __future__ import annotations

from msgspec import Struct

from continua.explain.completing import candidates
from continua.server.declared import Call, route
from continua.server.roles import Role
from continua.server.service import Service


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
