"""The two sides of a split time: what one plan answers before it, and another one from it on (PIPES 6.4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from continua.physical.nodes import Node


class Side(Enum):
    """A side of a split time."""

    BEFORE = "before"
    FROM = "from"


@dataclass(frozen=True)
class Split(Node):
    """The part of the rows that is on one side of a split time."""

    stateful: ClassVar[bool] = False
    instant: int
    side: Side
    cuts: bool = True
    """Whether rows that are valid on both sides are cut. If not, every row is on the side on which it starts."""

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts

    @property
    def title(self) -> str:
        return f"{'Valid' if self.cuts else 'Starting'} {self.side.value} {self.instant}"
