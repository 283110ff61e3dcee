"""What a statement without output did, in a few words."""

from __future__ import annotations

from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Drop,
    Insert,
    SetOption,
    Start,
    StatementBody,
    Stop,
)


def acknowledgement(body: StatementBody) -> str | None:
    """What a statement without output did, in a few words."""
    match body:
        case CreateSource(kind=kind, name=name) | CreateDerived(kind=kind, name=name):
            return f"{kind.lower()} {name} is defined"
        case CreateTagged(name=name):
            return f"stream {name} is defined"
        case CreateFunction(name=name):
            return f"function {name} is defined"
        case CreateAggregate(name=name):
            return f"aggregate {name} is defined"
        case CreateWindow(name=name):
            return f"window {name} is defined"
        case Drop(kind=kind, name=name):
            return f"{kind.lower()} {name} is gone"
        case SetOption(name=name, value=value):
            return f"{name} is {value}"
        case Insert(name=name, query=rows):
            count = len(rows.expressions)
            return f"{count:,} {'row' if count == 1 else 'rows'} into {name}"
        case Start(name=name):
            return f"query {name} is live"
        case Stop(name=name):
            return f"query {name} is stopped"
        case _:
            return None
