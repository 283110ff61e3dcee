"""What rights a script needs, as its text says before anything is bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from continua.errors import BindError, Diagnostic, Span
from continua.lang.parse import parse_script
from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Describe,
    Drop,
    Explain,
    Insert,
    QueryStatement,
    SelectAt,
    SetOption,
    Show,
    Start,
    Statement,
    Stop,
    Watch,
)
from continua.server.roles import Role
from continua.server.tokens import Caller

STREAM, QUERY, EITHER, ALL = "stream", "query", "stream or query", "all"


@dataclass(frozen=True, slots=True)
class Need:
    """A right that a statement needs."""

    role: Role
    kind: str = STREAM
    name: str = ""
    """Of what; nothing where only the role counts."""


def check_script(caller: Caller, text: str) -> list[str]:
    """Refuses a script that somebody may not run; returns what its statements are, for the record."""
    told = []
    for statement in parse_script(text).statements:
        kind = type(statement.body).__name__
        for need in _needs(statement):
            check(caller, need, statement.span)
            kind += f" {need.name}" if need.name and need.name not in kind else ""
        told.append(kind)
    return told


def check(caller: Caller, need: Need, span: Span | None = None) -> None:
    """Refuses what somebody has no right to."""
    if caller.role < need.role:
        message = f"{caller.name} has the role {caller.role.name.lower()}, and this needs {need.role.name.lower()}"
    elif not _is_permitted(caller, need):
        message = f"{caller.name} has no right to {need.name or 'see what others have'}"
    else:
        return
    raise BindError(Diagnostic("NOT_ALLOWED", message, span, parameters={"role": need.role.name.lower()}))


def _is_permitted(caller: Caller, need: Need) -> bool:
    match need.kind:
        case "all":
            return not caller.is_limited
        case _ if not need.name:
            return True
        case "stream":
            return caller.may_stream(need.name)
        case "query":
            return caller.may_query(need.name)
        case _:
            return caller.may_stream(need.name) or caller.may_query(need.name)


def _needs(statement: Statement) -> Iterator[Need]:
    match statement.body:
        case Show():
            yield Need(Role.READ, ALL)
        case Describe(name=name):
            yield Need(Role.READ, STREAM, name.text)
        case Explain(query=query, stage=stage):
            yield from _read(query, Role.READ)
            if stage == "SHARING":
                yield Need(Role.READ, ALL)
        case SelectAt(query=query):
            yield from _read(query, Role.READ)
        case Watch(names=names):
            yield from (Need(Role.READ, QUERY, name.text) for name in names)
        case Insert(name=name):
            yield Need(Role.WRITE, STREAM, name.text)
        case QueryStatement(name=query_name, query=query):
            yield Need(Role.WRITE, QUERY, query_name.text if query_name else "")
            yield from _read(query, Role.WRITE)
        case Start(name=name) | Stop(name=name) | Drop(kind="QUERY", name=name):
            yield Need(Role.WRITE, QUERY, name.text)
        case CreateDerived(name=name, query=query):
            yield Need(Role.WRITE, STREAM, name.text)
            yield from _read(query, Role.WRITE)
        case CreateTagged(name=name, over=over):
            yield Need(Role.WRITE, STREAM, name.text)
            yield Need(Role.WRITE, STREAM, over.text)
        case CreateSource(name=name, query=source_query):
            yield Need(Role.WRITE, STREAM, name.text)
            if source_query is not None:
                yield from _read(source_query, Role.WRITE)
        case CreateFunction(name=name) | CreateAggregate(name=name) | CreateWindow(name=name) | Drop(name=name):
            yield Need(Role.WRITE, STREAM, name.text)
        case SetOption():
            yield Need(Role.ADMIN, ALL)


def _read(query: exp.Query, role: Role) -> Iterator[Need]:
    """What a query reads: the names in its FROMs but those of WITH."""
    own = {cte.alias.casefold() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.name and table.name.casefold() not in own:
            yield Need(role, EITHER if role is Role.READ else STREAM, table.name)
