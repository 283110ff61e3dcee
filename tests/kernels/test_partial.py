"""Partial aggregation: an aggregation of partial results is one of the rows that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.aggregate import partial_aggregation as operator
from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.partial_aggregation import PartialAggregation
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.kernels.words.doubles import floats_to_words, words_to_floats
from tests.kernels.sweeps import Case, Row, aggregate, batch_of, content, expected, rows_of
from tests.kernels.test_aggregate import KINDS, PAIRED, PLACE, SCHEMA, payloads

BIG = pa.int64()
SUMS = {
    **dict.fromkeys(("float", "small"), pa.float64()),
    "int": BIG,
    "short": pa.decimal128(18, 2),
    "long": pa.decimal128(38, 3),
}


def spec(function: str, *columns: str) -> AggregateSpec:
    return AggregateSpec(function, tuple(PLACE[c] for c in columns))


def kind(column: str) -> pa.DataType:
    return KINDS[column][0]


CALLS: list[tuple[AggregateSpec, list[pa.DataType]]] = [
    (spec("COUNT"), [BIG]),
    (spec("COUNT", "list"), [BIG]),
    (spec("COUNT", "int", "text"), [BIG]),
    *((spec("SUM", c), [summed]) for c, summed in SUMS.items()),
    *((spec(f, c), [kind(c)]) for f in ("MIN", "MAX") for c in KINDS if c != "list"),
    *((spec(f, *c), [kind(x) for x in c]) for f in ("MIN_BY", "MAX_BY") for c in PAIRED if "list" not in c),
]


def merged(calls: Sequence[tuple[AggregateSpec, list[pa.DataType]]], keys: int) -> list[AggregateSpec]:
    """The calls that merge partial results."""
    found, place = [], keys
    for call, kinds in calls:
        name = "COUNT_MERGED" if call.function.startswith("COUNT") else call.function
        found.append(AggregateSpec(name, tuple(range(place, place + len(kinds)))))
        place += len(kinds)
    return found


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Rows with few intervals and keys."""
    few = draw(st.lists(payloads(), min_size=1, max_size=6))
    rows = st.tuples(st.sampled_from(few), st.sampled_from([(1, 4), (1, 6), (4, 6)]), st.sampled_from([1, 1, 1, 2]))
    return [(payload, *times, weight) for payload, times, weight in draw(st.lists(rows, max_size=15))]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(CALLS), min_size=1, max_size=5),
    histories(),
    st.sampled_from([0, 1, 2]),
    st.lists(st.integers(0, 15), max_size=3),
    st.sampled_from([1, 1 << 13]),
)
def test_partial_results_stand_for_their_rows(
    calls: list[tuple[AggregateSpec, list[pa.DataType]]], rows: list[Row], keys: int, cuts: list[int], sample: int
) -> None:
    kinds = [SCHEMA.field(key).type for key in range(keys)] + [k for _, types in calls for k in types]
    between = pa.schema([(f"p{number}", k) for number, k in enumerate(kinds)])
    partial: list[Row] = []
    edges = [0, *sorted(cuts), len(rows)]
    for begin, end in pairwise(edges):
        interner = Interner(Arena(), "strings")
        codec, output = Codec(SCHEMA, interner), Codec(between, interner)
        with patch.object(operator, "_SAMPLE", sample):
            kernel = PartialAggregation(codec, keys, [call for call, _ in calls], output)
            partial += _rows(output, kernel.rows(batch_of(codec, rows[begin:end])))
    results = [pa.decimal128(38, 0) if c == spec("SUM", "int") else types[0] for c, types in calls]
    direct = Case(SCHEMA, tuple(range(keys)), tuple(call for call, _ in calls), tuple(results))
    merge = Case(between, tuple(range(keys)), tuple(merged(calls, keys)), tuple(results))
    found = aggregate(merge, partial, [0, 3, 9])
    for instant in (1, 4, 6):
        assert content(found, instant) == expected(direct, rows, instant)


def _rows(codec: Codec, batch: Batch) -> list[Row]:
    """Lists are no values of partial results, and NaN must stay one."""
    columns = [column.to_pylist() for column in codec.decode(batch.words).columns]
    times = (batch.start.tolist(), batch.end.tolist(), batch.weight.tolist())
    return list(zip(zip(*columns, strict=True), *times, strict=True))


def ints(values: Sequence[int], start: Sequence[int]) -> Batch:
    words = np.stack([np.array(values, np.int64), np.zeros(len(values), np.int64)])
    begin = np.array(start, np.int64)
    return Batch(words, begin, begin + 10, np.ones(len(values), np.int64))


@pytest.fixture
def total() -> tuple[PartialAggregation, Codec]:
    interner = Interner(Arena(), "strings")
    codec = Codec(pa.schema([("x", BIG)]), interner)
    return PartialAggregation(codec, 0, [AggregateSpec("SUM", (0,))], codec), codec


def test_rows_of_one_interval_are_one_row(total: tuple[PartialAggregation, Codec]) -> None:
    kernel, codec = total
    found = rows_of(codec, kernel.rows(ints([1, 2, 3, 4, 5], [0, 0, 7, 0, 7])))
    assert found == [((7,), 0, 10, 1), ((8,), 7, 17, 1)]


def test_a_value_too_large_for_a_sum_goes_alone(total: tuple[PartialAggregation, Codec]) -> None:
    kernel, codec = total
    largest = (1 << 63) - 1
    found = rows_of(codec, kernel.rows(ints([1, largest, 2, -largest - 1, 3], [0] * 5)))
    assert found == [((6,), 0, 10, 1), ((largest,), 0, 10, 1), ((-largest - 1,), 0, 10, 1)]


def test_rows_with_intervals_of_their_own_stay(total: tuple[PartialAggregation, Codec]) -> None:
    kernel, codec = total
    found = rows_of(codec, kernel.rows(ints(range(9), range(9))))
    assert found == [((n,), n, n + 10, 1) for n in range(9)]
    assert len(kernel.rows(Batch.empty(2))) == 0


def test_sums_of_doubles_are_exact() -> None:
    random = np.random.default_rng(3)
    values = np.ldexp(random.random(5000) - 0.5, random.integers(-300, 300, 5000))
    for numbers in (values, random.integers(1, 10**6, 5000) / 100):
        codec = Codec(pa.schema([("x", pa.float64())]), Interner(Arena(), "strings"))
        kernel = PartialAggregation(codec, 0, [AggregateSpec("SUM", (0,))], codec)
        start = np.sort(random.integers(0, 3, 5000))
        words = np.stack([floats_to_words(numbers), np.zeros(5000, np.int64)])
        found = kernel.rows(Batch(words, start, start + 10, np.ones(5000, np.int64)))
        sums = words_to_floats(found.words[0])
        for begin in range(3):
            exact = sum(map(Fraction, numbers[start == begin].tolist()), Fraction())
            assert sum(map(Fraction, sums[found.start == begin].tolist()), Fraction()) == exact
    assert len(found) <= 3 * 8


def test_what_has_no_partial_results() -> None:
    codec = Codec(pa.schema([("x", BIG)]), Interner(Arena(), "strings"))
    with pytest.raises(ValueError, match="MEDIAN has no partial results"):
        PartialAggregation(codec, 0, [AggregateSpec("MEDIAN", (0,))], codec).rows(ints([1], [0]))
