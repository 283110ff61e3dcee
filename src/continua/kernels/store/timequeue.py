"""Time queues: records that wait for an instant, taken out in the order of their instants.

A queue is a few sorted runs, one behind the other. What is put in extends the last run if it is not earlier, else it
starts a new one; runs of like size are merged. Ends of time windows arrive in order, so there is one run and both
putting in and taking out cost what they move.
"""

from __future__ import annotations

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena

_TAIL, _RUNS, _FIRST_RUN = 0, 1, 2
_MOST_RUNS = 48


class TimeQueue:
    """Records of ``width`` words, each with an instant."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._arena = arena
        self._name = name
        self.width = width
        self._meta = arena.array(f"{name}.meta", 2 + 2 * _MOST_RUNS)
        self._reserve(0)

    def __len__(self) -> int:
        runs = self._meta[_FIRST_RUN : _FIRST_RUN + 2 * int(self._meta[_RUNS])]
        return int(runs[1::2].sum() - runs[0::2].sum())

    @property
    def earliest(self) -> int | None:
        """The first instant for which a record waits."""
        runs = self._meta[_FIRST_RUN : _FIRST_RUN + 2 * int(self._meta[_RUNS])]
        firsts = [int(self._time[a]) for a, b in zip(runs[0::2], runs[1::2], strict=True) if a < b]
        return min(firsts, default=None)

    def _reserve(self, more: int) -> None:
        length = int(self._meta[_TAIL]) + more
        self._time = self._arena.array(f"{self._name}.time", length)
        room = self._time.size
        self._records = self._arena.array(f"{self._name}.records", room * max(self.width, 1))

    def push(self, time: Int64s, records: Int64s) -> None:
        """Puts records in: ``records`` has a line per word and a column per record."""
        if not time.size:
            return
        if time.size > 1 and not bool((time[1:] >= time[:-1]).all()):
            order = np.argsort(time, kind="stable")
            time, records = time[order], records[:, order]
        self._make_room(int(time.size))
        meta = self._meta
        tail, runs = int(meta[_TAIL]), int(meta[_RUNS])
        _store(time, records, self._time, self._records, tail)
        last = _FIRST_RUN + 2 * (runs - 1)
        if runs and meta[last] < meta[last + 1] and self._time[meta[last + 1] - 1] <= time[0]:
            meta[last + 1] = tail + time.size
        else:
            meta[last + 2], meta[last + 3] = tail, tail + time.size
            meta[_RUNS] = runs + 1
        meta[_TAIL] = tail + time.size
        self._merge_runs()

    def _merge_runs(self) -> None:
        meta = self._meta
        while meta[_RUNS] > 1:
            last = _FIRST_RUN + 2 * (int(meta[_RUNS]) - 1)
            a, b, c, d = (int(x) for x in meta[last - 2 : last + 2])
            if 2 * (d - c) < b - a and meta[_RUNS] < _MOST_RUNS:
                return
            _merge(self._time, self._records, self.width, a, b, c, d)
            meta[last - 1] = a + (b - a) + (d - c)
            meta[_RUNS] -= 1
            meta[_TAIL] = meta[last - 1]

    def pop(self, until: int) -> tuple[Int64s, Int64s]:
        """Takes the records up to an instant out, in order."""
        pieces: list[tuple[int, int]] = []
        meta = self._meta
        for run in range(int(meta[_RUNS])):
            a, b = int(meta[_FIRST_RUN + 2 * run]), int(meta[_FIRST_RUN + 2 * run + 1])
            cut = a + int(np.searchsorted(self._time[a:b], until, side="right"))
            if cut > a:
                pieces.append((a, cut))
                meta[_FIRST_RUN + 2 * run] = cut
        if not pieces:
            return np.empty(0, np.int64), np.empty((self.width, 0), np.int64)
        places = np.concatenate([np.arange(a, b) for a, b in pieces])
        time = self._time[places]
        if len(pieces) > 1:
            order = np.argsort(time, kind="stable")
            time, places = time[order], places[order]
        records = np.empty((self.width, places.size), np.int64)
        _fetch(self._records, places, records)
        if len(self) == 0:
            meta[_RUNS] = meta[_TAIL] = 0
        return time, records

    def records(self) -> Int64s:
        """All records that wait, in no order."""
        meta = self._meta
        ranges = [(int(meta[_FIRST_RUN + 2 * r]), int(meta[_FIRST_RUN + 2 * r + 1])) for r in range(int(meta[_RUNS]))]
        places = np.concatenate([np.arange(a, b) for a, b in ranges]) if ranges else np.empty(0, np.int64)
        result = np.empty((self.width, places.size), np.int64)
        _fetch(self._records, places, result)
        return result

    def _make_room(self, more: int) -> None:
        """Moves what waits to the front when more than half of the room in use is dead."""
        meta = self._meta
        if int(meta[_TAIL]) + more > self._time.size and 2 * len(self) < int(meta[_TAIL]):
            target = 0
            for run in range(int(meta[_RUNS])):
                at = _FIRST_RUN + 2 * run
                a, b = int(meta[at]), int(meta[at + 1])
                self._time[target : target + b - a] = self._time[a:b].copy()
                w = self.width
                self._records[target * w : (target + b - a) * w] = self._records[a * w : b * w].copy()
                meta[at], meta[at + 1] = target, target + b - a
                target += b - a
            meta[_TAIL] = target
        self._reserve(more)


@compiled
def _store(time: Int64s, records: Int64s, times: Int64s, store: Int64s, tail: int) -> None:
    width = records.shape[0]
    for i in range(time.size):
        times[tail + i] = time[i]
        for j in range(width):
            store[(tail + i) * width + j] = records[j, i]


@compiled
def _fetch(store: Int64s, places: Int64s, records: Int64s) -> None:
    width = records.shape[0]
    for i in range(places.size):
        for j in range(width):
            records[j, i] = store[places[i] * width + j]


@compiled
def _merge(times: Int64s, store: Int64s, width: int, a: int, b: int, c: int, d: int) -> None:
    """Merges the sorted runs [a, b) and [c, d) to one that starts at a; equal instants keep their order."""
    count = (b - a) + (d - c)
    time = np.empty(count, np.int64)
    records = np.empty(count * width, np.int64)
    i, k, out = a, c, 0
    while i < b or k < d:
        if k >= d or (i < b and times[i] <= times[k]):
            source = i
            i += 1
        else:
            source = k
            k += 1
        time[out] = times[source]
        for j in range(width):
            records[out * width + j] = store[source * width + j]
        out += 1
    times[a : a + count] = time
    store[a * width : (a + count) * width] = records
