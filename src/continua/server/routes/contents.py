"""What queries hold at an instant, and what changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from continua.answers.answer_tables import content_table
from continua.answers.query import Query
from continua.answers.typed_instants import instant_at
from continua.errors import BindError, ContinuaError, Diagnostic
from continua.instants import INFINITY
from continua.server.changes import Position, Told
from continua.server.declared import Call, Role, route
from continua.server.service import Service
from continua.server.shapes import Changes, Content, Refusal, problem
from continua.server.written import arrow_bytes, closed, content, csv_bytes, shown_instant

CSV, ARROW, EVENTS = "text/csv", "application/vnd.apache.arrow.stream", "text/event-stream"
LATEST = "latest"
_SILENCE = 15.0
"""After so many seconds without news a subscriber is told that the connection is alive."""


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


@route("GET", "/api/queries/{name}/snapshot", Role.READ, asks=SnapshotAsked, gives=Content, also=(CSV, ARROW))
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


@route("GET", "/api/queries/{name}/changes", Role.READ, asks=ChangesAsked, gives=Changes, also=(EVENTS,))
async def get_changes(service: Service, call: Call) -> Response:
    """Tells what has changed behind a position, or goes on telling as server-sent events.

    With ``Accept: text/event-stream`` each event has the changes of some epochs; its id is the position behind them,
    which Last-Event-ID, or ``after``, names when one comes again. Events are ``snapshot``, ``changes``, ``until`` where
    time went on and nothing changed, and ``end`` with the reason why no more comes.
    """
    asked: ChangesAsked = call.asked
    headers = call.request.headers
    after = headers.get("last-event-id") or asked.after
    run = await run_in_threadpool(service.run_of, call.name)
    changes = service.changes
    snapshot: tuple[Position, Content] | None = None
    if after is not None:
        position = await run_in_threadpool(changes.resumed, run, call.name, after)
    elif asked.begin == "snapshot":
        snapshot = await run_in_threadpool(_snapshot, service, call.name)
        position = snapshot[0]
    else:
        position = await run_in_threadpool(changes.begin, run, call.name, asked.begin == "now")
    if EVENTS in headers.get("accept", ""):
        events = _events(service, call.name, position, snapshot)
        no_store = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(events, media_type=EVENTS, headers=no_store)
    told = await run_in_threadpool(changes.next, run, call.name, position)
    return Response(msgspec.json.encode(as_changes(told, position)), media_type="application/json")


def as_changes(told: Told | None, position: Position) -> Changes:
    """What is told of changes as JSON has it."""
    if told is None:
        return Changes(str(position), position.epoch, None, Raw(b"[]"))
    return Changes(str(told.position), told.position.epoch, told.until, told.changes)


def _snapshot(service: Service, name: str) -> tuple[Position, Content]:
    """What a query holds where an epoch has ended, and the position behind that epoch."""
    run = service.run_of(name)
    with run.live.lock:
        query = service.query(name)
        at = _instant(LATEST, query, closed(run))
        return service.changes.begin(run, name, now=True), content(query, at, run.content(name, at), INFINITY)


async def _events(
    service: Service, name: str, position: Position, snapshot: tuple[Position, Content] | None
) -> AsyncIterator[bytes]:
    """Events until the query runs no more, or the subscriber has gone."""
    if snapshot is not None:
        yield event("snapshot", msgspec.json.encode(snapshot[1]), position)
    told_until: object = None
    while True:
        news = service.news.next()
        try:
            told = await service.next_changes(name, position)
        except ContinuaError as error:
            yield event("end", msgspec.json.encode(Refusal([problem(d) for d in error.diagnostics])))
            return
        if told is None:
            if not await news.within(_SILENCE):
                yield b": alive\n\n"
            continue
        position = told.position
        if not told.is_empty:
            yield event("changes", msgspec.json.encode(as_changes(told, position)), position)
        elif told.until is not None and told.until != told_until:
            yield event("until", msgspec.json.encode(as_changes(told, position)), position)
        told_until = told.until or told_until
        await asyncio.sleep(0)


def event(kind: str, content: bytes, position: Position | None = None) -> bytes:
    """A server-sent event; its content is one line of JSON."""
    number = b"" if position is None else f"id: {position}\n".encode()
    return b"event: %s\n%sdata: %s\n\n" % (kind.encode(), number, content)
