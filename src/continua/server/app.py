"""The application: requests in, answers out, by what the routes declare."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.websockets import WebSocket

from continua.errors import ContinuaError, Diagnostic, MachineError
from continua.runtime.machines import machine_error
from continua.server.access import RefusedError, refused
from continua.server.declared import JSON, ROUTES, Call, Record, Route, openapi
from continua.server.limits import Limits
from continua.server.pages import pages
from continua.server.permits import ALL, Need, check
from continua.server.roles import Role
from continua.server.routes import (
    alerting,
    builder,
    console,
    contents,
    editing,
    keys,
    plans,
    queries,
    rows,
    statements,
    telemetry,
)
from continua.server.samples import sampler_of
from continua.server.serving import Server
from continua.server.shapes import Refusal, problem
from continua.server.sockets import follow
from continua.server.tokens import NOBODY, Caller

_MODULES = (statements, queries, contents, rows, plans, telemetry, keys, alerting, editing, console, builder)
"""Whoever imports them has their routes declared."""
_LOG = logging.getLogger("continua.server")
STATUS = {
    "UNKNOWN_NAME": 404,
    "QUERY_LEFT": 410,
    "BEHIND_HORIZON": 410,
    "OTHER_RUN": 410,
    "INSTANT_OPEN": 409,
    "NOT_LIVE": 409,
    "ALREADY_EXISTS": 409,
    "NO_TOKEN": 401,
    "NOT_ALLOWED": 403,
    "OTHER_ORIGIN": 403,
    "TOO_LARGE": 413,
    "TOO_SLOW": 408,
    "TOO_MANY": 429,
    "TOO_LONG": 503,
    "BAD_MEDIA": 415,
    "BAD_REQUEST": 400,
}
"""The status of answers to what was refused; 400 for what is not here, 503 where a machine is at fault."""


def application(server: Server) -> Starlette:
    """What serves a service by HTTP."""
    service = server.service

    @asynccontextmanager
    async def at_work(_: Starlette) -> AsyncIterator[None]:
        service.news.begin()
        service.alerts.begin()
        sampler_of(service).begin()
        yield
        sampler_of(service).end()
        service.alerts.end()
        service.is_closing = True
        service.news.end()

    routes: list[BaseRoute] = [StarletteRoute(r.path, _endpoint(server, r), methods=[r.method]) for r in ROUTES]
    document = msgspec.json.encode(openapi(ROUTES))

    async def tell(_: Request) -> Response:
        return Response(document, media_type=JSON)

    async def follow_changes(socket: WebSocket) -> None:
        await follow(server, socket)

    routes.append(WebSocketRoute("/api/queries/{name}/changes", follow_changes))
    routes.append(StarletteRoute("/openapi.json", tell))
    routes += pages()
    found = Starlette(routes=routes, lifespan=at_work)
    found.state.server = server
    return found


def _endpoint(server: Server, route: Route) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        began = time.monotonic()
        caller, record = NOBODY, Record()
        try:
            caller = NOBODY if route.role is Role.NOBODY else server.access.caller(request.headers)
            check(caller, Need(route.role))
            response = await _answered(server, route, request, caller, record)
        except ClientDisconnect:
            response = Response(status_code=499)
        except Exception as error:
            response = refusal(error)
            record.conditions = [d.condition for d in error.diagnostics] if isinstance(error, ContinuaError) else []
        if route.role is not Role.NOBODY and (route.role > Role.READ or record.done or response.status_code >= 400):
            await run_in_threadpool(
                server.audit.write,
                caller=caller.name,
                address=request.client.host if request.client else None,
                method=route.method,
                path=request.url.path,
                status=response.status_code,
                milliseconds=round(1000 * (time.monotonic() - began)),
                statements=record.done,
                conditions=record.conditions,
            )
        return response

    return answer


async def _answered(server: Server, route: Route, request: Request, caller: Caller, record: Record) -> Response:
    call = await _call(request, route, server.limits, caller, record)
    if (name := request.path_params.get("name")) is not None and route.about is not None:
        check(caller, Need(route.role, route.about, name))
    elif route.about == ALL:
        check(caller, Need(route.role, ALL))
    if route.is_async:
        found: Any = await route.handler(server.service, call)
    else:
        found = await _in_time(server, caller, partial(route.handler, server.service, call))
    if isinstance(found, Response):
        return _subscribed(server, caller, found) if isinstance(found, StreamingResponse) else found
    if found is None:
        return Response(status_code=route.status)
    return Response(msgspec.json.encode(found), media_type=JSON, status_code=route.status)


async def _in_time(server: Server, caller: Caller, work: Callable[[], Any]) -> Any:
    """What a function returns. What takes too long is not waited for, and counts to what its caller has at work."""
    limits, usage = server.limits, server.usage
    usage.begin(caller.name, "requests at work", limits.at_work)
    task = asyncio.create_task(run_in_threadpool(work))
    task.add_done_callback(lambda _: usage.end(caller.name, "requests at work"))
    done, _ = await asyncio.wait([task], timeout=limits.seconds)
    if not done:
        task.add_done_callback(lambda t: None if t.cancelled() else t.exception())
        raise refused("TOO_LONG", f"the answer has taken more than {limits.seconds:g} seconds")
    return task.result()


def _subscribed(server: Server, caller: Caller, response: StreamingResponse) -> StreamingResponse:
    """A response that goes on counts as long as it does."""
    inner, most = response.body_iterator, server.limits.subscriptions
    server.usage.begin(caller.name, "subscriptions", most)

    async def counted() -> AsyncIterator[Any]:
        async for part in inner:
            yield part

    response.body_iterator = counted()
    response.background = BackgroundTask(server.usage.end, caller.name, "subscriptions")
    return response


async def _call(request: Request, route: Route, limits: Limits, caller: Caller, record: Record) -> Call:
    """What a request says, checked by what its route declares."""
    asked = None
    if route.asks is not None:
        try:
            asked = msgspec.convert(dict(request.query_params), route.asks, strict=False)
        except msgspec.ValidationError as error:
            raise refused("BAD_REQUEST", f"the query parameters are wrong: {error}") from None
    if route.takes is None and not route.media:
        return Call(request, asked, None, caller, record)
    most = limits.statement_bytes if route.takes is not None else limits.body_bytes
    content = await _body(request, most, limits.body_seconds)
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if route.takes is not None and kind == JSON:
        try:
            return Call(request, asked, msgspec.json.decode(content, type=route.takes), caller, record)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise refused("BAD_REQUEST", f"the body is wrong: {error}") from None
    if kind not in route.media:
        known = ([JSON] if route.takes is not None else []) + list(route.media)
        raise refused("BAD_MEDIA", f"a body of {kind} is not understood here", f"send one of {', '.join(known)}")
    if route.takes is not None:  # the one other form of what is JSON is the text of a script
        try:
            return Call(request, asked, msgspec.convert({"sql": content.decode()}, route.takes), caller, record)
        except UnicodeDecodeError:
            raise refused("BAD_REQUEST", "the body is not UTF-8 text") from None
    return Call(request, asked, content, caller, record)


async def _body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request, unless it is too long or takes too long to come."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise refused("TOO_SLOW", f"the body has not come within {seconds:g} seconds") from None
    return b"".join(parts)


def _too_large(most: int) -> RefusedError:
    return refused("TOO_LARGE", f"a body has at most {most:,} bytes", "send it in parts")


def refusal(error: Exception) -> Response:
    """The answer to what went wrong; of what is nobody's fault but ours only the kind is told, and the log has it."""
    found = machine_error(error) if not isinstance(error, ContinuaError) else error
    if found is None:
        _LOG.error("a request failed", exc_info=error)
        message = f"internal error: {type(error).__name__}; the log of the server has the details"
        found, status = ContinuaError(Diagnostic("INTERNAL", message)), 500
    elif isinstance(found, MachineError):
        status = 503
    else:
        status = STATUS.get(found.condition, 400)
    body = msgspec.json.encode(Refusal([problem(d) for d in found.diagnostics]))
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Response(body, status_code=status, media_type=JSON, headers=headers)
