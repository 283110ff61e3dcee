"""Exact sums: what goes in and comes out again leaves nothing, and reading rounds once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.aggregate.exact_sum import HEADROOM, LIMB, divide, exponents, is_special, to_double
from continua.kernels.aggregate.sums import (
    COUNT,
    DIGITS,
    FLOAT_SQUARES,
    FLOATS,
    INTEGER,
    LIMBS,
    SPECIALS,
    SQUARES,
    read_average,
    read_float_sum,
    read_sum,
    read_variance,
    take_step,
    to_decimal,
)
from continua.kernels.jit import Int64s
from continua.kernels.words.doubles import floats_to_words

doubles = st.floats(allow_nan=False, allow_infinity=False)
weights = st.sampled_from([1, 1, 1, -1, 2, -3, 1 << 31, (1 << 45) + 7, -(1 << 61)])
words = st.one_of(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1))
wide = st.integers(-(10**38), 10**38)


def as_double(exact: Fraction) -> float:
    """The nearest double, which may be infinite."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def two_words(number: int) -> tuple[int, int]:
    low = number & ((1 << 64) - 1)
    return number >> 64, low - (low >> 63 << 64)


def float_sums(values: list[float], counts: list[int]) -> tuple[Int64s, Int64s]:
    """The steps and cells of a sum of doubles, and of a sum of their squares."""
    ordered = floats_to_words(np.array(values, np.float64))
    lowest, highest = exponents(ordered)
    low, high = (lowest // LIMB, highest // LIMB + 1) if lowest <= highest else (0, 0)
    size, squares = high - low + 2 + HEADROOM, 2 * (high - low) + 5 + HEADROOM
    steps = np.array([(FLOATS, SPECIALS, low, size), (FLOAT_SQUARES, SPECIALS + size, 2 * low, squares)])
    cells = np.zeros(SPECIALS + size + squares, np.int64)
    for word, count in zip(ordered.tolist(), counts, strict=True):
        for step in range(2):
            take_step(steps, step, cells, 0, 0, word, count, 1, 1, 1)
    return steps, cells


def digits() -> Int64s:
    return np.zeros(2 * DIGITS, np.int64)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(doubles, weights), max_size=12))
def test_a_sum_of_doubles_is_rounded_once(pairs: list[tuple[float, int]]) -> None:
    values, counts = [value for value, _ in pairs], [count for _, count in pairs]
    exact = sum((Fraction(value) * count for value, count in pairs), Fraction(0))
    steps, cells = float_sums(values, counts)
    assert read_float_sum(steps, 0, cells, 0, digits()) == as_double(exact)


@settings(max_examples=200, deadline=None)
@given(st.lists(doubles, max_size=20), st.data())
def test_what_leaves_a_sum_leaves_no_trace(values: list[float], data: st.DataObject) -> None:
    kept = data.draw(st.lists(doubles, max_size=5))
    everything = data.draw(st.permutations([*((v, 1) for v in values + kept), *((v, -1) for v in values)]))
    steps, cells = float_sums([v for v, _ in everything], [n for _, n in everything])
    assert read_float_sum(steps, 0, cells, 0, digits()) == as_double(sum(map(Fraction, kept), Fraction(0)))


def test_a_cell_that_is_full_carries_on() -> None:
    steps, cells = float_sums([1.5, 0.75], [(1 << 30) - 1, 0])
    word = int(floats_to_words(np.array([1.5]))[0])
    for _ in range(5000):
        take_step(steps, 0, cells, 0, 0, word, (1 << 30) - 1, 1, 1, 1)
    assert read_float_sum(steps, 0, cells, 0, digits()) == 1.5 * 5001 * ((1 << 30) - 1)
    for _ in range(5001):
        take_step(steps, 0, cells, 0, 0, word, 1 - (1 << 30), 1, 1, 1)
    assert read_float_sum(steps, 0, cells, 0, digits()) == 0.0


def test_special_doubles_are_no_part_of_the_sum() -> None:
    assert [is_special(int(w)) for w in floats_to_words(np.array([math.nan, math.inf, -math.inf, 1.7e308, 0.0]))] == [
        True, True, True, False, False,
    ]  # fmt: skip
    steps, cells = float_sums([1.0, math.inf, -math.inf, math.nan], [1, 1, 1, 1])
    assert math.isnan(read_float_sum(steps, 0, cells, 0, digits()))
    for value, count in [(math.nan, -1), (math.inf, -1)]:
        take_step(steps, 0, cells, 0, 0, int(floats_to_words(np.array([value]))[0]), count, 1, 1, 1)
    assert read_float_sum(steps, 0, cells, 0, digits()) == -math.inf


def test_sums_of_as_many_subnormal_and_huge_numbers() -> None:
    values = [5e-324, 1.7e308, -5e-324, 2.2e-308, -1.7e308]
    steps, cells = float_sums(values, [3, 1, 1, 1, 1])
    assert read_float_sum(steps, 0, cells, 0, digits()) == math.fsum([*values, 5e-324, 5e-324])


