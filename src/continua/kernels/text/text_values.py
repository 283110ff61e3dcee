"""Values that texts stand for, a column at a time: only spellings that are plain.

Each text is a stretch of bytes. What is not spelled plainly is marked, and left to a reader that takes its time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.kernels.jit import Bytes, Int64s, compiled

Doubles = NDArray[np.float64]

VALUE, EMPTY, ODD, EXACT = range(4)
"""What a text is: a value, NULL, something to be looked at, or a plain decimal with too many digits for a double."""


@compiled
def nulls(text: Bytes, first: Int64s, end: Int64s, null: Bytes, marks: Bytes) -> None:
    """Marks the texts that stand for NULL."""
    size = null.size
    for i in range(first.size):
        begin, stop = first[i], end[i]
        if stop < 0 or stop - begin != size:
            marks[i] = VALUE
            continue
        same = True
        for k in range(size):
            if text[begin + k] != null[k]:
                same = False
                break
        marks[i] = EMPTY if same else VALUE


@compiled
def _digit(text: Bytes, place: int) -> int:
    """The digit at a place; another number than 0 to 9 if there is none."""
    return np.int64(text[place]) - 48  # type: ignore[return-value]


@compiled
def integers(text: Bytes, first: Int64s, end: Int64s, bits: int, marks: Bytes, values: Int64s) -> int:
    """Integers of at most 18 digits that have room in so many bits; returns how many texts are odd."""
    high = (1 << (bits - 1)) - 1 if bits < 64 else 0x7FFF_FFFF_FFFF_FFFF
    odd = 0
    for i in range(first.size):
        values[i] = 0
        if marks[i] == EMPTY:
            continue
        place, stop = first[i], end[i]
        negative = place < stop and text[place] == 45
        if negative:
            place += 1
        digits = stop - place
        value = 0
        good = 0 < digits <= 18
        if good:
            while place < stop:
                digit = _digit(text, place)
                if digit < 0 or digit > 9:
                    good = False
                    break
                value = value * 10 + digit
                place += 1
        if negative:
            value = -value
        if good and -high - 1 <= value <= high:
            values[i] = value
        else:
            marks[i] = ODD
            odd += 1
    return odd


@compiled
def _decimal(text: Bytes, place: int, stop: int) -> tuple[bool, bool, int, int, int]:
    """A plain decimal: whether it is one, its sign, its digits as an integer, how many count, and its exponent.

    Digits behind the eighteenth that counts are not in the integer.
    """
    negative = place < stop and text[place] == 45
    if place < stop and (text[place] == 45 or text[place] == 43):
        place += 1
    value, counted, exponent, any_digit, behind = 0, 0, 0, False, False
    while place < stop:
        byte = text[place]
        if byte == 46:
            if behind:
                return False, negative, 0, 0, 0
            behind = True
            place += 1
            continue
        digit = _digit(text, place)
        if digit < 0 or digit > 9:
            break
        any_digit = True
        if value or digit:
            counted += 1
        if counted <= 18:
            value = value * 10 + digit
            if behind:
                exponent -= 1
        elif not behind:
            exponent += 1
        place += 1
    if not any_digit:
        return False, negative, 0, 0, 0
    if place < stop:
        if text[place] != 101 and text[place] != 69:
            return False, negative, 0, 0, 0
        place += 1
        down = place < stop and text[place] == 45
        if place < stop and (text[place] == 45 or text[place] == 43):
            place += 1
        if place >= stop or stop - place > 6:
            return False, negative, 0, 0, 0
        power = 0
        while place < stop:
            digit = _digit(text, place)
            if digit < 0 or digit > 9:
                return False, negative, 0, 0, 0
            power = power * 10 + digit
            place += 1
        exponent += -power if down else power
    return True, negative, value, counted, exponent


@compiled
def doubles(text: Bytes, first: Int64s, end: Int64s, powers: Doubles, marks: Bytes, values: Doubles) -> int:
    """Decimals whose double follows from one exact operation; returns how many texts are left."""
    left = 0
    for i in range(first.size):
        values[i] = 0.0
        if marks[i] == EMPTY:
            continue
        fine, negative, value, counted, exponent = _decimal(text, first[i], end[i])
        if not fine:
            marks[i] = ODD
            left += 1
        elif counted > 15 or exponent < -22 or exponent > 22:
            marks[i] = EXACT
            left += 1
        else:
            number = np.float64(value)
            number = number / powers[-exponent] if exponent < 0 else number * powers[exponent]
            values[i] = -number if negative else number
    return left


@compiled
def decimals(text: Bytes, first: Int64s, end: Int64s, precision: int, scale: int, marks: Bytes, values: Int64s) -> int:
    """Decimals with no more digits than there is room for, times ten to the scale; returns how many texts are odd."""
    odd = 0
    limit = 1
    for _ in range(precision):
        limit *= 10
    for i in range(first.size):
        values[i] = 0
        if marks[i] == EMPTY:
            continue
        fine, negative, value, counted, exponent = _decimal(text, first[i], end[i])
        if fine and counted <= 18 and -scale <= exponent <= 18:
            fits = True
            for _ in range(exponent + scale):
                if value >= limit // 10:
                    fits = value == 0
                    break
                value *= 10
            if fits and value < limit:
                values[i] = -value if negative else value
                continue
        marks[i] = ODD
        odd += 1
    return odd


@compiled
def _digits(text: Bytes, place: int, count: int) -> int:
    """A number of so many digits; -1 if there is something else."""
    value = 0
    for k in range(count):
        digit = _digit(text, place + k)
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@compiled
def _day(text: Bytes, place: int) -> int:
    """The day that YYYY-MM-DD at a place stands for, counted from 1970-01-01; a very low number if it is none."""
    none = -(1 << 40)
    year, month, day = _digits(text, place, 4), _digits(text, place + 5, 2), _digits(text, place + 8, 2)
    if year < 1 or text[place + 4] != 45 or text[place + 7] != 45 or month < 1 or month > 12 or day < 1:
        return none
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    longest = 31
    if month == 2:
        longest = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        longest = 30
    if day > longest:
        return none
    # years begin in March here, so that the leap day is the last of its year
    shifted = year - 1 if month <= 2 else year
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@compiled
def dates(text: Bytes, first: Int64s, end: Int64s, marks: Bytes, values: Int64s) -> int:
    """Days that are spelled YYYY-MM-DD; returns how many texts are odd."""
    odd = 0
    for i in range(first.size):
        values[i] = 0
        if marks[i] == EMPTY:
            continue
        day = _day(text, first[i]) if end[i] - first[i] == 10 else -(1 << 40)
        if day > -(1 << 39):
            values[i] = day
        else:
            marks[i] = ODD
            odd += 1
    return odd


@compiled
def _is_utc(text: Bytes, place: int) -> bool:
    """Whether +00:00 stands at a place."""
    return (
        text[place] == 43 and _digits(text, place + 1, 2) == 0 and text[place + 3] == 58
        and _digits(text, place + 4, 2) == 0
    )  # fmt: skip


@compiled
def timestamps(text: Bytes, first: Int64s, end: Int64s, marks: Bytes, values: Int64s) -> int:
    """Timestamps as ISO 8601 has them, in UTC, in microseconds; returns how many texts are odd."""
    odd = 0
    for i in range(first.size):
        values[i] = 0
        if marks[i] == EMPTY:
            continue
        place, stop = first[i], end[i]
        if stop - place > 10 and text[stop - 1] == 90:
            stop -= 1
        elif stop - place > 16 and _is_utc(text, stop - 6):
            stop -= 6
        size = stop - place
        day = _day(text, place) if size >= 10 else -(1 << 40)
        fine = day > -(1 << 39)
        micros = 0
        if fine and size > 10:
            fine = size >= 16 and (text[place + 10] == 84 or text[place + 10] == 32) and text[place + 13] == 58
            if fine:
                hour, minute = _digits(text, place + 11, 2), _digits(text, place + 14, 2)
                fine = 0 <= hour < 24 and 0 <= minute < 60
                micros = (hour * 60 + minute) * 60_000_000
            if fine and size > 16:
                fine = size >= 19 and text[place + 16] == 58
                second = _digits(text, place + 17, 2) if fine else -1
                fine = fine and 0 <= second < 60
                micros += second * 1_000_000
            if fine and size > 19:
                digits = size - 20
                fine = text[place + 19] == 46 and 1 <= digits <= 6
                fraction = _digits(text, place + 20, digits) if fine else -1
                fine = fine and fraction >= 0
                for _ in range(6 - digits):
                    fraction *= 10
                micros += fraction
        elif fine and end[i] != stop:
            fine = False  # a day alone has no zone
        if fine:
            values[i] = day * 86_400_000_000 + micros
        else:
            marks[i] = ODD
            odd += 1
    return odd


@compiled
def booleans(text: Bytes, first: Int64s, end: Int64s, marks: Bytes, values: Bytes) -> int:
    """Truth values: true, t, yes, 1 and false, f, no, 0 in any case; returns how many texts are odd."""
    odd = 0
    for i in range(first.size):
        values[i] = 0
        if marks[i] == EMPTY:
            continue
        place, size = first[i], end[i] - first[i]
        code = 0
        if 1 <= size <= 5:
            for k in range(size):
                byte = _digit(text, place + k) + 48
                code = code * 256 + (byte + 32 if 65 <= byte <= 90 else byte)
        if code == 0x74727565 or code == 0x74 or code == 0x796573 or code == 0x31:
            values[i] = 1
        elif code != 0x66616C7365 and code != 0x66 and code != 0x6E6F and code != 0x30:
            marks[i] = ODD
            odd += 1
    return odd


@compiled
def text_sizes(first: Int64s, end: Int64s, marks: Bytes, offsets: Int64s) -> bool:
    """Where each text begins once they stand one behind the other; returns whether any has doubled quotes.

    Those are given the room of their spelling here, which is more than they need.
    """
    total, doubled = 0, False
    offsets[0] = 0
    for i in range(first.size):
        if marks[i] != EMPTY:
            if end[i] < 0:
                doubled = True
                total += ~end[i] - first[i]
            else:
                total += end[i] - first[i]
        offsets[i + 1] = total
    return doubled


@compiled
def texts(text: Bytes, first: Int64s, end: Int64s, marks: Bytes, offsets: Int64s, content: Bytes) -> None:
    """The texts one behind the other, doubled quotes as one; corrects where each begins."""
    place = 0
    for i in range(first.size):
        offsets[i] = place
        if marks[i] == EMPTY:
            continue
        stop = end[i]
        if stop >= 0:
            for k in range(first[i], stop):
                content[place] = text[k]
                place += 1
            continue
        k = first[i]
        while k < ~stop:
            content[place] = text[k]
            place += 1
            k += 2 if text[k] == 34 else 1
    offsets[first.size] = place
