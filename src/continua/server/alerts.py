"""Alerts: a webhook that is called when a query's answer gets or loses rows; at least once for each epoch that does.

Where an alert has got to is kept as a position of changes, which moves on when a call was answered well. A call that
fails is made again, after ever longer pauses, and what came of calls is recorded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from continua.errors import BindError, ContinuaError, Diagnostic
from continua.policy import Policy
from continua.runtime.checkpoint.store import MemoryStore, SealedStore
from continua.server.changes import Position, Told

if TYPE_CHECKING:
    from continua.server.service import Service

FOLDER = "alerts"
_PATIENCE = 10.0
_LONGEST_PAUSE = 60.0
_RECORDED = 100


@dataclass(frozen=True, slots=True)
class Alert:
    """Who is told of which changes, and up to where they were."""

    name: str
    query: str
    url: str
    when: str = "any"
    """gets, loses or any: which changes they are told of."""
    position: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """What came of a call."""

    alert: str
    at: float
    position: str
    rows: int
    result: str
    """delivered, or why it failed."""


class Alerts:
    """Follows the changes of queries, and tells those who asked to be told."""

    def __init__(self, service: Service, store: SealedStore | MemoryStore, policy: Policy) -> None:
        self._service, self._store, self._policy = service, store, policy
        self.alerts: dict[str, Alert] = {}
        for name in store.names(FOLDER):
            alert = Alert(**json.loads(store.get(name)))
            self.alerts[alert.name] = alert
        self.calls: deque[Call] = deque(maxlen=_RECORDED)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    # What is defined.

    def create(self, name: str, query: str, url: str, when: str, by: str) -> Alert:
        """Somebody is told from now on."""
        if name in self.alerts:
            raise BindError(Diagnostic("ALREADY_EXISTS", f"there is an alert {name}", parameters={"name": name}))
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise BindError(Diagnostic("BAD_REQUEST", "an alert calls an http or https URL without a name in it"))
        refusal = self._policy.host(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
        if refusal is not None:
            raise BindError(refusal)
        run = self._service.run_of(query)
        alert = Alert(name, query, url, when, str(self._service.changes.begin(run, query, now=True)), by)
        self._keep(alert)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._follow, alert.name)
        return alert

    def drop(self, name: str) -> None:
        """Nobody is told any more."""
        if name not in self.alerts:
            raise BindError(Diagnostic("UNKNOWN_NAME", f"there is no alert {name}", parameters={"name": name}))
        del self.alerts[name]
        self._store.delete(self._file(name))
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: self._tasks.pop(name).cancel() if name in self._tasks else None)

    def _keep(self, alert: Alert) -> None:
        self.alerts[alert.name] = alert
        self._store.put(self._file(alert.name), json.dumps(asdict(alert)).encode(), durable=True)

    @staticmethod
    def _file(name: str) -> str:
        return f"{FOLDER}/{name.encode().hex()}"

    # What follows from it.

    def begin(self) -> None:
        """Follows all alerts, in the event loop that runs."""
        self._loop = asyncio.get_running_loop()
        for name in self.alerts:
            self._follow(name)

    def end(self) -> None:
        """Follows them no more."""
        self._loop = None
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    def _follow(self, name: str) -> None:
        self._tasks[name] = asyncio.get_running_loop().create_task(self._tell(name))

    async def _tell(self, name: str) -> None:
        pause = 1.0
        while (alert := self.alerts.get(name)) is not None:
            news = self._service.news.next()
            try:
                position = await asyncio.to_thread(self._resumed, alert)
                told = await self._service.next_changes(alert.query, position)
            except ContinuaError as error:
                self._record(alert, 0, error.diagnostics[0].message)
                await self._begin_anew(alert)
                await news.within(_LONGEST_PAUSE)
                continue
            if told is None:
                await news.within(_LONGEST_PAUSE)
                continue
            changes = _chosen(told, alert.when)
            if changes:
                result = await asyncio.to_thread(_called, alert, told, changes)
                self._record(alert, len(changes), result)
                if result != "delivered":
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                    continue
            pause = 1.0
            if name in self.alerts:
                moved = replace(alert, position=str(told.position))
                if changes:
                    await asyncio.to_thread(self._keep, moved)
                else:  # behind what changed nothing it may be again: nobody was told of it
                    self.alerts[name] = moved

    def _resumed(self, alert: Alert) -> Position:
        return self._service.changes.resumed(self._service.run_of(alert.query), alert.query, alert.position)

    async def _begin_anew(self, alert: Alert) -> None:
        """Where changes are gone, or their query was started again, it goes on with those from now on."""
        try:
            run = self._service.run_of(alert.query)
            position = await asyncio.to_thread(self._service.changes.begin, run, alert.query, True)
        except ContinuaError:
            return
        if alert.name in self.alerts and str(position) != alert.position:
            await asyncio.to_thread(self._keep, replace(alert, position=str(position)))

    def _record(self, alert: Alert, rows: int, result: str) -> None:
        self.calls.append(Call(alert.name, time.time(), alert.position, rows, result))


def _chosen(told: Told, when: str) -> list[dict[str, object]]:
    """The changes that somebody is told of."""
    if told.is_empty:
        return []
    changes = json.loads(bytes(told.changes))
    gone = ("-",)
    match when:
        case "gets":
            return [c for c in changes if c.get("op") not in gone]
        case "loses":
            return [c for c in changes if c.get("op") in gone]
        case _:
            return list(changes)


class _Staying(HTTPRedirectHandler):
    """What a webhook answers leads nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """There is no other request."""


_OPENER = build_opener(_Staying)


def _called(alert: Alert, told: Told, changes: list[dict[str, object]]) -> str:
    """Calls a webhook; says what came of it. The position tells calls that are made again."""
    body = {"alert": alert.name, "query": alert.query, "position": str(told.position), "changes": changes}
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"{alert.name}-{told.position}"}
    request = Request(alert.url, json.dumps(body).encode(), headers, method="POST")
    try:
        with _OPENER.open(request, timeout=_PATIENCE) as answer:
            return "delivered" if answer.status < 300 else f"it answered {answer.status}"
    except HTTPError as error:
        return f"it answered {error.code}"
    except OSError as error:
        return str(getattr(error, "reason", error))
