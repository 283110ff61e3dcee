"""Instants that statements ask for: numbers where time is counted in ticks, else texts of timestamps."""

from __future__ import annotations

from continua.binding.context import Context
from continua.errors import Span
from continua.instants import TimeDomain, instant_of, parse_timestamp


def bound_instant(context: Context, written: int | str, span: Span, domain: TimeDomain) -> int:
    """An instant of a time domain as it was written behind AT."""
    found: int | None = None
    match written:
        case int() as number if domain is TimeDomain.TICKS:
            found = number
        case str() as text if domain is TimeDomain.MICROSECONDS:
            found = _timestamp(text)
    if found is None:
        ticks = domain is TimeDomain.TICKS
        wanted = "a whole number" if ticks else "a timestamp"
        context.error(
            "NOT_AN_INSTANT",
            f"{written!r} is not an instant here: time is {wanted}",
            span,
            "AT 5" if ticks else "AT '2024-01-31T12:00:00Z'",
            value=written,
        )
        context.raise_errors()
    assert found is not None
    return found


def _timestamp(text: str) -> int | None:
    try:
        return instant_of(parse_timestamp(text))
    except (ValueError, OverflowError):
        return None
