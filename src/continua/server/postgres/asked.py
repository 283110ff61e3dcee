"""What clients of PostgreSQL ask, answered: contents by DuckDB, changes by cursors, everything else by the server."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from continua.answers.answer_tables import answers_table, content_table, empty_answers
from continua.answers.query import Query
from continua.catalog import ViewInfo
from continua.errors import BindError, ContinuaError, Diagnostic
from continua.explain.acknowledgement import acknowledgement
from continua.runs.live_queries import view_name
from continua.server.access import refused
from continua.server.changes import Position
from continua.server.permits import Need, check, check_script
from continua.server.postgres.catalog_tables import as_duckdb, asks_for_nothing, fill, is_about_catalog
from continua.server.postgres.messages import Field
from continua.server.postgres.values import TEXT, type_of
from continua.server.roles import Role
from continua.server.serving import Server
from continua.server.tokens import Caller
from continua.server.written import closed

warnings.filterwarnings("ignore", "Arrow output on a DB-API result")
_READING = re.compile(r"\s*(\(|SELECT\b|WITH\b|VALUES\b|TABLE\b)", re.IGNORECASE)
_AT = re.compile(r"\bAT\s+(LATEST|-?\d+|'[^']*')\s*;?\s*$", re.IGNORECASE)
_SUBSCRIBE = re.compile(r"\s*SUBSCRIBE\s+(?:TO\s+)?(\"[^\"]+\"|\w+)(?:\s+AFTER\s+'([^']*)')?\s*;?\s*$", re.IGNORECASE)
_WORDS = re.compile(r"\"((?:[^\"]|\"\")+)\"|(\w+)")
_SHOW = re.compile(r"\s*SHOW\s+(\w+(?:\.\w+)?|TRANSACTION ISOLATION LEVEL)\s*;?\s*$", re.IGNORECASE)
_OWN_SHOW = {"streams", "relations", "tables", "views", "functions", "aggregates", "windows", "queries", "all"}
SETTINGS = {
    "server_version": "16.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "datestyle": "ISO, MDY",
    "timezone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "transaction isolation level": "read committed",
    "transaction_isolation": "read committed",
    "search_path": "public",
}
_CODES = {
    "SYNTAX": "42601",
    "SQL": "42601",
    "UNKNOWN_NAME": "42P01",
    "UNKNOWN_STREAM": "42P01",
    "UNKNOWN_COLUMN": "42703",
    "NOT_ALLOWED": "42501",
    "NO_TOKEN": "28P01",
    "CANCELED": "57014",
    "TOO_MANY": "53300",
    "NOT_SUPPORTED": "0A000",
    "IN_FAILED_TRANSACTION": "25P02",
}
_LIMITED = ("enable_external_access=false", "python_enable_replacements=false", "threads=1", "lock_configuration=true")


@dataclass(frozen=True)
class Answer:
    """Rows of an answer, or what a statement did."""

    fields: tuple[Field, ...]
    tag: str
    table: pa.Table | None = None

    @property
    def has_rows(self) -> bool:
        """Whether it has rows, be it none."""
        return self.table is not None


@dataclass
class Subscription:
    """A cursor over changes."""

    query: str
    position: Position
    left: pa.Table | None = None


@dataclass
class Asking:
    """What one connection asks. Its questions come one after the other."""

    server: Server
    caller: Caller
    settings: dict[str, str] = field(default_factory=lambda: dict(SETTINGS))
    _running: duckdb.DuckDBPyConnection | None = None

    def interrupt(self) -> None:
        """Ends the question that is answered now."""
        if (running := self._running) is not None:
            running.interrupt()

    def answer(self, sql: str, parameters: Sequence[Any] = ()) -> Answer:
        """The answer to a statement that is none of a cursor or a transaction."""
        if found := _SHOW.match(sql):
            name = found[1].lower()
            if name not in _OWN_SHOW:
                return _texts([name], [[self.settings.get(name, "")]], "SHOW")
        if _READING.match(sql) and not _AT.search(sql):
            return self._by_duckdb(sql, parameters)
        return self._by_service(sql, parameters)

    def _by_service(self, sql: str, parameters: Sequence[Any]) -> Answer:
        if parameters:
            raise refused("NOT_SUPPORTED", "parameters are for SELECT alone", "write the values into the statement")
        check_script(self.caller, sql)
        outcomes = self.server.service.execute(sql, self.caller.name)
        if not outcomes:
            return Answer((), "")
        last = outcomes[-1]
        if last.content is not None:
            return _rows(last.content.toArrow(), "SELECT")
        if last.header:
            return _texts(last.header, last.rows, "SHOW")
        if last.text is not None:
            return _texts(["plan"], [[line] for line in last.text.splitlines()], "EXPLAIN")
        return Answer((), (acknowledgement(last.statement.body) or "REGISTER QUERY").upper())

    # Contents.

    def known(self) -> dict[str, tuple[Query, str]]:
        """What may be read: live queries and views, each with the name by which the engine has it."""
        service, may = self.server.service, self.caller
        live = service.live.queries
        found = {n: (live[n], n) for n in service.session.queries if n in live and may.may_query(n)}
        views = [e for e in service.session.catalog.entries() if isinstance(e, ViewInfo) and may.may_stream(e.name)]
        kept = {view.name: view_name(view.name) for view in views}
        return {**found, **{name: (live[k], k) for name, k in kept.items() if k in live and name not in found}}

    def _by_duckdb(self, sql: str, parameters: Sequence[Any]) -> Answer:
        if asks_for_nothing(sql):
            return _texts(["nothing"], [], "SELECT 0")
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"SET memory_limit = '{self.server.limits.memory}'")
            self._running = connection
            try:
                if is_about_catalog(sql):
                    fill(connection, {n: _fields_of(q) for n, (q, _) in self.known().items()})
                    sql = as_duckdb(sql)
                else:
                    self._give(connection, sql)
                for setting in _LIMITED:
                    connection.execute(f"SET {setting}")
                # only so are parameters taken; that rows are copied once more matters little
                found = connection.execute(sql, list(parameters)) if parameters else connection.sql(sql)
                return _rows(found.to_arrow_table(), "SELECT")
            except duckdb.InterruptException:
                raise refused("CANCELED", "the statement was canceled") from None
            except duckdb.Error as error:
                raise BindError(Diagnostic("SQL", str(error).split("\n\n")[0])) from None
            finally:
                self._running = None

    def _give(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Gives DuckDB the contents that a question names; of one group they are those of one instant.

        A word that is the name of a query and stands for something else costs the reading of its content alone.
        """
        known = {name.casefold(): (name, *found) for name, found in self.known().items()}
        words = dict.fromkeys((quoted or word).casefold() for quoted, word in _WORDS.findall(sql))
        wanted = [known[word] for word in words if word in known]
        live = self.server.service.live
        instants: dict[str, int] = {}
        for name, query, kept in wanted:
            run = live.run_of(kept)
            with run.live.lock:
                at = instants.setdefault(run.group, _latest(closed(run)))
                connection.register(name, content_table(query, run.content(kept, at)))

    def described(self, sql: str, count: int) -> tuple[Field, ...]:
        """The columns of a statement's answer, before its parameters are known."""
        if _READING.match(sql) and not _AT.search(sql):
            return self._by_duckdb(f"SELECT * FROM ({sql.strip().rstrip(';')}) LIMIT 0", [None] * count).fields
        return ()

    # Changes.

    def subscribed(self, sql: str) -> Subscription | None:
        """A cursor over changes, if a statement asks for one."""
        found = _SUBSCRIBE.match(sql)
        if found is None:
            return None
        name, service = found[1].strip('"'), self.server.service
        check(self.caller, Need(Role.READ, "query", name))
        run = service.run_of(name)
        begin = service.changes.begin(run, name) if found[2] is None else service.changes.resumed(run, name, found[2])
        return Subscription(name, begin)

    def fields_of(self, subscription: Subscription) -> tuple[Field, ...]:
        """The columns of changes."""
        return _fields(_positioned(empty_answers(self.server.service.query(subscription.query)), subscription.position))

    def fetched(self, subscription: Subscription, most: int | None) -> Answer:
        """The next changes, at most so many, as far as there are any."""
        service, name = self.server.service, subscription.query
        query = service.query(name)
        if subscription.left is None or not subscription.left.num_rows:
            position, results = service.changes.rows(service.run_of(name), name, subscription.position)
            table = empty_answers(query) if results is None else answers_table(query, results)
            subscription.left, subscription.position = _positioned(table, position), position
        found = subscription.left.slice(0, most)
        subscription.left = subscription.left.slice(found.num_rows)
        return _rows(found, "FETCH")


