"""How live queries did in the last minutes: what has happened between one sample and the next."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from continua.answers.query import Query
from continua.runs.live_run import LiveRun
from continua.server.service import Service

KEPT = 120
"""So many samples of each query are kept."""
EVERY = 1.0
"""Seconds between samples."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What has happened since the sample before."""

    at: float
    epoch: int
    seconds: float
    """What the last epoch took."""
    rows_in: int
    rows_out: int
    state_bytes: int
    lag: int | None


@dataclass
class _Kept:
    rows_in: int = 0
    rows_out: int = 0
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=KEPT))


class Sampler:
    """Takes samples of every live query."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._ended = threading.Event()

    def begin(self) -> None:
        """From now on samples are taken, by a thread of its own, until it is told to end."""
        self._ended.clear()
        threading.Thread(target=self._go_on, name="continua-samples", daemon=True).start()

    def end(self) -> None:
        """No more samples are taken."""
        self._ended.set()

    def _go_on(self) -> None:
        while not self._ended.wait(EVERY):
            # who holds no lock of a run may find it changing: then the next sample tells what this one would have
            with suppress(RuntimeError, KeyError):
                self.take()

    def take(self) -> None:
        """Takes a sample of every live query."""
        live = self._service.session.live
        if live is None:
            return
        now = time.monotonic()
        with self._lock:
            seen: set[str] = set()
            for run in live.runs.values():
                held = state_bytes(run)
                for name, query in run.queries.items():
                    if name in self._service.session.queries:
                        seen.add(name)
                        self._sample(query, run, now, held.get(name, 0))
            for name in self._kept.keys() - seen:
                del self._kept[name]

    def _sample(self, query: Query, run: LiveRun, now: float, held: int) -> None:
        name = query.name
        known = self._kept.get(name)
        totals = run.totals
        with totals.lock:
            rows_in = sum(totals.rows[s.name.casefold()] for s in query.sources)
            rows_out, seconds = totals.answers[name], totals.last_seconds
        lags = run.live.lag(run.engine.until)
        behind = [lags[s.name.casefold()] for s in query.sources if s.name.casefold() in lags]
        if known is None:
            known = self._kept[name] = _Kept(rows_in, rows_out)
        came, told = rows_in - known.rows_in, rows_out - known.rows_out
        known.samples.append(Sample(now, run.engine.epoch_number, seconds, came, told, held, max(behind, default=None)))
        known.rows_in, known.rows_out = rows_in, rows_out

    def of(self, name: str) -> list[Sample]:
        """The samples of a query, the oldest first."""
        with self._lock:
            known = self._kept.get(name)
            return [] if known is None else list(known.samples)


def state_bytes(run: LiveRun) -> dict[str, int]:
    """What the operators of each query hold; that of operators that work for several is divided among them."""
    last = run.recent[-1] if run.recent else {}
    operators = last.get("operators", [])
    assert isinstance(operators, list)
    held = {o["id"]: float(o["stateBytes"]) for o in operators}
    return {name: round(size) for name, size in run.engine.placement.by_query(held).items()}


_SAMPLERS: WeakKeyDictionary[Service, Sampler] = WeakKeyDictionary()


def sampler_of(service: Service) -> Sampler:
    """The sampler of a service."""
    found = _SAMPLERS.get(service)
    if found is None:
        found = _SAMPLERS[service] = Sampler(service)
    return found
