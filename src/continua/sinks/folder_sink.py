"""Folders of files: tasks write what they yield, and a file gets its name when its epoch is finished.

A file is named by its epoch, level and partition and is put there whole. An epoch that is run again after a crash finds
its files and leaves them.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.algebra.base import Kind
from continua.answers.plain_answers import plain_answers
from continua.errors import Diagnostic, SourceError, listing
from continua.instants import TimeDomain
from continua.runtime.checkpoint.files import make_folder, remove_partial, sync
from continua.runtime.checkpoint.store import Numbered
from continua.runtime.jobs import Staged
from continua.runtime.machines import writing_to
from continua.sinks.formats import CODED, AnswerFile, write_format
from continua.sinks.sink import Earlier, Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class FolderSink(Sink):
    """A folder with files for each epoch; ``durable``: a file is on the disk itself before it has its name."""

    format: str
    folder: Path
    durable: bool = True
    compression: str | None = None

    def start(self, spark: SparkSession | None = None) -> None:  # noqa: ARG002
        """Refuses a folder with the answers of another run, and removes what one that failed has left unpublished."""
        if self._published():
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"{self.folder} has the answers of another run",
                    hint="remove them, name another folder, or go on with the --checkpoint of that run",
                    parameters={"folder": str(self.folder)},
                )
            )
        self.forget_staged()

    def take_back(self, earlier: Earlier) -> None:
        """Removes files that are what they were when they were written, whatever their format."""
        whole = {_epoch_name(epoch) for epoch in earlier.epochs}
        for path in self.folder.glob("epoch-*"):
            if path.stem in whole or (path.name, _digest(path)) in earlier.files:
                with writing_to(path):
                    path.unlink(missing_ok=True)

    def refuse_later(self, epoch: int) -> None:
        """Refuses a folder with answers of epochs behind the last that its run has finished."""
        later = [p.name for p in self._published() if (number := _EPOCH.match(p.name)) and int(number[1]) > epoch]
        if later:
            raise SourceError(
                Diagnostic(
                    "SINK_AHEAD",
                    f"{self.folder} has answers of epochs that the checkpoint does not have: {listing(later, 3)}",
                    hint="remove these files, if they are not another run's",
                    parameters={"folder": str(self.folder), "files": later, "epoch": epoch},
                )
            )

    def _published(self) -> list[Path]:
        return sorted(self.folder.glob(f"epoch-*.{self.format}"))

    def forget_staged(self) -> None:
        """Removes files that were not published."""
        shutil.rmtree(self.folder / _STAGED, ignore_errors=True)
        if self.folder.is_dir():
            with suppress(OSError):
                remove_partial(self.folder, deep=False)

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Writes an epoch's file, unless it is there."""
        path = self.file(epoch)
        if not path.exists():
            self.put(path, answers, self.durable)

    def repair(self, epoch: int, answers: pa.Table) -> None:
        """Writes an epoch's file again if it is not there, or not what it was."""
        path = self.file(epoch)
        other = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        with writing_to(path):
            make_folder(path.parent, self.durable)
            write_format(other, answers, self.format, self.compression)
            if path.exists() and _digest(path) == _digest(other):
                other.unlink()
                return
            if self.durable:
                sync(other)
            other.replace(path)
            if self.durable:
                sync(path.parent)

    def is_whole(self, epoch: int, digests: Mapping[str, str]) -> bool:
        """Whether an epoch is there: as one file, or as those that tasks have written, with their digests.

        Where it is not known which these are, any of them is as good.
        """
        if self.file(epoch).exists():
            return True
        if not digests:
            return any(self._parts(epoch))
        paths = {self.folder / name: digest for name, digest in digests.items()}
        return all(path.exists() and _digest(path) == digest for path, digest in paths.items())

    def remove(self, epoch: int) -> None:
        """Removes what is left of the files that tasks have written for an epoch."""
        for path in self._parts(epoch):
            path.unlink(missing_ok=True)

    def _parts(self, epoch: int) -> Iterator[Path]:
        return self.folder.glob(f"{_epoch_name(epoch)}-*.{self.format}")

    def file(self, epoch: int) -> Path:
        """The file of an epoch that is written at once."""
        return self.folder / f"{_epoch_name(epoch)}.{self.format}"

    def staged(self, name: str, term: int) -> Path:
        """Where a task leaves a file that is not published yet: under a name that no other driver's tasks write to."""
        stem, _, form = name.rpartition(".")
        return self.folder / _STAGED / f"{stem}.{term}.{form}"

    def publish(
        self, epoch: Numbered, level: int, partition: int, answers: Callable[[], pa.Table], digests: Mapping[str, str]
    ) -> Path | None:
        """Gives a file that a task has written its name, unless it has it; one that is gone is written again.

        ``digests`` are those of files that may have been damaged since: one that is not the same any more is written
        again as well. Returns the file if it was not there before.
        """
        path = self.folder / _part_name(epoch.number, level, partition, self.format)
        if path.exists() and digests.get(path.name) in (None, _digest(path)):
            return None
        staged = self.staged(path.name, epoch.term)
        if staged.exists() and digests.get(path.name) in (None, _digest(staged)):
            staged.rename(path)
        else:
            self.put(path, answers(), self.durable)
        return path

    def published(self) -> None:
        """All files of an epoch have their names."""
        with suppress(OSError):
            (self.folder / _STAGED).rmdir()
        if self.durable and self.folder.exists():
            sync(self.folder)

    def put(self, path: Path, answers: pa.Table, durable: bool) -> None:
        """Writes a file that has its name only when it is whole."""
        with self.new_file(path, durable) as file:
            file.add(answers)

    @contextmanager
    def new_file(self, path: Path, durable: bool) -> Iterator[AnswerFile]:
        """A file that has its name when the block has ended well, and is gone when it has not."""
        partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        with writing_to(path):
            make_folder(path.parent, durable)
            file = AnswerFile(partial, self.format, self.compression)
            try:
                yield file
                file.close()
            except BaseException:
                file.abandon()
                partial.unlink(missing_ok=True)
                raise
            if durable:
                sync(partial)
            partial.replace(path)
            if durable:
                sync(path.parent)


