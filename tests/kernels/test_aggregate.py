"""Aggregation: at every instant what the definition gives, however the input is cut into epochs."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.aggregate import aggregation as operator
from continua.kernels.aggregate.aggregate_calls import AggregateSpec, OverflowInSum, UserAggregate
from continua.kernels.aggregate.aggregation import Aggregation
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.columns import Codec
from continua.kernels.words.doubles import floats_to_words, words_to_floats
from tests.kernels.sweeps import Case, Row, aggregate, content, expected

NAN = math.nan
LAST = 14
KINDS: dict[str, tuple[pa.DataType, Sequence[object]]] = {
    "key": (pa.string(), ["a", "b", "c", None]),
    "int": (pa.int64(), [1, 2, 3, -7, 1 << 40, -(1 << 62), (1 << 62) + 1, None]),
    "float": (pa.float64(), [0.1, 0.2, -0.3, 1e16, -1e16, 1e-300, 3.5, None]),
    "special": (pa.float64(), [0.5, -0.0, 0.0, NAN, math.inf, -math.inf, 5e-324, 1.7e308, None]),
    "text": (pa.string(), ["b", "", "ab", "é", "z", None]),
    "short": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal("-3.10"), Decimal("9999999.99"), Decimal("0.01"), None]),
    "long": (pa.decimal128(30, 3), [Decimal("1.125"), Decimal(10**26), Decimal("-98765432109876543210.001"), None]),
    "time": (pa.timestamp("us"), [datetime(1993, 3, 11, 5, 0, 8), datetime(1960, 1, 1), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "list": (pa.list_(pa.int32()), [(1, 2), (1,), (), (1, None), (0, 5), None]),
    "small": (pa.float32(), [0.5, 1.25, -2.0, None]),
    "day": (pa.date32(), [date(2020, 1, 1), date(1969, 1, 1), None]),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in KINDS.items()])
PLACE = {name: place for place, name in enumerate(KINDS)}


def concat(values: object) -> str:
    assert isinstance(values, list)
    return ",".join(map(str, sorted(values)))


def added(values: list[int], value: int) -> list[int]:
    return [*values, value]


def without(values: list[int], value: int) -> list[int]:
    rest = list(values)
    rest.remove(value)
    return rest


def alone(value: int) -> list[int]:
    return [value]


FOLDED = UserAggregate(alone, added, concat)
INVERTED = UserAggregate(alone, added, concat, without)


def spec(function: str, *columns: str, distinct: bool = False, **more: object) -> AggregateSpec:
    return AggregateSpec(function, tuple(PLACE[c] for c in columns), distinct, **more)  # type: ignore[arg-type]


def kind(column: str) -> pa.DataType:
    return KINDS[column][0]


BIG, REAL = pa.int64(), pa.float64()
DEVIATIONS = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
PAIRED = [
    *(("int", "int"), ("text", "int"), ("int", "text"), ("text", "text"), ("long", "short"), ("short", "long")),
    *(("long", "long"), ("text", "long"), ("long", "text"), ("special", "flag"), ("flag", "special"), ("key", "time")),
    *(("list", "int"), ("int", "list"), ("day", "small"), ("small", "key")),
]
"""A value, and what it goes by."""
CALLS: list[tuple[AggregateSpec, pa.DataType]] = [
    (spec("COUNT"), BIG),
    (spec("COUNT", "list"), BIG),
    (spec("COUNT", "int", "text"), BIG),
    (spec("COUNT", "text", distinct=True), BIG),
    (spec("COUNT", "int", "text", distinct=True), BIG),
    (spec("COUNT_MERGED", "flag"), BIG),
    (spec("SUM", "int"), pa.decimal128(38, 0)),
    (spec("SUM", "int", distinct=True), pa.decimal128(38, 0)),
    (spec("SUM", "float"), REAL),
    (spec("SUM", "float", distinct=True), REAL),
    (spec("SUM", "small"), REAL),
    (spec("SUM", "short"), pa.decimal128(19, 2)),
    (spec("SUM", "long"), pa.decimal128(38, 3)),
    (spec("SUM", "long"), pa.decimal128(38, 1)),
    (spec("AVG", "int"), REAL),
    (spec("AVG", "float"), REAL),
    (spec("AVG", "short"), pa.decimal128(13, 6)),
    (spec("AVG", "long"), pa.decimal128(34, 7)),
    (spec("AVG", "short", distinct=True), REAL),
    *((spec(function, column), REAL) for function in DEVIATIONS for column in ("float", "int", "long")),
    (spec("VAR_POP", "short", distinct=True), REAL),
    *((spec(function, c), kind(c)) for function in ("MIN", "MAX") for c in KINDS if c != "key"),
    (spec("MIN", "key"), kind("key")),
    *((spec(function, c, by), kind(c)) for function in ("MIN_BY", "MAX_BY") for c, by in PAIRED),
    (spec("BOOL_AND", "flag"), pa.bool_()),
    (spec("BOOL_OR", "flag"), pa.bool_()),
    (spec("MEDIAN", "int"), REAL),
    (spec("MEDIAN", "short"), REAL),
    (spec("MEDIAN", "special"), REAL),
    (spec("PERCENTILE", "float", parameters=(0.3,)), REAL),
    (spec("PERCENTILE", "int", distinct=True, parameters=(0.9,)), REAL),
    *((spec("MODE", c), kind(c)) for c in KINDS),
    (spec("MODE", "text", distinct=True), kind("text")),
    *((spec(function, c), pa.list_(kind(c))) for function in ("COLLECT_LIST", "COLLECT_SET") for c in ("text", "int")),
    (spec("COLLECT_LIST", "special"), pa.list_(REAL)),
    (spec("COLLECT_LIST", "list"), pa.list_(kind("list"))),
    (spec("COLLECT_LIST", "time", distinct=True), pa.list_(kind("time"))),
    (spec("USER", "int", user=FOLDED), pa.string()),
    (spec("USER", "int", distinct=True, user=FOLDED), pa.string()),
    (spec("USER", "int", user=INVERTED), pa.string()),
    (spec("USER", "int", distinct=True, user=INVERTED), pa.string()),
]


@st.composite
def payloads(draw: st.DrawFn) -> tuple[object, ...]:
    return tuple(draw(st.sampled_from(values)) for _, values in KINDS.values())


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Rows with few keys and instants; some are taken back, at once or later, whole or in part."""
    rows: list[Row] = []
    few = draw(st.lists(payloads(), min_size=1, max_size=6))
    for _ in range(draw(st.integers(0, 12))):
        payload, weight = draw(st.sampled_from(few)), draw(st.sampled_from([1, 1, 2]))
        start = draw(st.integers(1, 10))
        end = draw(st.one_of(st.just(INFINITY), st.integers(start + 1, LAST)))
        rows.append((payload, start, end, weight))
        if draw(st.integers(0, 2)) == 0:
            back = draw(st.integers(start, min(end - 1, 10)))
            until = end if end == INFINITY else draw(st.integers(back + 1, end))
            rows.append((payload, back, until, -draw(st.integers(1, weight))))
    return draw(st.permutations(rows))


