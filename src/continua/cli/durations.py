"""Lengths of time on the command line: 500ms, 10s, 5 minutes."""

from __future__ import annotations

import re

import click

_UNITS = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_LONGEST = 100 * 365 * 86400.0
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The seconds that the text of an option means; without a unit it counts them."""
    if value is None:
        return None
    found = _WRITTEN.fullmatch(value.lower())
    if found is None or found[2] not in _UNITS:
        message = f"{value!r} is no length of time: write 500ms, 10s or '5 minutes'"
        raise click.BadParameter(message, ctx=ctx, param=param)
    length = float(found[1]) * _UNITS[found[2]]
    if length > _LONGEST:
        raise click.BadParameter(f"{value!r} is longer than 100 years", ctx=ctx, param=param)
    return length
