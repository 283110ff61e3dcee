"""The rows that a session was given by hand, as values."""

from __future__ import annotations

from continua.runtime.reference_rows import payload_rows
from continua.session import Session
from continua.sources.intervals import Source
from continua.windows.occurrences import Row


def inserted_rows(session: Session, info: Source) -> tuple[Row, ...]:
    """The rows of a source that were inserted, in their order."""
    arrivals = session.inputs.waiting.of(info.name.casefold())
    return tuple(row for arrival in arrivals for row in payload_rows(arrival.columns, info.columns))
