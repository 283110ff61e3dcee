"""Formulas of the instant: what they are, and until when they surely stay so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.windows.formulas import (
    Choice,
    Constant,
    Formula,
    Instant,
    Operation,
    Start,
    started,
    stays_until,
    text_of,
    uses_start,
    value_at,
)
from continua.windows.in_own_rhythm import Loop, Rates

NUMBERS = st.integers(-9, 12)
TIMES = st.builds(Instant, NUMBERS)
DIVIDED = st.builds(lambda t, n: Operation("DIV", (t, Constant(n))), TIMES, st.integers(1, 7))
REMAINDERS = st.builds(lambda t, n: Operation("%", (t, Constant(n))), TIMES | DIVIDED, st.integers(1, 9))
COMPARED = st.builds(
    lambda op, a, n: Operation(op, (a, Constant(n))),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    TIMES | DIVIDED | REMAINDERS,
    NUMBERS,
)
CONDITIONS: st.SearchStrategy[Formula] = st.recursive(
    COMPARED,
    lambda parts: (
        st.builds(lambda op, a, b: Operation(op, (a, b)), st.sampled_from(["AND", "OR"]), parts, parts)
        | st.builds(lambda a: Operation("NOT", (a,)), parts)
    ),
    max_leaves=4,
)
RATES = st.builds(
    Rates,
    st.lists(st.tuples(CONDITIONS, st.integers(1, 6)), max_size=2).map(tuple),
    st.integers(1, 6),
    st.integers(-5, 30),
    st.integers(0, 12),
)
LOOPS = st.builds(
    Loop,
    st.builds(Constant, NUMBERS),
    st.builds(lambda op, n: Operation(op, (Instant(), Constant(n))), st.sampled_from(["<", "<="]), st.integers(-9, 40))
    | st.just(Constant(1)),
    st.builds(Instant, st.integers(1, 6))
    | st.just(Choice(((Operation(">", (Instant(), Constant(9))), Instant(4)),), Instant(2))),
)


@settings(deadline=None)
@given(CONDITIONS | REMAINDERS | DIVIDED, st.integers(-40, 60))
def test_a_formula_stays_as_it_is_until_it_says(formula: Formula, t: int) -> None:
    until = stays_until(formula, t)
    assert until > t
    assert {value_at(formula, now) for now in range(t, min(until, t + 80))} == {value_at(formula, t)}


@settings(deadline=None)
@given(RATES | LOOPS, st.integers(-10, 40), st.integers(-10, 90))
def test_the_next_evaluation_is_the_first_instant_with_another(rhythm: Rates | Loop, t: int, until: int) -> None:
    expected = next((now for now in range(t + 1, until + 1) if rhythm(now) != rhythm(t)), None)
    assert rhythm.following(t, until) == expected


@settings(deadline=None)
@given(RATES | LOOPS, st.integers(-10, 90))
def test_an_evaluation_is_not_behind_its_instant(rhythm: Rates | Loop, t: int) -> None:
    found = rhythm(t)
    assert found is None or (found <= t and (isinstance(rhythm, Loop) or found > t - rhythm.slowest))


def test_evaluations_far_ahead_are_found_at_once() -> None:
    far = 1 << 50
    rates = Rates(((Operation(">", (Instant(), Constant(3))), 1),), 2, far)
    assert rates.following(0, 2 * far) == far
    assert rates.following(0, far - 1) is None
    assert Loop(Constant(0), Constant(1), Instant(1)).following(far, 2 * far) == far + 1


def test_the_start_of_a_query_is_put_in() -> None:
    formula = Operation("GREATEST", (Instant(-4), Start(1)))
    assert uses_start(formula)
    assert not uses_start(started(formula, 7))
    assert [value_at(started(formula, 7), t) for t in (0, 20)] == [8, 16]
    with pytest.raises(ValueError, match="start"):
        value_at(formula, 3)


def test_formulas_have_texts() -> None:
    choice = Choice(((Operation("<", (Instant(), Constant(3))), Instant(2)),), Operation("NEG", (Start(),)))
    assert text_of(choice) == "CASE WHEN t < 3 THEN t + 2 ELSE -START END"
    assert text_of(Operation("%", (Instant(-1), Constant(5)))) == "(t - 1) % 5"
    assert text_of(Operation("ABS", (Instant(),))) == "ABS(t)"
