"""Exact sums: numbers as limbs of 32 bits, so that what is added can be taken away again without a trace.

A sum is a row of cells: cell i is worth ``2 ** (32 * (low + i))`` and holds a signed 64-bit integer, so that most
additions need no carry. Nothing is rounded before a sum is read, and then once: the result does not depend on the order
of additions, nor on what was in the sum and left it.

To be read, a sum is written as digits: its magnitude in base ``2 ** 32``, with every digit in its range.
"""

from __future__ import annotations

import math

import numpy as np

from continua.kernels.aggregate.sweep_jit import lean
from continua.kernels.jit import Int64s

LIMB = 32
"""Bits of a limb."""
HEADROOM = 2
"""Limbs above the greatest number: what a sum of rows has more, whatever their weights."""
DIGITS_ABOVE = 2
"""How many digits more than cells a sum may have."""
NOTHING, EVERYTHING = 1 << 20, -(1 << 20)
"""The lowest and the highest exponent of no numbers."""
LARGEST_DIVISOR = (1 << 31) - 1
"""What digits can be divided by at once."""

_MASK = (1 << LIMB) - 1
_FULL = 1 << 62
_LIGHT = 1 << 30
_MAGNITUDE = (1 << 63) - 1
_FRACTION = (1 << 52) - 1
_SPECIAL = 0x7FF
_LEAST_EXPONENT = -1074
_GREATEST_EXPONENT = 970
_TOP_BIT = -(1 << 63)


# Adding.


@lean
def add_limb(cells: Int64s, place: int, limb: int, weight: int) -> None:
    """Adds ``limb * weight`` to the cell at a place; a limb is not negative and below ``2 ** 32``."""
    if -_LIGHT < weight < _LIGHT:
        cells[place] += limb * weight
        _carry(cells, place)
        return
    for part in range(4):
        digit = (weight >> (16 * part)) & 0xFFFF if part < 3 else weight >> 48
        target = place + part // 2
        product = limb * digit
        if part % 2:
            cells[target + 1] += product >> 16
            _carry(cells, target + 1)
            product = (product & 0xFFFF) << 16
        cells[target] += product
        _carry(cells, target)


@lean
def _carry(cells: Int64s, place: int) -> None:
    """Moves what is too much for a cell on to the next ones."""
    while cells[place] >= _FULL or cells[place] < -_FULL:
        more = cells[place] >> LIMB
        cells[place] &= _MASK
        place += 1
        cells[place] += more


@lean
def limb_of(high: int, low: int, number: int) -> int:
    """One of the four limbs of a magnitude of two words."""
    word = low if number < 2 else high
    return (word >> (LIMB * (number % 2))) & _MASK


@lean
def magnitude(high: int, low: int) -> tuple[int, int]:
    """The absolute value of an integer of two words."""
    if high >= 0:
        return high, low
    return ~high + (1 if low == 0 else 0), -low


@lean
def add_integer(cells: Int64s, place: int, high: int, low: int, weight: int) -> None:
    """Adds an integer of two words, so many times."""
    if high < 0:
        weight = -weight
    high, low = magnitude(high, low)
    for i in range(2 if high == 0 else 4):
        add_limb(cells, place + i, limb_of(high, low, i), weight)


@lean
def add_integer_square(cells: Int64s, place: int, high: int, low: int, weight: int) -> None:
    """Adds the square of an integer of two words, so many times."""
    high, low = magnitude(high, low)
    count = 2 if high == 0 else 4
    for i in range(count):
        for j in range(count):
            _add_product(cells, place + i + j, limb_of(high, low, i), limb_of(high, low, j), weight)


@lean
def _add_product(cells: Int64s, place: int, a: int, b: int, weight: int) -> None:
    product = a * b
    add_limb(cells, place, product & _MASK, weight)
    add_limb(cells, place + 1, (product >> LIMB) & _MASK, weight)


@lean
def float_parts(word: int) -> tuple[int, int]:
    """Mantissa and exponent of the magnitude of a double in its ordered form; it is no NaN and not infinite."""
    bits = (word if word >= 0 else ~word) & _MAGNITUDE
    exponent = bits >> 52
    if exponent == 0:
        return bits, _LEAST_EXPONENT
    return (bits & _FRACTION) | (_FRACTION + 1), exponent + _LEAST_EXPONENT - 1


@lean
def is_special(word: int) -> bool:
    """Whether a double in its ordered form is NaN or infinite."""
    bits = (word if word >= 0 else ~word) & _MAGNITUDE
    return bits >> 52 == _SPECIAL


@lean
def add_float(cells: Int64s, place: int, low: int, word: int, weight: int) -> None:
    """Adds a double in its ordered form, so many times, to a sum whose cell 0 is at that place."""
    if word == 0:
        return
    mantissa, exponent = float_parts(word)
    if word < 0:
        weight = -weight
    bit = exponent - LIMB * low
    place += bit >> 5
    shift = bit & 31
    first = (mantissa << shift) & _MASK
    second = (mantissa >> (LIMB - shift)) & _MASK
    third = (mantissa >> LIMB) >> (LIMB - shift)
    if not -_LIGHT < weight < _LIGHT:
        add_limb(cells, place, first, weight)
        add_limb(cells, place + 1, second, weight)
        add_limb(cells, place + 2, third, weight)
        return
    first = cells[place] + first * weight
    second = cells[place + 1] + second * weight
    third = cells[place + 2] + third * weight
    cells[place], cells[place + 1], cells[place + 2] = first, second, third
    if (first + _FULL) | (second + _FULL) | (third + _FULL) < 0:
        for i in range(3):
            _carry(cells, place + i)


