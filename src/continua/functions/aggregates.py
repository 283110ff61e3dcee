"""The aggregates: everything about each of them but its compiled code, in one declaration.

The kernel has functions under names of its own (``continua.kernels.aggregate.state_families``): which state of a group
they keep, how a row that comes or goes changes it, and how the result is read from it. A declaration names the one that
computes it; all other layers ask the declaration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from continua.functions.aggregate_sql import (
    AggregateSql,
    WrittenCall,
    average_call,
    count_call,
    exact_call,
    first_call,
    list_call,
    plain_call,
    quantile_call,
    set_call,
    sum_call,
)
from continua.functions.exact_values import ExactValue, mean, spread, total
from continua.functions.signatures import (
    Result,
    always,
    array_of_first,
    parameter_list,
    type_of_average,
    type_of_first,
    type_of_sum,
)
from continua.types import BIGINT, BOOLEAN, DOUBLE


class OfNothing(Enum):
    """What an aggregate makes of no rows."""

    NULL = auto()
    ZERO = auto()
    EMPTY_ARRAY = auto()


class Extreme(Enum):
    """Which of all values an aggregate is."""

    LEAST = auto()
    GREATEST = auto()


@dataclass(frozen=True, slots=True)
class Parts:
    """How an aggregate is put together from partial results; all names are those of the kernel's functions."""

    functions: tuple[str, ...]
    """What is computed of the rows that come together."""
    merged_by: str
    """What takes the columns of these partial results and gives the aggregate."""
    of_distinct: bool = False
    """Whether that holds for DISTINCT values as well, since it does not matter how often a value is there."""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """A built-in aggregate, under Spark's name."""

    name: str
    signature: str
    result: Result
    doc: str
    """What the user's documents say of it; its parameters are x, y and z there."""
    aliases: tuple[str, ...] = ()
    """Other spellings, of which plans know nothing."""

    # What it means.
    sql: AggregateSql = plain_call
    """The SQL by which DuckDB computes it, the definition of it."""
    exact: ExactValue | None = None
    """The definition of it for doubles, where DuckDB's own is not exact."""
    of_nothing: OfNothing = OfNothing.NULL
    counts_rows: bool = False
    """Whether it may have no argument but a star, and is then of the rows themselves."""
    by_time: str | None = None
    """The aggregate that it is when the instants of elements are one more argument."""

    # How it is computed.
    kernel: str | None = None
    """The kernel's function; None if that has the same name."""
    of_true: bool = False
    """Whether only rows count for which its argument is true, so that the kernel is given NULL for the others."""
    in_doubles: bool = False
    """Whether the kernel is given large integers and decimals as doubles."""
    constants: int = 0
    """How many of the last arguments are constants, which the kernel takes as parameters."""
    parts: Parts | None = None
    """How it is computed where rows are read, before they move."""

    # What rules may do with it.
    extreme: Extreme | None = None
    before_join: bool = False
    """Whether it may be computed before a join, of rows that meet no other row as well."""
    can_overflow: bool = False
    """Whether a result may be too large for its type."""
    merged_by: str | None = None
    """The aggregate that puts results for parts of a group together."""

    @property
    def kernel_function(self) -> str:
        """What the kernel calls it."""
        return self.kernel or self.name

    @property
    def usage(self) -> str:
        """A call as documents show it."""
        return f"{self.name}({'*' if self.counts_rows else parameter_list(self.signature)})"


def _by_spelling(functions: Iterable[AggregateFunction]) -> dict[str, AggregateFunction]:
    return {name: function for function in functions for name in (function.name, *function.aliases)}


def _exact_spread(name: str, doc: str, sample: bool, root: bool, aliases: tuple[str, ...] = ()) -> AggregateFunction:
    """A variance or a deviation."""
    return AggregateFunction(
        name, "n", always(DOUBLE), doc, aliases, sql=exact_call, exact=spread(sample, root), in_doubles=True
    )


def _median_sql(call: WrittenCall) -> str:
    return quantile_call(call, "0.5")


def _percentile_sql(call: WrittenCall) -> str:
    return quantile_call(call, call.arguments[1])


def _mode_sql(call: WrittenCall) -> str:
    """A histogram has the values in their order: the first of those that count most is the least of them."""
    counted = f"HISTOGRAM({call.only_different}{call.arguments[0]}){call.filter()}"
    often = f"MAP_VALUES({counted})"
    return f"LIST_EXTRACT(MAP_KEYS({counted}), LIST_POSITION({often}, LIST_MAX({often})))"


def _count_if_sql(call: WrittenCall) -> str:
    return f"COUNT({call.only_different}CASE WHEN {call.arguments[0]} THEN 1 END){call.filter()}"


def _truth_sql(call: WrittenCall) -> str:
    """How often a value is there does not matter, and DuckDB is not told about it: sqlglot cannot say it."""
    return plain_call(replace(call, distinct=False))


