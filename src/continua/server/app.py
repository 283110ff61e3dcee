"""The application: requests in, answers out, by what the routes declare."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from continua.errors import ContinuaError, Diagnostic, MachineError
from continua.runtime.machines import machine_error
from continua.server.declared import JSON, ROUTES, Call, Route, openapi
from continua.server.pages import pages
from continua.server.routes import builder, console, contents, plans, queries, statements, telemetry
from continua.server.samples import sampler_of
from continua.server.service import Service
from continua.server.shapes import Refusal, problem

_MODULES = (statements, queries, contents, plans, telemetry, console, builder)
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
    "BAD_MEDIA": 415,
    "BAD_REQUEST": 400,
}
"""The status of answers to what was refused; 400 for what is not here, 503 where a machine is at fault."""


class RefusedError(ContinuaError):
    """A request that is not served."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for."""

    body_bytes: int = 16 << 20
    statement_bytes: int = 1 << 20
    body_seconds: float = 30.0


def application(service: Service, limits: Limits | None = None) -> Starlette:
    """What serves a service by HTTP."""
    limits = limits or Limits()

    @asynccontextmanager
    async def at_work(_: Starlette) -> AsyncIterator[None]:
        service.news.begin()
        sampler_of(service).begin()
        yield
        sampler_of(service).end()
        service.news.end()

    routes: list[BaseRoute] = [
        StarletteRoute(r.path, _endpoint(service, r, limits), methods=[r.method]) for r in ROUTES
    ]
    document = msgspec.json.encode(openapi(ROUTES))

    async def tell(_: Request) -> Response:
        return Response(document, media_type=JSON)

    routes.append(StarletteRoute("/openapi.json", tell))
    routes += pages()
    found = Starlette(routes=routes, lifespan=at_work)
    found.state.service = service
    return found


def _endpoint(service: Service, route: Route, limits: Limits) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            call = await _call(request, route, limits)
            if route.is_async:
                found: Any = await route.handler(service, call)
            else:
                found = await run_in_threadpool(route.handler, service, call)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            return refusal(error)
        if isinstance(found, Response):
            return found
        if found is None:
            return Response(status_code=route.status)
        return Response(msgspec.json.encode(found), media_type=JSON, status_code=route.status)

    return answer


async def _call(request: Request, route: Route, limits: Limits) -> Call:
    """What a request says, checked by what its route declares."""
    asked = None
    if route.asks is not None:
        try:
            asked = msgspec.convert(dict(request.query_params), route.asks, strict=False)
        except msgspec.ValidationError as error:
            raise refused("BAD_REQUEST", f"the query parameters are wrong: {error}") from None
    if route.takes is None and not route.media:
        return Call(request, asked, None)
    content = await _body(request, limits.body_bytes, limits.body_seconds)
    kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if route.takes is not None and kind == JSON:
        try:
            return Call(request, asked, msgspec.json.decode(content, type=route.takes))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise refused("BAD_REQUEST", f"the body is wrong: {error}") from None
    if kind not in route.media:
        known = ([JSON] if route.takes is not None else []) + list(route.media)
        raise refused("BAD_MEDIA", f"a body of {kind} is not understood here", f"send one of {', '.join(known)}")
    if route.takes is not None:  # the one other form of what is JSON is the text of a script
        try:
            return Call(request, asked, msgspec.convert({"sql": content.decode()}, route.takes))
        except UnicodeDecodeError:
            raise refused("BAD_REQUEST", "the body is not UTF-8 text") from None
    return Call(request, asked, content)


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


def refused(condition: str, message: str, hint: str | None = None) -> RefusedError:
    """Why a request is not served."""
    return RefusedError(Diagnostic(condition, message, hint=hint))


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
