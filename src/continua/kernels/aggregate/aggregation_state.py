"""What an aggregation keeps between epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.kernels.aggregate.aggregation_plan import AggregationPlan, Holder
from continua.kernels.aggregate.distinct_values import Keys, ValueTable
from continua.kernels.aggregate.extremes import HELD, heap_words, string_words
from continua.kernels.aggregate.group_cells import Groups
from continua.kernels.aggregate.value_pool import Pool
from continua.kernels.jit import Int64s
from continua.kernels.relation.timeline import Timeline
from continua.kernels.words.columns import Codec


@dataclass(frozen=True, slots=True)
class AggregateState:
    """Keys of groups, their cells, their distinct values, blocks of heaps and lists, and ends that wait."""

    plan: AggregationPlan
    keys: Keys
    groups: Groups
    values: ValueTable
    pool: Pool
    timeline: Timeline

    def held(self, holder: Holder, slot: int) -> Int64s:
        """The cells of a group for a holder."""
        return self.groups.held(self.plan.holders.index(holder), slot)

    def heap_ids(self, slots: Int64s) -> list[Int64s]:
        """The interned ids in the heaps of groups."""
        found: list[Int64s] = []
        for number, holder in enumerate(self.plan.holders):
            for place in string_words(holder.order):
                cell = int(self.groups.program.holders[number, HELD])
                where = (slots, self.groups.cells, self.groups.stride, cell, self.pool.cells, holder.order, place)
                ids = np.empty(heap_words(*where, np.empty(0, np.int64)), np.int64)
                heap_words(*where, ids)
                found.append(ids)
        return found

    def pending_ids(self, codec: Codec) -> list[Int64s]:
        """The interned ids in events to come; in front of an event's words stand a slot and a weight."""
        places = enumerate(self.plan.event_lines, 2 + self.plan.null_lines)
        lines = [place for place, (_, line) in places if line in codec.string_columns]
        records = self.timeline.pending.records() if lines else np.empty((0, 0), np.int64)
        return [records[line] for line in lines]
