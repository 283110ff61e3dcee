"""The groups of an aggregation: a stretch of cells each, laid out by what the plan keeps.

Sums of doubles have as many limbs as the exponents seen so far need. When a number lies outside, all groups are laid
out anew; there are only so many exponents, so that happens a few times in the life of a query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.kernels.aggregate.aggregation_plan import AggregationPlan, Input, RunningTotal
from continua.kernels.aggregate.aggregation_sweep import RESULT, ROWS, Program
from continua.kernels.aggregate.exact_sum import HEADROOM, LIMB, exponents
from continua.kernels.aggregate.extremes import GREATEST, HEAP_CELLS, HELD, LEAST
from continua.kernels.aggregate.sums import COUNT, FLOAT_SQUARES, FLOATS, INTEGER, LIMBS, SPECIALS, SQUARES, TRUES
from continua.kernels.aggregate.value_pool import BLOCK_CELLS
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena

_SEEN, _LOWEST, _HIGHEST, _RANGE_CELLS = range(4)


@dataclass(frozen=True, slots=True)
class _Sum:
    """Where the cells of a count or sum are; how many come first, what the lowest limb is worth, how many there are."""

    cell: int
    low: int
    size: int
    before: int = 0


class Groups:
    """The cells of groups, and the program that works on them."""

    def __init__(self, arena: Arena, name: str, plan: AggregationPlan) -> None:
        self._arena = arena
        self._name = name
        self._plan = plan
        self._ranges = arena.array(f"{name}.exponents", max(1, _RANGE_CELLS * len(plan.inputs)))
        self.cells = arena.array(f"{name}.groups", 8)
        self._lay_out()

    def reserve(self, capacity: int) -> None:
        """Makes room for so many groups."""
        self.cells = self._arena.array(f"{self._name}.groups", capacity * self.stride)

    def held(self, holder: int, slot: int) -> Int64s:
        """The cells of a group for a holder."""
        begin = slot * self.stride + int(self.program.holders[holder, HELD])
        return self.cells[begin : begin + BLOCK_CELLS]

    def results(self, slots: Int64s) -> Int64s:
        """The results of groups, a line per word."""
        words = np.arange(RESULT, RESULT + self._plan.result_width)
        found: Int64s = self.cells[slots[None, :] * self.stride + words[:, None]]
        return found

    def clear(self, slots: Int64s) -> None:
        """Makes the cells of groups that go zero."""
        whole = self.cells.size // self.stride * self.stride
        self.cells[:whole].reshape(-1, self.stride)[slots] = 0

    def cover(self, source: Input, words: Int64s) -> bool:
        """Widens sums of doubles so that they can take these numbers; whether that changes the layout."""
        lowest, highest = exponents(words)
        place = _RANGE_CELLS * self._plan.inputs.index(source)
        known = self._ranges[place : place + _RANGE_CELLS]
        if lowest > highest or (known[_SEEN] and known[_LOWEST] <= lowest and highest <= known[_HIGHEST]):
            return False
        slack = LIMB if known[_SEEN] else 0
        if not known[_SEEN] or lowest < known[_LOWEST]:
            known[_LOWEST] = lowest // LIMB * LIMB - slack
        if not known[_SEEN] or highest > known[_HIGHEST]:
            known[_HIGHEST] = (highest // LIMB + 1) * LIMB - 1 + slack
        known[_SEEN] = 1
        return True

    def relay(self, used: int) -> None:
        """Lays the groups out anew, after ``cover``; slots in use are below ``used``."""
        old_stride, old_sums = self.stride, self._sums
        capacity = self.cells.size // old_stride
        old = self.cells[: used * old_stride].reshape(used, old_stride)
        self._lay_out()
        self._arena.drop(f"{self._name}.groups")
        self.cells = self._arena.array(f"{self._name}.groups", capacity * self.stride)
        new = self.cells[: used * self.stride].reshape(used, self.stride)
        new[:, : self._fixed] = old[:, : self._fixed]
        for before, after in zip(old_sums, self._sums, strict=True):
            source, target = before.cell, after.cell
            new[:, target - after.before : target] = old[:, source - before.before : source]
            target += before.low - after.low
            new[:, target : target + before.size] = old[:, source : source + before.size]

    def _lay_out(self) -> None:
        plan = self._plan
        cell = RESULT + plan.result_width
        holders = np.zeros((len(plan.holders), 3), np.int64)
        for number, holder in enumerate(plan.holders):
            holders[number] = holder.kind, holder.order, cell
            cell += HEAP_CELLS if holder.kind in (LEAST, GREATEST) else BLOCK_CELLS
        self._fixed = cell
        self._sums: list[_Sum] = []
        for total in plan.totals:
            if total.source is None:
                self._sums.append(_Sum(ROWS, 0, 0))
                continue
            before, low, size = self._size(total, total.source)
            self._sums.append(_Sum(cell + before, low, size, before))
            cell += before + size
        self.stride = cell
        steps = np.array([(t.operation, s.cell, s.low, s.size) for t, s in zip(plan.totals, self._sums, strict=True)])
        self.program = Program(plan.input_table(), steps.reshape(-1, 4).astype(np.int64), holders, plan.reader_table())

    def _size(self, total: RunningTotal, source: Input) -> tuple[int, int, int]:
        """The cells before a count or sum, what its lowest limb is worth, and how many cells it has."""
        limbs = 2 * len(self._plan.lines(source))
        low, high = self._limbs(source)
        return {
            COUNT: (0, 0, 1),
            TRUES: (0, 0, 1),
            INTEGER: (0, 0, 2),
            LIMBS: (0, 0, limbs + HEADROOM),
            SQUARES: (0, 0, 2 * limbs + HEADROOM),
            FLOATS: (SPECIALS, low, (high - low + 2 + HEADROOM) * (high > low)),
            FLOAT_SQUARES: (0, 2 * low, (2 * (high - low) + 5 + HEADROOM) * (high > low)),
        }[total.operation]

    def _limbs(self, source: Input) -> tuple[int, int]:
        """The limbs in which the lowest bits of an input's doubles lie; none before there are any."""
        place = _RANGE_CELLS * self._plan.inputs.index(source)
        seen, lowest, highest = self._ranges[place : place + _RANGE_CELLS].tolist()
        return (lowest // LIMB, highest // LIMB + 1) if seen else (0, 0)
