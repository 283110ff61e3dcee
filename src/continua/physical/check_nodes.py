"""Physical operators directly above sources: what is asked of rows before any query sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from continua.algebra.leaves import Check, Rule, Sample
from continua.physical.distribution import Alone, Distribution, by_key
from continua.physical.nodes import Node


@dataclass(frozen=True)
class Checked(Node):
    """The rows of a placed source that keep to what it says of its keys; the others are rejected.

    Rows of streams all go through one partition: only so they are in their order behind it.
    """

    check: Check
    key: tuple[int, ...]
    columns: tuple[str, ...] = field(default=(), compare=False)
    """What queries call its columns."""

    @property
    def identity(self) -> tuple[int, ...]:
        """The columns that say of which key a row is: without a key all that it has but the tag."""
        return self.key or tuple(range(len(self.columns) - 1))

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (Alone() if self.check.rule is Rule.WITHIN else by_key(self.identity),)

    @property
    def retracts(self) -> bool:
        return False

    @property
    def is_fed(self) -> bool:
        return self.inputs[0].is_fed

    @property
    def title(self) -> str:
        return f"Check of {self.check.told_as}"


@dataclass(frozen=True)
class Sampled(Node):
    """The rows of a placed source that a sample has: which these are, follows from where they stand."""

    stateful: ClassVar[bool] = False
    sample: Sample
    columns: tuple[str, ...] = field(default=(), compare=False)
    """What queries call its columns."""

    @property
    def retracts(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return self.sample.text.capitalize()
