"""What a definition says of a table of PostgreSQL, or of a query, that is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from continua.algebra.schema import Field
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import Diagnostic, SourceError, Span, did_you_mean, listing
from continua.lang.statements import Secret, SourceCall
from continua.sources.postgres.database import POSTGRES, TIMEOUT, Database, quoted

READ_OPTIONS = ("url", "timeout")
FOLLOW_OPTIONS = ("url", "slot", "publication", "create", "timeout")
_QUERY = re.compile(r"\s*(select|with|values|table)\b|\s*\(", re.IGNORECASE)
_SLOT = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class DeclaredTable:
    """A table, or a query, of a database, and the columns of it that are read."""

    source: str
    """The name of the stream or relation."""
    database: Database
    table: str
    """Its name, perhaps with its schema; or a query."""
    columns: tuple[Field, ...]
    key: tuple[str, ...] = ()
    slot: str = ""
    publication: str = ""
    create: bool = False
    """Whether the publication is made where it is not there."""
    span: Span | None = None

    @property
    def is_query(self) -> bool:
        """Whether what is read is what a query gives."""
        return _QUERY.match(self.table) is not None

    @property
    def shown(self) -> str:
        """It as messages tell it."""
        return "postgres(query)" if self.is_query else f"postgres({self.table})"

    @property
    def from_(self) -> str:
        """It as what a query reads."""
        return f"({self.table.rstrip().rstrip(';')}) AS q" if self.is_query else quoted(self.table)

    def error(self, condition: str, message: str, hint: str | None = None, **parameters: object) -> SourceError:
        """What is wrong with it."""
        known: dict[str, object] = {"source": self.source, "table": self.table, **parameters}
        return SourceError(Diagnostic(condition, message, self.span, hint, known))


def is_of_postgres(call: SourceCall | None) -> bool:
    """Whether rows come from PostgreSQL."""
    return call is not None and call.made is None and call.function.text.lower() == POSTGRES


def as_a_whole(call: SourceCall) -> SourceCall:
    """A call without what says how the table is followed."""
    return replace(call, options=tuple(o for o in call.options if o[0].casefold() in READ_OPTIONS))


def declared_table(info: StreamInfo | RelationInfo, call: SourceCall, followed: bool) -> DeclaredTable:
    """What a call says; ``followed``: by replication. Raises SourceError where it makes no sense."""
    span = call.function.span
    example = f"{POSTGRES}('table', url => secret('PG'))"
    if isinstance(info, StreamInfo):
        message = f"{info.name} is a stream, and a table has rows that come and go"
        raise SourceError(Diagnostic("NOT_A_STREAM", message, span, "write CREATE RELATION", {"source": info.name}))
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str) or not call.arguments[0].strip():
        raise SourceError(Diagnostic("BAD_OPTION", f"{POSTGRES}(...) takes one table", span, example))
    known = FOLLOW_OPTIONS if followed else READ_OPTIONS
    given = {name.casefold(): value for name, value in call.options}
    for option in given.keys() - set(known):
        message = f"{option} is not an option of {POSTGRES}(...) here"
        hint = did_you_mean(option, known) or f"it has {listing(known)}"
        if option in FOLLOW_OPTIONS:
            hint = "CREATE RELATION follows a table by replication; a TABLE is read as a whole"
        raise SourceError(Diagnostic("UNKNOWN_OPTION", message, span, hint, {"source": info.name, "option": option}))
    name = re.sub(r"[^a-z0-9_]", "_", info.name.casefold())
    slot, publication = given.get("slot", f"continua_{name}"), given.get("publication", f"continua_{name}")
    url, timeout, create = given.get("url"), given.get("timeout", TIMEOUT), given.get("create", False)
    expected = {
        "url": (isinstance(url, str | Secret) and url != "", "url => secret('PG') or 'postgresql://user@host/name'"),
        "timeout": (isinstance(timeout, int) and timeout is not True and timeout > 0, "so many seconds"),
        "create": (isinstance(create, bool), "true or false"),
        "slot": (isinstance(slot, str) and _SLOT.fullmatch(slot), "at most 63 small letters, digits and underscores"),
        "publication": (isinstance(publication, str) and publication != "", "the name of a publication"),
    }
    for option, (is_fine, wanted) in expected.items():
        if not is_fine:
            message = f"the option {option} of {POSTGRES}(...) cannot be {given.get(option)!r}"
            parameters: dict[str, object] = {"source": info.name, "option": option}
            raise SourceError(Diagnostic("BAD_OPTION", message, span, wanted, parameters))
    assert isinstance(url, str | Secret)
    assert isinstance(timeout, int)
    columns = tuple(f for f in info.columns if not f.hidden)
    database = Database(url, timeout)
    found = DeclaredTable(
        info.name, database, call.arguments[0], columns, info.key, str(slot), str(publication), create is True, span
    )
    if followed and found.is_query:
        hint = "name the table; or CREATE TABLE ... REFRESH EVERY '1 minute', which reads a query again and again"
        raise found.error("NOT_A_TABLE", f"{info.name} follows a table, and this is a query", hint)
    return found
