"""Counts and sums of a group: how a value changes them, and how results are read from them.

The cells of a group are a stretch of one array. A step is a line of a table: what to do, the cells it works on, and,
for a sum of limbs, what its lowest limb is worth and how many limbs there are.
"""

from __future__ import annotations

import math

import numpy as np

from continua.kernels.aggregate.exact_sum import (
    LARGEST_DIVISOR,
    add_float,
    add_float_square,
    add_integer,
    add_integer_square,
    divide,
    is_special,
    limb_of,
    magnitude,
    multiply,
    read_digits,
    subtract_square,
    to_double,
    top_digit,
)
from continua.kernels.aggregate.sweep_jit import inlined, lean
from continua.kernels.jit import Int64s
from continua.kernels.words.doubles import word_to_float

COUNT, TRUES, INTEGER, LIMBS, SQUARES, FLOATS, FLOAT_SQUARES = range(7)
"""What a step keeps: rows, rows that are true, a sum of words in two words, and sums of limbs."""
STEP, CELL, LOW, SIZE = range(4)
"""The columns of a table of steps."""
SPECIALS = 3
"""Cells before a sum of doubles: how many NaN, positive and negative infinities are in it."""
DIGITS = 256
"""Room for the digits of any sum of squares of doubles."""

_TOP_BIT = -(1 << 63)
_EXACT = 1 << 53
_EXACT_TENS = 22
"""Powers of ten up to this one are doubles."""
_CHUNK = 9
"""Powers of ten up to this one are divisors."""
_TWO_64 = 2.0**64
_TENS = np.array([float(10**exponent) for exponent in range(80)])


# Adding.


@inlined
def take_step(
    steps: Int64s, step: int, cells: Int64s, base: int, high: int, low: int, weight: int,
    integers: int | None, floats: int | None, limbs: int | None,
) -> None:  # fmt: skip
    """Changes the cells of a group by a value of two words, so many times; a value of one word is the low one.

    The last arguments are None where no step is of that family; what it needs is then not compiled.
    """
    cell = base + steps[step, CELL]
    operation = steps[step, STEP]
    if operation == COUNT:
        cells[cell] += weight
    elif operation == INTEGER:
        if integers is not None:
            _add_words(cells, cell, low, weight)
    elif operation == FLOATS:
        if floats is not None:
            _add_double(cells, cell, steps[step, LOW], low, weight)
    elif operation == TRUES:
        cells[cell] += weight * low
    elif limbs is not None:
        _add_limbs(operation, cells, cell, steps[step, LOW], high, low, weight)


@inlined
def _add_double(cells: Int64s, cell: int, lowest: int, word: int, weight: int) -> None:
    if is_special(word):
        value = word_to_float(word)
        cells[cell - (3 if value != value else 2 if value > 0 else 1)] += weight
    else:
        add_float(cells, cell, lowest, word, weight)


@inlined
def _add_limbs(operation: int, cells: Int64s, cell: int, lowest: int, high: int, low: int, weight: int) -> None:
    if operation == LIMBS:
        add_integer(cells, cell, high, low, weight)
    elif operation == SQUARES:
        add_integer_square(cells, cell, high, low, weight)
    elif not is_special(low):
        add_float_square(cells, cell, lowest, low, weight)


@lean
def _add_words(cells: Int64s, cell: int, value: int, weight: int) -> None:
    """Adds value * weight to a sum of two words, the high one first."""
    if weight == 1:
        high, low = value >> 63, value
    elif weight == -1 and value != _TOP_BIT:
        high, low = -value >> 63, -value
    else:
        high, low = _product(value, weight)
    before = cells[cell + 1]
    after = before + low
    cells[cell + 1] = after
    cells[cell] += high + (1 if (after ^ _TOP_BIT) < (before ^ _TOP_BIT) else 0)


