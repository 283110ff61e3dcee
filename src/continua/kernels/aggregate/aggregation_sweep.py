"""The sweep of aggregation: events in the order of time, applied to groups; results written as segments.

All events of an instant are applied before the groups they touched are read. The sweep stops where it needs something
that it cannot do itself, more room in the pool or results that are computed elsewhere, and goes on from there.

An argument that is None stands for a family that a query has no use for. The compiler knows that by the type of the
argument, and leaves out what stands behind ``is not None``: no query has more compiled than it uses.
"""

from __future__ import annotations

from typing import NamedTuple

from continua.kernels.aggregate.extremes import (
    GREATEST,
    HELD,
    HOLDER,
    ORDER,
    Strings,
    change_heap,
    give_heap,
    prepare_heap,
)
from continua.kernels.aggregate.members import (
    ENTRY_CELLS,
    ENTRY_COUNT,
    ENTRY_WAITING,
    Values,
    list_has_room,
    put_in,
    take_out,
)
from continua.kernels.aggregate.result_readers import (
    COMPUTED,
    FIRST_HELD,
    NULL_BIT,
    NULL_WORD,
    READER,
    read_computed,
    read_first,
    read_sums,
)
from continua.kernels.aggregate.sums import take_step
from continua.kernels.aggregate.sweep_jit import inlined, lean
from continua.kernels.aggregate.value_pool import give_room
from continua.kernels.jit import Int64s
from continua.kernels.relation.output_segments import FRESH, NONE, WRITTEN
from continua.kernels.words.batch import INFINITY

ROWS, WAITING, MARK, STATUS, SINCE, RESULT = range(6)
"""The first cells of a group: its rows, how many of its events are still to come, whether it is on the lists of groups
touched at this instant and in this epoch, what is valid of it and since when, and the result."""
INPUT, LINE, WIDE, NULL_LINE, NULL_MASK, FIRST_STEP, LAST_STEP, FIRST_HOLDER, LAST_HOLDER = range(9)
"""The columns of a table of inputs: the kind; where its value or entry stands in an event, and whether the value has
two words; its null bit; and the steps and holders that it feeds."""
INPUT_COLUMNS = 9
PLAIN, VALUED = range(2)
"""An input's events carry values, or the entries of values."""
NEXT, NOW, TOUCHED, READY, SEEN, OUTPUT, GONE, EMPTY = range(8)
"""What a sweep knows when it stops: the next event, the instant, how many groups it touched there, whether their
results were computed; and how many groups it saw, rows it wrote, and entries and groups that came to nothing."""
DONE, NEEDS_ROOM, NEEDS_RESULTS, OVERFLOW = range(4)
"""Why a sweep stops."""
OUT_SLOT, OUT_FROM, OUT_TO, OUT_WEIGHT, OUT_RESULT = range(5)
"""The cells of a row of output."""

_NOW_MARK, _EPOCH_MARK = 1, 2
_BLOCK = 256
"""How many rows of output fit the nearest cache."""


class Program(NamedTuple):
    """What is done with an event, and how results are read."""

    inputs: Int64s
    steps: Int64s
    holders: Int64s
    readers: Int64s


class Families(NamedTuple):
    """What of the sweep a query uses: 1, or None for what it does not."""

    outside: int | None
    integers: int | None
    floats: int | None
    limbs: int | None
    averages: int | None


class Lists(NamedTuple):
    """What a sweep writes down: groups touched and seen, entries that came to nothing, rows of output; and scratch."""

    touched: Int64s
    seen: Int64s
    gone: Int64s
    output: Int64s
    computed: Int64s
    fresh: Int64s
    digits: Int64s


@lean
def announce(places: Int64s, end: Int64s, cells: Int64s, stride: int, cell: int) -> None:
    """Counts the events that rows will have: one at the start and, unless it is open, one at the end."""
    for i in range(places.size):
        if places[i] >= 0:
            cells[places[i] * stride + cell] += 1 if end[i] == INFINITY else 2


