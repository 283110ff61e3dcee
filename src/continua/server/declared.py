"""Routes as they are declared: by types, which check requests, write answers and make the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from continua import __version__
from continua.server.roles import Role
from continua.server.shapes import Refusal
from continua.server.tokens import Caller

JSON = "application/json"
_IN_PATH = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """A route: what it takes, what it gives and who may ask."""

    method: str
    path: str
    role: Role
    handler: Callable[..., Any]
    asks: type[msgspec.Struct] | None = None
    """Its query parameters."""
    takes: type[msgspec.Struct] | None = None
    """Its body as JSON."""
    media: tuple[str, ...] = ()
    """Other types of bodies that it takes."""
    gives: type[Any] | None = None
    """Its answer as JSON."""
    also: tuple[str, ...] = ()
    """Other types of answers."""
    status: int = 200
    about: str | None = None
    """Of what the name in its path is: a stream or a query, for which the caller needs a right."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that it looks at, and what they say."""

    @property
    def told(self) -> str:
        """What it does."""
        return (self.handler.__doc__ or "").strip()

    @property
    def is_async(self) -> bool:
        """Whether its handler does not wait for anything but the network."""
        return bool(self.handler.__code__.co_flags & 0x80)


ROUTES: list[Route] = []
"""All of them, in the order in which their modules are imported."""

Handler = Callable[..., Response | Awaitable[Response] | msgspec.Struct | None]


def route(method: str, path: str, role: Role, **more: Any) -> Callable[[Handler], Handler]:
    """Declares the handler of a route."""

    def declared(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, role, handler, **more))
        return handler

    return declared


@dataclass(slots=True)
class Record:
    """What is written down of a request."""

    done: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Call:
    """A request, with what it says checked, of somebody who is known."""

    request: Request
    asked: Any
    """The query parameters, as the route declares them."""
    body: Any
    """The body: as declared, or bytes where it is no JSON."""
    caller: Caller
    record: Record

    @property
    def name(self) -> str:
        """The name in the path."""
        return str(self.request.path_params["name"])


def parameters_of(kind: type[msgspec.Struct]) -> Iterable[dict[str, object]]:
    """The query parameters of a shape as OpenAPI tells them."""
    ((schema,), parts) = _schemas([kind])
    shape = parts[kind.__name__] if "$ref" in schema else schema
    required = shape.get("required", [])
    for name, of in shape["properties"].items():
        yield {"name": name, "in": "query", "required": name in required, "schema": of}


def _schemas(shapes: Iterable[type[Any]]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """The schemas of shapes, and of those that they are made of. What is written as it is says itself what it is."""
    return msgspec.json.schema_components(shapes, ref_template="#/components/schemas/{name}", schema_hook=lambda _: {})


def openapi(routes: Iterable[Route]) -> dict[str, object]:
    """The OpenAPI document of routes."""
    routes = list(routes)
    shapes = {s for r in routes for s in (r.takes, r.gives) if s is not None} | {Refusal}
    ordered = sorted(shapes, key=lambda s: s.__name__)
    references, components = _schemas(ordered)
    schema = dict(zip(ordered, references, strict=True))
    refusal = {"description": "It was refused, and why.", "content": {JSON: {"schema": schema[Refusal]}}}
    paths: dict[str, dict[str, object]] = {}
    for r in routes:
        text = {"type": "string"}
        names = [{"name": n, "in": "path", "required": True, "schema": text} for n in _IN_PATH.findall(r.path)]
        heads = [{"name": n, "in": "header", "required": False, "schema": text} for n in r.headers]
        content: dict[str, object] = {kind: {"schema": {} if kind == JSON else text} for kind in r.also}
        content |= {} if r.gives is None else {JSON: {"schema": schema[r.gives]}}
        answer: dict[str, object] = {"description": "Done."}
        if content:
            answer["content"] = content
        title, _, more = r.told.partition("\n")
        told: dict[str, object] = {
            "operationId": r.handler.__name__,
            "summary": title.rstrip("."),
            "description": " ".join(more.split()),
            "parameters": [*names, *(parameters_of(r.asks) if r.asks else ()), *heads],
            "responses": {str(r.status): answer, "default": refusal},
            "security": [] if r.role is Role.NOBODY else [{"token": []}],
            "x-role": r.role.name.lower(),
        }
        bodies: dict[str, object] = {} if r.takes is None else {JSON: {"schema": schema[r.takes]}}
        bodies |= {kind: {"schema": {}} for kind in r.media}
        if bodies:
            told["requestBody"] = {"required": True, "content": bodies}
        paths.setdefault(r.path, {})[r.method.lower()] = told
    return {
        "openapi": "3.1.0",
        "info": {"title": "Continua", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
