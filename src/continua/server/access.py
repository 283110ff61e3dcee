"""Who asks: by a token, by OpenID Connect, or because only this machine can; and from which page of a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

from continua.errors import ContinuaError, Diagnostic
from continua.server.tokens import LOCAL, Caller, Tokens

PROTOCOL = "continua"
"""The subprotocol of WebSockets; a browser, which cannot send headers, names its token as another one."""
_IN_PROTOCOL = "token."


class RefusedError(ContinuaError):
    """A request that is not served."""


class Issuer(Protocol):
    """Somebody who says by signed texts who others are."""

    def caller(self, text: str) -> Caller | None:
        """Whoever a text is about; None where it is not valid."""
        ...


def refused(condition: str, message: str, hint: str | None = None) -> RefusedError:
    """Why a request is not served."""
    return RefusedError(Diagnostic(condition, message, hint=hint))


@dataclass(frozen=True)
class Access:
    """How it is known who asks."""

    tokens: Tokens
    required: bool = False
    """Whether everybody needs a token, from this machine too."""
    issuer: Issuer | None = None
    origins: tuple[str, ...] = ()
    """Pages that may ask besides the server's own, such as ``https://console.example.com``."""

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Whoever has sent a request; an error where that is not known, or its page may not ask."""
        self._check_page(headers)
        return self.of_token(_token(headers))

    def of_token(self, text: str | None) -> Caller:
        """Whoever has a token."""
        if text is None:
            if not self.required:
                return LOCAL
            raise refused("NO_TOKEN", "a token is needed", "send Authorization: Bearer and the token")
        found = self.tokens.caller(text) or (self.issuer.caller(text) if self.issuer is not None else None)
        if found is None:
            raise refused("NO_TOKEN", "the token is not valid", "it may have been revoked, or have expired")
        return found

    def _check_page(self, headers: Mapping[str, str]) -> None:
        """Refuses what the page of another site has a browser ask.

        Where no token is needed the name of the host must be one of this machine: else another site could have its own
        name lead here.
        """
        host = headers.get("host", "")
        if not self.required and not is_loopback(_host_of(host)):
            raise refused(
                "OTHER_ORIGIN", f"{host or 'nothing'} is no name of this machine", "ask 127.0.0.1 or localhost"
            )
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
                raise refused("OTHER_ORIGIN", "another site may not ask")
        elif origin not in self.origins and urlsplit(origin).netloc != host:
            raise refused("OTHER_ORIGIN", f"a page of {origin} may not ask", "the server can be told that it may")


def _token(headers: Mapping[str, str]) -> str | None:
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and text:
        return text.strip()
    offered = (part.strip() for part in headers.get("sec-websocket-protocol", "").split(","))
    return next((part.removeprefix(_IN_PROTOCOL) for part in offered if part.startswith(_IN_PROTOCOL)), None)


def _host_of(address: str) -> str:
    """A host without its port."""
    try:
        return urlsplit(f"//{address}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and can be reached from nowhere else."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
