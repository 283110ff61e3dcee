"""Operators around points in time at work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.errors import Diagnostic, EvaluationError
from continua.instants import INFINITY, goes_on_for_ever, too_many
from continua.kernels.jit import Int64s
from continua.kernels.relation import round_up
from continua.kernels.relation.coalesce import coalesce
from continua.kernels.store import hold
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.physical import point_nodes
from continua.physical.ordered_operators import FINAL, MOST_POINTS
from continua.physical.rows import RowSet

MOST_TICKS = 500_000
"""So many points, at most, are made in one epoch."""


class LatestInstant:
    """The largest instant that was noted so far."""

    def __init__(self, arena: Arena, name: str, least: int) -> None:
        self._latest: Int64s = arena.array(f"{name}.latest", 1)
        self._latest[0] = max(int(self._latest[0]), least)

    def note(self, inputs: Sequence[RowSet]) -> None:
        """Takes in rows whose first column holds instants."""
        for rows in inputs:
            if len(rows) and len(rows.codec.schema):
                values = rows.payload.column(0).drop_null().to_numpy()
                self._latest[0] = max(int(self._latest[0]), int(values.max(initial=0)))

    def until(self, until: int) -> int:
        """Up to where an epoch goes: at the end of time only as far as was noted."""
        return int(self._latest[0]) if until >= FINAL else until


class _Remembered:
    """An operator that remembers a few numbers."""

    def __init__(self, arena: Arena, name: str, codec: Codec, least: int) -> None:
        self._codec = codec
        self._numbers: Int64s = arena.array(f"{name}.numbers", 4)
        self._latest_instant = LatestInstant(arena, name, least)

    @property
    def state_rows(self) -> int:
        """It holds numbers, and no rows."""
        return 0

    def interned(self) -> list[Int64s]:
        """It holds no interned values."""
        return []

    def _series(self, first: int, last: int, step: int, what: str) -> Int64s:
        if (last - first) // step > MOST_TICKS:
            raise too_many(what)
        return np.arange(first, last + 1, step, dtype=np.int64)


class Clock(_Remembered):
    """A row for every chronon."""

    def __init__(self, node: point_nodes.Clock, arena: Arena, codec: Codec) -> None:
        super().__init__(arena, node.id, codec, node.least)
        self._node = node

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The instants of the epoch."""
        node = self._node
        self._latest_instant.note(inputs)
        last = self._latest_instant.until(until) + (node.further if until >= FINAL else 0)
        first = node.start if after < node.start else after + 1 + (node.start - after - 1) % node.chronon
        times = self._series(first, last, node.chronon, f"every instant from {first} to {last}")
        words = np.zeros((self._codec.width, times.size), np.int64)
        words[: self._codec.null_words[0]] = times
        return RowSet.of_batch(
            self._codec, Batch(words, times, np.full(times.size, INFINITY), np.ones(times.size, np.int64))
        )


def bare_points(codec: Codec, times: Int64s) -> RowSet:
    """Rows without columns at points."""
    words = np.zeros((codec.width, times.size), np.int64)
    return RowSet.of_batch(codec, Batch(words, times, times + 1, np.ones(times.size, np.int64)))


