"""The kernel's functions by name, and the family of each: what of a group it keeps and how a result is read from that.

A family is made of few parts, which calls share: counts and sums (``sums.py``), to which a row is added that comes, and
from which it is taken when it goes; heaps of rows by a value (``extremes.py``), from which rows go by their ends; lists
of different values with their counts (``members.py``); and what users' functions keep. Results are read from them by
``result_readers.py``, or computed from all values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from continua.kernels.aggregate.from_all_values import FROM_ALL_VALUES, FromAllValues


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows have values in all columns; of no columns, how many rows there are."""


@dataclass(frozen=True, slots=True)
class CountOfParts:
    """The sum of the counts of partial results."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether all values are true, or one of them; how often a value is there does not matter."""

    all_values: bool


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum."""


@dataclass(frozen=True, slots=True)
class Average:
    """A sum and a count."""


@dataclass(frozen=True, slots=True)
class AverageOfParts:
    """The sums of partial results, and the sum of their counts."""


@dataclass(frozen=True, slots=True)
class Variance:
    """A sum, a sum of squares and a count."""

    sample: bool
    root: bool
    """Whether it is a deviation, the root of a variance."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """A heap of rows by a value."""

    greatest: bool


@dataclass(frozen=True, slots=True)
class FirstBy:
    """A heap of rows by the second of two values; the result is the first one."""

    greatest: bool


@dataclass(frozen=True, slots=True)
class UserDefined:
    """A function of the user's: its own state, or all values where it cannot take a row back."""


Family: TypeAlias = (
    Count
    | CountOfParts
    | Truth
    | Sum
    | Average
    | AverageOfParts
    | Variance
    | Extreme
    | FirstBy
    | FromAllValues
    | UserDefined
)

USER = "USER"
"""The name under which users' functions are called."""

FAMILIES: dict[str, Family] = {
    "COUNT": Count(),
    "COUNT_MERGED": CountOfParts(),
    "BOOL_AND": Truth(all_values=True),
    "BOOL_OR": Truth(all_values=False),
    "SUM": Sum(),
    "AVG": Average(),
    "AVG_MERGED": AverageOfParts(),
    "VAR_POP": Variance(sample=False, root=False),
    "VAR_SAMP": Variance(sample=True, root=False),
    "STDDEV_POP": Variance(sample=False, root=True),
    "STDDEV_SAMP": Variance(sample=True, root=True),
    "MIN": Extreme(greatest=False),
    "MAX": Extreme(greatest=True),
    "MIN_BY": FirstBy(greatest=False),
    "MAX_BY": FirstBy(greatest=True),
    **FROM_ALL_VALUES,
    USER: UserDefined(),
}