@lean
def sweep(
    control: Int64s, time: Int64s, slot: Int64s, weight: Int64s, words: Int64s,
    program: Program, groups: Int64s, stride: int, width: int, pool: Int64s, pool_meta: Int64s, lists: Lists,
    always_from: int, at_once: bool, values: Values | None, strings: Strings | None, outside: int | None,
    integers: int | None, floats: int | None, limbs: int | None, averages: int | None,
) -> int:  # fmt: skip
    """Goes on with an epoch's events; says why it stops. ``width`` is the length of a result."""
    inputs, steps, holders, readers = program.inputs, program.steps, program.holders, program.readers
    touched_list, seen_list = lists.touched, lists.seen
    event, now, touched, seen = control[NEXT], control[NOW], control[TOUCHED], control[SEEN]
    why = DONE
    while True:
        if touched > 0 and (event == time.size or time[event] != now):
            if outside is not None:  # noqa: SIM102
                if control[READY] == 0:
                    why = NEEDS_RESULTS
                    break
            control[READY] = 0
            if not _read(
                control, now, touched, readers, steps, holders, groups, stride, width, pool, lists, always_from,
                at_once, strings, outside, integers, floats, limbs, averages,
            ):  # fmt: skip
                control[NOW] = now
                return OVERFLOW
            touched = 0
        if event == time.size:
            break
        base = slot[event] * stride
        if strings is not None:  # noqa: SIM102
            if not _heaps_have_room(
                event, time[event], weight[event], base, words, inputs, holders, groups, pool, pool_meta, strings
            ):
                why = NEEDS_ROOM
                break
        if values is not None:  # noqa: SIM102
            if not _lists_have_room(event, base, words, inputs, holders, groups, pool, pool_meta):
                why = NEEDS_ROOM
                break
        now = time[event]
        mark = groups[base + MARK]
        if not mark & _NOW_MARK:
            touched_list[touched] = slot[event]
            touched += 1
            if not mark:
                seen_list[seen] = slot[event]
                seen += 1
            groups[base + MARK] = _NOW_MARK | _EPOCH_MARK
        groups[base + ROWS] += weight[event]
        groups[base + WAITING] -= 1
        for i in range(inputs.shape[0]):
            line = inputs[i, LINE]
            if inputs[i, INPUT] == PLAIN:
                if words[inputs[i, NULL_LINE], event] & inputs[i, NULL_MASK]:
                    continue
                low = words[line + inputs[i, WIDE], event]
                high = words[line, event] if inputs[i, WIDE] else low >> 63
                for s in range(inputs[i, FIRST_STEP], inputs[i, LAST_STEP]):
                    take_step(steps, s, groups, base, high, low, weight[event], integers, floats, limbs)
                if strings is not None:
                    for h in range(inputs[i, FIRST_HOLDER], inputs[i, LAST_HOLDER]):
                        change_heap(
                            groups, base + holders[h, HELD], pool, words, line, event, weight[event], now,
                            holders[h, HOLDER], holders[h, ORDER], strings,
                        )  # fmt: skip
            elif values is not None:  # noqa: SIM102
                if words[line, event] >= 0:
                    _change_entry(
                        control, inputs, i, words[line, event], base, weight[event], steps, holders, groups, pool,
                        values, lists.gone, integers, floats, limbs,
                    )  # fmt: skip
        event += 1
    control[NEXT], control[NOW], control[TOUCHED], control[SEEN] = event, now, touched, seen
    return why


@lean
def _heaps_have_room(
    event: int, now: int, weight: int, base: int, words: Int64s, inputs: Int64s, holders: Int64s, groups: Int64s,
    pool: Int64s, meta: Int64s, strings: Strings,
) -> bool:  # fmt: skip
    """Makes room for an event in every heap that it changes; false when the pool has none."""
    for i in range(inputs.shape[0]):
        if inputs[i, INPUT] != PLAIN or words[inputs[i, NULL_LINE], event] & inputs[i, NULL_MASK]:
            continue
        for h in range(inputs[i, FIRST_HOLDER], inputs[i, LAST_HOLDER]):
            held, kind, order = base + holders[h, HELD], holders[h, HOLDER], holders[h, ORDER]
            if not prepare_heap(groups, held, pool, meta, weight, words[-1, event], now, kind, order, strings):
                return False
    return True