edges = st.sets(st.integers(1, LAST), max_size=6).map(lambda s: [0, *sorted(s), LAST + 1])
cases = st.lists(st.sampled_from(CALLS), max_size=5).flatmap(
    lambda calls: st.builds(
        Case,
        st.just(SCHEMA),
        st.sampled_from([(), (0,), (0, 8), (3, 0), (9,)]),
        st.just(tuple(s for s, _ in calls)),
        st.just(tuple(k for _, k in calls)),
        st.booleans(),
        st.integers(0, 12),
    )
)


@settings(max_examples=150, deadline=None)
@given(cases, histories(), edges, st.sampled_from([1, 3, 1 << 14]), st.booleans(), st.booleans(), st.booleans())
def test_the_results_at_every_instant_are_those_of_the_definition(
    case: Case, rows: list[Row], cuts: list[int], piece: int, in_file: bool, tidy: bool, at_once: bool
) -> None:
    with TemporaryDirectory() as folder, patch.object(operator, "_SLICE", piece):
        found = aggregate(case, rows, cuts, Path(folder) / "state" if in_file else None, tidy, at_once)
    for instant in range(1, LAST + 2):
        assert content(found, instant) == expected(case, rows, instant), instant


@settings(max_examples=60, deadline=None)
@given(cases, histories())
def test_a_result_that_stays_is_one_segment(case: Case, rows: list[Row]) -> None:
    found = aggregate(case, rows, [0, LAST + 1])
    ends = {(payload, end) for payload, _, end, _ in found}
    assert not any((payload, start) in ends for payload, start, _, _ in found)
    assert all(weight == 1 for *_, weight in found)


