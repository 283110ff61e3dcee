"""Aggregation, grouped and scalar (PIPES 2009, equation 4 and 7.5.2).

At one instant: the rows with the same keys are a group, and a group is one row of results. Over time: a group's result
is valid as long as the rows of the group do not change it. Kept are, per group, counts, exact sums, and heaps of rows
for extremes; an entry per distinct value, for the functions that need all of them; and the ends of rows that are still
to come. A group goes when it has neither rows nor events to come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.aggregate.aggregate_calls import AggregateSpec, OverflowInSum
from continua.kernels.aggregate.aggregation_plan import ENTRY, IS_NULL, AggregationPlan, Input
from continua.kernels.aggregate.aggregation_state import AggregateState
from continua.kernels.aggregate.aggregation_sweep import (
    DONE,
    EMPTY,
    GONE,
    NEEDS_RESULTS,
    NEEDS_ROOM,
    NEXT,
    NOW,
    OUT_RESULT,
    OUTPUT,
    OVERFLOW,
    READY,
    SEEN,
    TOUCHED,
    WAITING,
    Lists,
    announce,
    finish,
    sweep,
)
from continua.kernels.aggregate.distinct_values import Keys, ValueTable, null_rows
from continua.kernels.aggregate.extremes import Strings
from continua.kernels.aggregate.group_cells import Groups
from continua.kernels.aggregate.holistic import Computer
from continua.kernels.aggregate.output_rows import Output
from continua.kernels.aggregate.sums import DIGITS
from continua.kernels.aggregate.value_pool import Pool
from continua.kernels.jit import Int64s
from continua.kernels.relation.timeline import Events, Timeline
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.columns import NULLS_PER_WORD, Codec
from continua.kernels.words.pieces import in_pieces

_OPENED = 0
_SLICE = 1 << 14
"""How many rows are swept at once."""
_KEPT = 1 << 17
"""For how many events room is kept from one sweep to the next."""


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
        at_once: bool = False,
    ) -> None:
        """``at_once``: results are written as changes in the order of time, rather than as intervals once they end."""
        self._at_once = at_once
        self._codec = input_codec
        self._output = output_codec
        self._key_columns = list(keys)
        self._always_from = start if empty_row and not keys else INFINITY
        self._meta = arena.array(f"{name}.meta", 8)
        plan = AggregationPlan(specs, input_codec, output_codec, len(keys))
        groups = Groups(arena, name, plan)
        self._state = AggregateState(
            plan,
            Keys(arena, f"{name}.keys", Codec(input_codec.key_schema(keys), input_codec.interner).width),
            groups,
            ValueTable(arena, f"{name}.values", plan, input_codec),
            Pool(arena, f"{name}.pool"),
            Timeline(arena, f"{name}.events", plan.event_width),
        )
        self._computer = Computer(self._state, output_codec, len(keys))
        self._known: Lists | None = None

    @property
    def state_rows(self) -> int:
        """How many groups, distinct values and ends to come are kept."""
        return self._state.keys.live + len(self._state.values) + len(self._state.timeline.pending)

    def epoch(self, batch: Batch, after: int, until: int) -> Batch:
        """The results that begin or end in (after, until], from the rows that start there."""
        batch = self._with_first_row(batch, after, until)
        output = Output(self._output, self._state.plan, self._state.keys)
        seen: list[Int64s] = []
        left = len(batch)
        for rows, upto in in_pieces(batch, until, _SLICE):
            left -= len(rows)
            seen.append(self._sweep(self._events(rows, upto), output, (4 if self._at_once else 2) * left))
        return self._finish(np.concatenate(seen), output)

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
        self._cover(batch)
        announce(slots, batch.end, state.groups.cells, state.groups.stride, WAITING)
        return state.timeline.events(slots, words, batch.start, batch.end, batch.weight, until)

    def _event_words(self, batch: Batch, slots: Int64s) -> Int64s:
        """The words that events need: null bits, values of plain inputs, and entries."""
        plan = self._state.plan
        words = np.empty((plan.event_width, len(batch)), np.int64)
        words[: plan.null_lines] = 0
        for number, source in enumerate(plan.plain_inputs):
            nulls = null_rows(self._codec, batch.words, source.required)
            words[number // NULLS_PER_WORD] |= nulls << (number % NULLS_PER_WORD)
        for place, (source, line) in enumerate(plan.event_lines, plan.null_lines):
            words[place] = self._line(source, line, batch, slots)
        if plan.has_heaps:
            words[-1] = batch.end
        return words

    def _line(self, source: Input, line: int, batch: Batch, slots: Int64s) -> Int64s:
        if line == IS_NULL:
            return null_rows(self._codec, batch.words, source.columns[-1:])
        return self._entries(source, batch, slots) if line == ENTRY else batch.words[line]

    def _entries(self, source: Input, batch: Batch, slots: Int64s) -> Int64s:
        nulls = null_rows(self._codec, batch.words, source.required)
        return self._state.values.enter(source, batch.words, slots, nulls, batch.end)

    def _cover(self, batch: Batch) -> None:
        """Makes sums of doubles wide enough for the rows."""
        groups, plan = self._state.groups, self._state.plan
        changes = [groups.cover(source, batch.words[plan.lines(source)[0]]) for source in plan.float_inputs]
        if any(changes):
            groups.relay(self._state.keys.top)

    # From events to rows.

    def _sweep(self, events: Events, output: Output, more: int) -> Int64s:
        state, groups = self._state, self._state.groups
        control = np.zeros(8, np.int64)
        lists = self._lists(len(events))
        read = 0
        while True:
            why = sweep(
                control, events.time, events.slot, events.weight, events.words, groups.program, groups.cells,
                groups.stride, state.plan.result_width, state.pool.cells, state.pool.meta, lists, self._always_from,
                self._at_once, state.values.view() if state.plan.has_values else None,
                Strings(*self._codec.interner.strings()) if state.plan.has_heaps else None, *state.plan.families,
            )  # fmt: skip
            if why == DONE:
                break
            if why == OVERFLOW:
                raise OverflowInSum(int(control[NOW]))
            if why == NEEDS_ROOM:
                state.pool.grow()
            elif why == NEEDS_RESULTS:
                happened = _between(events, read, int(control[NEXT]))
                lists = lists._replace(computed=self._computer.results(lists.touched[: control[TOUCHED]], happened))
                read, control[READY] = int(control[NEXT]), 1
        output.add(lists.output, int(control[OUTPUT]), more + int(control[SEEN]))
        state.values.release(lists.gone[: control[GONE]])
        return lists.seen[: control[SEEN]].copy()

    def _lists(self, events: int) -> Lists:
        """Room for what a sweep of so many events may write; used again as long as it is enough."""
        state, known = self._state, self._known
        values = state.values.capacity if state.plan.has_values else 0
        # an event writes a row at most, or with ``at_once`` two
        written = 2 * events if self._at_once else events
        if known is None or known.touched.size < written or known.gone.size < values:
            room = 2 * written
            known = Lists(
                touched=np.empty(room, np.int64),
                seen=np.empty(room, np.int64),
                gone=np.empty(values, np.int64),
                output=np.empty(room * (OUT_RESULT + state.plan.result_width), np.int64),
                computed=np.empty((0, 0), np.int64),
                fresh=np.zeros(state.plan.result_width, np.int64),
                digits=np.empty(2 * DIGITS, np.int64),
            )
            self._known = known if events <= _KEPT else None
        return known

    def _finish(self, seen: Int64s, output: Output) -> Batch:
        """Ends an epoch: results that go on are written as open, and groups without rows are given up."""
        state, groups, width = self._state, self._state.groups, self._state.plan.result_width
        self._computer.end()
        control, empty = np.zeros(8, np.int64), np.empty(seen.size, np.int64)
        rows = np.empty(seen.size * (OUT_RESULT + width), np.int64)
        finish(
            control, seen, groups.cells, groups.stride, width, state.pool.cells, state.pool.meta,
            groups.program.holders, rows, empty,
        )  # fmt: skip
        output.add(rows, int(control[OUTPUT]))
        groups.clear(empty[: control[EMPTY]])
        state.keys.release(empty[: control[EMPTY]])
        return output.batch()

    def interned(self) -> list[Int64s]:
        """All interned ids that the state needs: of keys, of values, and of results that are still valid."""
        state, plan = self._state, self._state.plan
        slots = state.keys.in_use()
        keys, results = state.keys.words(slots), state.groups.results(slots)
        lines = [line for line in self._output.string_columns if line < plan.key_lines]
        others = [line - plan.key_lines for line in self._output.string_columns if line >= plan.key_lines]
        return [
            *(keys[line] for line in lines),
            *(results[line] for line in others),
            *state.values.interned(),
            *state.heap_ids(slots),
            *state.pending_ids(self._codec),
        ]


def _between(events: Events, begin: int, end: int) -> Events:
    part = slice(begin, end)
    return Events(events.time[part], events.slot[part], events.weight[part], events.words[:, part])
