"""Functions and aggregates that random queries may use."""

from __future__ import annotations


def or_seven(value: int | None) -> int:
    """A number, or 7 for NULL."""
    return 7 if value is None else value


class Spread:
    """The distance between the largest and the smallest value."""

    def initializer(self, value: int) -> tuple[int, int]:
        """The smallest and the largest so far."""
        return value, value

    def merger(self, state: tuple[int, int], value: int) -> tuple[int, int]:
        """The state with one more value."""
        return min(state[0], value), max(state[1], value)

    def evaluator(self, state: tuple[int, int]) -> int:
        """The answer."""
        return state[1] - state[0]


class Products:
    """The sum of products; values can be taken out again."""

    def initializer(self, left: int, right: int) -> tuple[int, int]:
        """How many pairs there are, and the sum."""
        return 1, left * right

    def merger(self, state: tuple[int, int], left: int, right: int) -> tuple[int, int]:
        """The state with one more pair."""
        return state[0] + 1, state[1] + left * right

    def inverse(self, state: tuple[int, int], left: int, right: int) -> tuple[int, int]:
        """The state with one pair less."""
        return state[0] - 1, state[1] - left * right

    def evaluator(self, state: tuple[int, int]) -> int:
        """The answer."""
        return 100 * state[1] + state[0]
