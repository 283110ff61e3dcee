"""States of users' aggregates come back as they were, and are only data."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from continua.kernels.aggregate.plain_states import NotPlain, read, written

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.timedeltas()
    | st.complex_numbers(allow_nan=False),
    lambda parts: st.lists(parts) | st.tuples(parts, parts) | st.dictionaries(st.text() | st.integers(), parts),
    max_leaves=8,
)


@given(plain)
def test_a_state_comes_back_as_it_was(state: object) -> None:
    found = read(written(state))
    assert found == state and type(found) is type(state)


@pytest.mark.parametrize(
    "state",
    [
        {1, 2},
        frozenset({"a"}),
        Counter("abca"),
        deque([1, 2], 3),
        np.int64(7),
        np.float32(1.5),
        datetime(2024, 1, 31, 12, tzinfo=UTC),
        (date(2024, 1, 1), time(1, 2), timedelta(-1, 5), Decimal("1.50"), Fraction(1, 3)),
        {"is": "tuple", "of": [1]},
    ],
)
def test_other_states_come_back_too(state: object) -> None:
    found = read(written(state))
    assert found == state and type(found) is type(state)


def test_arrays_come_back_and_can_be_changed() -> None:
    found = read(written(np.arange(6.0).reshape(2, 3)))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]
    found += 1
    assert np.isnan(read(written(float("nan"))))


@dataclass
class Own:
    """A class of the user's."""

    number: int = 0


@pytest.mark.parametrize("state", [Own(), [Own()], {"a": (1, Own())}, np.array([Own()]), lambda: 1])
def test_what_is_more_than_data_is_refused_by_name(state: object) -> None:
    with pytest.raises(NotPlain, match="which cannot be kept"):
        written(state)