def run(case: Case, rows: Sequence[tuple[object, ...]], *cuts: int) -> list[Row]:
    """The output for rows of a value, a start and an end."""
    return aggregate(case, [((value,), start, end, 1) for value, start, end in rows], cuts)  # type: ignore[misc]


def one(function: str, argument: pa.DataType, result: pa.DataType, **more: object) -> Case:
    return of_call(AggregateSpec(function, (0,)), argument, result, **more)


def of_call(call: AggregateSpec, argument: pa.DataType, result: pa.DataType, **more: object) -> Case:
    return Case(pa.schema([("x", argument)]), (), (call,), (result,), **more)  # type: ignore[arg-type]


def test_P15_table_VIII_has_nine_segments() -> None:
    a, b, c, d = 1, 10, 100, 1000
    rows = [(c, 1, 8), (a, 5, 11), (d, 6, 14), (a, 9, 10), (b, 12, 17)]
    sums = [
        (c, 1, 5), (c + a, 5, 6), (c + a + d, 6, 8), (a + d, 8, 9), (a + d + a, 9, 10),
        (a + d, 10, 11), (d, 11, 12), (d + b, 12, 14), (b, 14, 17),
    ]  # fmt: skip
    assert run(one("SUM", BIG, BIG), rows, 0, 20) == [((value,), start, end, 1) for value, start, end in sums]


def seconds(clock: str) -> int:
    hours, minutes, rest = map(int, clock.split(":"))
    return 3600 * hours + 60 * minutes + rest


def test_Q3_the_average_speeds_have_five_segments() -> None:
    speeds = [(18.28, "05:00:08", "05:15:08"), (21.33, "05:01:32", "05:16:32"), (19.69, "05:02:16", "05:17:16")]
    rows = [(speed, seconds(start), seconds(end)) for speed, start, end in speeds]
    found = run(one("AVG", REAL, REAL), rows, 0, seconds("06:00:00"))
    assert [(f"{row[0][0]:.3f}", row[1], row[2]) for row in found] == [
        ("18.280", seconds("05:00:08"), seconds("05:01:32")),
        ("19.805", seconds("05:01:32"), seconds("05:02:16")),
        ("19.767", seconds("05:02:16"), seconds("05:15:08")),  # 59.30 / 3; the paper cuts the last digit off
        ("20.510", seconds("05:15:08"), seconds("05:16:32")),
        ("19.690", seconds("05:16:32"), seconds("05:17:16")),
    ]


def test_an_open_result_is_taken_back_when_it_changes_in_a_later_epoch() -> None:
    found = run(of_call(AggregateSpec("COUNT"), BIG, BIG), [(1, 1, 9), (2, 3, 9)], 0, 1, 4, 10)
    assert found == [
        ((1,), 1, INFINITY, 1),
        ((1,), 3, INFINITY, -1),
        ((2,), 3, INFINITY, 1),
        ((2,), 9, INFINITY, -1),
    ]


