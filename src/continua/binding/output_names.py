"""The names of output columns, and what a star stands for."""

from __future__ import annotations

from sqlglot import exp

from continua.algebra.schema import Field
from continua.binding.context import Context, Scope
from continua.errors import did_you_mean
from continua.lang.dialect import render_query


def output_name(item: exp.Expr) -> str:
    """The name of a select item: its alias, its column, or its text as Spark names it."""
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Paren):
        return output_name(item.this)
    if isinstance(item, exp.Dot):
        return str(item.args["expression"].name)
    return _text(item)


def _text(item: exp.Expr) -> str:
    bare = item.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    if isinstance(bare, exp.Anonymous):
        arguments = ", ".join("1" if isinstance(a, exp.Star) else _text(a) for a in bare.expressions)
        return f"{str(bare.name).lower()}({arguments})"
    return render_query(bare)


def unique_names(names: list[str]) -> list[str]:
    """The names with a number after those that are taken already."""
    seen: set[str] = set()
    result = []
    for name in names:
        candidate, count = name, 1
        while candidate.casefold() in seen:
            count += 1
            candidate = f"{name}_{count}"
        seen.add(candidate.casefold())
        result.append(candidate)
    return result


def expand_stars(context: Context, scope: Scope, item: exp.Expr) -> list[tuple[str, exp.Expr]] | None:
    """The columns that ``*`` or ``t.*`` stands for; None if the item is no star."""
    if isinstance(item, exp.Star):
        table = None
    elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        table = item.table
    else:
        return None
    items = [i for i in scope.items if table is None or i.alias.casefold() == table.casefold()]
    if not items and table is not None:
        hint = did_you_mean(table, [i.alias for i in scope.items])
        context.fail("UNKNOWN_TABLE", f"{table} is not in FROM", item, hint, table=table)
    if not items:
        context.fail("MISPLACED_STAR", "* needs a FROM", item)
    kept = {name.casefold() for name, _ in scope.merged} if table is None else set()
    first = [(name, _reference("", name, field)) for name, field in scope.merged] if table is None else []
    return first + [
        (name, _reference(i.alias, name, field))
        for i in items
        for name, field in i.fields
        if not field.hidden and name.casefold() not in kept
    ]


def _reference(alias: str, name: str, field: Field) -> exp.Expr:
    column = exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True) if alias else None
    )
    column.meta["field"] = field.name
    return column
