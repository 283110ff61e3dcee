"""A table of PostgreSQL that is followed by logical replication: what it has, then transaction by transaction.

Transactions are looked at by SQL (``pg_logical_slot_peek_binary_changes``) and not by the streaming protocol. psycopg
has no support for that protocol: its messages and the answers that the server waits for would have to be written by
hand, on a connection that must never be silent for long, while epochs take as long as they take. Looking by SQL holds
nothing between two looks, gives the same transactions again until the slot is moved on, and says by itself when a slot
is used by another. It costs that what was read and not yet let go of is decoded again, which is little, since the slot
moves on after every epoch.

The first time a slot is made, and what the table has at that place of the log is read by the snapshot that the slot
exports. Its rows are there from the beginning of time, as those of a stored relation are. Then each transaction happens
at one instant: when it was committed, but never before the one in front of it. What was read is logged with the place
of the log that it reaches; the slot moves on once finished epochs have it. So a crash at any point loses nothing, and
what comes again is known by its place.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from continua.catalog import RelationInfo
from continua.errors import Diagnostic
from continua.sources.logged import RETAINED, Logged, Mark, Modifications, Past, as_stretch, content_after
from continua.sources.postgres import slot as slots
from continua.sources.postgres.database import first_line, library, may_pass
from continua.sources.postgres.declared import DeclaredTable
from continua.sources.postgres.pgoutput import Described, PublishedColumn
from continua.sources.postgres.reading import columns_of, rows_now
from continua.sources.postgres.shape import Shape, check_publication, check_types, shape_of, types_named
from continua.sources.postgres.transactions import Emptied, Part, TableFollower
from continua.sources.source_spec import Malformed
from continua.sources.stretches import Stretch

_MESSAGES = 50_000
"""About so many messages are looked at together; a transaction is never divided."""
_PAUSE, _AGAIN = 0.1, 0.5
"""So many seconds at least are between two looks, and before a database that is away is asked again."""
_IDLE_BYTES = 16 << 20
"""When others have written so much to the log, the slot moves on although nothing of it was of the table."""
_FEW = 10_000
"""Of fewer rows the log is not folded into the content."""


class Replication:
    """A table that is followed."""

    def __init__(self, info: RelationInfo, table: DeclaredTable, past: Past, first: int, lasting: bool) -> None:
        """``first``: the instant at which time begins.

        ``lasting``: whether what is read is kept for another process; if not, the slot is there for this one alone.
        """
        self.info = info
        self.shown = table.shown
        # several processes may follow the table at once, as long as their slots go with them
        self._table = table if lasting else replace(table, slot=f"{table.slot[:48]}_{os.getpid()}")
        self._first = first
        self._lasting = lasting
        self._mark: dict[str, Any] = dict(past.mark or {})
        self._changes = list(past.changes)
        self._connection: Any = None
        self._shape: Shape | None = None
        self._described: tuple[PublishedColumn, ...] = ()
        self._columns: Sequence[int] = ()
        self._most = _MESSAGES
        self._complete: int | None = None
        self._finished = 0
        """The place of the log up to which all have worked on what was read."""
        self._next = 0.0
        self._away: float | None = None
        self._notices: list[Diagnostic] = []
        self._retained = 0

    @property
    def complete(self) -> int | None:
        """Up to which instant all that was read is all there is."""
        return self._complete

    @property
    def ended(self) -> bool:
        """A table never ends."""
        return False

    def figures(self) -> Mapping[str, float]:
        """How much of the log the server keeps."""
        return {RETAINED: self._retained}

    def notices(self) -> list[Diagnostic]:
        """What is to be told since it was asked last."""
        found, self._notices = self._notices, []
        return found

    def close(self) -> None:
        """Ends the connection; a slot that is for this process alone goes with it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def finished(self, mark: Mark) -> None:
        """Everybody has worked on what was read up to a mark: the next look lets go of it."""
        self._finished = max(self._finished, int(str(mark.get("lsn", 0))))

    def take(self, now: int, rows: int | None) -> Logged | None:  # noqa: ARG002 (changes have their own times)
        """What was committed since; None where nothing was, or the database is away for a while."""
        if time.monotonic() < self._next:
            return None
        began = time.monotonic()
        try:
            found = self._look(rows)
        except library().Error as error:
            self._fail(error)
            return None
        self._away = None
        self._next = 0.0 if found is not None else began + max(_PAUSE, 3 * (time.monotonic() - began))
        return found

    def _fail(self, error: Any) -> None:
        """Waits for a database that is away, or raises what is wrong."""
        table, is_over = self._table, not self._lasting and self._mark.get("state") == "read"
        self.close()
        now = time.monotonic()
        self._away = now if self._away is None else self._away
        passes = may_pass(error) or error.sqlstate == slots.IN_USE
        if passes and now < self._away + table.database.timeout and not is_over:
            self._next = now + _AGAIN
            return
        if is_over and may_pass(error):
            message = f"{table.source}: the connection to the database is lost: {first_line(error)}"
            hint = "a run with a --checkpoint goes on when the database is there again"
            raise table.error("CONNECTION_LOST", message, hint)
        raise slots.refused(table, error) or table.database.told(error, f"{table.source} cannot be followed")

    def _look(self, rows: int | None) -> Logged | None:
        if self._connection is None:
            with self._table.database.connected() as connection:
                slots.check_server(connection, self._table)
            self._connection = self._table.database.connected(replicating=True)
            self._check()
        match self._mark.get("state"):
            case None:
                return self._begun()
            case "begun":
                return self._snapshot()
            case _:
                self._let_go()
                return self._transactions(rows)

    def _check(self) -> None:
        """Refuses a database or a slot that is not what it was."""
        table, mark = self._table, self._mark
        system = self._connection.execute(b"IDENTIFY_SYSTEM").fetchone()[0]
        if mark.setdefault("system", system) != system:
            message = f"{table.source} was read from another database than the one of its url"
            raise table.error("SOURCE_CHANGED", message, "name the same database, or start with a new --checkpoint")
        if mark.get("state") != "read":
            return
        state = slots.state_of(self._connection, table.slot)
        if state is None:
            raise slots.lost(table, "it is not there any more")
        if state.lost:
            raise slots.lost(table, "the server has let go of it")
        if state.confirmed > mark["lsn"]:
            raise slots.lost(table, "somebody else has moved it on")

    def _begun(self) -> Logged:
        """Before a slot is made it is written down that it will be: if it is there afterwards, it is ours."""
        table = self._table
        shape = shape_of(self._connection, table)
        check_publication(self._connection, table, shape)
        state = slots.state_of(self._connection, table.slot)
        if state is not None:
            message = f"there is a slot {table.slot} already, and nothing says that {table.source} has made it"
            mend = f"SELECT pg_drop_replication_slot('{table.slot}')"
            hint = f"name another slot, go on with the --checkpoint of the run that made it, or {mend}"
            raise table.error("SLOT_EXISTS", message, hint, slot=table.slot, statement=mend)
        self._mark["state"] = "begun"
        return self._logged(self._stretch(Part()))

    def _snapshot(self) -> Logged:
        """What the table has when the slot begins."""
        table = self._table
        if slots.state_of(self._connection, table.slot) is not None:
            slots.dropped(self._connection, table.slot)
        shape = shape_of(self._connection, table)
        names = check_types(table, shape.types)
        place, snapshot = slots.made(self._connection, table, temporary=not self._lasting)
        with table.database.connected() as reading:
            reading.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            reading.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
            columns, _, wrong = rows_now(reading, table, names)
        count = columns.num_rows
        found = Modifications(columns, ["+"] * count, np.full(count, self._first, np.int64), wrong)
        stretch = as_stretch(self.info, found, self.shown, 0)
        self._mark |= {"state": "read", "lsn": place, "stamp": self._first, "rows": count + len(wrong)}
        self._mark["columns"] = dict(shape.types)
        self._changes = [stretch.rows]
        return self._logged(stretch, content=stretch.rows)

    def _let_go(self) -> None:
        """Moves the slot on behind what all have worked on."""
        if self._finished > self._mark.get("confirmed", 0):
            slots.advanced(self._connection, self._table.slot, self._finished)
            self._mark["confirmed"] = self._finished
            self._most = _MESSAGES

    def _transactions(self, rows: int | None) -> Logged | None:
        """What was committed behind what was read."""
        query = b"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, pg_current_wal_flush_lsn()::text"
        now, flushed = self._connection.execute(query).fetchone()
        to = slots.lsn(flushed)
        state = slots.state_of(self._connection, self._table.slot)
        self._retained = 0 if state is None else state.retained
        if to <= self._mark["lsn"]:
            self._complete = now - 1
            return None
        while True:
            most = self._most if rows is None else min(self._most, max(rows, 1))
            messages = list(slots.looked_at(self._connection, self._table, to, most))
            follower = TableFollower(
                self._table, self._known_shape(), self._mark["lsn"], self._mark["stamp"], self._places
            )
            follower.read(messages)
            if follower.transactions or len(messages) < most:
                break
            rows, self._most = None, self._most * 2
        more = len(messages) >= most
        if not follower.transactions:
            self._complete = now - 1
            if to - self._mark["lsn"] < _IDLE_BYTES:
                return None
            self._mark["lsn"] = to
            return self._logged(self._stretch(Part()))
        known = len(self._changes)
        wrong: list[Malformed] = []
        for part in follower.parts:
            if isinstance(part, Emptied):
                self._add(self._all_gone(part.instant), wrong)
            else:
                self._add(self._stretch(part), wrong)
        self._mark |= {"lsn": follower.end, "stamp": follower.stamp}
        self._complete = None if more else now - 1
        new = self._changes[known:] or [self._stretch(Part()).rows]
        return Logged(pa.concat_tables(new), dict(self._mark), wrong, self._folded(), more)

    def _add(self, stretch: Stretch, wrong: list[Malformed]) -> None:
        self._changes.append(stretch.rows)
        self._mark["rows"] += stretch.rows.num_rows + len(stretch.wrong)
        wrong += stretch.wrong

    def _stretch(self, part: Part) -> Stretch:
        """Modifications as rows."""
        columns, kept, wrong = columns_of(self._table, part.rows)
        instants = np.array(part.instants, np.int64)[kept]
        found = Modifications(columns, [part.tags[n] for n in kept.tolist()], instants, wrong)
        return as_stretch(self.info, found, self.shown, self._mark.get("rows", 0))

    def _all_gone(self, instant: int) -> Stretch:
        """All rows that there are as deletes."""
        there = content_after(self.info, self._changes)
        count = there.num_rows
        payload = there.select(there.column_names[:-1])
        found = Modifications(payload, ["-"] * count, np.full(count, instant, np.int64))
        return as_stretch(self.info, found, self.shown, self._mark["rows"])

    def _folded(self) -> pa.Table | None:
        """What the table has, where what was done to it since that was logged is more than that."""
        content, *since = self._changes
        if sum(table.num_rows for table in since) <= max(content.num_rows, _FEW):
            return None
        self._changes = [content_after(self.info, self._changes)]
        return self._changes[0]

    def _known_shape(self) -> Shape:
        if self._shape is None:
            self._shape = shape_of(self._connection, self._table)
        return self._shape

    def _places(self, described: Described) -> Sequence[int]:
        """Where the declared columns are in a message; what has changed since the table was read first is told."""
        if described.columns != self._described:
            kinds = [(c.of, c.modifier) for c in described.columns]
            types = dict(zip((c.name for c in described.columns), types_named(self._connection, kinds), strict=True))
            names = check_types(self._table, types)
            self._tell_changes(types)
            order = list(types)
            self._described, self._columns = described.columns, [order.index(name) for name in names]
        return self._columns

    def _tell_changes(self, types: Mapping[str, str]) -> None:
        """Tells of columns that have come, and of types that are others."""
        known: Mapping[str, str] = self._mark.get("columns", types)
        for name in [n for n in types if n not in known]:
            message = f"{self.shown} has a new column {name}, which {self.info.name} does not have: it is not read"
            self._tell("COLUMN_ADDED", message, name)
        for name in [n for n in types if known.get(n, types[n]) != types[n]]:
            message = f"column {name} of {self.shown} was {known[name]}, and is {types[name]} now"
            self._tell("COLUMN_CHANGED", message, name)
        self._mark["columns"] = dict(types)

    def _tell(self, condition: str, message: str, column: str) -> None:
        parameters: dict[str, object] = {"source": self.info.name, "column": column}
        self._notices.append(Diagnostic(condition, message, self._table.span, parameters=parameters))

    def _logged(self, stretch: Stretch, content: pa.Table | None = None) -> Logged:
        return Logged(stretch.rows, dict(self._mark), stretch.wrong, content)
