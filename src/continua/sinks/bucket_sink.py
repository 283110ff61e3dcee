"""Prefixes in buckets: what an epoch yields is put there once the epoch is finished, under names that follow from it.

A task reads what a partition has yielded from the checkpoint, and puts an object there that is whole at once. Nothing
is put there before its epoch is certain and nothing has to be moved, and whoever does it again puts the same there. So
readers see each epoch once, whatever becomes of drivers.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.algebra.base import Kind
from continua.answers.plain_answers import plain_answers
from continua.errors import Diagnostic, SourceError, listing
from continua.instants import TimeDomain
from continua.objects.client import bucket_at
from continua.objects.urls import BucketUrl
from continua.runtime.checkpoint.result_segments import read_segment
from continua.runtime.checkpoint.store import Address, store_at
from continua.sinks.formats import write_format
from continua.sinks.sink import Earlier, Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = re.compile(r"epoch-(\d+)(-\d+-\d+)?\.\w+")


@dataclass(frozen=True)
class BucketSink(Sink):
    """Objects for each epoch below a prefix."""

    format: str
    place: BucketUrl
    compression: str | None = None

    def start(self, spark: SparkSession | None = None) -> None:  # noqa: ARG002
        """Refuses a prefix with the answers of another run."""
        if self.names():
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"{self.place} has the answers of another run",
                    hint="remove them, name another prefix, or go on with the --checkpoint of that run",
                    parameters={"folder": str(self.place)},
                )
            )

    def take_back(self, earlier: Earlier) -> None:
        """Removes the objects of epochs."""
        self.remove(name for name in self.names() if _epoch_of(name) in earlier.epochs)

    def refuse_later(self, epoch: int) -> None:
        """Refuses a prefix with answers of epochs behind the last that its run has finished."""
        later = [name for name in self.names() if _epoch_of(name) > epoch]
        if later:
            raise SourceError(
                Diagnostic(
                    "SINK_AHEAD",
                    f"{self.place} has answers of epochs that the checkpoint does not have: {listing(later, 3)}",
                    hint="remove these objects, if they are not another run's",
                    parameters={"folder": str(self.place), "files": later, "epoch": epoch},
                )
            )

    def names(self) -> list[str]:
        """The objects with answers that are there."""
        known = (found.key for found in bucket_at(self.place).found(""))
        return [name for name in known if _EPOCH.fullmatch(name) and name.endswith(f".{self.format}")]

    def whole_name(self, epoch: int) -> str:
        """Of the object with all that an epoch has yielded."""
        return f"epoch-{epoch:010d}.{self.format}"

    def part_name(self, epoch: int, level: int, partition: int) -> str:
        """Of the object with what a partition of a level has."""
        return f"epoch-{epoch:010d}-{level}-{partition}.{self.format}"

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Puts all that an epoch has yielded there."""
        self.put(self.whole_name(epoch), answers)

    def put(self, name: str, answers: pa.Table) -> None:
        """Puts answers there under a name."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            write_format(path, answers, self.format, self.compression)
            bucket_at(self.place).put(name, path.read_bytes())

    def remove(self, names: Iterable[str]) -> None:
        """Removes objects."""
        bucket_at(self.place).delete(names)


def _epoch_of(name: str) -> int:
    found = _EPOCH.fullmatch(name)
    assert found is not None
    return int(found[1])


@dataclass(frozen=True)
class Upload:
    """What a task puts into a bucket: what a partition has yielded for a query, from where it is kept."""

    store: Address
    segment: str
    digest: str
    query: str
    sink: BucketSink
    name: str
    kind: Kind
    domain: TimeDomain
    columns: tuple[str, ...]


def upload(what: Upload) -> int:
    """In a task: puts an object there; how many answers are in it."""
    rows = read_segment(store_at(what.store), what.segment, what.query, what.digest)
    answers = plain_answers(rows, what.kind, what.domain, what.columns)
    what.sink.put(what.name, answers)
    return len(answers)