@lean
def add_float_square(cells: Int64s, place: int, low: int, word: int, weight: int) -> None:
    """Adds the square of a double in its ordered form, so many times."""
    if word == 0:
        return
    mantissa, exponent = float_parts(word)
    place += (exponent >> 4) - low
    shift = exponent & 15
    a = (mantissa << shift) & _MASK
    b = (mantissa >> (LIMB - shift)) & _MASK
    c = (mantissa >> LIMB) >> (LIMB - shift)
    _add_product(cells, place, a, a, weight)
    _add_product(cells, place + 1, a, b, 2 * weight)
    _add_product(cells, place + 2, b, b, weight)
    if c:
        _add_product(cells, place + 2, a, c, 2 * weight)
        _add_product(cells, place + 3, b, c, 2 * weight)
        _add_product(cells, place + 4, c, c, weight)


@lean
def exponents(words: Int64s) -> tuple[int, int]:
    """The lowest and the highest exponent of finite doubles in their ordered form, other than zero."""
    lowest, highest = NOTHING, EVERYTHING
    for word in words:
        if word != 0 and not is_special(word):
            exponent = float_parts(word)[1]
            lowest = min(lowest, exponent)
            highest = max(highest, exponent)
    return lowest, highest


# Reading.


@lean
def read_digits(cells: Int64s, place: int, count: int, digits: Int64s) -> tuple[bool, int]:
    """Writes the magnitude of a sum of ``count`` cells as digits; whether it is negative, and how many there are."""
    more = 0
    for i in range(count):
        value = cells[place + i] + more
        digits[i] = value & _MASK
        more = value >> LIMB
    negative = more < 0
    if negative:
        more = 0
        for i in range(count):
            value = more - cells[place + i]
            digits[i] = value & _MASK
            more = value >> LIMB
    if more == 0:
        return negative, count
    digits[count] = more & _MASK
    digits[count + 1] = more >> LIMB
    return negative, count + DIGITS_ABOVE


@lean
def top_digit(digits: Int64s, count: int) -> int:
    """The place of the highest digit that is not zero; -1 for zero."""
    top = count - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    return top


@lean
def divide(digits: Int64s, count: int, divisor: int) -> int:
    """Divides digits by an integer of up to 31 bits; the remainder."""
    rest = 0
    for i in range(top_digit(digits, count), -1, -1):
        value = (rest << LIMB) | digits[i]
        digits[i] = value // divisor
        rest = value - digits[i] * divisor
    return rest


@lean
def multiply(digits: Int64s, count: int, factor: int) -> None:
    """Multiplies digits by an integer of up to 31 bits; there is room for the result."""
    more = 0
    for i in range(count):
        value = digits[i] * factor + more
        digits[i] = value & _MASK
        more = value >> LIMB


@lean
def subtract_square(digits: Int64s, count: int, root: Int64s, size: int) -> bool:
    """Takes the square of ``root`` away from digits; false when that is negative."""
    size = top_digit(root, size) + 1
    for i in range(size):
        borrow = 0
        for j in range(count - i):
            product = root[i] * root[j] if j < size else 0
            if j >= size and borrow == 0:
                break
            value = digits[i + j] - (product & _MASK) - (borrow & _MASK)
            digits[i + j] = value & _MASK
            borrow = ((product >> LIMB) & _MASK) + (borrow >> LIMB) - (value >> LIMB)
        if borrow:
            return False
    return True


@lean
def to_double(digits: Int64s, count: int, low: int, inexact: bool) -> float:
    """The double nearest to digits, to even on a tie; ``inexact`` says that there is something below them."""
    top = top_digit(digits, count)
    if top < 0:
        return 0.0
    first = digits[top]
    second = digits[top - 1] if top > 0 else 0
    third = digits[top - 2] if top > 1 else 0
    used = _bit_length(first)
    window = (first << (64 - used)) | (second << (LIMB - used)) | (third >> used)
    exponent = LIMB * (top + low) + used - 64
    drop = max(11, _LEAST_EXPONENT - exponent)
    if drop > 63:
        half = drop == 64 and (window != _TOP_BIT or _is_more(digits, top, used, inexact))
        return math.ldexp(1.0, _LEAST_EXPONENT) if half else 0.0
    kept = (window >> drop) & ((1 << (64 - drop)) - 1)
    rest = window & ((1 << drop) - 1)
    half_way = 1 << (drop - 1)
    if rest > half_way or (rest == half_way and (kept & 1 or _is_more(digits, top, used, inexact))):
        kept += 1
    exponent += drop
    if drop > 11:
        return math.ldexp(float(kept), int(exponent))
    if exponent > _GREATEST_EXPONENT:
        # what is too great becomes infinite by a multiplication, which raises nothing
        return math.ldexp(float(kept), _GREATEST_EXPONENT) * math.ldexp(1.0, int(exponent - _GREATEST_EXPONENT))
    bits = ((exponent - _LEAST_EXPONENT) << 52) + kept
    return np.int64(bits).view(np.float64)


@lean
def _is_more(digits: Int64s, top: int, used: int, inexact: bool) -> bool:
    """Whether there is anything below the 64 highest bits of digits."""
    if inexact or top < 2:
        return inexact
    return digits[top - 2] & ((1 << used) - 1) != 0 or top_digit(digits, top - 2) >= 0


@lean
def _bit_length(limb: int) -> int:
    """How many bits a limb has, which is not zero: the exponent of the same number as a double tells."""
    return int((np.float64(limb).view(np.int64) >> 52) - 1022)