def _positioned(table: pa.Table, position: Position) -> pa.Table:
    """Changes with the position behind them: it may be gone on from once all changes with it were had."""
    column = pa.array([str(position)] * table.num_rows, pa.string())
    return table.add_column(0, "position", column)


def _latest(instant: int | None) -> int:
    if instant is None:
        raise BindError(Diagnostic("INSTANT_OPEN", "nothing is closed yet"))
    return instant


def _fields_of(query: Query) -> tuple[Field, ...]:
    return _fields(content_table(query, []))


def _fields(table: pa.Table) -> tuple[Field, ...]:
    return tuple(Field(name, type_of(kind)) for name, kind in zip(table.column_names, table.schema.types, strict=True))


def _rows(table: pa.Table, tag: str) -> Answer:
    return Answer(_fields(table), f"{tag} {table.num_rows}", table)


def _texts(header: Sequence[str], rows: Sequence[Sequence[object]], tag: str) -> Answer:
    columns = [pa.array([str(row[i]) for row in rows], pa.string()) for i in range(len(header))]
    return Answer(tuple(Field(name, TEXT) for name in header), tag, pa.Table.from_arrays(columns, names=list(header)))


def code_of(error: Exception) -> tuple[str, str, str | None]:
    """What PostgreSQL's clients are told of an error: its code, what is wrong, and a hint."""
    if not isinstance(error, ContinuaError):
        return "XX000", f"internal error: {type(error).__name__}", None
    first = error.diagnostics[0]
    message = "; ".join(f"{d.message} [{d.condition}]" for d in error.diagnostics)
    return _CODES.get(first.condition, "22000"), message, first.hint
