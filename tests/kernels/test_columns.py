"""Columns as words: nothing is lost, words are equal exactly when values are, and numbers keep their order."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner
from continua.kernels.words.columns import Codec
from continua.kernels.words.doubles import float_to_word, floats_to_words, word_to_float, words_to_floats

POINT = pa.struct([("x", pa.int32()), ("name", pa.string())])
DEEP = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.float64()))), ("d", pa.decimal128(30, 2))]))
DEEP_VALUES: list[Any] = [
    [{"m": [("a", [1.5, None]), ("b", None), ("", [])], "d": Decimal("-12345678901234567890.12")}, None],
    [],
    [{"m": None, "d": None}],
    [{"m": [], "d": Decimal("0.01")}],
]
SAMPLES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [-128, 0, 127]),
    (pa.int16(), [-(1 << 15), (1 << 15) - 1]),
    (pa.int32(), [-(1 << 31), (1 << 31) - 1]),
    (pa.int64(), [-(1 << 63), 0, (1 << 63) - 1]),
    (pa.uint8(), [0, 255]),
    (pa.uint16(), [0, (1 << 16) - 1]),
    (pa.uint32(), [0, (1 << 32) - 1]),
    (pa.uint64(), [0, (1 << 64) - 1]),
    (pa.float32(), [-math.inf, -1.5, 0.0, 1e-45, math.inf]),
    (pa.float64(), [-math.inf, -1e300, 0.0, 5e-324, math.inf]),
    (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    (pa.date64(), [date(1969, 12, 31), date(2024, 2, 29)]),
    (pa.time32("s"), [time(0, 0), time(23, 59, 59)]),
    (pa.time64("us"), [time(23, 59, 59, 999_999)]),
    (pa.timestamp("us"), [datetime(1, 1, 1), datetime(1970, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)]),
    (pa.timestamp("ms"), [datetime(1969, 12, 31, 23, 59, 59)]),
    (pa.duration("us"), [timedelta(days=-3, microseconds=1)]),
    (pa.decimal128(18, 4), [Decimal("-99999999999999.9999"), Decimal("0.0001"), Decimal("99999999999999.9999")]),
    (pa.decimal128(19, 0), [Decimal(-(1 << 63) - 1), Decimal(-1), Decimal(1 << 63)]),
    (pa.decimal128(38, 10), [Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("1e-10"), Decimal("9" * 28)]),
    (pa.decimal256(70, 3), [Decimal("-" + "9" * 25 + ".001"), Decimal("7.125")]),
    (pa.string(), ["", "a", "ä€😀", "a"]),
    (pa.large_string(), ["", "text"]),
    (pa.binary(), [b"", b"\0", b"\xff\xfe"]),
    (pa.large_binary(), [b"", b"\xff"]),
    (pa.binary(3), [b"abc", b"\0\0\0"]),
    (pa.list_(pa.int64()), [[], [1], [1, None, 3]]),
    (pa.large_list(pa.string()), [["a", None, ""], []]),
    (pa.list_(pa.int64(), 2), [[1, 2], [None, 4]]),
    (POINT, [{"x": 1, "name": "a"}, {"x": None, "name": None}, {"x": 1, "name": ""}]),
    (pa.map_(pa.string(), pa.int64()), [[("k", 1), ("l", None)], []]),
    (pa.list_(pa.list_(pa.bool_())), [[[True, None], None, []], []]),
    (DEEP, DEEP_VALUES),
    (pa.struct([]), [{}]),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, -2, 3]), pa.MonthDayNano([0, 0, -(1 << 60)])]),
    (pa.null(), []),
]
IDS = [str(kind) for kind, _ in SAMPLES]
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
EXAMPLES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-2, 2) | st.integers(-(1 << 63), (1 << 63) - 1)),
    (pa.decimal128(38, 2), st.integers(-(10**36), 10**36).map(lambda i: Decimal(i).scaleb(-2))),
    (pa.string(), st.text(max_size=3)),
    (pa.list_(pa.string()), st.lists(st.none() | st.text("ab", max_size=2), max_size=3)),
    (POINT, st.fixed_dictionaries({"x": st.none() | st.integers(0, 1), "name": st.none() | st.text("a", max_size=1)})),
    (pa.list_(pa.list_(pa.int8())), st.lists(st.none() | st.lists(st.integers(0, 1), max_size=2), max_size=2)),
]


def codec(*kinds: pa.DataType, interner: Interner | None = None) -> Codec:
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])
    return Codec(schema, interner or Interner(Arena(), "strings"))


def table(of: Codec, *columns: Any) -> pa.Table:
    arrays = [pa.array(c, f.type) for c, f in zip(columns, of.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=of.schema)


def assert_round_trip(of: Codec, data: pa.Table) -> None:
    words = of.encode(data)
    assert words.shape == (of.width, data.num_rows)
    assert words.flags.c_contiguous
    back = of.decode(words)
    back.validate(full=True)
    assert back.schema.equals(of.schema, check_metadata=True)
    assert back.equals(data)


@pytest.mark.parametrize(("kind", "values"), SAMPLES, ids=IDS)
class TestRoundTrip:
    """What comes back is what went in."""

    def test_with_nulls(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        assert_round_trip(of, table(of, [None, *values, None, *values]))

    def test_without_nulls(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        assert_round_trip(of, table(of, values))

    def test_only_nulls(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        words = of.encode(table(of, [None] * (len(values) + 1)))
        assert (words[:-1] == 0).all() and (words[-1] == 1).all()
        assert of.decode(words).column(0).null_count == len(values) + 1

    def test_slices_and_chunks(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        data = table(of, [*values, None, *values, None, None, *values])
        for begin in range(data.num_rows):
            assert_round_trip(of, data.slice(begin, 3))
        assert_round_trip(of, pa.concat_tables([data.slice(1, 2), data.slice(0, 0), data.slice(2)]))

    def test_batches(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        data = table(of, [None, *values])
        for batch in data.slice(1).to_batches():
            assert (of.encode(batch) == of.encode(data)[:, 1:]).all()

    def test_no_rows(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(kind)
        assert_round_trip(of, table(of, values).slice(0, 0))
        assert_round_trip(of, of.schema.empty_table())

    def test_as_a_key(self, kind: pa.DataType, values: list[Any]) -> None:
        of = codec(pa.int64(), kind, pa.string())
        data = table(of, range(len(values) + 1), [*values, None], ["s"] * (len(values) + 1))
        key = Codec(of.key_schema([1]), of.interner)
        words = of.key_words(of.encode(data), [1])
        assert (words == key.encode(data.select([1]))).all()
        assert key.decode(words).equals(data.select([1]))


def test_the_places_of_words() -> None:
    of = codec(pa.int64(), pa.decimal128(38, 0), pa.string(), POINT, pa.decimal128(18, 0))
    assert of.columns == ((0,), (1, 2), (3,), (4,), (5,))
    assert of.null_words == (6,)
    assert of.width == 7
    assert of.string_columns == (3, 4)


def test_numbers_are_their_words() -> None:
    of = codec(pa.int8(), pa.timestamp("us"), pa.decimal128(5, 2), pa.decimal128(38, 0), pa.bool_())
    data = table(of, [-3, None], [datetime(1970, 1, 2), None], [Decimal("-1.25"), None], [-1, None], [True, False])
    words = of.encode(data)
    assert words[:, 0].tolist() == [-3, 86_400_000_000, -125, -1, -1, 1, 0]
    assert words[:, 1].tolist() == [0, 0, 0, 0, 0, 0, 0b1111]


def test_more_columns_than_a_null_word_has_bits() -> None:
    of = codec(*[pa.int64()] * 130)
    assert of.null_words == (130, 131, 132)
    data = table(of, *[[j, None if j % 3 else j, None] for j in range(130)])
    assert_round_trip(of, data)
    words = of.encode(data)
    assert words[130:, 0].tolist() == [0, 0, 0]
    assert words[130:, 2].tolist() == [(1 << 62) - 1, (1 << 62) - 1, (1 << 6) - 1]
    numbers = [129, 61, 62, 0, *range(100)]
    key = Codec(of.key_schema(numbers), of.interner)
    assert (of.key_words(words, numbers) == key.encode(data.select(numbers))).all()


def test_no_columns_keep_the_number_of_rows() -> None:
    of = Codec(pa.schema([], metadata={"m": "n"}), Interner(Arena(), "strings"))
    assert (of.width, of.columns, of.null_words) == (1, (), (0,))
    rows = pa.table({"x": [1, 2, 3]}).select([])
    words = of.encode(rows)
    assert words.tolist() == [[0, 0, 0]]
    back = of.decode(words)
    assert (back.num_rows, back.num_columns) == (3, 0)
    assert back.schema.equals(of.schema, check_metadata=True)
    assert of.decode(words[:, :0]).num_rows == 0
    assert codec(pa.int64()).key_words(np.array([[7, 0], [0, 1]]), []).tolist() == [[0, 0]]


def test_keys_of_different_places_are_equal() -> None:
    interner = Interner(Arena(), "strings")
    left, right = codec(pa.string(), pa.int64(), interner=interner), codec(*[pa.int64()] * 63, pa.string())
    right = Codec(right.schema, interner)
    a = left.encode(table(left, ["x", None, "y"], [1, 2, None]))
    b = right.encode(table(right, [1, 2, None], *[[None] * 3] * 62, ["x", None, "y"]))
    assert (left.key_words(a, [1, 0]) == right.key_words(b, [0, 63])).all()


def test_a_schema_keeps_metadata_and_nullability() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False, metadata={"k": "v"})], metadata={"m": "n"})
    of = Codec(schema, Interner(Arena(), "strings"))
    assert_round_trip(of, table(of, [1, 2]))


def test_columns_are_cast_to_the_schema() -> None:
    of = codec(pa.int64(), pa.string())
    given = pa.table([pa.array([1], pa.int32()), pa.array(["a"]).dictionary_encode()], names=["a", "b"])
    assert of.decode(of.encode(given)).to_pylist() == [{"c0": 1, "c1": "a"}]
    views = pa.table([pa.array([2], pa.uint8()), pa.array(["b"], pa.string_view())], names=["a", "b"])
    assert of.decode(of.encode(views)).to_pylist() == [{"c0": 2, "c1": "b"}]
    with pytest.raises(ValueError, match="1 columns where 2"):
        of.encode(given.select([0]))


@pytest.mark.parametrize(
    "kind", [pa.dense_union([pa.field("a", pa.int64())]), pa.list_(pa.list_view(pa.int64()))], ids=str
)
def test_types_without_words(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match="has no words"):
        codec(kind)


def test_values_under_nulls_do_not_count() -> None:
    of = codec(pa.int64(), pa.string(), pa.list_(pa.int64()), POINT)
    mask = pa.array([True, False])
    children = [pa.array([1, 1], pa.int32()), pa.array(["hidden", "a"])]
    data = pa.table(
        [
            pa.array(np.array([5, 6]), mask=np.array([True, False])),
            pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\2"), *pa.array(["hidden", "a"]).buffers()[1:]]),
            pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array([7, 8, 9]), mask=mask),
            pa.StructArray.from_arrays(children, fields=list(POINT), mask=mask),
        ],
        names=["c0", "c1", "c2", "c3"],
    )
    assert_round_trip(of, data)
    assert of.encode(data)[:, 0].tolist() == [0, 0, 0, 0, 0b1111]
    assert b"hidden" not in of.interner.lookup(np.arange(of.interner.count)).to_pylist()


def test_equal_lists_have_equal_words_however_they_lie_in_memory() -> None:
    of = codec(pa.list_(POINT))
    hidden = pa.StructArray.from_arrays(
        [pa.array([1, 99], pa.int32()), pa.array(["a", "hidden"])], fields=list(POINT), mask=pa.array([False, True])
    )
    odd = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), hidden)
    plain = pa.array([[{"x": 1, "name": "a"}, None]], pa.list_(POINT))
    words = of.encode(pa.table([pa.chunked_array([odd, plain])], names=["c0"]))
    assert words[0, 0] == words[0, 1]


def test_every_nan_and_zero_is_one() -> None:
    nans = np.array([0x7FF8 << 48, (0x7FF8 << 48) + 1, -1], np.int64).view(np.float64)
    of = codec(pa.float64(), pa.list_(pa.float64()), pa.float32())
    data = table(of, [*nans, 0.0, -0.0], [[v] for v in [*nans, 0.0, -0.0]], [*nans, 0.0, -0.0])
    words = of.encode(data)
    assert (words[:, :3] == words[:, :1]).all()
    assert (words[:, 3] == words[:, 4]).all()
    assert (words[:-1, 0] != words[:-1, 3])[:2].all()
    back = of.decode(words)
    assert math.copysign(1, back.column(0)[4].as_py()) == math.copysign(1, back.column(1)[4].as_py()[0]) == 1


def test_interned_words_survive_a_collection() -> None:
    of = codec(pa.string(), DEEP, pa.int64())
    data = table(of, ["a", "b", None, "d"], DEEP_VALUES, [1, 2, 3, 4])
    of.encode(table(of, ["x", "y"], DEEP_VALUES[:2], [0, 0]))
    words = of.encode(data)
    before = of.interner.count
    of.interner.collect([words[j] for j in of.string_columns])
    assert of.interner.count < before
    assert of.decode(words).equals(data)


def _rank(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


@given(NUMBERS, NUMBERS)
@settings(deadline=None)
def test_doubles_keep_their_order(a: float, b: float) -> None:
    x, y = float_to_word(a), float_to_word(b)
    assert (x < y) == (_rank(a) < _rank(b))
    assert (x == y) == (_rank(a) == _rank(b))
    assert _rank(word_to_float(x)) == _rank(a)


@given(st.lists(NUMBERS))
@settings(deadline=None)
def test_many_doubles_as_one(values: list[float]) -> None:
    words = floats_to_words(np.array(values, np.float64))
    assert words.tolist() == [float_to_word(v) for v in values]
    assert [_rank(v) for v in words_to_floats(words).tolist()] == [_rank(v) for v in values]


@pytest.mark.parametrize(("kind", "values"), EXAMPLES, ids=[str(kind) for kind, _ in EXAMPLES])
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_words_are_equal_as_values(kind: pa.DataType, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.none() | values, max_size=12))
    of = codec(kind)
    words = of.encode(table(of, rows)).T.tolist()
    for a, x in zip(rows, words, strict=True):
        for b, y in zip(rows, words, strict=True):
            assert (x == y) == (a == b)
    assert_round_trip(of, table(of, rows))


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=2))
@settings(deadline=None)
def test_short_decimals_keep_their_order(unscaled: list[int]) -> None:
    of = codec(pa.decimal128(18, 6))
    words = of.encode(table(of, [Decimal(u).scaleb(-6) for u in unscaled]))
    assert words[0].tolist() == unscaled