def test_a_scalar_aggregation_has_a_row_from_the_start_on_if_it_wants_one() -> None:
    rows = [(5, 7, 9)]
    assert run(of_call(AggregateSpec("COUNT"), BIG, BIG, empty_row=True, start=3), rows, 0, 2, 20) == [
        ((0,), 3, 7, 1),
        ((1,), 7, 9, 1),
        ((0,), 9, INFINITY, 1),
    ]
    assert run(one("SUM", BIG, BIG, empty_row=True, start=3), [], 2, 5, 9) == [((None,), 3, INFINITY, 1)]
    assert run(of_call(AggregateSpec("COUNT"), BIG, BIG, start=3), rows, 0, 2, 20) == [((1,), 7, 9, 1)]


@pytest.mark.parametrize("kind", [BIG, pa.decimal128(5, 2)])
def test_a_sum_that_does_not_fit_is_an_error_only_when_it_is_read(kind: pa.DataType) -> None:
    largest: int | Decimal = (1 << 63) - 1 if kind == BIG else Decimal("999.99")
    case = one("SUM", kind, kind)
    with pytest.raises(OverflowInSum, match="the sum does not fit its type") as caught:
        run(case, [(largest, 1, 5), (largest, 2, 5)], 0, 9)
    assert caught.value.time == 2
    assert content(run(case, [(largest, 1, 5), (largest, 5, 9)], 0, 9), 5) == {(largest,): 1}


