"""The calls of an aggregation, as its caller writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from continua.kernels.aggregate.state_families import FAMILIES, Family


class OverflowInSum(ValueError):  # noqa: N818
    """A result that was read at an instant is too large for its type."""

    def __init__(self, time: int) -> None:
        super().__init__("the sum does not fit its type")
        self.time = time


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A user-defined aggregate by initializer, merger, evaluator and optional inverse (PIPES 2009, 7.5.2).

    With ``by_time`` the last value of a row is the instant by which rows are in order, and not given to these.
    """

    initializer: Callable[..., object]
    merger: Callable[..., object]
    evaluator: Callable[[object], object]
    inverse: Callable[..., object] | None = None
    by_time: bool = False


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """One call: a function of columns of the input. ``parameters`` holds the fraction of a percentile."""

    function: str
    arguments: tuple[int, ...] = ()
    distinct: bool = False
    user: UserAggregate | None = None
    parameters: tuple[float, ...] = ()

    @property
    def family(self) -> Family:
        """The family that the function belongs to."""
        found = FAMILIES.get(self.function)
        if found is None:
            raise ValueError(f"{self.function} is not an aggregate")
        return found
