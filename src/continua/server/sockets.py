"""Changes by WebSocket: the same as by server-sent events, a message for each event."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from continua.errors import ContinuaError
from continua.server.access import PROTOCOL
from continua.server.permits import QUERY, Need, check
from continua.server.roles import Role
from continua.server.routes.contents import ChangesAsked, Event, begun, events
from continua.server.serving import Server
from continua.server.shapes import Refusal, problem

_POLICY = 1008
"""The code of connections that are closed because nobody may have them."""
_LONGEST = 120


async def follow(server: Server, socket: WebSocket) -> None:
    """Tells the changes of a query until it runs no more, or the subscriber has gone."""
    name = str(socket.path_params["name"])
    try:
        caller = server.access.caller(socket.headers)
        check(caller, Need(Role.READ, QUERY, name))
        asked = msgspec.convert(dict(socket.query_params), ChangesAsked)
        server.usage.begin(caller.name, "subscriptions", server.limits.subscriptions)
    except (ContinuaError, msgspec.ValidationError) as error:
        message = error.diagnostics[0].message if isinstance(error, ContinuaError) else str(error)
        await socket.close(_POLICY, message[:_LONGEST])
        return
    try:
        offered = socket.headers.get("sec-websocket-protocol", "").split(",")
        await socket.accept(PROTOCOL if PROTOCOL in map(str.strip, offered) else None)
        telling = asyncio.create_task(_tell(server, socket, name, asked))
        going = asyncio.create_task(_gone(socket))
        await asyncio.wait([telling, going], return_when=asyncio.FIRST_COMPLETED)
        for task in (telling, going):
            task.cancel()
        await asyncio.gather(telling, going, return_exceptions=True)
    finally:
        server.usage.end(caller.name, "subscriptions")


async def _tell(server: Server, socket: WebSocket, name: str, asked: ChangesAsked) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        try:
            position, first = await begun(server.service, name, asked, asked.after)
            async for event in events(server.service, name, position, first):
                if event.kind:  # that the connection is alive the protocol itself finds out
                    await socket.send_text(event.as_message())
        except ContinuaError as error:
            told = msgspec.json.encode(Refusal([problem(d) for d in error.diagnostics]))
            await socket.send_text(Event("end", told).as_message())
        await socket.close()


async def _gone(socket: WebSocket) -> None:
    """Waits until the subscriber has gone; what it says is not listened to."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
