"""Partial aggregation, without state: rows with equal keys that are valid for the same time become one row.

A row of partial results stands for the rows that it is made of: an aggregation of partial results gives what one of the
rows themselves gives. Sums stay within the type of their column; a value so large that a sum might not goes alone. Sums
of doubles are exact, as a few doubles that are added up later: those behind the first have rows of their own. Where few
rows belong together all of them go alone, which costs less than to find out who belongs to whom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.distinct_values import null_rows
from continua.kernels.aggregate.extremes import (
    BY_STRING,
    BY_TWO_WORDS,
    BY_WORD,
    GREATEST,
    LEAST,
    Strings,
)
from continua.kernels.aggregate.state_families import Count, Extreme, FirstBy, Sum
from continua.kernels.aggregate.word_values import bounds, word_order
from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import compare_strings
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import NULLS_PER_WORD, Codec
from continua.kernels.words.doubles import float_to_word, floats_to_words, word_to_float

_SAMPLE = 1 << 13
"""So many rows tell whether it is worth while to look for those that belong together."""
_TOP_BIT = -(1 << 63)
_TERMS = 8
"""Of so many doubles a sum consists at most."""
_LARGE = 1e290
"""Doubles beyond it go alone: of less no sum is infinite."""
Doubles = NDArray[np.float64]
_NO_PLACE = np.empty(0, np.int64)


class PartialAggregation:
    """The keys stand first in both schemas; then, in the output, the columns of each call."""

    def __init__(self, input_codec: Codec, keys: int, specs: Sequence[AggregateSpec], output_codec: Codec) -> None:
        self._codec = input_codec
        self._output = output_codec
        self._keys = keys
        self._specs = tuple(specs)

    def rows(self, batch: Batch) -> Batch:
        """The rows of partial results; each has the interval and the weight of the rows that it is made of."""
        if not len(batch):
            return Batch.empty(self._output.width)
        slots, firsts = self._slots(batch)
        slots, firsts = self._large_alone(batch, slots, firsts)
        words = np.zeros((self._output.width, firsts.size), np.int64)
        for column in range(self._keys):
            self._copy(words, column, batch.words, column, firsts)
        place, more = self._keys, [firsts]
        for spec in self._specs:
            place += self._call(spec, batch, slots, words, place)
            if self._sums_doubles(spec):
                words, more = self._with_terms(batch, spec.arguments[0], slots, words, place - 1, more)
        rows = np.concatenate(more)
        return Batch(words, batch.start[rows], batch.end[rows], batch.weight[rows])

    # Which rows belong together.

    def _slots(self, batch: Batch) -> tuple[Int64s, Int64s]:
        """The number of the row of output that each row belongs to, and a row of each."""
        keys = self._codec.key_words(batch.words, list(range(self._keys)))
        slots, heads = np.empty(len(batch), np.int64), np.empty(len(batch), np.int64)
        heads = heads[: _runs(keys, batch.start, batch.end, batch.weight, slots, heads)]
        sample = self._groups(batch, keys, heads[:_SAMPLE])
        if 2 * (int(sample.max()) + 1) > sample.size:
            return slots, heads
        groups = sample if sample.size == heads.size else self._groups(batch, keys, heads)
        firsts = np.empty(int(groups.max()) + 1, np.int64)
        firsts[groups[::-1]] = heads[::-1]
        return groups[slots], firsts

    def _groups(self, batch: Batch, keys: Int64s, rows: Int64s) -> Int64s:
        """A number for each row: the same one where keys, interval and weight are the same."""
        whole = np.vstack([keys[:, rows], batch.start[rows], batch.end[rows], batch.weight[rows]])
        return KeyTable(Arena(), "rows", whole.shape[0]).upsert(whole)

    def _large_alone(self, batch: Batch, slots: Int64s, firsts: Int64s) -> tuple[Int64s, Int64s]:
        """Takes rows out whose values are so large that the sum of their group might not fit."""
        most = int(np.bincount(slots).max())
        large = np.zeros(len(batch), np.bool_)
        for line, limit in self._limits(most) if most > 1 else ():
            large |= (batch.words[line] > limit) | (batch.words[line] < -limit)
        alone = np.flatnonzero(large)
        if not alone.size:
            return slots, firsts
        slots[alone] = firsts.size + np.arange(alone.size)
        used, slots = np.unique(slots, return_inverse=True)
        return slots.astype(np.int64), np.concatenate([firsts, alone])[used]

    def _limits(self, most: int) -> list[tuple[int, int]]:
        """The first word of each column that is summed, and the largest one of values of which so many fit the sum."""
        found: list[tuple[int, int]] = []
        place = self._keys
        for spec in self._specs:
            if isinstance(spec.family, Sum):
                lines = self._codec.columns[spec.arguments[0]]
                if self._is_float(spec):
                    limit = float_to_word(_LARGE)
                else:
                    limit = bounds(self._output.schema.field(place).type)[1] // most
                found.append((lines[0], limit if len(lines) == 1 else (limit >> 64) - 1))
            place += width(spec)
        return found

    def _is_float(self, spec: AggregateSpec) -> bool:
        return bool(pa.types.is_floating(self._codec.schema.field(spec.arguments[0]).type))

    def _sums_doubles(self, spec: AggregateSpec) -> bool:
        return isinstance(spec.family, Sum) and self._is_float(spec)

    # Calls.

    def _call(self, spec: AggregateSpec, batch: Batch, slots: Int64s, out: Int64s, place: int) -> int:
        """Writes the columns of a call; how many there are."""
        count = out.shape[1]
        match spec.family:
            case Count():
                out[self._output.columns[place][0]] = self._counted(batch, spec.arguments, slots, count)
            case Sum() if self._is_float(spec):
                self._mark_nulls(out, place, self._counted(batch, spec.arguments, slots, count) == 0)
            case Sum():
                self._sum(batch, spec.arguments[0], slots, out, place)
            case Extreme(greatest=greatest) | FirstBy(greatest=greatest):
                best = self._best(batch, spec, greatest, slots, count)
                for number, column in enumerate(spec.arguments):
                    self._copy(out, place + number, batch.words, column, best)
            case _:
                raise ValueError(f"{spec.function} has no partial results")
        return width(spec)

    def _counted(self, batch: Batch, columns: Sequence[int], slots: Int64s, count: int) -> Int64s:
        """How many rows of each group have values in all of these columns."""
        nulls = null_rows(self._codec, batch.words, columns)
        return np.bincount(slots[nulls == 0] if nulls.any() else slots, minlength=count)

    def _sum(self, batch: Batch, column: int, slots: Int64s, out: Int64s, place: int) -> None:
        source, target = self._codec.columns[column], self._output.columns[place]
        if len(source) == 1:
            _add(slots, batch.words[source[0]], out[target[0]])
        else:
            _add_wide(slots, batch.words[source[0]], batch.words[source[1]], out[target[0]], out[target[1]])
        self._mark_nulls(out, place, self._counted(batch, [column], slots, out.shape[1]) == 0)

    def _with_terms(
        self, batch: Batch, column: int, slots: Int64s, out: Int64s, place: int, rows: list[Int64s]
    ) -> tuple[Int64s, list[Int64s]]:
        """Writes sums of doubles; what is behind the first one of a sum gets rows, in which nothing else counts."""
        count = rows[0].size
        nulls = null_rows(self._codec, batch.words, [column])
        terms, sizes = np.empty(count * _TERMS), np.zeros(count, np.int64)
        more, slot = np.empty(len(batch) + count), np.empty(len(batch) + count, np.int64)
        found = _add_doubles(slots, batch.words[self._codec.columns[column][0]], nulls, terms, sizes, more, slot)
        line = self._output.columns[place][0]
        first = np.where(sizes > 0, terms[::_TERMS], 0.0)
        out[line, :count] = floats_to_words(first)
        if not found:
            return out, rows
        again = np.zeros((self._output.width, found), np.int64)
        again[list(self._output.null_words)] = self._no_values(place)[:, None]
        for key in range(self._keys):
            self._copy(again, key, batch.words, key, rows[0][slot[:found]])
        again[line] = floats_to_words(more[:found])
        return np.concatenate([out, again], axis=1), [*rows, rows[0][slot[:found]]]

    def _no_values(self, place: int) -> Int64s:
        """The null words of a row in which one column and the counts have values."""
        nulls = [0] * len(self._output.null_words)
        column = self._keys
        for spec in self._specs:
            for number in range(column, column + width(spec)):
                if number != place and not isinstance(spec.family, Count):
                    nulls[number // NULLS_PER_WORD] |= 1 << (number % NULLS_PER_WORD)
            column += width(spec)
        return np.array(nulls, np.int64)

    def _best(self, batch: Batch, spec: AggregateSpec, greatest: bool, slots: Int64s, count: int) -> Int64s:
        """The row of each group with the least or greatest value; -1 where there is none."""
        *values, by = spec.arguments
        kind = GREATEST if greatest else LEAST
        nulls, places, second = null_rows(self._codec, batch.words, [by]), self._places(by), _NO_PLACE
        no_value = nulls
        if values:
            second, no_value = self._places(values[0]), null_rows(self._codec, batch.words, values)
        best = np.full(count, -1, np.int64)
        strings = Strings(*self._codec.interner.strings())
        _find_best(slots, batch.words, nulls, no_value, places, second, kind, strings, best)
        return best

    def _places(self, column: int) -> Int64s:
        """The first word of a column, and how it is ordered."""
        order = word_order(self._codec, column)
        if order is None:
            raise ValueError(f"{self._codec.schema.field(column).type} has no order of words")
        return np.array([self._codec.columns[column][0], order])

    def _copy(self, out: Int64s, place: int, words: Int64s, column: int, rows: Int64s) -> None:
        """A column of some rows; NULL for row -1."""
        for target, origin in zip(self._output.columns[place], self._codec.columns[column], strict=True):
            out[target] = np.where(rows < 0, 0, words[origin, rows])
        bits = words[self._codec.null_words[column // NULLS_PER_WORD], rows] >> (column % NULLS_PER_WORD)
        self._mark_nulls(out, place, (rows < 0) | (bits & 1 == 1))

    def _mark_nulls(self, out: Int64s, place: int, nulls: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        bit = 1 << (place % NULLS_PER_WORD)
        out[self._output.null_words[place // NULLS_PER_WORD]] |= nulls.astype(np.int64) * bit


def width(spec: AggregateSpec) -> int:
    """How many columns the partial result of a call has."""
    return len(spec.arguments) if isinstance(spec.family, FirstBy) else 1


@compiled
def _runs(keys: Int64s, start: Int64s, end: Int64s, weight: Int64s, slots: Int64s, heads: Int64s) -> int:
    """Numbers runs of rows that belong together, and writes the first row of each; how many there are."""
    count = 0
    for i in range(start.size):
        same = i > 0 and start[i] == start[i - 1] and end[i] == end[i - 1] and weight[i] == weight[i - 1]
        for j in range(keys.shape[0]):
            same = same and keys[j, i] == keys[j, i - 1]
        if not same:
            heads[count] = i
            count += 1
        slots[i] = count - 1
    return count


@compiled
def _add(slots: Int64s, values: Int64s, sums: Int64s) -> None:
    for i in range(slots.size):
        sums[slots[i]] += values[i]


@compiled
def _add_wide(slots: Int64s, high: Int64s, low: Int64s, high_sums: Int64s, low_sums: Int64s) -> None:
    for i in range(slots.size):
        before = low_sums[slots[i]]
        after = before + low[i]
        low_sums[slots[i]] = after
        high_sums[slots[i]] += high[i] + (1 if (after ^ _TOP_BIT) < (before ^ _TOP_BIT) else 0)


@compiled
def _add_doubles(
    slots: Int64s, words: Int64s, nulls: Int64s, terms: Doubles, sizes: Int64s, more: Doubles, slot: Int64s
) -> int:
    """Adds doubles without an error: a sum is a few terms. Those behind the first are written out; how many."""
    count = 0
    for i in range(slots.size):
        if nulls[i]:
            continue
        begin, size, kept = slots[i] * _TERMS, sizes[slots[i]], 0
        value = word_to_float(words[i])
        if size == _TERMS:
            for j in range(size):
                more[count], slot[count] = terms[begin + j], slots[i]
                count += 1
            size = 0
        for j in range(size):
            other = terms[begin + j]
            total = value + other
            part = total - value
            error = (value - (total - part)) + (other - part)
            value = total
            if error != 0.0:
                terms[begin + kept] = error
                kept += 1
        terms[begin + kept] = value
        sizes[slots[i]] = kept + 1
    for group in range(sizes.size):
        for j in range(1, sizes[group]):
            more[count], slot[count] = terms[group * _TERMS + j], group
            count += 1
    return count


@compiled
def _below(words: Int64s, line: int, order: int, p: int, q: int, strings: Strings) -> bool:
    """Whether the value of row ``p`` is less than that of row ``q``."""
    x, y = words[line, p], words[line, q]
    if order == BY_STRING:
        return compare_strings(x, y, strings.start, strings.length, strings.data) < 0
    if order == BY_TWO_WORDS and x == y:
        x, y = words[line + 1, p] ^ _TOP_BIT, words[line + 1, q] ^ _TOP_BIT
    return bool(x < y)


@compiled
def _find_best(
    slots: Int64s, words: Int64s, nulls: Int64s, no_value: Int64s, first: Int64s, second: Int64s, kind: int,
    strings: Strings, best: Int64s,
) -> None:  # fmt: skip
    """Finds the row of each group that is first; of equal ones by a second value, if there is one, NULL last."""
    simple = first[1] == BY_WORD and second.size == 0
    line = words[first[0]]
    for i in range(slots.size):
        if nulls[i]:
            continue
        there = best[slots[i]]
        if there < 0:
            best[slots[i]] = i
            continue
        if simple:
            if line[i] < line[there] if kind == LEAST else line[i] > line[there]:
                best[slots[i]] = i
            continue
        p, q = (i, there) if kind == LEAST else (there, i)
        if _below(words, first[0], first[1], p, q, strings):
            best[slots[i]] = i
        elif second.size and not _below(words, first[0], first[1], q, p, strings):
            if no_value[i] != no_value[there]:
                best[slots[i]] = there if no_value[i] else i
            elif _below(words, second[0], second[1], p, q, strings):
                best[slots[i]] = i
