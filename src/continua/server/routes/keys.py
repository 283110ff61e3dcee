"""Who is asking, and the tokens of others."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from continua.server.declared import Call, route
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.tokens import Token


class Me(Struct, frozen=True):
    """Who is asking, and what they may do."""

    name: str
    role: str
    streams: list[str] | None
    queries: list[str] | None


class TokenTold(Struct, frozen=True):
    """What is known of a token."""

    id: str
    name: str
    role: str
    streams: list[str] | None
    queries: list[str] | None


class TokensTold(Struct, frozen=True):
    """All tokens."""

    tokens: list[TokenTold]


class NewToken(Struct, frozen=True):
    """A token to be made: for whom, and what they may do."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    role: Literal["read", "write", "admin"] = "read"
    streams: list[str] | None = None
    queries: list[str] | None = None


class Issued(Struct, frozen=True):
    """A new token. Its text is told once."""

    token: str
    id: str


@route("GET", "/api/me", Role.READ, gives=Me)
def get_me(service: Service, call: Call) -> Me:
    """Tells who is asking."""
    del service
    caller = call.caller
    return Me(caller.name, caller.role.name.lower(), _list(caller.streams), _list(caller.queries))


@route("GET", "/api/tokens", Role.ADMIN, gives=TokensTold)
def list_tokens(service: Service, call: Call) -> TokensTold:
    """Lists tokens; their texts are known to nobody but those who have them."""
    del call
    return TokensTold([_told(token) for token in service.tokens.known()])


@route("POST", "/api/tokens", Role.ADMIN, takes=NewToken, gives=Issued, status=201)
def create_token(service: Service, call: Call) -> Issued:
    """Makes a token."""
    asked: NewToken = call.body
    lists = (None if some is None else tuple(some) for some in (asked.streams, asked.queries))
    text, kept = service.tokens.create(asked.name, Role[asked.role.upper()], *lists)
    return Issued(text, kept.id)


@route("DELETE", "/api/tokens/{name}", Role.ADMIN, status=204)
def revoke_token(service: Service, call: Call) -> None:
    """Revokes a token by its id."""
    service.tokens.revoke(call.name)


def _told(token: Token) -> TokenTold:
    return TokenTold(token.id, token.name, token.role, _list(token.streams), _list(token.queries))


def _list(some: tuple[str, ...] | None) -> list[str] | None:
    return None if some is None else list(some)
