"""Values as text, for side files and messages."""

from __future__ import annotations

import json
from datetime import datetime

from continua.instants import show_timestamp
from continua.types import Value

_LONGEST = 60


def show_value(value: Value) -> str | None:
    """A value as text, much as a CSV file would hold it; NULL stays None."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case datetime():
            return show_timestamp(value)
        case tuple():
            return json.dumps(show_values(value), ensure_ascii=False)
        case _:
            return str(value)


def show_values(values: tuple[Value, ...]) -> list[str | None]:
    """The values of a row as text."""
    return [show_value(value) for value in values]


def shorten(value: object) -> str:
    """A value for a message: quoted, and cut where it would fill the screen."""
    shown = repr(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
