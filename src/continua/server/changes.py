"""The changes of live queries, read from what finished epochs have yielded: whoever reads slowly waits in no queue.

A position says what somebody has: of which run, since which start of the query, and up to which epoch. An epoch yields
the same whenever it is read, so whoever goes on from a position misses nothing and gets nothing twice.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import msgspec
import pyarrow as pa
from msgspec import Raw

from continua.answers.answer_columns import epoch_part
from continua.answers.query import Query
from continua.errors import BindError, Diagnostic
from continua.instants import show_instant
from continua.runs.live_run import LiveRun
from continua.server.shapes import Changes, Instant
from continua.server.written import EMPTY, changes_json, closed, shown_instant
from continua.sources.intervals import NEVER

AT_ONCE = 64
"""At most so many epochs are told together to somebody who is behind."""
MOST_BYTES = 256 << 10
"""Nor more bytes of rows than these, unless one epoch has: every connection may hold what is told at once."""
_REMEMBERED = 32 << 20
"""So many bytes of changes are remembered for those who follow closely."""


@dataclass(frozen=True, slots=True)
class Position:
    """What somebody has of a query's changes."""

    run: str
    since: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.run}-{self.since}-{self.epoch}"

    @classmethod
    def of(cls, text: str) -> Position | None:
        """The position that a text spells."""
        run, _, numbers = text.strip().partition("-")
        since, _, epoch = numbers.partition("-")
        return cls(run, int(since), int(epoch)) if run and since.isdigit() and epoch.isdigit() else None


@dataclass(frozen=True)
class Told:
    """The changes of some epochs, those behind a position."""

    position: Position
    until: Instant | None
    """Up to which instant all changes are told, where nothing more is left to be told."""
    changes: Raw

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return self.changes is EMPTY

    @cached_property
    def encoded(self) -> bytes:
        """It as JSON, once for all who are told it."""
        return msgspec.json.encode(Changes(str(self.position), self.position.epoch, self.until, self.changes))


class ChangesReader:
    """Reads changes for all who follow them; those who are equally far share what is read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, Position], Told] = OrderedDict()
        self._size = 0

    def begin(self, run: LiveRun, name: str, now: bool = False) -> Position:
        """The position before the first changes that are kept, or behind the last."""
        with run.live.lock:
            run.running(name)
            epoch = run.engine.epoch_number if now else run.first_epoch(name) - 1
            return Position(_run_id(run), run.since(name), epoch)

    def resumed(self, run: LiveRun, name: str, text: str) -> Position:
        """The position that somebody names; an error where one cannot go on from it."""
        found = Position.of(text)
        if found is None:
            hint = "take it from the changes that were read last, or leave it out"
            raise BindError(Diagnostic("BAD_POSITION", f"{text!r} is no position of changes", hint=hint))
        with run.live.lock:
            query = run.running(name)
            if found.run != _run_id(run) or found.since != run.since(name) or found.epoch > run.engine.epoch_number:
                message = f"{text} is a position of another run, or of {name} before it was started again"
                hint = "begin with a snapshot"
                raise BindError(Diagnostic("OTHER_RUN", message, hint=hint, parameters={"query": name}))
            _check_kept(run, query, found)
        return found

    def next(self, run: LiveRun, name: str, position: Position) -> Told | None:
        """What is behind a position, as much as is told at once; None where there is nothing new yet."""
        last = run.engine.epoch_number
        if position.epoch >= last:
            return None
        key = name, position
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        told = self._read(run, name, position)
        with self._lock:
            if key not in self._known:
                self._known[key] = told
                self._size += _size(told)
            while self._size > _REMEMBERED and len(self._known) > 1:
                self._size -= _size(self._known.popitem(last=False)[1])
        return told

    def rows(self, run: LiveRun, name: str, position: Position) -> tuple[Position, pa.Table | None]:
        """The result rows of what is behind a position, and the position behind them."""
        with run.live.lock:
            last = self._last(run, name, position)
            first = max(position.epoch + 1, position.since)
            found = run.engine.results(name, first, last) if first <= last else None
            while found is not None and found.nbytes > MOST_BYTES and last > position.epoch + 1:
                last = position.epoch + (last - position.epoch) // 2
                found = run.engine.results(name, first, last) if first <= last else None
            return Position(position.run, position.since, last), found

    def _last(self, run: LiveRun, name: str, position: Position) -> int:
        """The last epoch that is told at once behind a position; an error where one cannot go on from that."""
        query = run.running(name)
        if position.since != run.since(name):
            message = f"query {name} was started again"
            hint = "begin with a snapshot"
            raise BindError(Diagnostic("OTHER_RUN", message, hint=hint, parameters={"query": name}))
        _check_kept(run, query, position)
        return min(run.engine.epoch_number, position.epoch + AT_ONCE)

    def _read(self, run: LiveRun, name: str, position: Position) -> Told:
        with run.live.lock:
            query = run.running(name)
            reached, found = self.rows(run, name, position)
            part = epoch_part(query, found, run.engine.until)
            until = shown_instant(closed(run), query) if reached.epoch == run.engine.epoch_number else None
            return Told(reached, until, changes_json(query, part))


def _check_kept(run: LiveRun, query: Query, position: Position) -> None:
    """Refuses a position behind which changes are gone."""
    horizon = run.engine.yielded.past.horizon
    if position.since <= position.epoch + 1 <= horizon.epoch:
        shown = "the beginning" if horizon.until <= NEVER else show_instant(horizon.until, query.domain)
        message = f"history is kept after {shown} only: the changes behind {position} are gone"
        hint = "begin with a snapshot; SET retention says how much is kept"
        raise BindError(Diagnostic("BEHIND_HORIZON", message, hint=hint, parameters={"horizon": shown}))


def _run_id(run: LiveRun) -> str:
    """What tells a run from others, whatever process works on it."""
    address = run.engine.store.address
    return (address.run or address.url.rpartition(":")[2])[:12]


def _size(told: Told) -> int:
    return 200 + 2 * len(bytes(told.changes))
