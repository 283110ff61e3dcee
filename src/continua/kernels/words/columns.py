"""Columns: Arrow data as 64-bit words and back, so that values are equal exactly when their words are.

Numbers and instants are words themselves, in their order. Doubles are mapped to integers of the same order: there is
one zero and one NaN, above infinity. Strings are ids of an interner, and so is every other value: as a string of bytes
that is the same for equal values. A NULL has words 0 and a bit in the null words, which are the last of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from continua.kernels.jit import Bytes, Int64s
from continua.kernels.store.interner import (
    Interner,
    append_ranges,
    binary_array,
    binary_buffers,
    distinct_ids,
    gather_ranges,
)
from continua.kernels.words.doubles import put_floats, words_to_floats

Mask: TypeAlias = NDArray[np.bool_]
Pieces: TypeAlias = list[tuple[Int64s, Bytes]]
"""Parts of byte strings: part i of a piece goes from ``offsets[i]`` to ``offsets[i + 1]`` of its data."""

NULLS_PER_WORD = 62
_DIGITS_PER_WORD = 18


class Codec:
    """Turns columns of a schema into words and back."""

    def __init__(self, schema: pa.Schema, interner: Interner) -> None:
        self.schema = schema
        self.interner = interner
        widths = []
        for field in schema:
            _check(field.type)
            widths.append(1 if is_interned(field.type) else fixed_width(field.type))
        ends = np.cumsum([0, *widths]).tolist()
        self.columns: tuple[tuple[int, ...], ...] = tuple(
            tuple(range(end - width, end)) for end, width in zip(ends[1:], widths, strict=True)
        )
        """For each column the numbers of its words."""
        self.width: int = ends[-1] + _null_word_count(len(schema))
        """How many words a row has."""
        self.null_words: tuple[int, ...] = tuple(range(ends[-1], self.width))
        """The words with the null bits: column j has bit j % 62 of null word j // 62."""
        self.string_columns: tuple[int, ...] = tuple(
            words[0] for words, field in zip(self.columns, schema, strict=True) if is_interned(field.type)
        )
        """The words that are ids of the interner."""

    def encode(self, data: pa.Table | pa.RecordBatch) -> Int64s:
        """The words of rows, a line per word. Columns are taken by position, and cast to the schema's types."""
        if data.num_columns != len(self.schema):
            raise ValueError(f"{data.num_columns} columns where {len(self.schema)} are expected")
        words = np.empty((self.width, data.num_rows), np.int64)
        words[self.null_words[0] :] = 0
        for number, field in enumerate(self.schema):
            column = data.column(number)
            if column.type != field.type:
                column = column.cast(field.type)
            done = 0
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                self._encode(chunk, number, words[:, done : done + len(chunk)])
                done += len(chunk)
        return words

    def _encode(self, array: pa.Array, number: int, words: Int64s) -> None:
        nulls = _nulls(array)
        first, last = self.columns[number][0], self.columns[number][-1]
        if not is_interned(array.type):
            put_fixed(array, nulls, words[first : last + 1])
        elif is_binary(array.type):
            words[first] = self._intern_strings(array, nulls)
        elif nulls is None:
            words[first] = self.interner.intern(to_bytes(array))
        else:
            words[first] = 0
            words[first, ~nulls] = self.interner.intern(to_bytes(array.drop_null()))
        if nulls is not None:
            words[self.null_words[number // NULLS_PER_WORD]] |= nulls.astype(np.int64) << (number % NULLS_PER_WORD)

    def _intern_strings(self, array: pa.Array, nulls: Mask | None) -> Int64s:
        encoded = array.dictionary_encode()
        ids = self.interner.intern(encoded.dictionary.cast(pa.large_binary()))
        places: Int64s = encoded.indices.fill_null(ids.size).to_numpy()
        return (ids if nulls is None else np.append(ids, 0))[places]

    def decode(self, words: Int64s) -> pa.Table:
        """The rows of words. The table may share memory with them; without columns it still has its number of rows."""
        if not len(self.schema):
            rows = pa.Array.from_buffers(pa.struct([]), words.shape[1], [None], children=[])
            batch = pa.RecordBatch.from_struct_array(rows).replace_schema_metadata(self.schema.metadata)
            return pa.Table.from_batches([batch])
        seen = self._seen_nulls(words)
        arrays = []
        for number, field in enumerate(self.schema):
            nulls = self._null_bit(words, number) if seen[number] else None
            lines = words[self.columns[number][0] : self.columns[number][-1] + 1]
            if is_interned(field.type):
                arrays.append(self._decode_interned(field.type, lines[0], nulls))
            else:
                arrays.append(_get_fixed(field.type, lines, nulls))
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _decode_interned(self, kind: pa.DataType, ids: Int64s, nulls: Mask | None) -> pa.Array:
        """Decodes each distinct value once."""
        ids = np.ascontiguousarray(ids) if nulls is None else np.where(nulls, -1, ids)
        distinct, places = distinct_ids(ids, int(ids.max(initial=-1)) + 1)
        if not is_binary(kind):
            values = _from_bytes(self.interner.lookup(distinct, large=True), kind)
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            values = self.interner.lookup(distinct).view(kind)
        else:
            values = _from_large_binary(self.interner.lookup(distinct, large=True), kind)
        return values.take(pa.array(places, mask=nulls))

    def key_words(self, words: Int64s, numbers: Sequence[int]) -> Int64s:
        """The words of some columns as a codec of their ``key_schema`` has them."""
        lines = [line for number in numbers for line in self.columns[number]]
        result = np.empty((len(lines) + _null_word_count(len(numbers)), words.shape[1]), np.int64)
        for place, line in enumerate(lines):
            result[place] = words[line]
        nulls = result[len(lines) :]
        nulls[:] = 0
        seen = self._seen_nulls(words)
        for place, number in enumerate(numbers):
            if seen[number]:
                bit = self._null_bit(words, number).astype(np.int64)
                nulls[place // NULLS_PER_WORD] |= bit << (place % NULLS_PER_WORD)
        return result

    def key_schema(self, numbers: Sequence[int]) -> pa.Schema:
        """The fields of some columns."""
        return pa.schema([self.schema.field(number) for number in numbers])

    def _seen_nulls(self, words: Int64s) -> list[bool]:
        """For each column whether it has a NULL."""
        seen = [int(np.bitwise_or.reduce(words[line])) for line in self.null_words]
        return [bool(seen[j // NULLS_PER_WORD] >> (j % NULLS_PER_WORD) & 1) for j in range(len(self.schema))]

    def _null_bit(self, words: Int64s, number: int) -> Mask:
        line = words[self.null_words[number // NULLS_PER_WORD]]
        bits: Mask = line & (1 << (number % NULLS_PER_WORD)) != 0
        return bits


# Types.


def _null_word_count(columns: int) -> int:
    return max(1, -(-columns // NULLS_PER_WORD))


def fixed_width(kind: pa.DataType) -> int:
    """How many words a value of a type takes; 0 where values differ in size."""
    if pa.types.is_decimal(kind) or pa.types.is_interval(kind):
        short = pa.types.is_decimal(kind) and kind.precision <= _DIGITS_PER_WORD
        return 1 if short else int(kind.bit_width) // 64
    return int(pa.types.is_null(kind) or pa.types.is_primitive(kind))


def is_interned(kind: pa.DataType) -> bool:
    if pa.types.is_interval(kind) or pa.types.is_decimal256(kind) or pa.types.is_uint64(kind):
        return True
    return fixed_width(kind) == 0


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_binary(kind) or pa.types.is_large_string(kind))


def is_binary(kind: pa.DataType) -> bool:
    small = pa.types.is_binary(kind) or pa.types.is_string(kind)
    return bool(small or _is_large(kind) or pa.types.is_fixed_size_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _check(kind: pa.DataType) -> None:
    """Fails where a type has no words."""
    if pa.types.is_map(kind):
        kind = _entries(kind)
    if _is_list(kind):
        _check(kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            _check(field.type)
    elif not (fixed_width(kind) or is_binary(kind)):
        raise TypeError(f"{kind} has no words")


def _entries(kind: pa.MapType) -> pa.ListType:
    """A map as the list of its entries, in their order."""
    return pa.list_(pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False))


# Values of one size.


def _nulls(array: pa.Array) -> Mask | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _validity(nulls: Mask | None) -> pa.Buffer | None:
    return None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    """How a value, or a part of one of several words, lies in memory."""
    letter = "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    return np.dtype(f"{letter}{min(kind.bit_width, 64) // 8}")


def put_fixed(array: pa.Array, nulls: Mask | None, words: Int64s) -> None:
    """Writes values of one size as words, the most significant first."""
    kind = array.type
    if not len(array) or pa.types.is_null(kind):
        words[:] = 0
        return
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    dtype, parts = _dtype(array.type), max(array.type.bit_width // 64, 1)
    step = parts * dtype.itemsize
    raw = np.frombuffer(array.buffers()[1], dtype, count=parts * len(array), offset=step * array.offset)
    if pa.types.is_floating(kind):
        put_floats(raw.astype(np.float64, copy=False), words[0])
    else:
        for line in range(words.shape[0]):
            words[words.shape[0] - 1 - line] = raw[line::parts]
    if nulls is not None:
        words[:, nulls] = 0


def _get_fixed(kind: pa.DataType, words: Int64s, nulls: Mask | None) -> pa.Array:
    """The array of such words."""
    count = words.shape[1]
    if pa.types.is_null(kind):
        return pa.nulls(count)
    data: NDArray[Any]
    if pa.types.is_boolean(kind):
        data = np.packbits(words[0] != 0, bitorder="little")
    elif pa.types.is_floating(kind):
        data = words_to_floats(words[0]).astype(_dtype(kind), copy=False)
    elif kind.bit_width > 64:
        data = np.empty((count, kind.bit_width // 64), np.int64)
        data[:] = (words[0] >> 63)[:, None]
        data[:, : words.shape[0]] = words[::-1].T
    else:
        data = np.ascontiguousarray(words[0].astype(_dtype(kind), copy=False))
    return pa.Array.from_buffers(kind, count, [_validity(nulls), pa.py_buffer(data)])


# Values of any size.


def _from_large_binary(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """A large binary array as another type of strings."""
    return array.view(kind) if _is_large(kind) else array.cast(kind)


def _bounds(sizes: Int64s) -> Int64s:
    """Where ranges of such sizes begin and end when one lies behind the other."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def to_bytes(array: pa.Array) -> pa.Array:
    """Each value as a string of bytes, as a large binary array: the same bytes exactly for equal values of a type."""
    pieces: Pieces = []
    _split(array, np.arange(len(array) + 1), pieces)
    ends = np.zeros(len(array), np.int64)
    for places, _ in pieces:
        ends += np.diff(places)
    offsets = _bounds(ends)
    cursors, data = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.uint8)
    for places, part in pieces:
        part.flags.writeable = False
        append_ranges(part, places, cursors, data)
    return binary_array(pa.large_binary(), offsets, data)


def _split(array: pa.Array, rows: Int64s, pieces: Pieces) -> None:
    """Adds values as pieces: NULL or not, then words, lengths and bytes, or parts. Row i has rows[i] to rows[i + 1]."""
    kind = array.type
    pieces.append((rows, array.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)))
    if pa.types.is_struct(kind):
        for part in array.flatten():
            _split(part, rows, pieces)
    elif width := fixed_width(kind):
        words = np.empty((width, len(array)), np.int64)
        put_fixed(array, _nulls(array), words)
        pieces.append((rows * 8 * width, np.ascontiguousarray(words.T).reshape(-1).view(np.uint8)))
    elif is_binary(kind):
        offsets, data = binary_buffers(array.cast(pa.large_binary()).fill_null(b""))
        pieces += [(rows * 8, np.diff(offsets).view(np.uint8)), (offsets[rows], data)]
    else:
        lists = array.view(_entries(kind)) if pa.types.is_map(kind) else array
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
        pieces.append((rows * 8, lengths.view(np.uint8)))
        _split(lists.flatten(), _bounds(lengths)[rows], pieces)


def _from_bytes(strings: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values that ``to_bytes`` wrote."""
    return _Reader(strings).read(kind, np.ones(len(strings), np.int64))


class _Reader:
    """Reads many strings of bytes at once, each from its own place on."""

    def __init__(self, strings: pa.Array) -> None:
        offsets, self._data = binary_buffers(strings)
        self._places = offsets[:-1].copy()

    def take(self, sizes: Int64s) -> Bytes:
        """The next bytes of every string, one behind the other."""
        offsets = _bounds(sizes)
        taken = np.empty(int(offsets[-1]), np.uint8)
        gather_ranges(self._data, self._places, offsets, taken)
        self._places += sizes
        return taken

    def read(self, kind: pa.DataType, counts: Int64s) -> pa.Array:
        """The next values of every string, so many of each."""
        nulls = self.take(counts) == 0
        count = nulls.size
        if pa.types.is_struct(kind):
            parts = [self.read(field.type, counts) for field in kind]
            return pa.Array.from_buffers(kind, count, [_validity(nulls)], children=parts)
        if width := fixed_width(kind):
            words = self.take(counts * 8 * width).view(np.int64).reshape(count, width).T
            return _get_fixed(kind, words, nulls)
        lengths = self.take(counts * 8).view(np.int64)
        offsets = _bounds(lengths)
        sizes = np.diff(offsets[_bounds(counts)])
        if is_binary(kind):
            strings = binary_array(pa.large_binary(), offsets, self.take(sizes), _validity(nulls))
            return _from_large_binary(strings, kind)
        return self._read_lists(kind, offsets, sizes, _validity(nulls))

    def _read_lists(self, kind: pa.DataType, offsets: Int64s, sizes: Int64s, validity: pa.Buffer | None) -> pa.Array:
        field = _entries(kind).value_field if pa.types.is_map(kind) else kind.value_field
        values = self.read(field.type, sizes)
        built = pa.large_list(field) if pa.types.is_fixed_size_list(kind) else kind
        places = offsets if pa.types.is_large_list(built) else offsets.astype(np.int32)
        lists = pa.Array.from_buffers(built, offsets.size - 1, [validity, pa.py_buffer(places)], children=[values])
        return lists if built == kind else lists.cast(kind)
