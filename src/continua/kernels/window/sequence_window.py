"""Window sequences, windows with bounds of their own, and windows over time that move with the rows.

What they have in common: at an evaluation the window is a range of positions of its partition. Each evaluation is
compared with the one before, and what it adds or leaves out is written. Elements are kept from the first one that a
later window can hold. Windows whose bounds and rate both count time need none of this: an element's interval is known
when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.rings import BASE, CAPACITY, FIRST, HEAD, NEXT, OWN, WHEN, WORDS, Rings
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.window.rows_window import PartitionedWindow, copies, later
from continua.kernels.words.batch import INFINITY, Batch

_LOW, _HIGH, _MARK, _MARKED, _DUE, _STATUS = range(OWN, OWN + 6)
_SCHEDULED, _OVER = 1, 2


class Bound(Protocol):
    """A bound of window j, which does not move back as j grows."""

    @property
    def slope(self) -> int:
        """By how much it grows from one window to the next."""

    def __call__(self, j: int) -> int:
        """The bound of a window."""

    def next_change(self, j: int) -> int | None:
        """The first window after j with another bound."""

    def all_first_reaching(self, values: Int64s) -> Int64s:
        """For each value the first window whose bound is at least that; infinity where there is none."""


class BatchWord(NamedTuple):
    """A word of elements of which some bits are the same in a batch."""

    word: int
    bits: int = -1


class _Partition:
    """The elements of one partition that are kept, by position; ``head`` is its part of the heads of the rings."""

    def __init__(self, rings: Rings, slot: int, batch: Sequence[BatchWord] = ()) -> None:
        """``batch``: by what batches of one instant are told apart, if there are several."""
        self.head = rings.heads[slot * HEAD : (slot + 1) * HEAD]
        self._base, self._mask = int(self.head[BASE]), int(self.head[CAPACITY]) - 1
        self._instants = rings.pool[WHEN :: rings.size]
        self._batch = [(rings.pool[WORDS + word :: rings.size], bits) for word, bits in batch]

    def place(self, position: int) -> int:
        """Where the record of a position is in the pool."""
        return self._base + (position & self._mask)

    def instant(self, position: int) -> int:
        """When an element came."""
        return int(self._instants[self._base + (position & self._mask)])

    def first_from(self, instant: int) -> int:
        """The first position at or after an instant."""
        low, high = int(self.head[FIRST]), int(self.head[NEXT])
        instants, base, mask = self._instants, self._base, self._mask
        while low < high:
            middle = (low + high) // 2
            if instants[base + (middle & mask)] < instant:
                low = middle + 1
            else:
                high = middle
        return low

    def positions(self, alpha: int, beta: int, length: int) -> tuple[int, int]:
        """The batches that hold positions alpha to beta, and of these the most recent beta - alpha + 1 elements."""
        beta = min(beta, length - 1)
        if alpha > beta:
            return length, length
        end = self.first_from(self.instant(beta) + 1)
        if self._batch:
            mine, last = self._identifier(beta), beta + 1
            while last < end and self._identifier(last) == mine:
                last += 1
            end = last
        return end - (beta - alpha + 1), end

    def _identifier(self, position: int) -> list[int]:
        """What tells the batch of an element from others of its instant."""
        place = self._base + (position & self._mask)
        return [int(words[place]) & bits for words, bits in self._batch]


@dataclass(slots=True)
class _Content:
    """The positions [low, high) of a window; those below ``keep`` are never needed again.

    ``following`` is the next instant at which it can change without a new element; ``over`` says that nothing enters
    or leaves any more; with ``stays`` nothing that is in the window leaves.
    """

    low: int
    high: int
    keep: int
    following: int | None = None
    stays: bool = False
    over: bool = False


class Window:
    """A description of a window, which says how to find its content."""

    __slots__ = ()

    def content(self, part: _Partition, now: int, length: int) -> _Content:
        """The content at an instant by which ``length`` elements have come."""
        raise NotImplementedError

    def instants(self, part: _Partition, arrivals: list[int], after: int, until: int) -> Iterator[int]:  # noqa: ARG002
        """When to look: at every element, and when the content before said so."""
        coming = iter([*arrivals, INFINITY])
        arrival = next(coming)
        while True:
            due = int(part.head[_DUE]) if part.head[_STATUS] == _SCHEDULED else INFINITY
            now = min(due, arrival)
            if now > until or now == INFINITY:
                return
            while arrival <= now:
                arrival = next(coming)
            yield now


@dataclass(frozen=True, slots=True)
class TimeByRows(Window):
    """The last ``size`` instants, looked at whenever ``rows`` more elements have come, but not before ``opens``."""

    size: int
    rows: int
    lag: int = 0
    chronon: int = 1
    opens: int | None = None

    def content(self, part: _Partition, now: int, length: int) -> _Content:
        """At the end of a group of rows the last instants; else as before."""
        head = part.head
        unbounded = self.size >= INFINITY
        if length // self.rows == head[_MARK]:
            return _Content(int(head[_LOW]), int(head[_HIGH]), int(head[_LOW if head[_HIGH] > head[_LOW] else FIRST]))
        head[_MARK] = length // self.rows
        if self.opens is not None and now < self.opens:
            low = part.first_from(now - self.size + self.chronon)
            return _Content(length, length, low)
        low = int(head[FIRST]) if unbounded else part.first_from(now - self.size + self.chronon)
        return _Content(low, length, low, stays=unbounded)


@dataclass(frozen=True, slots=True)
class WindowSequence(Window):
    """Window j holds what is from ``alpha(j)`` to ``beta(j)``, and comes every ``rate`` rows or instants."""

    alpha: Bound
    beta: Bound
    rate: int
    rate_in_rows: bool
    bounds_in_rows: bool
    lag: int = 0

    @property
    def counts_time(self) -> bool:
        """Whether bounds and rate both count instants."""
        return not self.rate_in_rows and not self.bounds_in_rows

    def intervals(self, batch: Batch) -> Batch:
        """From the evaluation of the first window that holds an element to that of the first one behind it."""
        first, past = self.beta.all_first_reaching(batch.start), self.alpha.all_first_reaching(batch.start + 1)
        origin = self.beta(0) + self.lag
        last = (INFINITY - origin) // self.rate
        start, end = (
            np.where(number > last, INFINITY, origin + self.rate * np.minimum(number, last)) for number in (first, past)
        )
        return Batch(batch.words, start, end, batch.weight).take(start < end)

    def content(self, part: _Partition, now: int, length: int) -> _Content:
        """The last window of the sequence that was created by now."""
        return self._by_position(part, now, length) if self.bounds_in_rows else self._by_time(part, now, length)

    def _by_time(self, part: _Partition, now: int, length: int) -> _Content:
        head, first_end = part.head, self.beta(0)
        if now < first_end:
            return _Content(0, 0, part.first_from(self.alpha(0)), first_end)
        if not head[_MARKED]:
            head[_MARK], head[_MARKED] = part.first_from(first_end + 1), 1
        j = (length - int(head[_MARK])) // self.rate
        low = part.first_from(self.alpha(j))
        high = min(part.first_from(self.beta(j) + 1), length)
        return _Content(low, max(low, high), low, stays=self.alpha.slope == 0, over=self.beta.slope == 0)

    def _by_position(self, part: _Partition, now: int, length: int) -> _Content:
        head, first_end = part.head, self.beta(0)
        if first_end >= length:
            return _Content(0, 0, self.alpha(0))
        if self.rate_in_rows:
            j = (length - 1 - first_end) // self.rate
        else:
            if not head[_MARKED]:
                head[_MARK], head[_MARKED] = part.instant(first_end), 1
            j = (now - int(head[_MARK])) // self.rate
        alpha, beta = self.alpha(j), self.beta(j)
        low, high = part.positions(alpha, beta, length)
        following = None
        if not self.rate_in_rows and alpha < length:
            changes = [self.alpha.next_change(j), self.beta.next_change(j) if beta < length - 1 else None]
            numbers = [number for number in changes if number is not None]
            following = int(head[_MARK]) + self.rate * min(numbers) if numbers else None
        return _Content(low, high, alpha, following, over=self.beta.slope == 0)


@dataclass(frozen=True, slots=True)
class OwnBounds(Window):
    """A window with a rhythm of its own.

    ``bounds`` gives the first and last instant or position of the evaluation that is in force at an instant, None
    before the first evaluation; ``following`` the first instant after one, up to another, at which it is another. The
    bounds must not move back, unless ``forward`` is false: then nothing is dropped. With ``least`` they may, but at
    an instant no further than to what that says, which does not move back. An epoch with more than ``most`` evaluations
    fails.
    """

    following: Callable[[int, int], int | None]
    bounds: Callable[[int], tuple[int, int] | None]
    in_rows: bool = False
    forward: bool = True
    chronon: int = 1
    most: int = 500_000
    least: Callable[[int], int] | None = None

    def content(self, part: _Partition, now: int, length: int) -> _Content:
        """What the bounds in force say."""
        first = int(part.head[FIRST])
        bounds = self.bounds(now)
        if bounds is None:
            return _Content(0, 0, first)
        alpha, beta = bounds
        self._check(part, alpha)
        if self.in_rows:
            low, high = part.positions(alpha, beta, length)
            return _Content(low, high, alpha if self.forward else first)
        low, high = part.first_from(alpha), min(part.first_from(beta + 1), length)
        keep = low if self.least is None else min(low, part.first_from(self.least(now)))
        if self.forward and keep > first:
            part.head[_MARK], part.head[_MARKED] = part.instant(keep - 1), 1
        return _Content(low, max(low, high), keep if self.forward else first)

    def _check(self, part: _Partition, alpha: int) -> None:
        """Fails when elements that were dropped are asked for; the mark is the instant of the last one."""
        head = part.head
        if alpha < head[FIRST] if self.in_rows else head[_MARKED] and alpha <= head[_MARK]:
            raise ValueError(f"a window begins at {alpha}, before what earlier ones have left behind")

    def instants(self, part: _Partition, arrivals: list[int], after: int, until: int) -> Iterator[int]:
        """When to look: at every step of gamma and, if positions count, at every element, while there is content."""
        head = part.head
        coming = iter([*arrivals, INFINITY])
        arrival = next(coming)
        now, step = after - after % self.chronon, -1
        empty = head[FIRST] >= part.first_from(after + 1)
        for _ in range(self.most):
            if empty:
                now, step = arrival, -1
            else:
                if step <= now:
                    step = self._next_step(now, until)
                now = min(step, arrival) if self.in_rows else step
            if now > until or now == INFINITY:
                return
            while arrival <= now:
                arrival = next(coming)
            yield now
            empty = head[FIRST] >= part.first_from(now + 1)
        raise OverflowError(f"more than {self.most} evaluations of a window in one epoch")

    def _next_step(self, now: int, until: int) -> int:
        """The first instant after now at which it is evaluated anew; infinity if that is after ``until``."""
        found = self.following(now, until - until % self.chronon)
        return INFINITY if found is None else found


class _Output:
    """The rows of an epoch: what enters is written as open, and closed if it leaves in the same epoch."""

    def __init__(self, lag: int) -> None:
        self._lag = lag
        self._rows: list[tuple[int, int, int]] = []
        self._ends: dict[int, int] = {}

    def move(self, part: _Partition, content: _Content, now: int, fresh: dict[int, int]) -> None:
        """Writes how the content of a partition changes; ``fresh`` has the rows of positions that entered lately."""
        low, high = int(part.head[_LOW]), int(part.head[_HIGH])
        if low >= high:
            low = high = content.high
        for position in (*range(low, min(high, content.low)), *range(max(low, content.high), high)):
            if position in fresh:
                self._ends[fresh.pop(position)] = now + self._lag
            else:
                self._rows.append((part.place(position), now + self._lag, -1))
        for position in (*range(content.low, min(content.high, low)), *range(max(content.low, high), content.high)):
            fresh[position] = len(self._rows)
            self._rows.append((part.place(position), now + self._lag, 1))

    def batch(self, rings: Rings) -> Batch:
        """The rows in the order of their starts."""
        place, start, weight = np.array(self._rows, np.int64).reshape(-1, 3).T.copy()
        end = np.full(start.size, INFINITY)
        end[list(self._ends)] = list(self._ends.values())
        records = rings.pool[: rings.pool.size // rings.size * rings.size].reshape(-1, rings.size)
        return Batch(np.ascontiguousarray(records[place, WORDS:].T), start, end, weight).sorted()


class SequenceSweep(PartitionedWindow):
    """A window over each partition of a stream, by one of the descriptions of this module."""

    def __init__(
        self,
        arena: Arena,
        name: str,
        key_width: int,
        width: int,
        window: TimeByRows | WindowSequence | OwnBounds,
        batch: Sequence[BatchWord] = (),
    ) -> None:
        self._window = window
        self._batch = batch
        self._lag = 0 if isinstance(window, OwnBounds) else window.lag
        self._due = TimeQueue(arena, f"{name}.due", 1)
        known_ends = isinstance(window, WindowSequence) and window.counts_time
        super().__init__(arena, name, 0 if known_ends else key_width, width)

    def epoch(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:
        """What enters and leaves up to ``until``; the elements come in the order of their positions."""
        if isinstance(self._window, WindowSequence) and self._window.counts_time:
            return self._held.epoch(self._window.intervals(batch), until)
        slots, instants = self._take_in(keys, batch, until)
        after, until = after - self._lag, until - self._lag
        _, due = self._due.pop(until)
        order = np.argsort(slots, kind="stable")
        slots, instants = slots[order], instants[order]
        output = _Output(self._lag)
        every = isinstance(self._window, OwnBounds)
        for slot in range(self._keys.top) if every else np.unique(np.concatenate([slots, due[0]])).tolist():
            arrived = instants[np.searchsorted(slots, slot) : np.searchsorted(slots, slot, side="right")]
            self._follow(slot, np.unique(arrived).tolist(), after, until, output)
        return output.batch(self._rings)

    def _take_in(self, keys: Int64s, batch: Batch, until: int) -> tuple[Int64s, Int64s]:
        """Puts the elements that count by ``until`` in their partitions: which, and when each of them came."""
        if self._lag:
            keys, batch = self._hold(keys, replace(batch, start=later(batch.start, self._lag)), until)
        keys, batch = copies(keys, batch)
        slots = self._slots(keys)
        instants = batch.start - self._lag
        self._rings.push_all(slots, instants, np.ascontiguousarray(batch.words))
        return slots, instants

    def _follow(self, slot: int, arrivals: list[int], after: int, until: int, output: _Output) -> None:
        """Looks at a partition at every instant of the epoch at which it can change."""
        part = _Partition(self._rings, slot, self._batch)
        head = part.head
        fresh: dict[int, int] = {}
        queued = int(head[_DUE]) if head[_STATUS] == _SCHEDULED and head[_DUE] > until else INFINITY
        if head[_STATUS] != _OVER:
            for now in self._window.instants(part, arrivals, after, until):
                length = part.first_from(now + 1)
                content = self._window.content(part, now, length)
                output.move(part, content, now, fresh)
                self._settle(slot, head, content, length)
                if content.over:
                    break
        if head[_STATUS] == _OVER:
            self._rings.drop(slot, int(head[NEXT]))
        elif head[_STATUS] == _SCHEDULED and head[_DUE] != queued:
            self._due.push(head[_DUE : _DUE + 1].copy(), np.array([[slot]]))

    def _settle(self, slot: int, head: Int64s, content: _Content, length: int) -> None:
        """Remembers the content of a partition and drops what no later one needs."""
        head[_LOW], head[_HIGH] = content.high if content.stays else content.low, content.high
        self._rings.drop(slot, content.high if content.stays else min(content.keep, length))
        head[_STATUS], head[_DUE] = _OVER if content.over else 0, 0
        if content.following is not None and content.following < INFINITY:
            head[_STATUS], head[_DUE] = _SCHEDULED, content.following
