"""Results that the sweep leaves to others: of functions of all values, and of users' (PIPES 2009, 7.5.2).

The sweep keeps the values of each group; whenever a result is read it is computed here from all of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import UserAggregate
from continua.kernels.aggregate.aggregation_plan import Call
from continua.kernels.aggregate.aggregation_state import AggregateState
from continua.kernels.aggregate.from_all_values import FromAllValues, GroupValues, extremes, firsts
from continua.kernels.aggregate.state_families import Extreme, FirstBy
from continua.kernels.aggregate.user_aggregates import UserStates, fold
from continua.kernels.aggregate.value_pool import BLOCK, COUNT
from continua.kernels.jit import Int64s
from continua.kernels.relation.timeline import Events
from continua.kernels.words.columns import Codec


class Computer:
    """Computes the results of a plan's calls for groups that changed at an instant."""

    def __init__(self, state: AggregateState, output: Codec, keys: int) -> None:
        self._state = state
        self._users = UserStates(state)
        self._codecs = [
            Codec(pa.schema([output.schema.field(keys + call.number)]), output.interner) for call in state.plan.calls
        ]

    def results(self, slots: Int64s, happened: Events) -> Int64s:
        """A line per group, after the events of an instant: the words of each call's result, and whether it is NULL."""
        plan = self._state.plan
        found = np.zeros((slots.size, plan.computed_width), np.int64)
        for call, codec in zip(plan.calls, self._codecs, strict=True):
            user = call.spec.user
            if user is not None and user.inverse is not None:
                results = pa.array(self._users.results(call, user, slots, happened), codec.schema.field(0).type)
            else:
                results = self._from_all_values(call, slots, codec.schema.field(0).type)
            words = codec.encode(pa.Table.from_arrays([results], schema=codec.schema))
            found[:, call.place : call.place + call.words + 1] = words.T
        return found

    def end(self) -> None:
        """Stores what user aggregates keep, at the end of an epoch."""
        self._users.store()

    def _from_all_values(self, call: Call, slots: Int64s, kind: pa.DataType) -> pa.Array:
        family = call.spec.family
        entries, bounds = self._members(call, slots)
        columns = [column.combine_chunks() for column in self._state.values.decode(call.source, entries).columns]
        once = call.spec.distinct or (isinstance(family, FromAllValues) and family.only_different)
        counts = np.ones(entries.size, np.int64) if once else self._state.values.counts(entries)
        groups = GroupValues(columns[0], counts, bounds, kind, call.spec.parameters)
        match family:
            case FromAllValues(results=results):
                return results(groups)
            case Extreme(greatest=greatest):
                return extremes(groups, greatest)
            case FirstBy(greatest=greatest):
                return firsts(groups, columns[1], greatest)
            case _:
                return self._folded(call.spec.user, columns, groups)

    def _folded(self, user: UserAggregate | None, columns: list[pa.Array], groups: GroupValues) -> pa.Array:
        """What a user's aggregate is of the rows of each group."""
        if user is None:
            raise TypeError("only users' aggregates are folded")
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        pieces = [(rows[a:b], groups.counts[a:b].tolist()) for a, b in groups.stretches]
        return pa.array([fold(user, part, often) for part, often in pieces], groups.result)

    def _members(self, call: Call, slots: Int64s) -> tuple[Int64s, list[int]]:
        """The entries of groups, one group behind the other, and where each group begins and ends."""
        parts: list[Int64s] = []
        bounds = [0]
        for slot in slots.tolist():
            held = self._state.held(call.holder, slot)
            parts.append(self._state.pool.cells[held[BLOCK] : held[BLOCK] + held[COUNT]])
            bounds.append(bounds[-1] + int(held[COUNT]))
        return np.concatenate(parts), bounds
