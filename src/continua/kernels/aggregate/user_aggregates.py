"""User-defined aggregates: folded from all values, or kept up to date by an inverse.

With an inverse, what an aggregate keeps of a group changes by what comes and goes. It is read from the pool when an
epoch first touches the group and stored, as plain data, at the end of the epoch. Changes of an instant are applied
in the order of the instants of their rows, where these are told, and of values: the result does not depend on how the
input was cut into epochs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias

import numpy as np

from continua.kernels.aggregate import plain_states
from continua.kernels.aggregate.aggregate_calls import UserAggregate
from continua.kernels.aggregate.aggregation_plan import Call, Holder
from continua.kernels.aggregate.aggregation_state import AggregateState
from continua.kernels.aggregate.aggregation_sweep import LINE
from continua.kernels.aggregate.value_order import sort_key
from continua.kernels.aggregate.value_pool import BLOCK, COUNT
from continua.kernels.jit import Int64s
from continua.kernels.relation.timeline import Events

Row: TypeAlias = tuple[object, ...]


Changes: TypeAlias = list[tuple[Row, int]]
"""Rows, and how many more there are of each."""


def fold(user: UserAggregate, rows: Sequence[Row], counts: Sequence[int]) -> object:
    """The aggregate of rows, each so many times; None of no rows."""
    return _GroupState().change(user, _in_order(user, zip(rows, counts, strict=True)))


def _in_order(user: UserAggregate, changes: Iterable[tuple[Row, int]]) -> Changes:
    """Changes in the order of instants, if they have any, and of values; of rows without the instants."""
    if not user.by_time:
        return sorted(changes, key=lambda change: sort_key(change[0]))
    ordered = sorted(changes, key=lambda change: sort_key((change[0][-1], *change[0][:-1])))
    return [(row[:-1], many) for row, many in ordered]


@dataclass(slots=True)
class _GroupState:
    """What an aggregate keeps of a group, and of how many rows."""

    count: int = 0
    state: object = None

    def change(self, user: UserAggregate, changes: Changes) -> object:
        """Takes rows away and adds rows; the aggregate then, None of no rows. A state of no rows is never made."""
        self.count += sum(many for _, many in changes if many < 0)
        if self.count and user.inverse is not None:
            for row in _repeated(changes, -1):
                self.state = user.inverse(self.state, *row)
        for row in _repeated(changes, 1):
            self.state = user.merger(self.state, *row) if self.count else user.initializer(*row)
            self.count += 1
        return user.evaluator(self.state) if self.count else None


def _repeated(changes: Changes, sign: int) -> Iterator[Row]:
    for row, many in changes:
        yield from repeat(row, max(sign * many, 0))


class UserStates:
    """What aggregates with an inverse keep of groups."""

    def __init__(self, state: AggregateState) -> None:
        self._state = state
        self._loaded: dict[tuple[Holder, int], _GroupState] = {}

    def results(self, call: Call, user: UserAggregate, slots: Int64s, happened: Events) -> list[object]:
        """The aggregate of each group, after the events of an instant."""
        changes = self._changes(call, happened)
        return [self._load(call.holder, s).change(user, _in_order(user, changes[s])) for s in slots.tolist()]

    def _changes(self, call: Call, happened: Events) -> defaultdict[int, Changes]:
        """For each group how its rows changed by the events of an instant."""
        state = self._state
        line = state.groups.program.inputs[state.plan.inputs.index(call.source), LINE]
        entries, first, places = np.unique(happened.words[line], return_index=True, return_inverse=True)
        net = np.zeros(entries.size, np.int64)
        np.add.at(net, places, happened.weight)
        after = state.values.counts(entries)
        more = (after > 0) * 1 - (after - net > 0) if call.spec.distinct else net
        changed = np.flatnonzero((entries >= 0) & (more != 0))
        columns = state.values.decode(call.source, entries[changed]).columns
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        found: defaultdict[int, Changes] = defaultdict(list)
        for slot, row, many in zip(happened.slot[first[changed]].tolist(), rows, more[changed].tolist(), strict=True):
            found[slot].append((row, many))
        return found

    def _load(self, holder: Holder, slot: int) -> _GroupState:
        found = self._loaded.get((holder, slot))
        if found is None:
            held = self._state.held(holder, slot)
            content = self._state.pool.cells[held[BLOCK] :].view(np.uint8)[: held[COUNT]].tobytes()
            found = _GroupState(*plain_states.read(content)) if content else _GroupState()
            self._loaded[holder, slot] = found
        return found

    def store(self) -> None:
        """Writes what was loaded back, and forgets it."""
        for (holder, slot), group in self._loaded.items():
            content = plain_states.written([group.count, group.state]) if group.count else b""
            self._write(self._state.held(holder, slot), content)
        self._loaded.clear()

    def _write(self, held: Int64s, content: bytes) -> None:
        pool = self._state.pool
        pool.move(held, -(-len(content) // 8))
        held[COUNT] = len(content)
        pool.cells[held[BLOCK] :].view(np.uint8)[: len(content)] = np.frombuffer(content, np.uint8)
