"""A connection by PostgreSQL's protocol: simple and extended questions, cursors, TLS, passwords, canceling."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from continua.errors import ContinuaError
from continua.server.access import is_loopback, refused
from continua.server.postgres.asked import Answer, Asking, Subscription, code_of
from continua.server.postgres.messages import (
    CANCEL,
    GSS,
    SSL,
    VERSION,
    Cursor,
    Field,
    described,
    failed,
    format_of,
    message,
    read,
    read_start,
    ready,
    row,
    text,
)
from continua.server.postgres.splitting import statements
from continua.server.postgres.values import as_bytes, as_text, parameter
from continua.server.serving import Server

_LOG = logging.getLogger("continua.server")
_DECLARE = re.compile(
    r"\s*DECLARE\s+(\"[^\"]+\"|\w+)\s+(?:(?:BINARY|INSENSITIVE|ASENSITIVE|NO|SCROLL)\s+)*CURSOR"
    r"(?:\s+WITH(?:OUT)?\s+HOLD)?\s+FOR\s+(.*)", re.IGNORECASE | re.DOTALL,
)  # fmt: skip
_FETCH = re.compile(
    r"\s*FETCH\s+(?:(?:FORWARD\s+)?(ALL|\d+)|NEXT|FORWARD)?\s*(?:(?:FROM|IN)\s+)?(\"[^\"]+\"|\w+)\s*;?\s*$",
    re.IGNORECASE,
)
_CLOSE = re.compile(r"\s*CLOSE\s+(\"[^\"]+\"|\w+)\s*;?\s*$", re.IGNORECASE)
_SET = re.compile(
    r"\s*SET\s+(?:SESSION\s+|LOCAL\s+)?([\w.]+)\s*(?:=|\bTO\b)\s*(.*?)\s*;?\s*$", re.IGNORECASE | re.DOTALL
)
_TRANSACTION = re.compile(
    r"\s*(BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT|DISCARD|DEALLOCATE|RESET)\b", re.IGNORECASE
)
_OF_CONTINUA = {"dialect", "chronon", "retention", "disabled_rules", "start_time", "range_bounds", "optimizer"}
_TIMEOUT = "continua.fetch_timeout"


@dataclass
class Portal:
    """A statement with its parameters, and its answer once it has one."""

    sql: str
    parameters: Sequence[Any] = ()
    formats: Sequence[int] = ()
    answer: Answer | None = None
    given: int = 0


@dataclass
class Connection:
    """What is known of one client."""

    server: Server
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    tls: ssl.SSLContext | None
    keys: dict[tuple[int, int], Connection]
    """All connections by what they are canceled with."""
    state: bytes = b"I"
    prepared: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    cursors: dict[str, Subscription | Portal] = field(default_factory=dict)
    failed: bool = False
    """Whether what comes is skipped up to the next Sync."""
    canceled: asyncio.Event = field(default_factory=asyncio.Event)
    asking: Asking | None = None

    async def serve(self) -> None:
        """Answers until the client leaves."""
        key: tuple[int, int] | None = None
        try:
            async with asyncio.timeout(self.server.limits.header_seconds):
                if not await self._started():
                    return
            key = (secrets.randbelow(1 << 31), secrets.randbelow(1 << 31))
            self.keys[key] = self
            self.writer.write(message(b"K", struct.pack(">ii", *key)) + ready(self.state))
            await self.writer.drain()
            while True:
                kind, content = await read(self.reader)
                if kind == b"X":
                    return
                await self._took(kind, content)
                await self.writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError):
            pass
        except ContinuaError as error:
            await self._refuse(error)
        except (ValueError, struct.error) as error:
            self.writer.write(failed("08P01", str(error), fatal=True))
        finally:
            if key is not None:
                del self.keys[key]
            self.writer.close()

    async def _refuse(self, error: ContinuaError) -> None:
        self.writer.write(failed(*code_of(error), fatal=True))
        await self.writer.drain()

    # The beginning.

    async def _started(self) -> bool:
        """Whether a client is let in."""
        while True:
            code, content = await read_start(self.reader)
            if code in (SSL, GSS):
                encrypts = code == SSL and self.tls is not None
                self.writer.write(b"S" if encrypts else b"N")
                await self.writer.drain()
                if encrypts and self.tls is not None:
                    await self.writer.start_tls(self.tls)
            elif code == CANCEL:
                found = self.keys.get(struct.unpack(">ii", content[:8]))
                if found is not None:
                    found.cancel()
                return False
            elif code >> 16 == VERSION:
                await self._let_in()
                return True
            else:
                raise ValueError("this version of the protocol is not spoken here")

    async def _let_in(self) -> None:
        access, secret = self.server.access, None
        if access.required:
            peer = str(self.writer.get_extra_info("peername")[0])
            if self.writer.get_extra_info("ssl_object") is None and not is_loopback(peer):
                raise refused("NO_TOKEN", "a token is not sent in the clear", "connect with sslmode=require")
            self.writer.write(message(b"R", struct.pack(">i", 3)))
            await self.writer.drain()
            kind, content = await read(self.reader)
            secret = Cursor(content).text() if kind == b"p" else ""
        caller = access.of_token(secret)
        self.asking = Asking(self.server, caller)
        told = [("server_version", "16.0"), ("client_encoding", "UTF8"), ("DateStyle", "ISO, MDY"), ("TimeZone", "UTC")]
        told += [("server_encoding", "UTF8"), ("integer_datetimes", "on"), ("standard_conforming_strings", "on")]
        self.writer.write(message(b"R", struct.pack(">i", 0)))
        self.writer.writelines(message(b"S", text(name) + text(value)) for name, value in told)

    def cancel(self) -> None:
        """Ends what is answered now."""
        self.canceled.set()
        if self.asking is not None:
            self.asking.interrupt()

    # Messages.

    async def _took(self, kind: bytes, content: bytes) -> None:
        if kind == b"S":
            self.failed = False
            self.writer.write(ready(self.state))
            return
        if self.failed and kind != b"Q":
            return
        self.canceled.clear()
        try:
            match kind:
                case b"Q":
                    for sql in statements(Cursor(content).text()) or [""]:
                        await self._simple(sql)
                case b"P":
                    self._parse(Cursor(content))
                case b"B":
                    self._bind(Cursor(content))
                case b"D":
                    await self._describe(content[:1], Cursor(content[1:]).text())
                case b"E":
                    await self._execute(Cursor(content))
                case b"C":
                    of = self.prepared if content[:1] == b"S" else self.portals
                    of.pop(Cursor(content[1:]).text(), None)
                    self.writer.write(message(b"3"))
                case b"H":
                    pass
                case _:
                    raise ValueError(f"a message {kind!r} is not understood")
        except ContinuaError as error:
            self._tell(error)
        except (ValueError, ArithmeticError, UnicodeDecodeError) as error:
            self._tell(refused("SYNTAX", str(error)))
        except Exception as error:
            _LOG.error("a question failed", exc_info=error)
            self._tell(error)
        else:
            if kind == b"Q":
                self.writer.write(ready(self.state))
            return
        if kind == b"Q":
            self.writer.write(ready(self.state))
        else:
            self.failed = True

    def _tell(self, error: Exception) -> None:
        if self.state == b"T":
            self.state = b"E"
        self.writer.write(failed(*code_of(error)))

    async def _simple(self, sql: str) -> None:
        if not sql.strip():
            self.writer.write(message(b"I"))
            return
        answer = await self._answered(Portal(sql))
        if answer.has_rows:
            self.writer.write(described(answer.fields))
        self._give(Portal(sql, answer=answer), 0)

    def _parse(self, content: Cursor) -> None:
        name, sql = content.text(), content.text()
        self.prepared[name] = sql, content.numbers(">i")
        self.writer.write(message(b"1"))

    def _bind(self, content: Cursor) -> None:
        name, statement = content.text(), content.text()
        if statement not in self.prepared:
            raise refused("UNKNOWN_NAME", f"there is no prepared statement {statement!r}")
        sql, types = self.prepared[statement]
        forms, values = content.numbers(), []
        for place in range(content.number()):
            size = content.number(">i")
            of = types[place] if place < len(types) else 0
            value = None if size < 0 else content.bytes(size)
            values.append(parameter(value, of, bool(format_of(forms, place))))
        self.portals[name] = Portal(sql, values, content.numbers())
        self.writer.write(message(b"2"))

    async def _describe(self, kind: bytes, name: str) -> None:
        asking = self._asking()
        if kind == b"S":
            if name not in self.prepared:
                raise refused("UNKNOWN_NAME", f"there is no prepared statement {name!r}")
            sql, types = self.prepared[name]
            count = max([len(types), *(int(n) for n in re.findall(r"\$(\d+)", sql))])
            types = [*types, *[0] * (count - len(types))]
            self.writer.write(message(b"t", struct.pack(f">h{count}i", count, *(of or 25 for of in types))))
            fields: Sequence[Field] = await asyncio.to_thread(asking.described, sql, count)
            self.writer.write(described(fields) if fields else message(b"n"))
            return
        if name in self.cursors:
            cursor = self.cursors[name]
            fields = (
                asking.fields_of(cursor) if isinstance(cursor, Subscription) else (await self._answered(cursor)).fields
            )
            self.writer.write(described(fields))
            return
        portal = self._portal(name)
        answer = await self._answered(portal)
        self.writer.write(described(answer.fields, portal.formats) if answer.has_rows else message(b"n"))

    async def _execute(self, content: Cursor) -> None:
        portal, most = self._portal(content.text()), content.number(">i")
        if not portal.sql.strip():
            self.writer.write(message(b"I"))
            return
        await self._answered(portal)
        self._give(portal, most)

    def _portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise refused("UNKNOWN_NAME", f"there is no portal {name!r}")
        return self.portals[name]

    def _give(self, portal: Portal, most: int) -> None:
        """Sends rows of an answer, at most so many if a number is given."""
        answer = portal.answer
        assert answer is not None
        table = answer.table
        if table is not None:
            part = table.slice(portal.given, most or None)
            portal.given += part.num_rows
            self._rows(part, answer.fields, portal.formats)
            if portal.given < table.num_rows:
                self.writer.write(message(b"s"))
                return
        self.writer.write(message(b"C", text(answer.tag)))

    def _rows(self, table: Any, fields: Sequence[Field], formats: Sequence[int]) -> None:
        forms = [as_bytes if format_of(formats, place) else as_text for place in range(len(fields))]
        for batch in table.to_batches(max_chunksize=1024):
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                found = zip(values, forms, fields, strict=True)
                self.writer.write(row(None if v is None else form(v, of.type) for v, form, of in found))

    # Statements.

    def _asking(self) -> Asking:
        assert self.asking is not None
        return self.asking

    async def _answered(self, portal: Portal) -> Answer:
        """The answer of a portal, which is found once."""
        if portal.answer is None:
            portal.answer = await self._answer(portal)
        return portal.answer

    async def _answer(self, portal: Portal) -> Answer:
        sql, asking = portal.sql, self._asking()
        if found := _TRANSACTION.match(sql):
            return self._transaction(found[1].upper().split()[0])
        if self.state == b"E":
            raise refused("IN_FAILED_TRANSACTION", "the transaction has failed: ROLLBACK ends it")
        if (found := _SET.match(sql)) and found[1].lower() not in _OF_CONTINUA:
            asking.settings[found[1].lower()] = found[2].strip("'\"")
            return Answer((), "SET")
        if found := _DECLARE.match(sql):
            inner = Portal(found[2], portal.parameters)
            subscription = await asyncio.to_thread(asking.subscribed, found[2])
            self.cursors[found[1].strip('"')] = inner if subscription is None else subscription
            return Answer((), "DECLARE CURSOR")
        if found := _CLOSE.match(sql):
            self._cursor(found[1])
            del self.cursors[found[1].strip('"')]
            return Answer((), "CLOSE CURSOR")
        if found := _FETCH.match(sql):
            most = None if (found[1] or "1").upper() == "ALL" else int(found[1] or 1)
            return await self._fetched(self._cursor(found[2]), most)
        limits = self.server.limits
        if len(sql) > limits.statement_bytes:
            raise refused("TOO_LARGE", f"a statement has at most {limits.statement_bytes:,} bytes")
        late = asyncio.get_running_loop().call_later(limits.seconds, asking.interrupt)
        try:
            with self.server.usage.of(asking.caller.name, "requests at work", limits.at_work):
                return await asyncio.to_thread(asking.answer, sql, portal.parameters)
        finally:
            late.cancel()

    def _transaction(self, word: str) -> Answer:
        if word in ("BEGIN", "START"):
            self.state = b"T"
            return Answer((), "BEGIN")
        if word in ("COMMIT", "END", "ROLLBACK", "ABORT"):
            fine = word in ("COMMIT", "END") and self.state != b"E"
            self.state = b"I"
            self.cursors.clear()
            return Answer((), "COMMIT" if fine else "ROLLBACK")
        return Answer((), word)

    def _cursor(self, name: str) -> Subscription | Portal:
        found = self.cursors.get(name.strip('"'))
        if found is None:
            raise refused("UNKNOWN_NAME", f"there is no cursor {name}")
        return found

    async def _fetched(self, cursor: Subscription | Portal, most: int | None) -> Answer:
        """The next rows of a cursor. Where nothing has changed, changes are waited for as long as was said."""
        if isinstance(cursor, Portal):
            answer = await self._answered(cursor)
            assert answer.table is not None
            part = answer.table.slice(cursor.given, most)
            cursor.given += part.num_rows
            return Answer(answer.fields, f"FETCH {part.num_rows}", part)
        asking, service = self._asking(), self.server.service
        loop = asyncio.get_running_loop()
        end = loop.time() + _seconds(asking.settings.get(_TIMEOUT, "0"))
        while True:
            news = service.news.next()
            found = await asyncio.to_thread(asking.fetched, cursor, most)
            if found.table is None or found.table.num_rows or loop.time() >= end or service.is_closing:
                return found
            waiting = asyncio.create_task(news.within(max(end - loop.time(), 0.0)))
            canceling = asyncio.create_task(self.canceled.wait())
            await asyncio.wait([waiting, canceling], return_when=asyncio.FIRST_COMPLETED)
            for task in (waiting, canceling):
                task.cancel()
            if self.canceled.is_set():
                raise refused("CANCELED", "the statement was canceled")


def _seconds(told: str) -> float:
    """A length of time as PostgreSQL's settings have it: a number is of milliseconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min)?", told.strip())
    if found is None:
        raise refused("BAD_REQUEST", f"{told!r} is no length of time", "write 500ms or 5s")
    return float(found[1]) * {"s": 1.0, "min": 60.0}.get(found[2] or "ms", 0.001)


async def listen(server: Server, host: str, port: int, tls: ssl.SSLContext | None) -> asyncio.Server:
    """Serves PostgreSQL's protocol at an address."""
    keys: dict[tuple[int, int], Connection] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Connection(server, reader, writer, tls, keys).serve()

    return await asyncio.start_server(connected, host, port)
