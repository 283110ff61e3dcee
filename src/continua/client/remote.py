"""A session of a server, and its queries, with the names that those of this process have."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from continua.client.http import ARROW, JSON, RemoteError, Wire
from continua.errors import Diagnostic
from continua.instants import show_timestamp

__all__ = ["RemoteError", "RemoteQuery", "RemoteSession", "connect"]
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)


def connect(
    url: str, token: str | None = None, *, certificates: str | None = None, timeout: float = 60.0
) -> RemoteSession:
    """The session of a server. ``certificates``: a file with those by which it is known besides the usual ones."""
    session = RemoteSession(Wire(url, token, certificates, timeout))
    session.whoami()
    return session


class RemoteSession:
    """What a server holds. Nothing of it is in this process."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def whoami(self) -> dict[str, Any]:
        """Who is asking, and what they may do."""
        found: dict[str, Any] = self._wire.json("GET", "/api/me")
        return found

    def execute(self, text: str) -> list[dict[str, Any]]:
        """Runs a script's statements; what each of them did."""
        found: list[dict[str, Any]] = self._wire.json("POST", "/api/statements", {"sql": text})["outcomes"]
        return found

    def sql(self, text: str) -> RemoteQuery | pa.Table | None:
        """Runs a script; its last query, or what SELECT ... AT has found, if that was the last."""
        for outcome in reversed(self.execute(text)):
            if outcome.get("query"):
                return RemoteQuery(self._wire, outcome["query"])
            if outcome.get("content"):
                return pa.Table.from_pylist(outcome["content"]["rows"])
        return None

    def check(self, text: str) -> dict[str, Any]:
        """What is wrong with a script, of which nothing is run."""
        found: dict[str, Any] = self._wire.json("POST", "/api/check", {"sql": text})
        return found

    @property
    def queries(self) -> dict[str, RemoteQuery]:
        """The registered queries."""
        found = self._wire.json("GET", "/api/queries")["queries"]
        return {told["name"]: RemoteQuery(self._wire, told["name"]) for told in found}

    def insert(self, name: str, rows: pa.Table | Sequence[object], key: str | None = None) -> int:
        """Adds rows to a stream or relation: a table of Arrow, or dicts, lists and tuples. All are taken, or none.

        Rows that are sent again under the same ``key`` are taken once. Returns how many there were.
        """
        headers = {"Idempotency-Key": key} if key is not None else {}
        if isinstance(rows, pa.Table):
            written = io.BytesIO()
            with pa.ipc.new_stream(written, rows.schema) as stream:
                stream.write_table(rows)
            body, headers["Content-Type"] = written.getvalue(), ARROW
        else:
            body, headers["Content-Type"] = json.dumps(list(rows), default=_plain).encode(), JSON
        told = self._wire.ask("POST", f"/api/streams/{quote(name, safe='')}/rows", body, headers)
        return int(json.loads(told)["rows"])

    def table(self, name: str, as_of: int | str | datetime | None = None) -> pa.Table:
        """What a query holds at an instant, by default the latest that is closed."""
        return RemoteQuery(self._wire, name).snapshot(as_of)


class RemoteQuery:
    """A query of a server."""

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire = wire
        self.name = name
        self._path = f"/api/queries/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"RemoteQuery({self.name!r} of {self._wire.url})"

    @property
    def info(self) -> dict[str, Any]:
        """How it is doing."""
        found: dict[str, Any] = self._wire.json("GET", self._path)
        return found

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it is live."""
        return bool(self.info["state"] == "live")

    def snapshot(self, instant: int | str | datetime | None = None) -> pa.Table:
        """What it holds at a closed instant, by default the latest."""
        at = "latest" if instant is None else _plain(instant)
        content = self._wire.ask("GET", f"{self._path}/snapshot", None, {"Accept": ARROW}, at=at)
        return pa.ipc.open_stream(io.BytesIO(content)).read_all()

    def toArrow(self) -> pa.Table:  # noqa: N802
        """What it holds at the latest instant that is closed."""
        return self.snapshot()

    def changes(self, after: str | None = None) -> tuple[list[dict[str, Any]], str]:
        """All changes that are there behind a position, and the position behind them."""
        found: list[dict[str, Any]] = []
        while True:
            told = self._wire.json("GET", f"{self._path}/changes", after=after)
            if told["position"] == after:
                return found, told["position"]
            found += told["changes"]
            after = told["position"]

    def follow(self, after: str | None = None, begin: str = "first") -> Iterator[Mapping[str, Any]]:
        """Events as they come, for ever: each is a dict with ``event``, ``id`` and what it tells.

        Where the connection breaks it is made again, and goes on behind the last event: none is missed, and none comes
        twice.
        """
        failures = 0
        while True:
            try:
                for event, number, content in self._wire.events(f"{self._path}/changes", after=after, begin=begin):
                    failures, after = 0, number or after
                    if event == "end":
                        raise RemoteError(*(Diagnostic(e["condition"], e["message"]) for e in content["errors"]))
                    yield {"event": event, "id": number, **content}
            except RemoteError:
                raise
            except (OSError, HTTPException):
                if failures == len(_PAUSES):
                    raise
            time.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    def explain(self, stage: str = "logical") -> str:
        """A stage of its plan as text."""
        return self._wire.ask("GET", f"{self._path}/plan", stage=stage, format="text").decode()

    def start(self) -> None:
        """Starts it anew."""
        self._wire.json("POST", f"{self._path}/start")

    def stop(self) -> None:
        """Stops it; it stays registered."""
        self._wire.json("POST", f"{self._path}/stop")

    def drop(self) -> None:
        """Drops it."""
        self._wire.json("DELETE", self._path)


def _plain(value: object) -> object:
    """A value as JSON has it."""
    return show_timestamp(value) if isinstance(value, datetime) else value if isinstance(value, int) else str(value)
