"""The results of a group, read from its cells: one line of a table of readers per call."""

from __future__ import annotations

import math

from continua.kernels.aggregate_extremes import BLOCK, HELD, Values
from continua.kernels.aggregate_extremes import COUNT as HELD_COUNT
from continua.kernels.aggregate_sums import (
    CELL,
    put_double,
    read_average,
    read_float_sum,
    read_sum,
    read_variance,
    to_decimal,
    within,
)
from continua.kernels.jit import Int64s, compiled

CELL_VALUE, ALL_TRUE, ANY_TRUE, SUM, FLOAT_SUM, AVERAGE, FLOAT_AVERAGE, VARIANCE, FIRST_HELD, COMPUTED = range(10)
"""How a result is read; what is computed comes from outside."""
READER, WORD, WORDS, NULL_WORD, NULL_MASK, COUNTS, SUMS, MORE, OPTION, SCALE, DECIMAL, BOUNDS = range(12)
"""The columns of a table of readers: the operation; where the result and its null bit go; the steps it reads (for a
holder or for what is computed: its number); options; and, in the last four, the least and greatest result."""
READER_COLUMNS = BOUNDS + 4

NOT_DECIMAL = -1
"""The scale of a result that is no decimal."""


@compiled
def read_result(
    reader: Int64s, steps: Int64s, holders: Int64s, groups: Int64s, base: int, pool: Int64s, values: Values,
    computed: Int64s, line: int, digits: Int64s, fresh: Int64s,
) -> bool:  # fmt: skip
    """Writes one result of a group; false when it does not fit its type."""
    operation = reader[READER]
    place = reader[WORD]
    if operation == FIRST_HELD:
        return _read_first(reader, holders[reader[COUNTS]], groups, base, pool, values, fresh)
    if operation == COMPUTED:
        for i in range(reader[WORDS]):
            fresh[place + i] = computed[line, reader[COUNTS] + i]
        if computed[line, reader[COUNTS] + reader[WORDS]]:
            fresh[reader[NULL_WORD]] |= reader[NULL_MASK]
        return True
    count = groups[base + steps[reader[COUNTS], CELL]]
    if operation == CELL_VALUE:
        fresh[place] = count
        return True
    if count - reader[OPTION] * (operation == VARIANCE) <= 0:
        _read_null(reader, fresh)
        return True
    sums = steps[reader[SUMS]]
    if operation == SUM:
        fits, high, low = read_sum(sums, groups, base, reader[OPTION], digits)
        return _put_integer(reader, fits, high, low, fresh)
    if operation == FLOAT_SUM:
        put_double(fresh, place, read_float_sum(sums, groups, base, digits))
    elif operation == FLOAT_AVERAGE:
        put_double(fresh, place, read_float_sum(sums, groups, base, digits) / count)
    elif operation == AVERAGE:
        return _put_average(reader, read_average(sums, groups, base, count, reader[SCALE], digits), fresh)
    elif operation == VARIANCE:
        value = read_variance(
            sums, steps[reader[MORE]], groups, base, count, reader[OPTION], reader[SCALE], digits
        )  # fmt: skip
        put_double(fresh, place, math.sqrt(value) if reader[DECIMAL] else value)
    elif operation == ALL_TRUE:
        fresh[place] = 1 if groups[base + sums[CELL]] == count else 0
    else:
        fresh[place] = 1 if groups[base + sums[CELL]] > 0 else 0
    return True


@compiled
def _read_null(reader: Int64s, fresh: Int64s) -> None:
    for i in range(reader[WORDS]):
        fresh[reader[WORD] + i] = 0
    fresh[reader[NULL_WORD]] |= reader[NULL_MASK]


@compiled
def _read_first(
    reader: Int64s, holder: Int64s, groups: Int64s, base: int, pool: Int64s, values: Values, fresh: Int64s
) -> bool:
    """The first value of a heap."""
    held = base + holder[HELD]
    if groups[held + HELD_COUNT] == 0:
        _read_null(reader, fresh)
        return True
    first = pool[groups[held + BLOCK]]
    for i in range(reader[WORDS]):
        fresh[reader[WORD] + i] = values.words[first * values.width + 1 + i]
    return True


@compiled
def _put_integer(reader: Int64s, fits: bool, high: int, low: int, fresh: Int64s) -> bool:
    """Writes an integer of one or two words, if it lies between the reader's bounds."""
    if not fits or not within(
        high, low, reader[BOUNDS], reader[BOUNDS + 1], reader[BOUNDS + 2], reader[BOUNDS + 3]
    ):  # fmt: skip
        return False
    place = reader[WORD]
    if reader[WORDS] == 2:
        fresh[place], fresh[place + 1] = high, low
    else:
        fresh[place] = low
    return True


@compiled
def _put_average(reader: Int64s, value: float, fresh: Int64s) -> bool:
    if reader[DECIMAL] == NOT_DECIMAL:
        put_double(fresh, reader[WORD], value)
        return True
    fits, high, low = to_decimal(value, reader[DECIMAL])
    return _put_integer(reader, fits, high, low, fresh)
