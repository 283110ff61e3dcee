"""OpenID Connect: others are known by JSON Web Tokens that an issuer signs with keys which it publishes."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from urllib.request import urlopen

import jwt

from continua.errors import BindError, Diagnostic
from continua.server.roles import Role
from continua.server.tokens import Caller

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
_PATIENCE = 5.0
_AGAIN = 10.0
"""Keys are asked for at most once in so many seconds, whatever is sent."""


@dataclass
class OpenId:
    """An issuer. The claim ``role`` says what somebody may do; without one it is ``role``, if that is given."""

    url: str
    audience: str
    claim: str = "continua_role"
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _keys: dict[str, jwt.PyJWK] = field(default_factory=dict)
    _asked: float = -_AGAIN

    def caller(self, text: str) -> Caller | None:
        """Whoever a token is about; None where it is not valid, or says nothing of a role."""
        try:
            number = jwt.get_unverified_header(text).get("kid", "")
            key = self._key(str(number))
            if key is None:
                return None
            told = jwt.decode(
                text,
                key,
                algorithms=_ALGORITHMS,
                audience=self.audience,
                issuer=self.url,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError:
            return None
        role = str(told.get(self.claim, "")).upper()
        if role not in ("READ", "WRITE", "ADMIN"):
            return None
        streams, queries = (_patterns(told.get(f"continua_{what}")) for what in ("streams", "queries"))
        return Caller(str(told["sub"]), Role[role], streams, queries)

    def _key(self, number: str) -> jwt.PyJWK | None:
        """A key of the issuer; its keys are asked for where one is not known."""
        with self._lock:
            if number not in self._keys and time.monotonic() - self._asked > _AGAIN:
                self._asked = time.monotonic()
                self._keys = self._published()
            return self._keys.get(number)

    def _published(self) -> dict[str, jwt.PyJWK]:
        try:
            with urlopen(f"{self.url.rstrip('/')}/.well-known/openid-configuration", timeout=_PATIENCE) as found:
                where = json.load(found)["jwks_uri"]
            with urlopen(where, timeout=_PATIENCE) as found:
                listed = json.load(found)
            return {key.key_id or "": key for key in jwt.PyJWKSet.from_dict(listed).keys}
        except (OSError, ValueError, KeyError, jwt.PyJWTError):
            return self._keys

    def check(self) -> None:
        """Refuses an issuer that is asked for keys over a connection that anybody could change."""
        if not self.url.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            message = f"{self.url} is no issuer: its keys must come by https"
            raise BindError(Diagnostic("BAD_ISSUER", message, parameters={"issuer": self.url}))


def _patterns(claim: object) -> tuple[str, ...] | None:
    """The names that a claim permits; all where there is none."""
    return None if claim is None else tuple(map(str, claim)) if isinstance(claim, list) else (str(claim),)
