"""Parts of windows as they could be written."""

from __future__ import annotations

from continua.instants import INFINITY, TimeDomain, show_length, timestamp_text, value_of
from continua.windows.measures import Axis, Rate


def partition_text(columns: tuple[str, ...]) -> str:
    """The clause that divides a stream."""
    return f"PARTITION BY {', '.join(columns)} " if columns else ""


def range_text(size: int, domain: TimeDomain | None) -> str:
    """The range that covers so many instants, with CQL's closed bounds."""
    return "UNBOUNDED" if size >= INFINITY else length_of(size - 1, domain)


def rate_text(word: str, rate: Rate | None, lag: int, domain: TimeDomain | None, to_start: bool = False) -> str:
    """How often a window moves, where the points lie at which it does, and how late."""
    late = f" LAG {length_of(lag, domain)}" if lag else ""
    match rate:
        case None:
            return late
        case Rate(amount=amount, axis=Axis.ROWS):
            return f" {word} {amount} ROWS{late}"
        case Rate(amount=amount, origin=origin):
            point = "START" if to_start else instant_text(origin, domain)
            aligned = f" ALIGNED TO {point}" if to_start or origin else ""
            return f" {word} {length_of(amount, domain)}{aligned}{late}"


def length_of(instants: int, domain: TimeDomain | None) -> str:
    """A length of time."""
    return show_length(instants, domain or TimeDomain.TICKS)


def instant_text(instant: int, domain: TimeDomain | None) -> str:
    """An instant, as a number or as a timestamp."""
    moment = value_of(instant, domain or TimeDomain.TICKS)
    return str(moment) if isinstance(moment, int) else f"'{timestamp_text(moment)}'"
