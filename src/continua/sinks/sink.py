"""What a sink is, and those that need nothing but this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Earlier:
    """The files that a query's sink got before the query was corrected: by name and digest, or the one of an epoch."""

    files: frozenset[tuple[str, str]] = frozenset()
    epochs: frozenset[int] = frozenset()


class Sink(ABC):
    """Takes the answers of finished epochs."""

    stays: ClassVar[bool] = False
    """Whether what it has got can not be taken back."""

    def start(self, spark: SparkSession | None = None) -> None:  # noqa: B027 (most have nothing to do)
        """Called before a query's first epoch: what is there already is not of this run."""

    def take_back(self, earlier: Earlier) -> None:  # noqa: B027 (most can not)
        """Removes what a query has yielded before it was corrected."""

    def forget_staged(self) -> None:  # noqa: B027 (most have nothing to do)
        """Removes what tasks have written for an epoch that will never be finished."""

    def refuse_later(self, epoch: int) -> None:  # noqa: B027 (most can not tell)
        """Refuses to go on where there are answers of epochs behind the last that a run has finished."""

    @abstractmethod
    def write(self, epoch: int, answers: pa.Table) -> None:
        """Takes what an epoch yields: the instants ``t``, ``op`` for relations, and the query's columns."""


@dataclass
class FunctionSink(Sink):
    """A function that gets the number of an epoch and its answers; after a crash it may get one again."""

    function: Callable[[int, pa.Table], object]

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Calls the function."""
        self.function(epoch, answers)


@dataclass
class MemorySink(Sink):
    """Keeps the answers in memory."""

    epochs: dict[int, pa.Table] = field(default_factory=dict)

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Keeps an epoch's answers."""
        self.epochs[epoch] = answers

    def table(self) -> pa.Table:
        """All answers so far, in the order of epochs."""
        found = [self.epochs[number] for number in sorted(self.epochs)]
        return pa.concat_tables(found) if found else pa.table({})
