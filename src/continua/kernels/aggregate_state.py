"""What an aggregation keeps between epochs."""

from __future__ import annotations

from dataclasses import dataclass

from continua.kernels.aggregate_extremes import Pool
from continua.kernels.aggregate_groups import Groups
from continua.kernels.aggregate_plan import Holder, Plan
from continua.kernels.aggregate_values import Keys, ValueTable
from continua.kernels.jit import Int64s
from continua.kernels.timeline import Timeline


@dataclass(frozen=True, slots=True)
class AggregateState:
    """Keys of groups, their cells, their distinct values, blocks of heaps and lists, and ends that wait."""

    plan: Plan
    keys: Keys
    groups: Groups
    values: ValueTable
    pool: Pool
    timeline: Timeline

    def held(self, holder: Holder, slot: int) -> Int64s:
        """The cells of a group for a holder."""
        return self.groups.held(self.plan.holders.index(holder), slot)
