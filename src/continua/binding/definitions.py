"""Definitions: CREATE, DROP and SET, checked and entered into the catalog."""

from __future__ import annotations

from continua.binding.context import Context
from continua.binding.defaults import bind_view, tell_expanded
from continua.binding.settings import bind_setting
from continua.binding.source_definitions import source_definition, tagged_definition
from continua.binding.user_code import bind_aggregate, bind_function, bind_window
from continua.catalog import (
    Entry,
    RelationInfo,
    ViewInfo,
    key_of,
    same,
)
from continua.errors import did_you_mean, listing
from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Drop,
    Name,
    SetOption,
)

Definition = (
    CreateSource | CreateTagged | CreateDerived | CreateFunction | CreateAggregate | CreateWindow | Drop | SetOption
)


def define(context: Context, statement: Definition) -> None:
    """Enters a definition into the catalog, or notes what is wrong with it."""
    match statement:
        case CreateSource():
            _add(context, statement.name, source_definition(context, statement), statement.replace)
        case CreateTagged():
            _add(context, statement.name, tagged_definition(context, statement), statement.replace)
        case CreateDerived():
            kind = statement.mode or statement.kind
            columns = tuple(n.text for n in statement.columns)
            plan, tree = bind_view(context, statement.query, kind, None, columns)
            tell_expanded(context, tree)
            entry = ViewInfo(statement.name.text, kind, plan, statement.query, columns, context.settings)
            _add(context, statement.name, entry, statement.replace)
        case CreateFunction():
            _add(context, statement.name, bind_function(context, statement), statement.replace)
        case CreateAggregate():
            _add(context, statement.name, bind_aggregate(context, statement), statement.replace)
        case CreateWindow():
            _add(context, statement.name, bind_window(context, statement), statement.replace)
        case Drop():
            _drop(context, statement)
        case SetOption():
            context.catalog.settings = bind_setting(context, statement)


def _add(context: Context, name: Name, entry: Entry, replace_existing: bool) -> None:
    if context.errors:
        return
    if context.catalog.has(entry) and not replace_existing:
        context.fail(
            "ALREADY_EXISTS",
            f"{name} exists already",
            name.span,
            "DROP it first, or write CREATE OR REPLACE",
            name=name.text,
        )
    before, known = context.catalog.entry(entry), context.known.get(key_of(entry))
    if before is not None and not same(before, entry):
        _check_unused(context, name, before)
    if known is not None and not same(known, entry):
        message = f"the live run has read another {name}"
        context.fail("IN_USE", message, name.span, "stop the live run first, or take another name", name=name.text)
    context.catalog.add(entry)


# DROP and SET.

_DROPPED_AS = {
    "STREAM": ("STREAM",),
    "SOURCE": ("STREAM",),
    "RELATION": ("RELATION",),
    "TABLE": ("RELATION",),
    "VIEW": ("VIEW",),
}


def _drop(context: Context, statement: Drop) -> None:
    if statement.name.text.casefold() in context.catalog.broken:
        return
    entry = context.catalog.table(statement.name.text)
    if statement.kind == "QUERY":
        if not statement.if_exists:
            message = f"there is no query {statement.name}"
            context.fail("UNKNOWN_NAME", message, statement.name.span, name=statement.name.text)
        return
    if entry is not None and statement.kind in ("STREAM", "RELATION", "TABLE", "VIEW", "SOURCE"):
        actual = "VIEW" if isinstance(entry, ViewInfo) and entry.kind != "STREAM" else "STREAM"
        actual = "RELATION" if isinstance(entry, RelationInfo) else actual
        if actual not in _DROPPED_AS[statement.kind]:
            context.fail(
                "WRONG_KIND",
                f"{entry.name} is a {actual.lower()}, not a {statement.kind.lower()}",
                statement.name.span,
                f"DROP {actual} {entry.name}",
                needs=statement.kind,
                got=actual,
            )
    found = context.catalog.find(statement.kind, statement.name.text)
    if found is not None:
        _check_unused(context, statement.name, found)
        context.catalog.drop(found)
    elif not statement.if_exists:
        known = [e.name for e in context.catalog.entries()]
        context.fail(
            "UNKNOWN_NAME",
            f"there is no {statement.kind.lower()} {statement.name}",
            statement.name.span,
            did_you_mean(statement.name.text, known),
            name=statement.name.text,
        )


def _check_unused(context: Context, name: Name, entry: Entry) -> None:
    """What live queries use stays: another of its name would be taken for it."""
    users = [query for query, uses in context.live.items() if key_of(entry) in uses]
    if users:
        context.fail(
            "IN_USE",
            f"{entry.name} is in use: {listing(users)} {'is' if len(users) == 1 else 'are'} live",
            name.span,
            "stop or drop what uses it first",
            name=entry.name,
            queries=users,
        )