def _any_value_sql(call: WrittenCall) -> str:
    return f"MIN({call.arguments[0]}){call.filter()}"


AGGREGATES: dict[str, AggregateFunction] = _by_spelling((
    AggregateFunction(
        "COUNT", "x*", always(BIGINT),
        "how many rows there are; `COUNT(x, ...)` counts those in which no argument is NULL",
        sql=count_call, of_nothing=OfNothing.ZERO, counts_rows=True,
        parts=Parts(("COUNT",), "COUNT_MERGED"), before_join=True, merged_by="SUM",
    ),
    AggregateFunction(
        "COUNT_IF", "b", always(BIGINT), "how many rows there are for which x is true",
        sql=_count_if_sql, of_nothing=OfNothing.ZERO, kernel="COUNT", of_true=True,
        parts=Parts(("COUNT",), "COUNT_MERGED"), before_join=True, merged_by="SUM",
    ),
    AggregateFunction(
        "SUM", "n", type_of_sum, "the sum, of doubles the exact one, rounded once",
        sql=sum_call, exact=total,
        parts=Parts(("SUM",), "SUM"), before_join=True, can_overflow=True, merged_by="SUM",
    ),
    AggregateFunction(
        "AVG", "n", type_of_average, "the average", ("MEAN",),
        sql=average_call, exact=mean,
        parts=Parts(("SUM", "COUNT"), "AVG_MERGED"), before_join=True, can_overflow=True,
    ),
    AggregateFunction(
        "MIN", "x", type_of_first, "the least value",
        parts=Parts(("MIN",), "MIN", of_distinct=True), extreme=Extreme.LEAST, before_join=True, merged_by="MIN",
    ),
    AggregateFunction(
        "MAX", "x", type_of_first, "the greatest value",
        parts=Parts(("MAX",), "MAX", of_distinct=True), extreme=Extreme.GREATEST, before_join=True, merged_by="MAX",
    ),
    AggregateFunction(
        "ANY_VALUE", "x", type_of_first, "one of the values: the least, so that the answer is determined",
        sql=_any_value_sql, kernel="MIN", parts=Parts(("MIN",), "MIN", of_distinct=True),
    ),
    AggregateFunction(
        "MIN_BY", "xx", type_of_first, "the x of the row with the least y",
        sql=first_call("ASC"), parts=Parts(("MIN_BY",), "MIN_BY", of_distinct=True), before_join=True,
    ),
    AggregateFunction(
        "MAX_BY", "xx", type_of_first, "the x of the row with the greatest y",
        sql=first_call("DESC"), parts=Parts(("MAX_BY",), "MAX_BY", of_distinct=True), before_join=True,
    ),
    AggregateFunction("FIRST", "x", type_of_first, "the x of the earliest element", by_time="MIN_BY"),
    AggregateFunction("LAST", "x", type_of_first, "the x of the latest element", by_time="MAX_BY"),
    _exact_spread("VAR_SAMP", "the variance, of a sample", sample=True, root=False, aliases=("VARIANCE",)),
    _exact_spread("VAR_POP", "the variance, of all values", sample=False, root=False),
    _exact_spread("STDDEV_SAMP", "the standard deviation, of a sample", sample=True, root=True, aliases=("STDDEV",)),
    _exact_spread("STDDEV_POP", "the standard deviation, of all values", sample=False, root=True),
    AggregateFunction(
        "MEDIAN", "n", always(DOUBLE), "the value in the middle; between two of them, half way", sql=_median_sql,
    ),
    AggregateFunction(
        "PERCENTILE", "nn", always(DOUBLE),
        "the value at the fraction y, a constant, of the way through the sorted values; between two of them by weight",
        sql=_percentile_sql, constants=1,
    ),
    AggregateFunction(
        "MODE", "x", type_of_first, "the value that is there most often; of several such values the least",
        sql=_mode_sql,
    ),
    AggregateFunction(
        "BOOL_AND", "b", always(BOOLEAN), "whether all values are true", ("EVERY",), sql=_truth_sql,
        parts=Parts(("MIN",), "BOOL_AND", of_distinct=True), before_join=True,
    ),
    AggregateFunction(
        "BOOL_OR", "b", always(BOOLEAN), "whether a value is true", sql=_truth_sql,
        parts=Parts(("MAX",), "BOOL_OR", of_distinct=True), before_join=True,
    ),
    AggregateFunction(
        "COLLECT_LIST", "x", array_of_first, "the values as an array, in their order", ("ARRAY_AGG",),
        sql=list_call, of_nothing=OfNothing.EMPTY_ARRAY,
    ),
    AggregateFunction(
        "COLLECT_SET", "x", array_of_first, "the different values as an array, in their order",
        sql=set_call, of_nothing=OfNothing.EMPTY_ARRAY,
    ),
))  # fmt: skip
"""The declarations, by every spelling."""