class Ticks(_Remembered):
    """Points in time."""

    def __init__(self, node: point_nodes.Ticks, arena: Arena, codec: Codec) -> None:
        super().__init__(arena, node.id, codec, node.least)
        self._node = node

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The points of the epoch."""
        node, numbers = self._node, self._numbers
        self._latest_instant.note(inputs[1:] if node.waits else inputs)
        if not numbers[0]:
            first = self._first(inputs)
            if first is None:
                return RowSet.empty(self._codec)
            numbers[0], numbers[1] = 1, first
        last = self._latest_instant.until(until)
        times = self._series(int(numbers[1]), last, node.step, "points of a slide")
        numbers[1] += times.size * node.step
        return bare_points(self._codec, times)

    def _first(self, inputs: Sequence[RowSet]) -> int | None:
        node = self._node
        if not node.waits:
            return node.start + (node.offset - node.start) % node.step
        if not len(inputs[0]):
            return None
        arrival = int(inputs[0].start.min())
        return arrival + (node.offset - arrival) % node.step + node.lag


class EveryNth(_Remembered):
    """The instants of some elements."""

    def __init__(self, node: point_nodes.EveryNth, arena: Arena, codec: Codec) -> None:
        super().__init__(arena, node.id, codec, 0)
        self._rows = node.rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """Those of the epoch."""
        rows, numbers = inputs[0], self._numbers
        arrivals = np.sort(np.repeat(rows.start, rows.weight))
        times = arrivals[self._rows - 1 - int(numbers[0]) :: self._rows]
        numbers[0] = (numbers[0] + arrivals.size) % self._rows
        return bare_points(self._codec, np.unique(times))


def pieces(batch: Batch, first: Int64s, counts: Int64s, what: str) -> tuple[Int64s, Int64s]:
    """For each row ``counts`` pieces: the place of its row, and the number of the piece counted on from ``first``."""
    if int(counts.sum()) > MOST_POINTS:
        raise too_many(what)
    places = np.repeat(np.arange(len(batch)), counts)
    return places, np.arange(places.size) - np.repeat(np.cumsum(counts) - counts - first, counts)


class At:
    """What a relation holds at points."""

    def __init__(self, node: point_nodes.At, arena: Arena, codec: Codec) -> None:
        self._node, self._codec = node, codec
        self._hold = hold.Hold(arena, node.id, codec.width)
        self._flags: Int64s = arena.array(f"{node.id}.flags", 2)
        self._latest_instant = LatestInstant(arena, node.id, node.least)

    @property
    def state_rows(self) -> int:
        """Rows of the relation, and what takes them back."""
        return self._hold.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """An element for each row and point of the epoch."""
        rows, given, initial, *further = inputs
        self._latest_instant.note(further)
        if len(initial):
            self._flags[0] = 1
        points = self._with_earlier(np.unique(given.start), after, until)
        points = points[points <= self._latest_instant.until(until)]
        if not points.size and until < FINAL:
            self._hold.epoch(rows.batch, -INFINITY)
            return RowSet.empty(self._codec)
        batch = coalesce(self._hold.epoch(rows.batch, until))
        self._wait(batch, until)
        first = np.searchsorted(points, batch.start)
        counts = np.maximum(np.searchsorted(points, batch.end) - first, 0)
        places, numbers = pieces(batch, first, counts, "points of a slide")
        times = points[numbers]
        found = Batch(batch.words[:, places], times, times + self._node.chronon, batch.weight[places])
        return RowSet.of_batch(self._codec, coalesce(found, self._node.chronon))

    def _wait(self, batch: Batch, until: int) -> None:
        """Keeps what outlives the epoch; at the end of time there must be nothing if points never end."""
        if until >= FINAL and not self._node.endless:
            last = self._latest_instant.until(until)
            alive = batch.take((batch.start <= last) & (batch.end > last))
            if len(coalesce(_from(alive, last))):
                raise goes_on_for_ever()
        self._hold.epoch(_from(batch.take(batch.end > until + 1), until + 1), -INFINITY)

    def _with_earlier(self, points: Int64s, after: int, until: int) -> Int64s:
        """The points of the epoch, and those in time before the first of all."""
        if self._flags[1]:
            return points
        end = int(points[0]) if points.size else self._latest_instant.until(until) + 1
        self._flags[1] = points.size > 0
        if not self._flags[0]:
            return points
        found, first = [points], max(after + 1, self._node.start)
        for step, offset in self._node.earlier:
            if (end - first) // step > MOST_TICKS:
                raise too_many("points of a slide before the first element")
            found.append(np.arange(first + (offset - first) % step, end, step, dtype=np.int64))
        return np.unique(np.concatenate(found))

    def interned(self) -> list[Int64s]:
        """The strings of the rows."""
        return self._hold.interned(self._codec.string_columns)


def _from(batch: Batch, instant: int) -> Batch:
    return Batch(batch.words, np.maximum(batch.start, instant), batch.end, batch.weight)


class Moments:
    """Rows cut into chronons."""

    def __init__(self, node: point_nodes.Moments, arena: Arena, codec: Codec) -> None:
        self._node, self._codec = node, codec
        self._hold = hold.Hold(arena, node.id, codec.width)
        self._latest_instant = LatestInstant(arena, node.id, node.least)

    @property
    def state_rows(self) -> int:
        """Rows that have chronons to come."""
        return self._hold.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """A piece for each row and chronon of the epoch."""
        chronon, final = self._node.chronon, until >= FINAL
        self._latest_instant.note(inputs[1:])
        batch = coalesce(self._hold.epoch(inputs[0].batch, until))
        last = self._latest_instant.until(until)
        first = batch.start - (batch.start - self._node.start) % chronon
        counts = np.maximum((np.minimum(batch.end - 1, last) - first) // chronon + 1, 0)
        self._wait(batch, first + counts * chronon)
        places, numbers = pieces(batch, np.zeros(len(batch), np.int64), counts, "every instant")
        edge = first[places] + numbers * chronon
        end = np.minimum(edge + chronon, batch.end[places])
        if final:
            end[edge + chronon > last] = INFINITY
        start = np.maximum(edge, batch.start[places])
        return RowSet.of_batch(self._codec, Batch(batch.words[:, places], start, end, batch.weight[places]).sorted())

    def _wait(self, batch: Batch, rest: Int64s) -> None:
        kept = rest < batch.end
        waiting = Batch(batch.words[:, kept], rest[kept], batch.end[kept], batch.weight[kept])
        self._hold.epoch(coalesce(waiting), -INFINITY)

    def interned(self) -> list[Int64s]:
        """The strings of rows that have chronons to come."""
        return self._hold.interned(self._codec.string_columns)


class RoundUp:
    """A relation that changes only at points."""

    def __init__(self, node: point_nodes.RoundUp, arena: Arena, codec: Codec, points: Codec) -> None:
        self._codec = codec
        self._kernel = round_up.RoundUp(arena, node.id, codec.width)
        self._points = hold.Hold(arena, f"{node.id}.points", points.width)
        self._row = points

    @property
    def state_rows(self) -> int:
        """Changes that wait."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """How the relation changes at the points of the epoch."""
        rows, given = inputs
        batch = given.batch
        instants = batch.words[0].copy()
        if bool((instants < batch.start).any()):
            raise _late(int(instants[instants < batch.start][0]))
        due = self._points.epoch(Batch(batch.words, instants, instants, batch.weight), until)
        changed = self._kernel.epoch(rows.batch, np.unique(due.start), after, until)
        return RowSet.of_batch(self._codec, changed)

    def interned(self) -> list[Int64s]:
        """The strings of rows that wait."""
        return self._kernel.interned(self._codec.string_columns)


def _late(instant: int) -> EvaluationError:
    return EvaluationError(
        Diagnostic(
            "LATE_SYNCHRONIZATION",
            f"a synchronization stream has the point {instant} only after that instant: it is too late for it",
            hint="a point of a synchronization stream is the instant at which it appears, or a later one",
            parameters={"instant": instant},
        )
    )