@lean
def _lists_have_room(
    event: int, base: int, words: Int64s, inputs: Int64s, holders: Int64s, groups: Int64s, pool: Int64s, meta: Int64s
) -> bool:
    """Makes room for an event in every list that it changes; false when the pool has none."""
    for i in range(inputs.shape[0]):
        if inputs[i, INPUT] == VALUED and words[inputs[i, LINE], event] >= 0:
            for h in range(inputs[i, FIRST_HOLDER], inputs[i, LAST_HOLDER]):
                if not list_has_room(groups, base + holders[h, HELD], pool, meta):
                    return False
    return True


@lean
def _change_entry(
    control: Int64s, inputs: Int64s, i: int, entry: int, base: int, weight: int,
    steps: Int64s, holders: Int64s, groups: Int64s, pool: Int64s, values: Values, gone: Int64s,
    integers: int | None, floats: int | None, limbs: int | None,
) -> None:  # fmt: skip
    """Changes how often a value counts; what depends on distinct values changes when it comes or goes."""
    entries, cell = values.entries, entry * ENTRY_CELLS
    before = entries[cell + ENTRY_COUNT]
    after = before + weight
    entries[cell + ENTRY_COUNT] = after
    entries[cell + ENTRY_WAITING] -= 1
    if after == 0 and entries[cell + ENTRY_WAITING] == 0:
        gone[control[GONE]] = entry
        control[GONE] += 1
    if (before > 0) == (after > 0):
        return
    change = 1 if after > 0 else -1
    at = entry * values.width + 1
    low = values.words[at + inputs[i, WIDE]]
    high = values.words[at] if inputs[i, WIDE] else low >> 63
    for s in range(inputs[i, FIRST_STEP], inputs[i, LAST_STEP]):
        take_step(steps, s, groups, base, high, low, change, integers, floats, limbs)
    for h in range(inputs[i, FIRST_HOLDER], inputs[i, LAST_HOLDER]):
        if change > 0:
            put_in(groups, base + holders[h, HELD], pool, entry, entries)
        else:
            take_out(groups, base + holders[h, HELD], pool, entry, entries)


@inlined
def _read(
    control: Int64s, now: int, touched: int, readers: Int64s, steps: Int64s, holders: Int64s, groups: Int64s,
    stride: int, width: int, pool: Int64s, lists: Lists, always_from: int, at_once: bool,
    strings: Strings | None, outside: int | None, integers: int | None, floats: int | None, limbs: int | None,
    averages: int | None,
) -> bool:  # fmt: skip
    """Reads the groups touched at this instant, and writes the segments that end; false on an overflow.

    With ``at_once`` what begins is written too, behind all that ends, and is taken back when it ends.
    """
    fresh, digits, output, touched_list = lists.fresh, lists.digits, lists.output, lists.touched
    for i in range(touched):
        slot = touched_list[i]
        base = slot * stride
        groups[base + MARK] = _EPOCH_MARK
        exists = groups[base + ROWS] > 0 or now >= always_from
        status = groups[base + STATUS]
        if exists:
            for r in range(readers.shape[0]):
                fresh[readers[r, NULL_WORD]] &= ~readers[r, NULL_BIT]
                if readers[r, READER] == FIRST_HELD:
                    if strings is not None:
                        read_first(readers, r, holders, groups, base, pool, now, strings, fresh)
                elif readers[r, READER] == COMPUTED:
                    if outside is not None:
                        read_computed(readers, r, lists.computed, i, fresh)
                elif not read_sums(readers, r, steps, groups, base, digits, fresh, integers, floats, limbs, averages):
                    return False
            if status != NONE and _same(groups, base + RESULT, fresh, width):
                continue
        if status == WRITTEN:
            _write(control, output, slot, now, INFINITY, -1, groups, base + RESULT, width)
        elif status == FRESH:
            _write(control, output, slot, groups[base + SINCE], now, 1, groups, base + RESULT, width)
        groups[base + STATUS] = NONE
        if exists:
            groups[base + STATUS] = FRESH
            groups[base + SINCE] = now
            for j in range(width):
                groups[base + RESULT + j] = fresh[j]
    for i in range(touched if at_once else 0):
        base = touched_list[i] * stride
        if groups[base + STATUS] == FRESH:
            _write(control, output, touched_list[i], now, INFINITY, 1, groups, base + RESULT, width)
            groups[base + STATUS] = WRITTEN
    return True


