"""Aggregates that depend on the order of their rows, and others that do not."""

from __future__ import annotations


class Path:
    """The values one after the other."""

    def initializer(self, value: int) -> str:
        """The first one."""
        return str(value)

    def merger(self, state: str, value: int) -> str:
        """One more."""
        return f"{state}>{value}"

    def evaluator(self, state: str) -> str:
        """All of them."""
        return state


class Changes:
    """How often the value changed, and what it is now; what was first can be taken out again."""

    def initializer(self, value: int, weight: int) -> list[tuple[int, int]]:
        """The first one."""
        return [(value, weight)]

    def merger(self, state: list[tuple[int, int]], value: int, weight: int) -> list[tuple[int, int]]:
        """One more at the end."""
        return [*state, (value, weight)]

    def inverse(self, state: list[tuple[int, int]], value: int, weight: int) -> list[tuple[int, int]]:
        """One less, the oldest of those."""
        place = state.index((value, weight))
        return state[:place] + state[place + 1 :]

    def evaluator(self, state: list[tuple[int, int]]) -> str:
        """The sequence, each value with its weight."""
        return "".join(f"{value}x{weight} " for value, weight in state)
