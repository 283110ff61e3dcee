"""The records of a CSV text: where each begins, and where its fields are.

The text is walked by the automaton of a strict reader: a quote opens a field only at its beginning, a doubled quote
inside stands for one, and behind the closing quote only a delimiter or a line end may come. A record that breaks this,
or whose quote is not closed within the longest field there may be, costs its first line, and the next line begins a
record again.
"""

from __future__ import annotations

import numpy as np

from continua.kernels.jit import Bytes, Int64s, compiled

LONGEST_FIELD = 16 << 20
"""A quoted field of more bytes is taken for one that is never closed."""

PLAIN, DELIMITER, LINE_FEED, RETURN, NUL, HIGH = range(6)
"""The classes of bytes; quotes are looked for where they matter."""
FINE, NOT_CLOSED, AFTER_QUOTE, WIDTH, FLAWED = range(5)
"""What can be said of a record. The first two kinds of failure are of the automaton."""
_QUOTE = 34
UNFINISHED = -1
"""What stands for the end of a record that goes on behind the text."""


def classes(delimiter: int) -> Bytes:
    """The class of every byte."""
    found = np.zeros(256, np.uint8)
    found[0x80:] = HIGH
    found[0] = NUL
    found[10], found[13] = LINE_FEED, RETURN
    found[delimiter] = DELIMITER
    return found


@compiled
def _after_line(text: Bytes, place: int) -> int:
    """Where the line behind a place ends, its line end included."""
    while place < text.size:
        byte = text[place]
        place += 1
        if byte == 10:
            return place
        if byte == 13:
            return place + 1 if place < text.size and text[place] == 10 else place
    return place


@compiled
def walk(
    text: Bytes,
    kinds: Bytes,
    begin: int,
    stop: int,
    last: bool,
    most: int,
    width: int,
    starts: Int64s,
    ends: Int64s,
    lines: Int64s,
    widths: Int64s,
    states: Bytes,
    fields: Int64s,
) -> tuple[int, int, int, bool]:
    """Walks the records that begin in [begin, stop), at most so many.

    Fills in, for each record, where it starts and ends, its line (from 0), how many fields it has, what can be said of
    it, and its fields: ``fields[2 * i]`` and ``fields[2 * i + 1]`` are the bounds of field i of each record, the end as
    ``~end`` where quotes in it are doubled. ``last`` says that nothing follows behind the text.

    Returns how many records there are, where the next one begins (UNFINISHED if the text ends before the last one
    does), how many lines were passed, and whether the text may hold bytes that are not ASCII.
    """
    size = text.size
    count, line, place, high = 0, 0, begin, False
    while place < stop and count < most:
        start, at_line, state, width_here = place, line, FINE, 0
        flawed, quoted_line = False, 0
        blank = True
        done = False
        while not done:
            # a field begins
            first = place
            doubled = False
            if place < size and text[place] == _QUOTE:
                blank = False
                place += 1
                first = place
                closed = False
                while True:
                    if place >= size:
                        break
                    byte = text[place]
                    if byte == _QUOTE:
                        if place + 1 < size and text[place + 1] == _QUOTE:
                            doubled = True
                            place += 2
                            continue
                        closed = True
                        break
                    if byte == 10 or (byte == 13 and not (place + 1 < size and text[place + 1] == 10)):
                        quoted_line += 1
                    elif byte == 0:
                        flawed = True
                    elif byte >= 0x80:
                        high = True
                    place += 1
                    if place - first > LONGEST_FIELD:
                        break
                if not closed:
                    if not last and place - first <= LONGEST_FIELD:
                        return count, UNFINISHED, line, high
                    state = NOT_CLOSED
                    break
                end = place
                if place + 1 >= size and not last:
                    return count, UNFINISHED, line, high
                place += 1
                kind = PLAIN
                if place < size:
                    kind = kinds[text[place]]
                if place < size and kind != DELIMITER and kind != LINE_FEED and kind != RETURN:
                    state = AFTER_QUOTE
                    break
            else:
                kind = PLAIN
                while place < size:
                    byte = text[place]
                    kind = kinds[byte]
                    if kind != PLAIN:
                        if kind <= RETURN:
                            break
                        if kind == NUL:
                            flawed = True
                        else:
                            high = True
                        blank = False
                    elif byte > 32 or (blank and not (9 <= byte <= 13 or 28 <= byte <= 32)):
                        blank = False
                    place += 1
                end = place
            if width_here < width:
                fields[2 * width_here, count] = first
                fields[2 * width_here + 1, count] = ~end if doubled else end
            width_here += 1
            if place >= size:
                if not last:
                    return count, UNFINISHED, line, high
                done = True
            elif kind == DELIMITER:
                place += 1
                blank = False
                # a delimiter at the very end is followed by one more, empty field
            else:
                if kind == RETURN:
                    if place + 1 >= size and not last:
                        return count, UNFINISHED, line, high
                    if place + 1 < size and text[place + 1] == 10:
                        place += 1
                place += 1
                done = True
        if state != FINE:
            place = _after_line(text, start)
            if place >= size and not last:
                return count, UNFINISHED, line, high
            line += 1
        else:
            line += 1 + quoted_line
            if flawed:
                state = FLAWED
            elif width_here != width:
                state = WIDTH
            if blank and width_here == 1:
                continue
        starts[count], ends[count], lines[count] = start, place, at_line
        widths[count], states[count] = width_here, state
        count += 1
    return count, place, line, high


@compiled
def leave_quotes(text: Bytes, kinds: Bytes, begin: int, last: bool) -> int:
    """Where the record ends that was within quotes where the text begins; UNFINISHED where it does not, or breaks.

    The rest of that record is walked as its own reader would: field by field.
    """
    size = text.size
    place = begin
    while True:
        while place < size and text[place] != _QUOTE:
            place += 1
        if place >= size or (place + 1 >= size and not last):
            return UNFINISHED
        if place + 1 < size and text[place + 1] == _QUOTE:
            place += 2
            continue
        place += 1
        if place >= size:
            return size
        kind = kinds[text[place]]
        if kind != DELIMITER and kind != LINE_FEED and kind != RETURN:
            return UNFINISHED
        # the fields behind it, up to one that opens a quote again or to the end of the record
        reopened = False
        while kind == DELIMITER:
            place += 1
            if place < size and text[place] == _QUOTE:
                place += 1
                reopened = True
                break
            while place < size:
                kind = kinds[text[place]]
                if DELIMITER <= kind <= RETURN:
                    break
                place += 1
            if place >= size:
                return size if last else UNFINISHED
        if reopened:
            continue
        return _after_line(text, place)
