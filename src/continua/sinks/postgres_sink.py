"""Tables of PostgreSQL: what a query yields in an epoch, with the number of the epoch, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from continua.errors import Diagnostic, MachineError, SourceError, did_you_mean, listing
from continua.lang.statements import Secret, SourceCall
from continua.sinks.postgres_rows import Changed, copied
from continua.sinks.sink import Sink
from continua.sources.postgres.database import POSTGRES, TIMEOUT, first_line, identifier, library, quoted
from continua.sources.secrets import revealed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = ("url", "key", "create", "append", "timeout")
_PAUSE = 0.1
_PROGRESS = "continua_progress"
_STAGED = "continua_staged"
GONE = "continua_gone"
"""The column that says of a row that is copied that its key is gone."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class PostgresSink(Sink):
    """A table: of what has a key, the content; of everything else, the answers one below the other."""

    table: str
    url: str | Secret = field(repr=False)
    key: tuple[str, ...] = ()
    create: bool = False
    """Whether it is made if it is not there."""
    append: bool = False
    """Whether it may have rows of others."""
    timeout: int = TIMEOUT
    """So many seconds the database may be away."""

    stays = True

    def __str__(self) -> str:
        return f"postgres('{self.table}')"

    def start(self, spark: SparkSession | None = None) -> None:  # noqa: ARG002
        """Refuses a table with rows of others, unless it may have such."""

        def has_rows(connection: Any) -> bool:
            there = connection.execute("SELECT to_regclass(%s)", [quoted(self.table)]).fetchone()[0]
            if there is None:
                return False
            return connection.execute(f"SELECT 1 FROM {quoted(self.table)} LIMIT 1".encode()).fetchone() is not None

        if not self.append and self.patiently(has_rows):
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"the table {self.table} has rows already",
                    hint="append => true adds to them; or go on with the --checkpoint of the run that wrote them",
                    parameters={"sink": str(self)},
                )
            )

    def check(self, columns: Mapping[str, tuple[str, ...]]) -> None:
        """Makes the table where that is wanted, and refuses one that does not fit.

        ``columns``: by name, the types that a column may have; it is made with the first.
        """

        def checked(connection: Any) -> None:
            name = quoted(self.table)
            if self.create:
                wanted = ", ".join(f"{identifier(column)} {types[0]}" for column, types in columns.items())
                connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({wanted})".encode())
            there = connection.execute("SELECT to_regclass(%s)::oid", [name]).fetchone()[0]
            if there is None:
                message = f"there is no table {self.table}"
                hint = "create => true makes it"
                raise SourceError(Diagnostic("TABLE_NOT_FOUND", message, hint=hint, parameters={"sink": str(self)}))
            query = (
                "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
                "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped"
            )
            found = dict(connection.execute(query, [there]).fetchall())
            for column, types in columns.items():
                self._fits(column, types, found)
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {_PROGRESS} (writer TEXT PRIMARY KEY, epoch BIGINT NOT NULL)".encode()
            )

        self.patiently(checked)

    def _fits(self, column: str, types: tuple[str, ...], found: Mapping[str, str]) -> None:
        parameters: dict[str, object] = {"sink": str(self), "column": column}
        if column not in found:
            message = f"the table {self.table} has no column {column}"
            hint = did_you_mean(column, found) or f"it has {listing(list(found))}"
            raise SourceError(Diagnostic("MISSING_COLUMN", message, hint=hint, parameters=parameters))
        if found[column] not in types:
            message = f"column {column} of the table {self.table} is {found[column]}, and gets values for {types[0]}"
            hint = f"it may be {listing(types)}"
            raise SourceError(Diagnostic("TYPE_MISMATCH", message, hint=hint, parameters=parameters))

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Adds answers of an epoch, whatever run they are of."""
        self.write_as(f"continua {self.table}", epoch, Changed(answers))

    def write_as(self, writer: str, epoch: int, changed: Changed) -> None:
        """Writes what an epoch changes, unless a writer of that name has."""

        def written(connection: Any) -> None:
            connection.execute(f"INSERT INTO {_PROGRESS} VALUES (%s, 0) ON CONFLICT DO NOTHING".encode(), [writer])
            mine = f"SELECT epoch FROM {_PROGRESS} WHERE writer = %s FOR UPDATE"
            if connection.execute(mine.encode(), [writer]).fetchone()[0] >= epoch:
                return
            self._apply(connection, changed)
            connection.execute(f"UPDATE {_PROGRESS} SET epoch = %s WHERE writer = %s".encode(), [epoch, writer])

        self.patiently(written)

    def _apply(self, connection: Any, changed: Changed) -> None:
        name = quoted(self.table)
        columns = ", ".join(map(identifier, changed.rows.column_names))
        if changed.gone is None:
            _copy(connection, f"COPY {name} ({columns})", changed)
            return
        connection.execute(
            f"CREATE TEMP TABLE {_STAGED} ON COMMIT DROP AS "
            f"SELECT {columns}, FALSE AS {GONE} FROM {name} WITH NO DATA".encode()
        )
        _copy(connection, f"COPY {_STAGED} ({columns}, {GONE})", changed)
        same = " AND ".join(f"t.{identifier(k)} = s.{identifier(k)}" for k in self.key)
        connection.execute(f"DELETE FROM {name} t USING {_STAGED} s WHERE {same}".encode())
        null = " OR ".join(f"s.{identifier(k)} IS NULL" for k in self.key)
        alike = " AND ".join(f"t.{identifier(k)} IS NOT DISTINCT FROM s.{identifier(k)}" for k in self.key)
        # what compares with = is found by its hash or an index, which NULL is not
        if connection.execute(f"SELECT 1 FROM {_STAGED} s WHERE {null} LIMIT 1".encode()).fetchone() is not None:
            connection.execute(f"DELETE FROM {name} t USING {_STAGED} s WHERE ({null}) AND {alike}".encode())
        connection.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {_STAGED} WHERE NOT {GONE}".encode())

    def patiently(self, work: Callable[[Any], _T]) -> _T:
        """What a transaction gives; one of which nobody knows whether it was committed is begun again.

        Whoever is asked to do a thing twice has to look whether it is done.
        """
        psycopg = library()
        end = time.monotonic() + self.timeout
        while True:
            try:
                with psycopg.connect(str(revealed(self.url)), connect_timeout=self.timeout) as connection:
                    return work(connection)
            except psycopg.OperationalError as error:
                if time.monotonic() >= end:
                    raise self._away(error) from None
            except psycopg.Error as error:
                message = f"{self} cannot be written: {first_line(error)}"
                raise SourceError(Diagnostic("SINK_NOT_WRITABLE", message, parameters={"sink": str(self)})) from None
            time.sleep(_PAUSE)

    def _away(self, error: Exception) -> MachineError:
        message = f"{self}: the database has not answered for {self.timeout} seconds: {first_line(error)}"
        return MachineError(Diagnostic("POSTGRES_UNREACHABLE", message, parameters={"sink": str(self)}))


def _copy(connection: Any, what: str, changed: Changed) -> None:
    with connection.cursor().copy(f"{what} FROM STDIN (FORMAT csv)".encode()) as into:
        for text in copied(changed):
            into.write(text)


def postgres_sink(call: SourceCall) -> PostgresSink:
    """The table that INTO names. Raises SourceError for what makes no sense."""
    span = call.function.span
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str) or not call.arguments[0]:
        message, hint = f"INTO {call.function}(...) takes one table", "postgres('table', url => secret('PG'))"
        raise SourceError(Diagnostic("BAD_OPTION", message, span, hint))
    options = {name.casefold(): value for name, value in call.options}
    for option in options:
        if option not in _OPTIONS:
            message = f"{option} is not an option of INTO {call.function}(...)"
            hint = did_you_mean(option, _OPTIONS) or f"it has {listing(_OPTIONS)}"
            raise SourceError(Diagnostic("UNKNOWN_OPTION", message, span, hint, {"sink": POSTGRES, "option": option}))
    url, timeout = options.get("url"), options.get("timeout", TIMEOUT)
    expected = {
        "url": isinstance(url, str | Secret) and url != "",
        "create": isinstance(options.get("create", False), bool),
        "append": isinstance(options.get("append", False), bool),
        "timeout": isinstance(timeout, int) and not isinstance(timeout, bool) and timeout > 0,
    }
    for option, is_fine in expected.items():
        if not is_fine:
            message = f"the option {option} of INTO {call.function}(...) cannot be {options.get(option)!r}"
            hint = "url => secret('PG') or url => 'postgresql://...'; create and append are true or false"
            raise SourceError(Diagnostic("BAD_OPTION", message, span, hint, {"sink": POSTGRES, "option": option}))
    assert isinstance(url, str | Secret)
    assert isinstance(timeout, int)
    key = tuple(name.strip() for name in str(options.get("key", "")).split(",") if name.strip())
    create, append = (options.get(name) is True for name in ("create", "append"))
    return PostgresSink(call.arguments[0], url, key, create, append, timeout)
