"""What goes over the wire as JSON: each shape is declared once, and the OpenAPI document is made of that."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from continua.errors import Diagnostic

Instant = int | str
"""A number of ticks, or a timestamp in ISO 8601."""
Rows = Annotated[Raw, Meta(extra_json_schema={"type": "array", "items": {"type": "object"}})]
"""Rows as objects by the names of columns; numbers have all their digits, so that a BIGINT needs 64 bits."""


class Problem(Struct, frozen=True):
    """What is wrong, or worth knowing: where, and what to do about it."""

    condition: str
    message: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None
    length: int | None = None
    parameters: dict[str, Any] = {}


class Refusal(Struct, frozen=True):
    """Why something was not done."""

    errors: list[Problem]


class Column(Struct, frozen=True):
    """A column and its SQL type."""

    name: str
    type: str


class Content(Struct, frozen=True):
    """What a query holds at an instant, a row for each copy."""

    query: str
    at: Instant
    columns: list[Column]
    rows: Rows
    total: int
    """How many rows there are; ``rows`` are the first of them."""


class Done(Struct, frozen=True, omit_defaults=True):
    """What a statement did."""

    statement: str
    """What kind of statement it is: query, content, table, text or done."""
    line: int
    column: int
    length: int
    message: str | None = None
    query: str | None = None
    """The name of the query that was registered."""
    content: Content | None = None
    """What SELECT ... AT has found."""
    header: list[str] | None = None
    table: list[list[Any]] | None = None
    """Of SHOW and DESCRIBE."""
    text: str | None = None
    """Of EXPLAIN."""
    notices: list[Problem] = []


class Outcomes(Struct, frozen=True):
    """What the statements of a script did, one after the other."""

    outcomes: list[Done]


class Checked(Struct, frozen=True):
    """What is wrong with a script, and what is worth knowing about it; nothing of it was done."""

    errors: list[Problem]
    notices: list[Problem]


class Script(Struct, frozen=True):
    """Statements as text."""

    sql: str


class NewQuery(Struct, frozen=True):
    """A query to be registered."""

    sql: str
    name: str | None = None
    group: str | None = None


class QueryInfo(Struct, frozen=True):
    """A registered query, and how it is doing."""

    name: str
    sql: str
    expanded: str
    """The same with all defaults."""
    answer: str
    """stream, relation or tagged."""
    time: str
    """ticks or microseconds: whether its instants are numbers or timestamps."""
    columns: list[Column]
    sources: list[str]
    group: str
    state: str
    """live, stopped or failed."""
    start: Instant | None = None
    """The instant that it starts at."""
    until: Instant | None = None
    """Up to which instant it has answered; None: nothing yet."""
    ended: bool = False
    """Whether its sources have ended, so that every instant is answered."""
    epoch: int = 0
    rows: int = 0
    """How many rows of answers it has had since the server began."""
    lag: int | None = None
    """By how many ticks or microseconds the latest row of its sources is ahead of what is answered."""
    sink: str | None = None
    failure: Problem | None = None


class Queries(Struct, frozen=True):
    """All registered queries."""

    queries: list[QueryInfo]


class Entry(Struct, frozen=True):
    """A stream, relation, view, function or window of the catalog."""

    name: str
    kind: str
    columns: list[Column]
    sql: str
    """The statement that has defined it."""


class CatalogTold(Struct, frozen=True):
    """The catalog."""

    entries: list[Entry]
    dialect: str


class Changes(Struct, frozen=True):
    """What has changed behind a position; where nothing is left, ``position`` is where the next look begins."""

    position: str
    epoch: int
    until: Instant | None
    """Up to which instant this tells all changes."""
    changes: Rows
    """``t``, ``op`` (``+`` or ``-``, ``u`` of tagged streams; none of streams) and ``row``."""


class Health(Struct, frozen=True):
    """Whether the server is well."""

    status: str
    version: str
    queries: int
    failures: list[Problem] = []


class Progress(Struct, frozen=True):
    """What the last epochs did, and what has failed."""

    epochs: list[dict[str, Any]]
    failures: list[Problem]


def problem(found: Diagnostic) -> Problem:
    """A diagnostic as JSON has it."""
    parameters = {name: _plain(value) for name, value in found.parameters.items()}
    if (span := found.span) is None:
        return Problem(found.condition, found.message, found.hint, parameters=parameters)
    return Problem(found.condition, found.message, found.hint, span.line, span.column, span.length, parameters)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(part) for part in value]
        case _:
            return str(value)
