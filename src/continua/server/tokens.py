"""Tokens: random texts by which somebody is known, of which only digests are kept."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase

from continua.errors import BindError, Diagnostic
from continua.runtime.checkpoint.store import MemoryStore, SealedStore
from continua.server.roles import Role

FOLDER = "tokens"
_FORM = re.compile(r"continua_([0-9a-f]{12})_([\w-]{43})")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks, and what they may do."""

    name: str
    role: Role
    streams: tuple[str, ...] | None = None
    """The streams, relations, views and functions that they may use, by patterns such as ``shop_*``; None: all."""
    queries: tuple[str, ...] | None = None
    """The same of queries."""

    @property
    def is_limited(self) -> bool:
        """Whether there are streams or queries that are not for them."""
        return self.streams is not None or self.queries is not None

    def may_stream(self, name: str) -> bool:
        """Whether they may use a stream, relation, view or function."""
        return _fits(name, self.streams)

    def may_query(self, name: str) -> bool:
        """Whether they may use a query."""
        return _fits(name, self.queries)


LOCAL = Caller("local", Role.ADMIN)
"""Whoever asks from this machine, where no token is asked for."""
NOBODY = Caller("nobody", Role.NOBODY)


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token."""

    id: str
    digest: str
    name: str
    role: str
    streams: tuple[str, ...] | None = None
    queries: tuple[str, ...] | None = None

    @property
    def caller(self) -> Caller:
        """Whoever has it."""
        return Caller(self.name, Role[self.role.upper()], self.streams, self.queries)


class Tokens:
    """The tokens of a server, in its store: they are looked up there, so that a new one counts at once."""

    def __init__(self, store: SealedStore | MemoryStore) -> None:
        self._store = store

    def create(
        self,
        name: str,
        role: Role,
        streams: tuple[str, ...] | None = None,
        queries: tuple[str, ...] | None = None,
    ) -> tuple[str, Token]:
        """A new token: its text, which nobody can be told again, and what is kept of it."""
        number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        kept = Token(number, _digest(secret), name, role.name.lower(), streams, queries)
        self._store.put(f"{FOLDER}/{number}", json.dumps(asdict(kept)).encode(), durable=True)
        return f"continua_{number}_{secret}", kept

    def known(self) -> list[Token]:
        """All that there are."""
        return [self._read(name.rpartition("/")[2]) for name in sorted(self._store.names(FOLDER))]

    def revoke(self, number: str) -> None:
        """A token counts no more."""
        if not re.fullmatch("[0-9a-f]{12}", number) or not self._store.has(f"{FOLDER}/{number}"):
            raise BindError(Diagnostic("UNKNOWN_NAME", f"there is no token {number}", parameters={"name": number}))
        self._store.delete(f"{FOLDER}/{number}")

    def caller(self, text: str) -> Caller | None:
        """Whoever has a token; None for a text that is none."""
        form = _FORM.fullmatch(text)
        if form is None or not self._store.has(f"{FOLDER}/{form[1]}"):
            return None
        kept = self._read(form[1])
        return kept.caller if hmac.compare_digest(kept.digest, _digest(form[2])) else None

    def _read(self, number: str) -> Token:
        told = json.loads(self._store.get(f"{FOLDER}/{number}"))
        lists = {key: None if told[key] is None else tuple(told[key]) for key in ("streams", "queries")}
        return Token(**{**told, **lists})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _fits(name: str, patterns: tuple[str, ...] | None) -> bool:
    return patterns is None or any(fnmatchcase(name.casefold(), p.casefold()) for p in patterns)