_EPOCH = re.compile(r"epoch-(\d+)")
_STAGED = "_staged"
"""The folder, within that of a sink, with files that tasks have written and that are not published yet."""


@dataclass(frozen=True)
class FolderWriter:
    """Writes the answers of a query to the folder of its sink, from tasks: they are published with their epoch."""

    sink: FolderSink
    kind: Kind
    domain: TimeDomain
    columns: tuple[str, ...]

    @contextmanager
    def staging(self, epoch: Numbered, level: int, partition: int, durable: bool) -> Iterator[FolderStaging]:
        """For what a partition of a level yields in an epoch."""
        name = _part_name(epoch.number, level, partition, self.sink.format)
        path = self.sink.staged(name, epoch.term)
        with self.sink.new_file(path, durable) as file:
            found = FolderStaging(self, file, name)
            yield found
        found.digest = _digest(path)


@dataclass
class FolderStaging:
    """The file with what a task yields, while it is written."""

    writer: FolderWriter
    file: AnswerFile
    name: str
    rows: int = 0
    digest: str = ""

    def add(self, rows: pa.Table) -> None:
        """Adds rows that lie behind those before in time."""
        writer = self.writer
        coded = writer.sink.format in CODED
        answers = plain_answers(rows, writer.kind, writer.domain, writer.columns, coded)
        self.rows += answers.num_rows
        self.file.add(answers)

    @property
    def staged(self) -> Staged:
        """What was written, when it is whole."""
        return Staged(self.rows, self.name, self.digest)


def _digest(path: Path) -> str:
    """The digest of a file's content."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:32]


def _part_name(epoch: int, level: int, partition: int, form: str) -> str:
    return f"{_epoch_name(epoch)}-{level}-{partition}.{form}"


def _epoch_name(epoch: int) -> str:
    return f"epoch-{epoch:010d}"