@lean
def _product(a: int, b: int) -> tuple[int, int]:
    """The product of two words as two words."""
    a, b = np.int64(a), np.int64(b)  # type: ignore[assignment]  # their products wrap around, also in Python
    a_high, a_low = limb_of(0, a, 1), limb_of(0, a, 0)
    b_high, b_low = limb_of(0, b, 1), limb_of(0, b, 0)
    low, cross, other, high = a_low * b_low, a_low * b_high, a_high * b_low, a_high * b_high
    middle = limb_of(0, low, 1) + limb_of(0, cross, 0) + limb_of(0, other, 0)
    high += limb_of(0, cross, 1) + limb_of(0, other, 1) + (middle >> 32)
    if a < 0:
        high -= b
    if b < 0:
        high -= a
    return high, a * b


# Reading sums.


@lean
def _above(high: int, low: int, other_high: int, other_low: int) -> bool:
    """Whether an integer of two words is greater than another one."""
    return high > other_high or (high == other_high and (low ^ _TOP_BIT) > (other_low ^ _TOP_BIT))


@lean
def sum_digits(steps: Int64s, step: int, cells: Int64s, base: int, digits: Int64s) -> tuple[bool, int]:
    """Writes an integer sum as digits; whether it is negative, and how many digits there are."""
    cell = base + steps[step, CELL]
    if steps[step, STEP] != INTEGER:
        return read_digits(cells, cell, steps[step, SIZE], digits)
    high, low = magnitude(cells[cell], cells[cell + 1])
    for i in range(4):
        digits[i] = limb_of(high, low, i)
    return cells[cell] < 0, 4


@inlined
def read_sum(
    steps: Int64s, step: int, cells: Int64s, base: int, drop: int, digits: Int64s, limbs: int | None
) -> tuple[bool, int, int]:
    """An integer sum without its last decimal digits, as two words; false when it does not fit them."""
    cell = base + steps[step, CELL]
    if limbs is not None:  # noqa: SIM102
        if steps[step, STEP] != INTEGER:
            return _read_limbs(steps, step, cells, base, drop, digits)
    return True, cells[cell], cells[cell + 1]


@lean
def _read_limbs(steps: Int64s, step: int, cells: Int64s, base: int, drop: int, digits: Int64s) -> tuple[bool, int, int]:
    """The same of a sum of limbs."""
    negative, size = sum_digits(steps, step, cells, base, digits)
    if drop:
        _divide_by_ten(digits, size, drop - 1)
        _add(digits, size, 5)
        divide(digits, size, 10)
    return _two_words(digits, size, negative)


@lean
def _two_words(digits: Int64s, size: int, negative: bool) -> tuple[bool, int, int]:
    """Digits as two words; false when they do not fit."""
    if top_digit(digits, size) > 3:
        return False, 0, 0
    high, low = (digits[3] << 32) | digits[2], (digits[1] << 32) | digits[0]
    if high < 0:
        return False, 0, 0
    if negative:
        high, low = ~high + (1 if low == 0 else 0), -low
    return True, high, low


@lean
def within(high: int, low: int, least_high: int, least_low: int, most_high: int, most_low: int) -> bool:
    """Whether an integer of two words lies between two others."""
    return not _above(high, low, most_high, most_low) and not _above(least_high, least_low, high, low)


@lean
def _divide_by_ten(digits: Int64s, size: int, exponent: int) -> bool:
    """Divides digits by a power of ten; whether there is a remainder."""
    inexact = False
    while exponent > 0:
        if divide(digits, size, int(_TENS[min(exponent, _CHUNK)])):
            inexact = True
        exponent -= _CHUNK
    return inexact


@lean
def read_float_sum(steps: Int64s, step: int, cells: Int64s, base: int, digits: Int64s) -> float:
    """A sum of doubles, rounded once."""
    cell = base + steps[step, CELL]
    nan, above, below = cells[cell - 3], cells[cell - 2], cells[cell - 1]
    if nan or (above and below):
        return math.nan
    if above or below:
        return math.inf if above else -math.inf
    negative, size = read_digits(cells, cell, steps[step, SIZE], digits)
    value = to_double(digits, size, steps[step, LOW], False)
    return -value if negative else value


# Reading averages and variances.