@inlined
def _same(groups: Int64s, at: int, fresh: Int64s, width: int) -> bool:
    for j in range(width):  # noqa: SIM110
        if groups[at + j] != fresh[j]:
            return False
    return True


@inlined
def _write(
    control: Int64s, output: Int64s, slot: int, since: int, end: int, weight: int, groups: Int64s, at: int, width: int
) -> None:
    row = control[OUTPUT] * (OUT_RESULT + width)
    output[row + OUT_SLOT] = slot
    output[row + OUT_FROM] = since
    output[row + OUT_TO] = end
    output[row + OUT_WEIGHT] = weight
    for j in range(width):
        output[row + OUT_RESULT + j] = groups[at + j]
    control[OUTPUT] += 1


@lean
def finish(
    control: Int64s, seen: Int64s, groups: Int64s, stride: int, width: int, pool: Int64s, pool_meta: Int64s,
    holders: Int64s, output: Int64s, empty: Int64s,
) -> None:  # fmt: skip
    """Writes what began in the epoch and goes on, and notes the groups that have neither rows nor events to come."""
    for i in range(seen.size):
        base = seen[i] * stride
        groups[base + MARK] = 0
        if groups[base + STATUS] == FRESH:
            _write(control, output, seen[i], groups[base + SINCE], INFINITY, 1, groups, base + RESULT, width)
            groups[base + STATUS] = WRITTEN
        if groups[base + ROWS] == 0 and groups[base + WAITING] == 0 and groups[base + STATUS] == NONE:
            for h in range(holders.shape[0]):
                if holders[h, HOLDER] <= GREATEST:
                    give_heap(groups, base + holders[h, HELD], pool, pool_meta)
                else:
                    give_room(groups, base + holders[h, HELD], pool, pool_meta)
            empty[control[EMPTY]] = seen[i]
            control[EMPTY] += 1


@lean
def lay_out(
    output: Int64s, count: int, width: int, keys: Int64s, key_lines: int, key_nulls: int, first_null: int,
    first: int, words: Int64s, start: Int64s, end: Int64s, weight: Int64s,
) -> None:  # fmt: skip
    """Turns rows of output into columns: the words of keys, those of results, and the null bits of both."""
    stride, key_width = OUT_RESULT + width, key_lines + key_nulls
    for begin in range(0, count, _BLOCK):
        rows = range(begin, min(begin + _BLOCK, count))
        for row in rows:
            start[first + row] = output[row * stride + OUT_FROM]
            end[first + row] = output[row * stride + OUT_TO]
            weight[first + row] = output[row * stride + OUT_WEIGHT]
        for j in range(width):
            for row in rows:
                words[key_lines + j, first + row] = output[row * stride + OUT_RESULT + j]
        for j in range(key_lines):
            for row in rows:
                words[j, first + row] = keys[output[row * stride + OUT_SLOT] * key_width + j]
        for j in range(key_nulls):
            for row in rows:
                words[first_null + j, first + row] |= keys[output[row * stride + OUT_SLOT] * key_width + key_lines + j]
