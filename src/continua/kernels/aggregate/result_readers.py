"""The results of a group, read from its cells: one line of a table of readers per call."""

from __future__ import annotations

import math

from continua.kernels.aggregate.exact_sum import LARGEST_DIVISOR
from continua.kernels.aggregate.extremes import HELD, HOLDER, ORDER, PAIRS, Strings, null_word, second_word, top_of_heap
from continua.kernels.aggregate.sums import (
    CELL,
    read_average,
    read_decimal_average,
    read_float_sum,
    read_sum,
    read_variance,
    to_decimal,
    within,
)
from continua.kernels.aggregate.sweep_jit import inlined, lean
from continua.kernels.jit import Int64s
from continua.kernels.words.doubles import float_to_word, word_to_float

CELL_VALUE, ALL_TRUE, ANY_TRUE, SUM, FLOAT_SUM, AVERAGE, FLOAT_AVERAGE, VARIANCE, FIRST_HELD, COMPUTED = range(10)
"""How a result is read; what is computed comes from outside."""
READER, WORD, WORDS, NULL_WORD, NULL_BIT, COUNTS, SUMS, MORE, OPTION, SCALE, DECIMAL, BOUNDS = range(12)
"""The columns of a table of readers: the operation; where the result and its null bit go; the steps it reads (for a
holder or for what is computed: its number); options; and, in the last four, the least and greatest result."""
READER_COLUMNS = BOUNDS + 4

NOT_DECIMAL = -1
"""The scale of a result that is no decimal."""


@inlined
def read_sums(
    readers: Int64s, r: int, steps: Int64s, groups: Int64s, base: int, digits: Int64s, fresh: Int64s,
    integers: int | None, floats: int | None, limbs: int | None, averages: int | None,
) -> bool:  # fmt: skip
    """Writes a result that is read from counts and sums; false when it does not fit its type.

    The last arguments are None where no result is of that family; what it needs is then not compiled.
    """
    operation, place, sums = readers[r, READER], readers[r, WORD], readers[r, SUMS]
    count = groups[base + steps[readers[r, COUNTS], CELL]]
    if operation == CELL_VALUE:
        fresh[place] = count
        return True
    if count <= 0 or (operation == VARIANCE and count <= readers[r, OPTION]):
        put_null(readers, r, fresh)
        return True
    if operation == ALL_TRUE:
        fresh[place] = 1 if groups[base + steps[sums, CELL]] == count else 0
    elif operation == ANY_TRUE:
        fresh[place] = 1 if groups[base + steps[sums, CELL]] > 0 else 0
    elif operation == SUM:
        if integers is not None:
            fits, high, low = read_sum(steps, sums, groups, base, readers[r, OPTION], digits, limbs)
            return _put_integer(readers, r, fits, high, low, fresh)
    elif operation == AVERAGE:
        if averages is not None:
            return _put_average(readers, r, steps, sums, groups, base, count, digits, fresh)
    elif operation == VARIANCE:
        if limbs is not None:
            _put_variance(readers, r, steps, groups, base, count, digits, fresh)
    elif floats is not None:
        _put_floats(readers, r, steps, groups, base, count, digits, fresh)
    return True


@inlined
def _put_floats(
    readers: Int64s, r: int, steps: Int64s, groups: Int64s, base: int, count: int, digits: Int64s, fresh: Int64s
) -> None:
    """Writes a sum or an average of doubles."""
    known = readers[r, OPTION] if readers[r, READER] == FLOAT_AVERAGE else 0
    value = word_to_float(fresh[known - 1]) if known else read_float_sum(steps, readers[r, SUMS], groups, base, digits)
    fresh[readers[r, WORD]] = float_to_word(value / count if readers[r, READER] == FLOAT_AVERAGE else value)


@lean
def _put_variance(
    readers: Int64s, r: int, steps: Int64s, groups: Int64s, base: int, count: int, digits: Int64s, fresh: Int64s
) -> None:
    """Writes a variance or a deviation."""
    sums, squares, sample, scale = readers[r, SUMS], readers[r, MORE], readers[r, OPTION], readers[r, SCALE]
    value = read_variance(steps, sums, squares, groups, base, count, sample, scale, digits)
    fresh[readers[r, WORD]] = float_to_word(math.sqrt(value) if readers[r, DECIMAL] else value)


@inlined
def put_null(readers: Int64s, r: int, fresh: Int64s) -> None:
    """Makes a result NULL."""
    fresh[readers[r, NULL_WORD]] |= readers[r, NULL_BIT]
    for i in range(readers[r, WORDS]):
        fresh[readers[r, WORD] + i] = 0


@lean
def read_first(
    readers: Int64s, r: int, holders: Int64s, groups: Int64s, base: int, pool: Int64s, now: int, strings: Strings,
    fresh: Int64s,
) -> None:  # fmt: skip
    """Writes the value of the first row of a heap: the one it is ordered by, or the second one of a pair."""
    h = readers[r, COUNTS]
    first = top_of_heap(groups, base + holders[h, HELD], pool, now, holders[h, HOLDER], holders[h, ORDER], strings)
    if first < 0:
        put_null(readers, r, fresh)
        return
    if holders[h, ORDER] >= PAIRS:
        if pool[first + null_word(holders[h, ORDER])]:
            put_null(readers, r, fresh)
            return
        first += second_word(holders[h, ORDER])
    for i in range(readers[r, WORDS]):
        fresh[readers[r, WORD] + i] = pool[first + i]


@lean
def read_computed(readers: Int64s, r: int, computed: Int64s, line: int, fresh: Int64s) -> None:
    """Writes a result that was computed outside."""
    begin, words = readers[r, COUNTS], readers[r, WORDS]
    for i in range(words):
        fresh[readers[r, WORD] + i] = computed[line, begin + i]
    if computed[line, begin + words]:
        put_null(readers, r, fresh)


@inlined
def _put_integer(readers: Int64s, r: int, fits: bool, high: int, low: int, fresh: Int64s) -> bool:
    """Writes an integer of one or two words, if it lies between the reader's bounds."""
    least_high, least_low = readers[r, BOUNDS], readers[r, BOUNDS + 1]
    most_high, most_low = readers[r, BOUNDS + 2], readers[r, BOUNDS + 3]
    if not fits or not within(high, low, least_high, least_low, most_high, most_low):
        return False
    place = readers[r, WORD]
    if readers[r, WORDS] == 2:
        fresh[place], fresh[place + 1] = high, low
    else:
        fresh[place] = low
    return True


@inlined
def _put_average(
    readers: Int64s,
    r: int,
    steps: Int64s,
    sums: int,
    groups: Int64s,
    base: int,
    count: int,
    digits: Int64s,
    fresh: Int64s,
) -> bool:
    """Writes the average of integers or decimals: a double, or a decimal that is exact but for its last digit."""
    scale, wanted = readers[r, SCALE], readers[r, DECIMAL]
    if wanted != NOT_DECIMAL and count <= LARGEST_DIVISOR:
        fits, high, low = read_decimal_average(steps, sums, groups, base, count, wanted - scale, digits)
        return _put_integer(readers, r, fits, high, low, fresh)
    average = read_average(steps, sums, groups, base, count, scale, digits)
    if wanted == NOT_DECIMAL:
        fresh[readers[r, WORD]] = float_to_word(average)
        return True
    fits, high, low = to_decimal(average, wanted)
    return _put_integer(readers, r, fits, high, low, fresh)