@lean
def read_average(steps: Int64s, step: int, cells: Int64s, base: int, count: int, scale: int, digits: Int64s) -> float:
    """The double nearest to an integer sum of decimals of a scale, divided by a count."""
    cell = base + steps[step, CELL]
    low = cells[cell + 1]
    if steps[step, STEP] == INTEGER and cells[cell] == low >> 63 and -_EXACT < low < _EXACT and scale <= _EXACT_TENS:
        return float((low / _TENS[scale] if scale else float(low)) / count)
    negative, size = sum_digits(steps, step, cells, base, digits)
    value = _quotient(digits, size, 0, 1, 1, scale)
    return (-value if negative else value) / count


@lean
def read_decimal_average(
    steps: Int64s, step: int, cells: Int64s, base: int, count: int, more: int, digits: Int64s
) -> tuple[bool, int, int]:
    """An integer sum times a power of ten, divided by a count and rounded half away from zero, as two words.

    False when it does not fit them.
    """
    negative, size = sum_digits(steps, step, cells, base, digits)
    digits[size] = 0
    multiply(digits, size + 1, int(_TENS[more]))
    rest = divide(digits, size + 1, count)
    _add(digits, size + 1, 1 if 2 * rest >= count else 0)
    return _two_words(digits, size + 1, negative)


@lean
def _add(digits: Int64s, size: int, little: int) -> None:
    """Adds less than a digit can be."""
    digits[0] += little
    for i in range(size - 1):
        digits[i + 1] += digits[i] >> 32
        digits[i] &= 0xFFFFFFFF


@lean
def _quotient(digits: Int64s, size: int, low: int, count: int, other: int, scale: int) -> float:
    """The double nearest to digits divided by two integers and by a power of ten."""
    if max(count, other) > LARGEST_DIVISOR:
        return float(to_double(digits, size, low, False) / (float(count) * float(other) * _TENS[scale]))
    more = 5 + scale // _CHUNK + 1
    for i in range(size - 1, -1, -1):
        digits[i + more] = digits[i]
    digits[:more] = 0
    size += more
    inexact = divide(digits, size, count) != 0
    if divide(digits, size, other):
        inexact = True
    if _divide_by_ten(digits, size, scale):
        inexact = True
    return to_double(digits, size, low - more, inexact)


@lean
def read_variance(
    steps: Int64s,
    sums: int,
    squares: int,
    cells: Int64s,
    base: int,
    count: int,
    sample: int,
    scale: int,
    digits: Int64s,
) -> float:
    """The double nearest to (count * squares - sum ** 2) / (count * (count - sample)), of decimals of a scale."""
    cell, low = base + steps[sums, CELL], steps[squares, LOW]
    if steps[sums, STEP] == FLOATS and (cells[cell - 3] or cells[cell - 2] or cells[cell - 1]):
        return math.nan
    root, rest = digits[:DIGITS], digits[DIGITS:]
    _, size = read_digits(cells, cell, steps[sums, SIZE], root)
    _, used = read_digits(cells, base + steps[squares, CELL], steps[squares, SIZE], rest)
    room = max(used, 2 * size) + 2
    for i in range(used, room):
        rest[i] = 0
    if count > LARGEST_DIVISOR:
        mean = to_double(root, size, steps[sums, LOW], False) / count
        square = to_double(rest, room, low, False) / count
        return float(max(square - mean * mean, 0.0) / _TENS[2 * scale])
    multiply(rest, room, count)
    if not subtract_square(rest, room, root, size):
        return 0.0
    return _quotient(rest, room, low, count, count - sample, 2 * scale)


@lean
def to_decimal(value: float, scale: int) -> tuple[bool, int, int]:
    """A double times a power of ten, rounded half away from zero, as two words; false when it does not fit."""
    scaled = abs(value) * _TENS[scale]
    if not scaled < 1.7e38:
        return False, 0, 0
    whole = np.floor(scaled)
    if scaled - whole >= 0.5:
        whole += 1.0
    high = int(whole / _TWO_64)
    rest = whole - high * _TWO_64
    low = np.int64(rest) if rest < 2.0**63 else np.int64(rest - 2.0**63) ^ _TOP_BIT
    if value < 0:
        high, low = ~high + (1 if low == 0 else 0), -low
    return True, high, low  # type: ignore[return-value]
