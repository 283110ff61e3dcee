"""A registry of schemas, as Confluent's: records name the schema that they were written by with a number."""

from __future__ import annotations

import base64
import json
import threading
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from continua.errors import Diagnostic, MachineError, SourceError
from continua.sources.secrets import revealed

_NOT_FOUND = 404
_BUSY = (429, 500, 502, 503, 504)
"""So answers a registry that may be asked again."""
_PAUSE = 0.2
_AGAIN = 5.0
"""After so many seconds a registry is asked again for a schema that it did not know."""


class UnknownSchemaError(Exception):
    """A registry does not know a schema; why it is needed, says the record that names it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that one needs: by which name it is known there, and where it is."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema of a registry."""

    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """Where a registry is, and who asks it."""

    url: str
    user: object = None
    password: object = None
    timeout: int = 30
    """So many seconds it may take to answer."""

    def by_id(self, number: int) -> Registered:
        """The schema of a number. Raises UnknownSchemaError where there is none."""
        return self._known(f"/schemas/ids/{number}")

    def by_reference(self, reference: Reference) -> Registered:
        """A schema that another one needs."""
        return self._known(f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}")

    def _known(self, route: str) -> Registered:
        """What it says: a schema never changes, so that it is asked once by a process."""
        with _lock:
            found, missing = _schemas.get((self, route)), _missing.get((self, route))
        if found is None and missing is not None and time.monotonic() < missing + _AGAIN:
            raise _unknown(route)
        if found is None:
            answer = self._asked(route)
            references = tuple(Reference(r["name"], r["subject"], r["version"]) for r in answer.get("references") or ())
            found = Registered(str(answer.get("schemaType") or "AVRO"), str(answer["schema"]), references)
            with _lock:
                _schemas[self, route] = found
        return found

    def _asked(self, route: str) -> Any:
        end = time.monotonic() + self.timeout
        while True:
            try:
                request = Request(self.url.rstrip("/") + route, headers=self._headers())
                with urlopen(request, timeout=self.timeout) as answer:
                    return json.loads(answer.read())
            except HTTPError as error:
                if error.code == _NOT_FOUND:
                    with _lock:
                        _missing[self, route] = time.monotonic()
                    raise _unknown(route) from None
                if error.code not in _BUSY:
                    raise self._refused(f"{error.code} {error.reason}") from None
                if time.monotonic() >= end:
                    raise self._away(f"{error.code} {error.reason}") from None
            except json.JSONDecodeError:
                raise self._refused("what it says is not JSON") from None
            except (URLError, HTTPException, OSError) as error:
                if time.monotonic() >= end:
                    raise self._away(str(getattr(error, "reason", error))) from None
            time.sleep(_PAUSE)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if self.user is not None:
            who = f"{revealed(self.user)}:{revealed(self.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(who.encode()).decode()}"
        return headers

    def _refused(self, reason: str) -> SourceError:
        message = f"the registry of schemas at {self.url} does not give them: {reason}"
        hint = "registry => names where its routes begin; registry_user and registry_password say who asks"
        return SourceError(
            Diagnostic("REGISTRY_REFUSED", message, hint=hint, parameters={"registry": self.url, "reason": reason})
        )

    def _away(self, reason: str) -> MachineError:
        message = f"the registry of schemas at {self.url} has not answered for {self.timeout} seconds: {reason}"
        parameters: dict[str, object] = {"registry": self.url, "reason": reason}
        return MachineError(Diagnostic("REGISTRY_UNREACHABLE", message, parameters=parameters))


def _unknown(route: str) -> UnknownSchemaError:
    return UnknownSchemaError(f"the registry has no schema at {route}")


_lock = threading.Lock()
_schemas: dict[tuple[Registry, str], Registered] = {}
"""What registries have said."""
_missing: dict[tuple[Registry, str], float] = {}
"""When they have last said that they do not know one: there may be many records that name it."""
