"""Windows that are evaluated in a rhythm of their own: when that is, as far as the stream has come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.instants import floor_to, too_many
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.words.columns import Codec
from continua.physical import point_nodes
from continua.physical.ordered_operators import FINAL
from continua.physical.point_operators import MOST_TICKS, bare_points
from continua.physical.rows import RowSet
from continua.windows.measures import Axis
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow

_COUNT, _LATEST, _BEGUN, _ORIGIN, _NEXT = range(5)


class Rhythm:
    """The evaluations of a window."""

    def __init__(self, node: point_nodes.Rhythm, arena: Arena, codec: Codec) -> None:
        self._node, self._codec = node, codec
        self._numbers: Int64s = arena.array(f"{node.id}.numbers", 8)

    @property
    def state_rows(self) -> int:
        """It holds numbers, and no rows."""
        return 0

    def interned(self) -> list[Int64s]:
        """It holds no interned values."""
        return []

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """Those of the epoch; at the end of time those that still have elements before them."""
        arrivals = np.sort(np.repeat(inputs[0].start, inputs[0].weight))
        spec = self._node.spec
        match spec:
            case GenericWindow():
                times = self._steps(spec, arrivals, until)
            case SequenceWindow():
                times = self._windows(spec, arrivals, until)
            case _:
                raise TypeError(f"{spec.text} has no rhythm of its own")
        if len(times) > MOST_TICKS:
            raise too_many(f"evaluations of {spec.text}")
        return bare_points(self._codec, np.array(times, np.int64))

    def _windows(self, spec: SequenceWindow, arrivals: Int64s, until: int) -> list[int]:
        """Every so many instants from the element with which the first window is complete."""
        numbers, first = self._numbers, spec.beta(0)
        if not numbers[_BEGUN] and numbers[_COUNT] + arrivals.size > first:
            numbers[_BEGUN], numbers[_ORIGIN] = 1, arrivals[first - int(numbers[_COUNT])]
        numbers[_COUNT] += arrivals.size
        times: list[int] = []
        if not numbers[_BEGUN]:
            return times
        while len(times) <= MOST_TICKS:
            number = int(numbers[_NEXT])
            time = int(numbers[_ORIGIN]) + spec.rate.amount * number + spec.lag
            if time > until or (until >= FINAL and number and self._is_last(spec, number - 1)):
                return times
            times.append(time)
            numbers[_NEXT] += 1
        return times

    def _is_last(self, spec: SequenceWindow, number: int) -> bool:
        """Whether a window lies behind all elements, or no later one holds more."""
        last = int(self._numbers[_COUNT]) - 1
        if spec.alpha.slope:
            return spec.alpha(number) > last
        return spec.beta(number) >= last or not spec.beta.slope

    def _steps(self, spec: GenericWindow, arrivals: Int64s, until: int) -> list[int]:
        """Where gamma changes."""
        numbers, chronon = self._numbers, self._node.chronon
        if arrivals.size:
            numbers[_LATEST] = max(int(numbers[_LATEST]), int(arrivals[-1]) + chronon)
            numbers[_COUNT] += arrivals.size
        if not numbers[_BEGUN] and arrivals.size:
            first = floor_to(int(arrivals[0]), chronon) - chronon
            numbers[_BEGUN], numbers[_ORIGIN] = 1, max(self._node.start, first)
        last, final = int(numbers[_LATEST]), until >= FINAL
        limit = spec.looked_at_until(last) if final else until
        times: list[int] = []
        while numbers[_BEGUN] and len(times) <= MOST_TICKS:
            now = int(numbers[_ORIGIN])
            if final and spec.is_over(now, last):
                break
            step = spec.next_step(now, limit, chronon)
            if step is None:
                break
            times.append(step)
            numbers[_ORIGIN] = step
            if final and spec.bounds is Axis.ROWS and spec.gamma(now) is not None and step > last:
                break
        return times