def test_sums_of_doubles_know_infinities_and_nan() -> None:
    rows = [(1.0, 1, 20), (math.inf, 2, 6), (-math.inf, 4, 8), (NAN, 10, 12), (1.7e308, 14, 16), (1.7e308, 14, 16)]
    found = run(one("SUM", REAL, REAL), rows, 0, 5, 11, 30)
    values = [next(iter(content(found, t)))[0] for t in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    assert values == [1.0, math.inf, "NaN", -math.inf, 1.0, "NaN", 1.0, math.inf, 1.0]


def test_calls_can_be_pickled() -> None:
    calls = [call for call, _ in CALLS]
    assert pickle.loads(pickle.dumps(calls)) == calls
    with pytest.raises(ValueError, match="SOUNDEX is not an aggregate"):
        run(one("SOUNDEX", BIG, BIG), [], 0, 1)


def kernel_of(arena: Arena, case: Case) -> Aggregation:
    interner = Interner(arena, "strings")
    codec, output = Codec(case.schema, interner), Codec(case.output, interner)
    return Aggregation(arena, "a", codec, case.keys, case.specs, output, case.empty_row, case.start)


def plain_batch(start: Int64s, end: Int64s, *columns: Int64s) -> Batch:
    words = np.stack([*columns, np.zeros(start.size, np.int64)])
    return Batch(words, start, end, np.ones(start.size, np.int64))


def test_a_million_expiries_leave_no_trace_in_a_sum_of_doubles() -> None:
    count, window = 1_000_000, 500
    random = np.random.default_rng(15)
    values = np.ldexp(random.random(count) - 0.5, random.integers(-40, 40, count))
    start = np.arange(1, count + 1)
    case = one("SUM", REAL, REAL)
    kernel = kernel_of(Arena(), case)
    found = kernel.epoch(plain_batch(start, start + window, floats_to_words(values)), 0, count)
    sums, times = words_to_floats(found.words[0]), found.start
    for last in random.integers(window, count, 300).tolist():
        place = int(np.searchsorted(times, last, side="right")) - 1
        assert sums[place] == math.fsum(values[last - window : last])


MADE: dict[str, Callable[[int], object]] = {
    "int": lambda n: n,
    "text": lambda n: f"{n * 7919 % 997}",
    "long": lambda n: Decimal(10**23) * (n - 500),
}


@pytest.mark.parametrize("column", MADE)
def test_extremes_of_many_rows_that_come_go_and_are_taken_back(column: str) -> None:
    random = np.random.default_rng(9)
    kind = KINDS[column][0]
    rows: list[Row] = []
    for n in range(1500):
        payload = (int(random.integers(3)), MADE[column](int(random.integers(1000))))
        start = 1 + n // 5
        end = start + int(random.integers(1, 120)) if random.random() < 0.8 else INFINITY
        rows.append((payload, start, end, 1))
        if random.random() < 0.3 and (n > 700 or column != "int"):
            rows.append((payload, min(start + int(random.integers(1, 60)), end - 1), end, -1))
    schema = pa.schema([("k", BIG), ("x", kind), ("y", BIG)])
    rows = [((*payload, len(str(payload[1])) % 3), start, end, weight) for payload, start, end, weight in rows]
    calls = [AggregateSpec("MIN", (1,)), AggregateSpec("MAX", (1,))]
    calls += [AggregateSpec(f, c) for f in ("MIN_BY", "MAX_BY") for c in ((1, 2), (2, 1))]
    case = Case(schema, (0,), tuple(calls), (kind, kind, kind, BIG, kind, BIG))
    found = aggregate(case, rows, [0, *range(7, 300, 40), 500], tidy=True)
    for instant in range(1, 500, 9):
        assert content(found, instant) == expected(case, rows, instant)


def test_groups_and_values_that_are_gone_leave_no_state() -> None:
    calls = tuple(AggregateSpec(f, (1,), d) for f, d in [("MIN", False), ("COUNT", True), ("MEDIAN", False)])
    case = Case(pa.schema([("k", BIG), ("x", BIG)]), (0,), calls, (BIG, BIG, REAL))
    arena = Arena()
    kernel = kernel_of(arena, case)
    sizes = []
    for epoch in range(60):
        start = np.repeat(np.arange(epoch * 10 + 1, epoch * 10 + 11), 20)
        keys = np.arange(epoch * 200, epoch * 200 + 200)
        kernel.epoch(plain_batch(start, start + 5, keys, keys % 17), epoch * 10, epoch * 10 + 10)
        sizes.append(arena.size)
        assert kernel.state_rows <= 3 * 200
    assert sizes[-1] == sizes[10]
    assert len(kernel.epoch(Batch.empty(3), 600, 700)) == 100
    assert kernel.state_rows == 0


def test_more_columns_than_a_null_word_has_bits() -> None:
    names = [f"c{n}" for n in range(70)]
    schema = pa.schema([(name, BIG) for name in names])
    calls = [AggregateSpec(f, (n,)) for n in range(70) for f in ("COUNT", "SUM")]
    case = Case(schema, (65, 3), tuple(calls), (BIG,) * 140)
    random = np.random.default_rng(2)
    rows: list[Row] = []
    for start in range(1, 30):
        payload = tuple(int(v) if v else None for v in random.integers(0, 3, 70))
        rows.append((payload, start, start + 6, 1))
    found = aggregate(case, rows, [0, 10, 40])
    for instant in range(1, 40, 3):
        assert content(found, instant) == expected(case, rows, instant)


def test_exponents_that_come_later_widen_the_sums_of_all_groups() -> None:
    schema = pa.schema([("k", BIG), ("x", REAL)])
    calls = tuple(AggregateSpec(function, (1,)) for function in ("SUM", "AVG", "VAR_POP", "MIN"))
    case = Case(schema, (0,), calls, (REAL,) * 4)
    values = [1.0, 0.1, 1e30, 3e-200, -1e30, 7e140, 2.5, 1e-300, -7e140, 0.0]
    rows: list[Row] = [((n % 2, value), n + 1, n + 9, 1) for n, value in enumerate(values * 3)]
    found = aggregate(case, rows, range(45))
    for instant in range(1, 45):
        assert content(found, instant) == expected(case, rows, instant)
