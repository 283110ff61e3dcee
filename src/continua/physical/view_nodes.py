"""Physical operators between tagged streams and the relations that they modify."""

from __future__ import annotations

from dataclasses import dataclass

from continua.physical.distribution import Anywhere, ByKey, Distribution, by_key
from continua.physical.nodes import Node


@dataclass(frozen=True)
class TaggedView(Node):
    """The relation that modifications leave, perhaps with the instant TS that put each row there.

    ``origin`` says what the input is: TAGS (its last column is the tag), ELEMENTS of a stream (each inserts a row, and
    deletes it again at its end if it lasts for more than a chronon), or the net CHANGES of a relation.
    """

    key: tuple[int, ...]
    timestamp: bool
    origin: str
    chronon: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        width = len(self.inputs[0].schema) - (self.origin == "TAGS")
        return (by_key(self.key or tuple(range(width))),)

    @property
    def title(self) -> str:
        return "Relational view" + (f" by key {self.key}" if self.key else "")


@dataclass(frozen=True)
class Tagger(Node):
    """Elements of a stream as modifications: the first of a key inserts, later ones update (SyncSQL 2.1).

    The tag is the last column. Without a key every element inserts.
    """

    key: tuple[int, ...]
    chronon: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return (ByKey(self.key) if self.key else Anywhere(),)

    @property
    def retracts(self) -> bool:
        return False
