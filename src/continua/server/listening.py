"""The server at its address."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from continua.errors import Diagnostic, MachineError
from continua.server.app import application
from continua.server.postgres.connection import listen as listen_postgres
from continua.server.serving import Server

_ASKED = 1 << 16
"""So many bytes the line and the headers of a request have at most."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str = "127.0.0.1"
    port: int = 8088
    certificate: Path | None = None
    key: Path | None = None
    postgres: int | None = None
    """A port for PostgreSQL's protocol."""


def listen(server: Server, address: Address, begun: Callable[[str], None] | None = None) -> None:
    """Serves until the process is asked to end; ``begun`` is told the address when it can be asked."""

    class TimedProtocol(H11Protocol):
        """A connection on which a request is begun must bring its headers in time."""

        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._expect()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete and self._late is not None:
                self._late.cancel()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._expect()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._late is not None:
                self._late.cancel()
            super().connection_lost(exc)

        def _expect(self) -> None:
            if self._late is not None:
                self._late.cancel()
            self._late = self.loop.call_later(server.limits.header_seconds, self.transport.close)

    _log_lines()
    tls = address.certificate is not None
    config = uvicorn.Config(
        application(server),
        http=TimedProtocol,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=int(server.limits.header_seconds),
        server_header=False,
        h11_max_incomplete_event_size=_ASKED,
        ws_max_size=_ASKED,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    with _bound(address) as listening:
        try:
            config.load()
        except (ssl.SSLError, OSError) as error:
            message = f"the certificate {address.certificate} cannot be used: {error}"
            raise MachineError(Diagnostic("BAD_CERTIFICATE", message)) from None
        shown = listening.getsockname()[1]
        host = f"[{address.host}]" if ":" in address.host else address.host
        url = f"http{'s' if tls else ''}://{host}:{shown}"
        print(f"continua serves at {url}", file=sys.stderr, flush=True)
        if begun is not None:
            begun(url)
        asyncio.run(_served(server, address, _Http(config), listening))


class _Http(uvicorn.Server):
    """Serves HTTP until a signal comes, after which there is still something to do."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def _served(server: Server, address: Address, http: uvicorn.Server, listening: socket.socket) -> None:
    """Serves by all protocols."""
    postgres = None
    if address.postgres is not None:
        postgres = await listen_postgres(server, address.host, address.postgres, _tls(address))
        port = postgres.sockets[0].getsockname()[1]
        print(f"continua serves PostgreSQL's protocol at {address.host}:{port}", file=sys.stderr, flush=True)
    try:
        await http.serve([listening])
    finally:
        if postgres is not None:
            postgres.close()


def _tls(address: Address) -> ssl.SSLContext | None:
    if address.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(address.certificate, address.key)
    return context


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=1024)
    except OSError as error:
        message = f"{address.host}:{address.port} cannot be listened at: {error.strerror or error}"
        parameters: dict[str, object] = {"host": address.host, "port": address.port}
        raise MachineError(Diagnostic("PORT_IN_USE", message, parameters=parameters)) from None


def _log_lines() -> None:
    """What went wrong inside goes to standard error, with its traceback and without what was asked."""
    log = logging.getLogger("continua.server")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.propagate = False
