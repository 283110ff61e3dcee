"""Requests to a server, by what Python has itself."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit

from continua.errors import ContinuaError, Diagnostic, MachineError, Span

JSON, ARROW, EVENTS = "application/json", "application/vnd.apache.arrow.stream", "text/event-stream"


class RemoteError(ContinuaError):
    """What a server has refused."""


class Wire:
    """Where a server is, and who asks."""

    def __init__(self, url: str, token: str | None, certificates: str | None, timeout: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = f"{url} is no address of a server"
            raise RemoteError(Diagnostic("BAD_URL", message, hint="http://127.0.0.1:8088 is one"))
        self.url = url.rstrip("/")
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._tls = ssl.create_default_context(cafile=certificates) if parts.scheme == "https" else None
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **asked: object,
    ) -> bytes:
        """The answer to a request; an error where it is refused."""
        connection, answer = self._sent(method, path, body, headers, asked)
        with connection_closed(connection):
            return answer.read()

    def json(self, method: str, path: str, body: object = None, **asked: object) -> Any:
        """The same in JSON. Numbers with a point are decimals, so that none of their digits is lost."""
        content = None if body is None else json.dumps(body).encode()
        found = self.ask(method, path, content, {"Content-Type": JSON}, **asked)
        return json.loads(found, parse_float=Decimal) if found else None

    def events(self, path: str, **asked: object) -> Iterator[tuple[str, str | None, Any]]:
        """Server-sent events: kind, id and content."""
        connection, answer = self._sent("GET", path, None, {"Accept": EVENTS}, asked)
        with connection_closed(connection):
            told: dict[str, str] = {}
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    told[name] = value
                elif "event" in told:
                    yield told["event"], told.get("id"), json.loads(told["data"], parse_float=Decimal)
                if not name:
                    told = {}

    def _sent(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        asked: Mapping[str, object],
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        where = f"{self._path}{path}{'?' + query if query else ''}"
        connection = (
            http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
            if self._tls is None
            else http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
        )
        try:
            connection.request(method, where, body, {**self._headers, **(headers or {})})
            answer = connection.getresponse()
        except OSError as error:
            connection.close()
            message = f"the server {self.url} cannot be reached: {error}"
            raise MachineError(Diagnostic("NO_SERVER", message, parameters={"url": self.url})) from None
        if answer.status >= 400:
            with connection_closed(connection):
                raise _refusal(answer.status, answer.read())
        return connection, answer


class connection_closed:  # noqa: N801
    """Closes a connection at the end of a block."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _refusal(status: int, content: bytes) -> RemoteError:
    try:
        errors = json.loads(content)["errors"]
    except (ValueError, KeyError, TypeError):
        return RemoteError(Diagnostic("REFUSED", f"the server answered {status}"))
    return RemoteError(*map(diagnostic, errors))


def diagnostic(told: Mapping[str, Any]) -> Diagnostic:
    """A diagnostic of what a server tells of one."""
    span = None if told.get("line") is None else Span(told["line"], told["column"], told["length"])
    return Diagnostic(told["condition"], told["message"], span, told.get("hint"), told.get("parameters") or {})
