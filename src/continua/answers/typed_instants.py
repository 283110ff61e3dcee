"""Instants as users type them."""

from __future__ import annotations

import re

from continua.answers.query import Query
from continua.instants import INFINITY, TimeDomain, floor_to, instant_of, parse_timestamp

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def instant_at(text: str, query: Query) -> int:
    """The instant that a text means in a query's time domain. Raises ValueError with what was expected."""
    if query.domain is TimeDomain.TICKS:
        wanted, instant = "an integer", int(text) if _INTEGER.fullmatch(text) else None
    else:
        wanted, instant = "a timestamp such as 2024-01-31T12:00:00Z", _timestamp(text)
    if instant is None or abs(instant) >= INFINITY:
        raise ValueError(f"{text!r} is not an instant of {query.name}: its time is {wanted}")
    return floor_to(instant, query.chronon)


def _timestamp(text: str) -> int | None:
    try:
        return instant_of(parse_timestamp(text))
    except (ValueError, OverflowError):
        return None
