"""INSERT INTO ... VALUES: which rows of which source that is."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from continua.algebra.leaves import Values
from continua.binding.context import Context, UnbindableError
from continua.binding.queries import QueryBinder
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import Span, did_you_mean, listing
from continua.lang.statements import Insert, Name
from continua.types import Value


@dataclass(frozen=True)
class InsertedValues:
    """Rows in the declared order of the columns, and where each stands in the script."""

    source: StreamInfo | RelationInfo
    rows: tuple[tuple[Value, ...], ...]
    places: tuple[Span | None, ...]


def bind_insert(context: Context, statement: Insert) -> InsertedValues:
    """The rows of an INSERT. A column that is not among those that are named is NULL."""
    source = _source(context, statement.name)
    declared = [f.name for f in source.columns]
    order = [_column(context, source, name) for name in statement.columns] or declared
    twice = [n for n in statement.columns if order.count(_column(context, source, n)) > 1]
    if twice:
        message = f"column {twice[1]} stands twice"
        context.fail("DUPLICATE_COLUMN", message, twice[1].span, columns=[twice[1].text])
    plan = QueryBinder(context).query(exp.Subquery(this=statement.query.copy()), None, None)
    if not isinstance(plan, Values):
        context.fail("NOT_SUPPORTED", "INSERT takes constants", statement.query, feature="INSERT")
    if len(order) != len(plan.schema):
        what = f"the {len(order)} columns that are named" if statement.columns else f"{len(order)} columns"
        message = f"a row has {len(plan.schema)} values, and {source.name} has {what}"
        hint = None if statement.columns else f"its columns are {listing(declared)}"
        context.fail("COLUMN_COUNT", message, statement.query, hint, left=len(order), right=len(plan.schema))
    places = tuple(context.positions.of(row) for row in statement.query.expressions)
    return InsertedValues(source, tuple(_ordered(row, order, declared) for row in plan.rows), places)


def _ordered(row: tuple[Value, ...], order: list[str], declared: list[str]) -> tuple[Value, ...]:
    given = dict(zip(order, row, strict=True))
    return tuple(given.get(name) for name in declared)


def _source(context: Context, name: Name) -> StreamInfo | RelationInfo:
    found = context.catalog.table(name.text)
    if isinstance(found, StreamInfo | RelationInfo):
        return found
    if found is None and name.text.casefold() in context.catalog.broken:
        raise UnbindableError
    known = [e.name for e in context.catalog.entries() if isinstance(e, StreamInfo | RelationInfo)]
    hint = did_you_mean(name.text, known)
    if found is not None:
        message = f"{found.name} is derived from others: rows go into streams, relations and tables"
        context.fail("NOT_A_SOURCE", message, name.span, name=found.name)
    context.fail("UNKNOWN_STREAM", f"there is no stream or relation {name}", name.span, hint, name=name.text)


def _column(context: Context, source: StreamInfo | RelationInfo, name: Name) -> str:
    names = {f.name.casefold(): f.name for f in source.columns}
    if name.text.casefold() not in names:
        hint = did_you_mean(name.text, names.values()) or f"it has {listing(list(names.values()))}"
        message = f"{source.name} has no column {name}"
        context.fail("UNKNOWN_COLUMN", message, name.span, hint, column=name.text)
    return names[name.text.casefold()]
