"""The server at its address."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

import uvicorn

from continua.errors import Diagnostic, MachineError
from continua.server.app import application
from continua.server.service import Service


def listen(service: Service, host: str, port: int, begun: Callable[[str], None] | None = None) -> None:
    """Serves until the process is asked to end; ``begun`` is told the address when it can be asked."""
    config = uvicorn.Config(
        application(service), log_level="warning", access_log=False, timeout_graceful_shutdown=5, server_header=False
    )
    with _bound(host, port) as listening:
        shown = listening.getsockname()[1]
        url = f"http://{host}:{shown}"
        print(f"continua serves at {url}", file=sys.stderr, flush=True)
        if begun is not None:
            begun(url)
        uvicorn.Server(config).run([listening])


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        message = f"{host}:{port} cannot be listened at: {error.strerror or error}"
        parameters: dict[str, object] = {"host": host, "port": port}
        raise MachineError(Diagnostic("PORT_IN_USE", message, parameters=parameters)) from None
