"""Where the bytes of incoming sources come from: standard input, and sockets that are connected to again."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress

from continua.errors import Diagnostic, SourceError
from continua.lang.statements import SourceCall
from continua.policy import STANDARD_INPUT
from continua.sources.format_options import check_options
from continua.sources.frame_sources import is_streaming
from continua.sources.incoming import Chunks, Incoming
from continua.sources.incoming_rows import IncomingRows
from continua.sources.intervals import Source
from continua.sources.source_spec import SourceSpec

SOCKET = "socket"
SHOWN = "<stdin>"
"""Standard input as messages tell it."""
_TEXTUAL = ("csv", "jsonl", "text")
_CHUNK = 1 << 16
_PATIENCE = 5.0
"""So many seconds a connection may take to come about."""
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)
"""For so many seconds it is waited, the last one for ever, before a connection that broke is tried again."""


def is_incoming(call: SourceCall | None) -> bool:
    """Whether the rows of a source come once and can not be read again."""
    if call is None:
        return False
    return call.made is not None or call.function.text.lower() == SOCKET or is_standard_input(call)


def is_standard_input(call: SourceCall | None) -> bool:
    """Whether the rows of a source are those of standard input."""
    return (
        call is not None
        and call.made is None
        and call.function.text.lower() in _TEXTUAL
        and call.arguments == (STANDARD_INPUT,)
    )


def check_standard_input(sources: Iterable[Source]) -> None:
    """Refuses several streams of standard input."""
    readers = sorted(source.name for source in sources if is_standard_input(source.source))
    if len(readers) > 1:
        message = f"{' and '.join(readers)} both read standard input, which is there once"
        hint = "declare one stream of it, and others AS queries over that"
        raise SourceError(Diagnostic("STANDARD_INPUT_TWICE", message, hint=hint, parameters={"sources": readers}))


def is_endless(call: SourceCall | None) -> bool:
    """Whether rows come for ever, so that there is no run over all of them."""
    return call is not None and (call.function.text.lower() == SOCKET or is_streaming(call))


def opened(info: Source, call: SourceCall, news: threading.Event, first: int) -> Incoming | IncomingRows:
    """The rows of a source as they come from now on; ``first`` is the instant before which there are none."""
    if call.made is not None:
        return IncomingRows(info, call.made, news, first)
    columns = tuple((f.name, f.type) for f in info.columns)
    function = call.function.text.lower()
    if function != SOCKET:
        spec = SourceSpec(function, STANDARD_INPUT, columns, call.options, info.skip_errors, info.name)
        check_options(spec)
        _check_standard_input(info, call)
        return Incoming(info, spec, SHOWN, iter([(_standard_input(), False)]), news, first)
    host, port = _address(info, call)
    given = dict(call.options)
    form = str(given.pop("format", "jsonl")).lower()
    again = given.pop("reconnect", True) is True
    if form not in _TEXTUAL:
        raise _wrong(call, f"a socket brings {', '.join(_TEXTUAL)}, not {form}")
    spec = SourceSpec(form, f"{host}:{port}", columns, tuple(given.items()), info.skip_errors, info.name)
    check_options(spec)
    mine = _Connections(_connected(info, host, port), (host, port), again)
    return Incoming(info, spec, f"tcp://{host}:{port}", iter(mine), news, first, mine.close)


def _address(info: Source, call: SourceCall) -> tuple[str, int]:
    if len(call.arguments) == 2 and isinstance(call.arguments[0], str) and isinstance(call.arguments[1], int):
        return call.arguments[0], call.arguments[1]
    raise _wrong(call, f"{info.name}: socket(...) takes a host and a port")


def _wrong(call: SourceCall, message: str) -> SourceError:
    hint = "socket('localhost', 9999, format => 'jsonl')"
    return SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint))


def _check_standard_input(info: Source, call: SourceCall) -> None:
    """Refuses one that was closed by whoever has started the process: its number may be that of any other file now."""
    if sys.stdin is None:
        message = f"{info.name}: standard input is closed"
        raise SourceError(
            Diagnostic("SOURCE_NOT_READABLE", message, call.function.span, parameters={"source": info.name})
        )


def _standard_input() -> Chunks:
    while chunk := os.read(0, _CHUNK):
        yield chunk


def _connected(info: Source, host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=_PATIENCE)
    except OSError as error:
        raise SourceError(
            Diagnostic(
                "SOURCE_NOT_READABLE",
                f"{info.name}: there is no connection to {host}:{port}: {error.strerror or error}",
                info.source.function.span if info.source else None,
                "is somebody listening there?",
                {"source": info.name, "host": host, "port": port},
            )
        ) from None


class _Connections:
    """Connections to an address, one after the other, until nobody wants them any more."""

    def __init__(self, first: socket.socket, address: tuple[str, int], again: bool) -> None:
        self._address = address
        self._again = again
        self._changing = threading.Lock()
        self._current = first
        self._over = threading.Event()

    def __iter__(self) -> Iterator[tuple[Chunks, bool]]:
        yield _received(self._current), self._again
        tries = 0
        while self._again and not self._over.is_set():
            try:
                connection = socket.create_connection(self._address, timeout=_PATIENCE)
            except OSError:
                self._over.wait(_PAUSES[min(tries, len(_PAUSES) - 1)])
                tries += 1
                continue
            tries = 0
            with self._changing:
                if self._over.is_set():
                    connection.close()
                    return
                self._current = connection
            yield _received(connection), self._again

    def close(self) -> None:
        """Ends the connection, also where another thread waits for what it brings, and makes no other."""
        with self._changing:
            self._over.set()
            with suppress(OSError):
                self._current.shutdown(socket.SHUT_RDWR)


def _received(connection: socket.socket) -> Chunks:
    with connection:
        connection.settimeout(None)
        while chunk := connection.recv(_CHUNK):
            yield chunk
