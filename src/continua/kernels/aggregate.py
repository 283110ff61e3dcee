"""Aggregation, grouped and scalar (PIPES 2009, equation 4 and 7.5.2).

At one instant: the rows with the same keys are a group, and a group is one row of results. Over time: a group's result
is valid as long as the rows of the group do not change it. Kept are, per group, counts and exact sums; per distinct
value an entry, for the functions that need values; and the ends of rows that are still to come. A group goes when it
has neither rows nor events to come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.aggregate_extremes import Pool
from continua.kernels.aggregate_groups import Groups
from continua.kernels.aggregate_holistic import Computer
from continua.kernels.aggregate_plan import Plan
from continua.kernels.aggregate_specs import AggregateSpec, OverflowInSum, UserAggregate
from continua.kernels.aggregate_state import AggregateState
from continua.kernels.aggregate_sums import DIGITS
from continua.kernels.aggregate_sweep import (
    DONE,
    EMPTY,
    GONE,
    NEEDS_RESULTS,
    NEEDS_ROOM,
    NEXT,
    OUT_RESULT,
    OUTPUT,
    OVERFLOW,
    READY,
    TOUCHED,
    WAITING,
    Lists,
    announce,
    lay_out,
    sweep,
)
from continua.kernels.aggregate_values import Keys, ValueTable, null_rows
from continua.kernels.arena import Arena
from continua.kernels.batch import INFINITY, Batch
from continua.kernels.columns import NULLS_PER_WORD, Codec
from continua.kernels.jit import Int64s
from continua.kernels.timeline import Events, Timeline

__all__ = ["AggregateSpec", "Aggregation", "OverflowInSum", "UserAggregate"]

_OPENED = 0


class Aggregation:
    """Groups rows by key columns; a row of output is the keys of a group and the results of the calls."""

    def __init__(
        self,
        arena: Arena,
        name: str,
        input_codec: Codec,
        keys: Sequence[int],
        specs: Sequence[AggregateSpec],
        output_codec: Codec,
        empty_row: bool,
        start: int,
    ) -> None:
        self._codec = input_codec
        self._output = output_codec
        self._key_columns = list(keys)
        self._always_from = start if empty_row and not keys else INFINITY
        self._meta = arena.array(f"{name}.meta", 8)
        plan = Plan(specs, input_codec, output_codec, len(keys))
        groups = Groups(arena, name, plan)
        self._state = AggregateState(
            plan,
            Keys(
                arena, f"{name}.keys", input_codec.key_words(np.empty((input_codec.width, 0), np.int64), keys).shape[0]
            ),
            groups,
            ValueTable(arena, f"{name}.values", plan, input_codec, groups.entry_stride),
            Pool(arena, f"{name}.pool"),
            Timeline(arena, f"{name}.events", plan.null_lines + len(plan.event_lines)),
        )
        self._computer = Computer(self._state, output_codec, len(keys))

    @property
    def state_rows(self) -> int:
        """How many groups, distinct values and ends to come are kept."""
        return self._state.keys.live + len(self._state.values) + len(self._state.timeline.pending)

    def epoch(self, batch: Batch, after: int, until: int) -> Batch:
        """The results that begin or end in (after, until], from the rows that start there."""
        batch = self._with_first_row(batch, after, until)
        events = self._events(batch, until)
        if not len(events):
            return Batch.empty(self._output.width)
        return self._sweep(events)

    def _with_first_row(self, batch: Batch, after: int, until: int) -> Batch:
        """Adds, once, a row without weight and values, where the row of a scalar aggregation begins."""
        if self._always_from > until or self._meta[_OPENED]:
            return batch
        self._meta[_OPENED] = 1
        words = np.zeros((self._codec.width, 1), np.int64)
        words[list(self._codec.null_words)] = -1
        at = np.array([max(self._always_from, after + 1)])
        return Batch.concat([batch, Batch(words, at, np.array([INFINITY]), np.array([0]))], self._codec.width)

    # From rows to events.

    def _events(self, batch: Batch, until: int) -> Events:
        state = self._state
        slots = state.keys.upsert(self._codec.key_words(batch.words, self._key_columns))
        state.groups.reserve(state.keys.capacity)
        words = self._event_words(batch, slots)
        announce(slots, batch.end, state.groups.cells, state.groups.stride, WAITING)
        return state.timeline.events(slots, words, batch.start, batch.end, batch.weight, until)

    def _event_words(self, batch: Batch, slots: Int64s) -> Int64s:
        """The words that events need: null bits, values of plain inputs, and entries."""
        plan = self._state.plan
        words = np.empty((plan.null_lines + len(plan.event_lines), len(batch)), np.int64)
        words[: plan.null_lines] = 0
        plain = 0
        for source in plan.inputs:
            if not source.valued:
                nulls = null_rows(self._codec, batch.words, source.columns)
                words[plain // NULLS_PER_WORD] |= nulls << (plain % NULLS_PER_WORD)
                plain += 1
        for place, (source, line) in enumerate(plan.event_lines):
            if source.valued:
                nulls = null_rows(self._codec, batch.words, source.columns)
                entered = self._state.values.enter(source, batch.words, slots, nulls, batch.end)
            words[plan.null_lines + place] = entered if source.valued else batch.words[line]
        self._cover(batch)
        return words

    def _cover(self, batch: Batch) -> None:
        """Makes sums of doubles wide enough for the rows."""
        state = self._state
        changes = [state.groups.cover(s, batch.words[state.plan.lines(s)[0]]) for s in state.plan.float_inputs]
        if any(changes):
            state.groups.relay(state.keys.top)

    # From events to rows.

    def _sweep(self, events: Events) -> Batch:
        state, groups = self._state, self._state.groups
        control = np.zeros(8, np.int64)
        lists = self._lists(len(events))
        read = 0
        while True:
            why = sweep(
                control, events.time, events.slot, events.weight, events.words,
                groups.program, groups.cells, groups.stride, state.plan.result_width,
                state.pool.cells, state.pool.meta, state.values.view(), lists, self._always_from, bool(state.plan.calls),
            )  # fmt: skip
            if why == DONE:
                break
            if why == OVERFLOW:
                raise OverflowInSum
            if why == NEEDS_ROOM:
                state.pool.grow()
            elif why == NEEDS_RESULTS:
                instant = slice(read, int(control[NEXT]))
                happened = Events(
                    events.time[instant], events.slot[instant], events.weight[instant], events.words[:, instant]
                )
                computed = self._computer.results(lists.touched[: control[TOUCHED]], happened)
                lists = lists._replace(computed=computed)
                control[READY] = 1
                read = int(control[NEXT])
        self._computer.end()
        result = self._batch(lists.output, int(control[OUTPUT]))
        self._release(lists.gone[: control[GONE]], lists.empty[: control[EMPTY]])
        return result

    def _lists(self, events: int) -> Lists:
        """Room for what a sweep of so many events may write."""
        width, slots = self._state.plan.result_width, min(events, self._state.keys.capacity)
        return Lists(
            touched=np.empty(slots, np.int64),
            seen=np.empty(slots, np.int64),
            gone=np.empty(min(events, self._state.values.capacity), np.int64),
            empty=np.empty(slots, np.int64),
            output=np.empty((events + slots) * (OUT_RESULT + width), np.int64),
            computed=np.empty((0, 0), np.int64),
            fresh=np.empty(width, np.int64),
            digits=np.empty(2 * DIGITS, np.int64),
        )

    def _batch(self, output: Int64s, count: int) -> Batch:
        plan, keys = self._state.plan, self._state.keys
        batch = Batch(
            np.empty((self._output.width, count), np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
        )
        lay_out(
            output, plan.result_width, keys.flat, plan.key_lines, keys.width - plan.key_lines,
            self._output.null_words[0], batch.words, batch.start, batch.end, batch.weight,
        )  # fmt: skip
        return batch

    def _release(self, entries: Int64s, slots: Int64s) -> None:
        self._state.values.release(entries)
        self._state.groups.clear(slots)
        self._state.keys.release(slots)

    def interned(self) -> list[Int64s]:
        """All interned ids that the state needs: of keys, of values, and of results that are still valid."""
        state, plan = self._state, self._state.plan
        slots = state.keys.in_use()
        keys, results = state.keys.words(slots), state.groups.results(slots)
        lines = [line for line in self._output.string_columns if line < plan.key_lines]
        others = [line - plan.key_lines for line in self._output.string_columns if line >= plan.key_lines]
        return [*(keys[line] for line in lines), *(results[line] for line in others), *state.values.interned()]
