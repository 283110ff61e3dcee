"""Choices by a random number generator: the same seed, the same choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chooser:
    """The choices that grammars are made of."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.rng.randrange(len(options))]

    def number(self, least: int, most: int) -> int:
        """A number between two others."""
        return self.rng.randint(least, most)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.rng.randrange(100) < percent
