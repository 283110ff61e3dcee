"""Functions, aggregates and windows that the acceptance tests register under names of their own."""

from __future__ import annotations

from continua.windows.spec import GenericWindow


def initials(name: str | None) -> str | None:
    """The first letters of a name's words; NULL stays NULL."""
    return None if name is None else "".join(word[0] for word in name.split()).upper()


def or_zero(value: int | None) -> int:
    """A number, or 0 for NULL."""
    return 0 if value is None else value


def twice(value: int | None) -> int | None:
    """Twice a number."""
    return None if value is None else 2 * value


class Spread:
    """The distance between the largest and the smallest value."""

    def initializer(self, value: int) -> tuple[int, int]:
        """The state of one value: the smallest and the largest so far."""
        return value, value

    def merger(self, state: tuple[int, int], value: int) -> tuple[int, int]:
        """The state with one more value."""
        return min(state[0], value), max(state[1], value)

    def evaluator(self, state: tuple[int, int]) -> int:
        """The answer."""
        return state[1] - state[0]


class WeightedMean:
    """The mean of values that count as often as their weights say."""

    def initializer(self, value: float, weight: int) -> tuple[float, int]:
        """The weighted sum and the sum of weights."""
        return value * weight, weight

    def merger(self, state: tuple[float, int], value: float, weight: int) -> tuple[float, int]:
        """The state with one more value."""
        return state[0] + value * weight, state[1] + weight

    def evaluator(self, state: tuple[float, int]) -> float:
        """The answer."""
        return state[0] / state[1]


def day_so_far(length: int) -> GenericWindow:
    """The elements since the last multiple of ``length``, evaluated at every instant."""
    return GenericWindow("day_so_far", lambda t: t - t % length, lambda t: t, lambda t: t, (length,))


def delayed(by: int) -> GenericWindow:
    """The elements of the one instant that is ``by`` units ago."""
    return GenericWindow("delayed", lambda t: t - by, lambda t: t - by, lambda t: t if t >= by else None, (by,))


def ahead(by: int) -> GenericWindow:
    """A window that makes no sense: it ends ``by`` units in the future."""
    return GenericWindow("ahead", lambda t: t, lambda t: t + by, lambda t: t, (by,))
