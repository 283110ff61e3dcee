"""The calls of an aggregation, as its caller writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_OTHER_NAMES = {
    "MEAN": "AVG",
    "VARIANCE": "VAR_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "EVERY": "BOOL_AND",
    "SOME": "BOOL_OR",
    "ANY_VALUE": "MIN",
    "ARRAY_AGG": "COLLECT_LIST",
}


class OverflowInSum(ValueError):  # noqa: N818
    """A result that was read at an instant is too large for its type."""

    def __init__(self, time: int) -> None:
        super().__init__("the sum does not fit its type")
        self.time = time


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A user-defined aggregate by initializer, merger, evaluator and optional inverse (PIPES 2009, 7.5.2)."""

    initializer: Callable[..., object]
    merger: Callable[..., object]
    evaluator: Callable[[object], object]
    inverse: Callable[..., object] | None = None


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """One call: a function of columns of the input. ``parameters`` holds the fraction of a PERCENTILE.

    COUNT_MERGED adds up the counts of partial results, AVG_MERGED is the average from their sums and counts.
    """

    function: str
    arguments: tuple[int, ...] = ()
    distinct: bool = False
    user: UserAggregate | None = None
    parameters: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """The function, under one name for all its spellings."""
        if self.function == "COUNT" and not self.arguments:
            return "COUNT_ALL"
        return _OTHER_NAMES.get(self.function, self.function)
