"""Connections to a database of PostgreSQL, and what its errors are here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from continua.errors import ContinuaError, Diagnostic, MachineError, SourceError
from continua.lang.statements import Secret
from continua.sources.secrets import revealed

POSTGRES = "postgres"
TIMEOUT = 30
"""So many seconds a database may be away, by default."""
_PAUSE = 0.1
_SAME_TEXTS = (
    *("TimeZone = 'UTC'", "DateStyle = 'ISO, YMD'", "IntervalStyle = 'postgres'", "bytea_output = 'hex'"),
    *("extra_float_digits = 1", "client_encoding = 'UTF8'"),
)
"""What makes the texts of values the same wherever they come from, and none of them rounded."""
_T = TypeVar("_T")


def library() -> Any:
    """The package by which PostgreSQL is spoken to. Raises SourceError where it is not installed."""
    try:
        import psycopg
    except ImportError:
        message = "postgres(...) needs the package psycopg, which is not installed"
        hint, parameters = "pip install 'continua[postgres]'", {"package": "psycopg"}
        raise SourceError(Diagnostic("PACKAGE_MISSING", message, hint=hint, parameters=dict(parameters))) from None
    return psycopg


@dataclass(frozen=True)
class Database:
    """Where a database is, and for how long it may be away."""

    url: str | Secret = field(repr=False)
    timeout: int = TIMEOUT

    def connected(self, replicating: bool = False) -> Any:
        """A connection that commits every statement by itself; ``replicating``: one that may make slots."""
        psycopg = library()
        options = {"replication": "database", "cursor_factory": psycopg.ClientCursor} if replicating else {}
        found = psycopg.connect(str(revealed(self.url)), autocommit=True, connect_timeout=self.timeout, **options)
        try:
            for setting in _SAME_TEXTS if replicating else (*_SAME_TEXTS, "default_transaction_read_only = on"):
                found.execute(f"SET {setting}".encode())
        except BaseException:
            found.close()
            raise
        return found

    def patiently(self, what: str, work: Callable[[Any], _T]) -> _T:
        """What is done with a connection, from the beginning where that is lost, until the database is away too long.

        ``what`` could not be done then.
        """
        psycopg = library()
        end = time.monotonic() + self.timeout
        while True:
            try:
                with self.connected() as connection:
                    return work(connection)
            except psycopg.Error as error:
                if not may_pass(error) or time.monotonic() >= end:
                    raise self.told(error, what) from None
            time.sleep(_PAUSE)

    def told(self, error: Any, what: str) -> ContinuaError:
        """An error of the database as one of ours; ``what`` could not be done."""
        parameters: dict[str, object] = {"error": error.sqlstate or type(error).__name__}
        if may_pass(error):
            message = f"{what}: the database has not answered for {self.timeout} seconds: {first_line(error)}"
            return MachineError(Diagnostic("POSTGRES_UNREACHABLE", message, parameters=parameters))
        hint = None
        if error.sqlstate == "42501":
            hint = "GRANT SELECT ON the table TO the user of the url"
        return SourceError(
            Diagnostic("POSTGRES_REFUSED", f"{what}: {first_line(error)}", hint=hint, parameters=parameters)
        )


def may_pass(error: Any) -> bool:
    """Whether it may be otherwise soon: a database that was started again answers after a while."""
    if not isinstance(error, library().OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate[:2] in ("08", "57") or error.sqlstate == "53300"


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def identifier(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(table: str) -> str:
    """The name of a table, perhaps with its schema."""
    return ".".join(map(identifier, table.split(".")))