@settings(max_examples=300, deadline=None)
@given(st.lists(doubles.filter(lambda x: abs(x) < 1e150), min_size=1, max_size=8), st.integers(0, 1))
def test_the_variance_of_doubles_is_rounded_once(values: list[float], sample: int) -> None:
    if len(values) == sample:
        return
    steps, cells = float_sums(values, [1] * len(values))
    numbers = list(map(Fraction, values))
    mean = sum(numbers, Fraction(0)) / len(numbers)
    exact = sum(((x - mean) ** 2 for x in numbers), Fraction(0)) / (len(numbers) - sample)
    assert read_variance(steps, 0, 1, cells, 0, len(values), sample, 0, digits()) == as_double(exact)


def test_cancellation_does_not_show_in_a_variance() -> None:
    values = [1e9 + x for x in (4.0, 7.0, 13.0, 16.0)]
    steps, cells = float_sums(values, [1] * 4)
    assert read_variance(steps, 0, 1, cells, 0, 4, 1, 0, digits()) == 30.0
    steps, cells = float_sums([0.1] * 3, [1] * 3)
    assert read_variance(steps, 0, 1, cells, 0, 3, 0, 0, digits()) == 0.0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(words, weights), max_size=10), st.integers(1, 1 << 40), st.integers(0, 18))
def test_a_sum_of_words_is_exact_in_two(pairs: list[tuple[int, int]], count: int, scale: int) -> None:
    steps, cells = np.array([(INTEGER, 0, 0, 2)]), np.zeros(2, np.int64)
    for value, weight in pairs:
        take_step(steps, 0, cells, 0, 0, value, weight, 1, 1, 1)
    exact = sum(value * weight for value, weight in pairs)
    if abs(exact) < 1 << 127:
        assert read_sum(steps, 0, cells, 0, 0, digits(), 1) == (True, *two_words(exact))
        assert read_average(steps, 0, cells, 0, count, scale, digits()) == float(Fraction(exact, 10**scale)) / count


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(wide, weights.filter(lambda w: abs(w) < 1 << 40)), max_size=10), st.integers(0, 20))
def test_a_sum_of_wide_decimals_loses_its_last_digits_by_rounding(pairs: list[tuple[int, int]], drop: int) -> None:
    size = 4 + HEADROOM
    steps, cells = np.array([(LIMBS, 0, 0, size)]), np.zeros(size, np.int64)
    for value, weight in pairs:
        take_step(steps, 0, cells, 0, *two_words(value), weight, 1, 1, 1)
    exact = sum(value * weight for value, weight in pairs)
    rounded = int(Fraction(abs(exact), 10**drop) + Fraction(1, 2)) * (-1 if exact < 0 else 1)
    fits = abs(rounded) < 1 << 127
    assert read_sum(steps, 0, cells, 0, drop, digits(), 1) == (fits, *(two_words(rounded) if fits else (0, 0)))


@settings(max_examples=200, deadline=None)
@given(st.lists(wide, min_size=1, max_size=6), st.integers(0, 1), st.integers(0, 38))
def test_the_variance_of_decimals_is_rounded_once(values: list[int], sample: int, scale: int) -> None:
    if len(values) == sample:
        return
    size, squares = 4 + HEADROOM, 8 + HEADROOM
    steps = np.array([(LIMBS, 0, 0, size), (SQUARES, size, 0, squares)])
    cells = np.zeros(size + squares, np.int64)
    for value in values:
        for step in range(2):
            take_step(steps, step, cells, 0, *two_words(value), 1, 1, 1, 1)
    numbers = [Fraction(value, 10**scale) for value in values]
    mean = sum(numbers, Fraction(0)) / len(numbers)
    exact = sum(((x - mean) ** 2 for x in numbers), Fraction(0)) / (len(numbers) - sample)
    assert read_variance(steps, 0, 1, cells, 0, len(values), sample, scale, digits()) == float(exact)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 200), st.integers(1, (1 << 31) - 1), st.integers(-60, 30))
def test_a_quotient_is_the_nearest_double(number: int, divisor: int, low: int) -> None:
    parts = np.array([number >> (LIMB * i) & ((1 << LIMB) - 1) for i in range(10)])
    rest = divide(parts, 10, divisor)
    assert sum(int(part) << (LIMB * i) for i, part in enumerate(parts)) == number // divisor
    assert rest == number % divisor
    exact = Fraction(number // divisor) * Fraction(2) ** (LIMB * low)
    assert to_double(parts, 10, low, False) == as_double(exact)


@pytest.mark.parametrize(
    ("value", "scale", "found"),
    [(0.5, 0, 1), (-0.5, 0, -1), (2.5, 0, 3), (0.49999999999999994, 0, 0), (-1.25, 1, -13), (1e20, 6, int(1e26))],
)
def test_a_decimal_of_a_double_is_rounded_away_from_zero(value: float, scale: int, found: int) -> None:
    assert to_decimal(value, scale) == (True, *two_words(found))


def test_a_double_beyond_all_decimals_does_not_fit() -> None:
    assert not any(to_decimal(value, 0)[0] for value in (1e39, math.inf, math.nan))


def test_a_count_is_a_step_too() -> None:
    steps, cells = np.array([(COUNT, 0, 0, 1)]), np.zeros(1, np.int64)
    for weight in (2, 1, -3, 4):
        take_step(steps, 0, cells, 0, 0, 99, weight, 1, 1, 1)
    assert cells.tolist() == [4]
