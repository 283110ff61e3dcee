"""Aggregates that need all values of a group: medians, percentiles, lists, and what users define.

The sweep keeps the values of each group; whenever a result is read it is computed here from all of them. A user's
aggregate with an inverse is brought up to date by what comes and goes; what it keeps is stored as pickled bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.kernels.aggregate_extremes import BLOCK, COUNT, HELD, ROOM, Pool, block_size
from continua.kernels.aggregate_groups import Groups
from continua.kernels.aggregate_plan import Call, Plan
from continua.kernels.aggregate_specs import UserAggregate
from continua.kernels.aggregate_values import ValueTable
from continua.kernels.columns import Codec
from continua.kernels.jit import Int64s

Row: TypeAlias = tuple[object, ...]
Changes: TypeAlias = list[tuple[Row, int]]
"""Rows, and how often each comes."""


class Computer:
    """Computes the results of a plan's calls for groups that changed at an instant."""

    def __init__(self, plan: Plan, groups: Groups, values: ValueTable, pool: Pool, output: Codec, keys: int) -> None:
        self._plan = plan
        self._groups = groups
        self._values = values
        self._pool = pool
        self._codecs = {
            call.number: Codec(pa.schema([output.schema.field(keys + call.number)]), output.interner)
            for call in plan.calls
        }
        self._states: dict[tuple[int, int], State] = {}

    def results(self, slots: Int64s, happened: tuple[Int64s, Int64s, Int64s]) -> Int64s:
        """A line per group: the words of each call's result, and whether it is NULL.

        What happened at the instant are the slots, weights and words of its events.
        """
        found = np.zeros((slots.size, self._plan.computed_width), np.int64)
        for call in self._plan.calls:
            words = self._encode(call, self._compute(call, slots, happened))
            found[:, call.place : call.place + call.words + 1] = words[: call.words + 1].T
        return found

    def _compute(self, call: Call, slots: Int64s, happened: tuple[Int64s, Int64s, Int64s]) -> pa.Array:
        kind = self._codecs[call.number].schema.field(0).type
        user = call.spec.user
        if user is not None and user.inverse is not None:
            changes = self._changes(call, *happened)
            return pa.array([self._state(call, int(slot)).change(user, changes) for slot in slots], kind)
        ...
