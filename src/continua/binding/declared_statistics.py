"""STATISTICS (rate = 1000, item_id = 500): what is declared of a source."""

from __future__ import annotations

from decimal import Decimal

from continua.binding.context import Context
from continua.errors import did_you_mean, listing
from continua.lang.statements import CreateSource


def bind_statistics(context: Context, statement: CreateSource, words: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """The numbers that are declared, by one of the words or by a column."""
    columns = {c.name.text.casefold(): c.name.text for c in statement.columns}
    found: dict[str, float] = {}
    for name, value in statement.statistics:
        short = name.text.casefold()
        known = short if short in words else columns.get(short)
        if known is None:
            context.fail(
                "UNKNOWN_STATISTIC",
                f"{statement.name} has no statistic {name}",
                name.span,
                did_you_mean(name.text, [*words, *columns.values()])
                or f"there are {listing([*words, *columns.values()])}",
                name=name.text,
            )
        if known in found:
            context.error("DUPLICATE_STATISTIC", f"{name} stands twice", name.span, name=name.text)
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value <= 0:
            context.fail(
                "BAD_STATISTIC",
                f"{name} is a number above zero, not {value}",
                name.span,
                name=name.text,
                value=str(value),
            )
        found[known] = float(value)
    return tuple(found.items())
