"""What queries hold at an instant, and what changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from continua.answers.answer_tables import content_table
from continua.answers.query import Query
from continua.answers.typed_instants import instant_at
from continua.errors import BindError, ContinuaError, Diagnostic
from continua.instants import INFINITY
from continua.server.changes import Position, Told
from continua.server.declared import Call, route
from continua.server.permits import QUERY
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import Changes, Content, Refusal, problem
from continua.server.written import EMPTY, arrow_bytes, closed, content, csv_bytes, shown_instant

CSV, ARROW, EVENTS = "text/csv", "application/vnd.apache.arrow.stream", "text/event-stream"
LATEST = "latest"
_SILENCE = 15.0
"""After so many seconds without news a subscriber is told that the connection is alive."""
_PIECE = 64 << 10


class SnapshotAsked(Struct):
    """Which content is asked for."""

    at: Annotated[str, Meta(description="A closed instant: a number, a timestamp or latest.")] = LATEST
    format: Literal["json", "csv", "arrow"] | None = None
    limit: Annotated[int, Meta(ge=0, le=INFINITY, description="The most rows of JSON.")] = 10_000


class ChangesAsked(Struct):
    """Which changes are asked for."""

    after: Annotated[str, Meta(description="The position of what was read last.")] | None = None
    begin: Annotated[
        Literal["first", "now", "snapshot"],
        Meta(
            description="Without a position: at the first changes that are kept, behind the last, or with a snapshot."
        ),
    ] = "first"


@route(
    "GET", "/api/queries/{name}/snapshot", Role.READ, about=QUERY, asks=SnapshotAsked, gives=Content, also=(CSV, ARROW)
)
def get_snapshot(service: Service, call: Call) -> Content | Response:
    """Tells what a query holds at an instant.

    The instant is closed, and not behind the horizon of what is kept. Of a stream it is the relation behind it. Accept
    or ``format`` says whether it is JSON, CSV or a stream of Arrow.
    """
    asked: SnapshotAsked = call.asked
    run = service.run_of(call.name)
    query = service.query(call.name)
    with run.live.lock:
        at = _instant(asked.at, query, closed(run))
        rows = run.content(call.name, at)
    match asked.format or _accepted(call.request.headers.get("accept", "")):
        case "csv":
            return Response(csv_bytes(content_table(query, rows)), media_type=CSV, headers=_at(at, query))
        case "arrow":
            return Response(arrow_bytes(content_table(query, rows)), media_type=ARROW, headers=_at(at, query))
        case _:
            return content(query, at, rows, asked.limit)


def _at(instant: int, query: Query) -> dict[str, str]:
    return {"X-Instant": str(shown_instant(instant, query))}


def _accepted(accept: str) -> str:
    return "csv" if CSV in accept else "arrow" if ARROW in accept else "json"


def _instant(text: str, query: Query, latest: int | None) -> int:
    """The instant that is asked for."""
    if text != LATEST:
        try:
            return instant_at(text, query)
        except ValueError as error:
            raise BindError(Diagnostic("BAD_INSTANT", str(error), parameters={"instant": text})) from None
    if latest is None:
        hint = "an instant is closed when all sources are complete up to it"
        raise BindError(Diagnostic("INSTANT_OPEN", "nothing is closed yet", hint=hint))
    return latest


@route("GET", "/api/queries/{name}/changes", Role.READ, about=QUERY, asks=ChangesAsked, gives=Changes, also=(EVENTS,))
async def get_changes(service: Service, call: Call) -> Response:
    """Tells what has changed behind a position, or goes on telling as server-sent events.

    With ``Accept: text/event-stream`` each event has the changes of some epochs; its id is the position behind them,
    which Last-Event-ID, or ``after``, names when one comes again. Events are ``snapshot``, ``changes``, ``until`` where
    time went on and nothing changed, and ``end`` with the reason why no more comes.
    """
    asked: ChangesAsked = call.asked
    headers = call.request.headers
    position, first = await begun(service, call.name, asked, headers.get("last-event-id") or asked.after)
    if EVENTS in headers.get("accept", ""):
        no_store = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_sent(service, call.name, position, first), media_type=EVENTS, headers=no_store)
    found = await run_in_threadpool(service.changes.next, service.run_of(call.name), call.name, position)
    return Response((found or Told(position, None, EMPTY)).encoded, media_type="application/json")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a subscriber is told; without a kind only that the connection is alive."""

    kind: str = ""
    content: bytes = b""
    """One line of JSON."""
    position: Position | None = None

    def as_sent(self) -> Iterator[bytes]:
        """As a server-sent event, in pieces: a connection holds no more of it than one of them."""
        if not self.kind:
            yield b": alive\n\n"
            return
        number = "" if self.position is None else f"id: {self.position}\n"
        yield f"event: {self.kind}\n{number}data: ".encode()
        for place in range(0, len(self.content), _PIECE):
            yield self.content[place : place + _PIECE]
        yield b"\n\n"

    def as_message(self) -> str:
        """As a message of a WebSocket."""
        number = "null" if self.position is None else f'"{self.position}"'
        return f'{{"event": "{self.kind}", "id": {number}, "data": {self.content.decode()}}}'


async def begun(service: Service, name: str, asked: ChangesAsked, after: str | None) -> tuple[Position, Content | None]:
    """Where a subscriber begins, and the snapshot that it is told before, if it wants one."""
    run = await run_in_threadpool(service.run_of, name)
    if after is not None:
        return await run_in_threadpool(service.changes.resumed, run, name, after), None
    if asked.begin == "snapshot":
        return await run_in_threadpool(_snapshot, service, name)
    return await run_in_threadpool(service.changes.begin, run, name, asked.begin == "now"), None


async def _sent(service: Service, name: str, position: Position, first: Content | None) -> AsyncIterator[bytes]:
    """What a subscriber is told, as server-sent events."""
    async for event in events(service, name, position, first):
        for piece in event.as_sent():
            yield piece


def _snapshot(service: Service, name: str) -> tuple[Position, Content]:
    """What a query holds where an epoch has ended, and the position behind that epoch."""
    run = service.run_of(name)
    with run.live.lock:
        query = service.query(name)
        at = _instant(LATEST, query, closed(run))
        return service.changes.begin(run, name, now=True), content(query, at, run.content(name, at), INFINITY)


async def events(service: Service, name: str, position: Position, first: Content | None) -> AsyncIterator[Event]:
    """What a subscriber is told, until the query runs no more."""
    if first is not None:
        yield Event("snapshot", msgspec.json.encode(first), position)
    told_until: object = None
    while True:
        news = service.news.next()
        try:
            told = await service.next_changes(name, position)
        except ContinuaError as error:
            yield Event("end", msgspec.json.encode(Refusal([problem(d) for d in error.diagnostics])))
            return
        if told is None:
            if service.is_closing:
                return
            if not await news.within(_SILENCE):
                yield Event()
            continue
        position = told.position
        if not told.is_empty or (told.until is not None and told.until != told_until):
            kind = "until" if told.is_empty else "changes"
            yield Event(kind, told.encoded, position)
        told_until = told.until or told_until
        await asyncio.sleep(0)
