"""What finished epochs have yielded: found where it is, in the files of epochs or in chapters (:mod:`chapters`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from continua.catalog import Retention
from continua.physical.nodes import END, START
from continua.runtime.checkpoint.chapters import (
    HISTORY,
    Chapter,
    Chapters,
    Subject,
    TableName,
    Writing,
    between,
    chapter_at,
    chapters_between,
    is_due,
    staged_in,
    taken_in,
    write_chapter,
)
from continua.runtime.checkpoint.manifests import Manifests
from continua.runtime.checkpoint.result_segments import epoch_of, late_name, read_segment, result_name
from continua.runtime.checkpoint.store import Address, Numbered, Store, store_at
from continua.runtime.executors.executor import Executor
from continua.sources.split_readings import FIRST_READING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")


class BehindHorizon(Exception):  # noqa: N818
    """What is asked for is older than the history that is kept."""

    def __init__(self, until: int) -> None:
        super().__init__(until)
        self.until = until


class Yielded:
    """The results and late rows of finished epochs."""

    def __init__(
        self,
        store: Store,
        manifests: Manifests,
        executor: Executor,
        retention: Retention | None,
        clock: Callable[[], int],
        durable: bool,
    ) -> None:
        """``retention``: how much is kept; None where epochs stay as they are."""
        self.store = store
        self._manifests = manifests
        self._executor = executor
        self._retention = retention
        self._clock = clock
        self.durable = durable
        self.past = Chapters()
        """What the next manifest says of history."""
        self._rows = 0
        self._stale: list[str] = []
        """The files that are needed no more once a manifest says what is in their place."""
        self.all_have: Callable[[int], bool] = lambda _: True
        """Whether all who read epoch by epoch have had one: its files are kept until then, chapter or not."""
        self._gone = 0
        """The last epoch whose files were removed because a chapter has what they said."""

    @property
    def spark(self) -> SparkSession | None:
        """The session of Spark by which tasks run, if they do."""
        return self._executor.spark

    def in_tasks(self, function: Callable[[_Argument], _Result], arguments: Sequence[_Argument]) -> list[_Result]:
        """The results of a function that reads what epochs have yielded: rows do not pass through the driver."""
        return self._executor.where_rows_are_read(function, arguments)

    # Writing chapters.

    def finished(self, epoch: int, until: int, rows: int, since: Mapping[str, int]) -> None:
        """An epoch is finished, with so many results; ``since``: the first epoch of each query that runs."""
        if self._stale and self.all_have(self.past.last):
            self.store.delete(*self._stale)
            self._stale = []
            self._gone = self.past.last
            self._manifests.are_gone(self._gone)
        if self._retention is None:
            return
        # before this epoch is in a chapter, so that whoever reads epoch by epoch has it before it can be behind
        kept = self.past.behind(self._retention, self._clock(), epoch)
        self._stale += [c.name for c in self.past.chapters if c not in kept.chapters]
        self.past = kept
        self._rows += rows
        if is_due(self.past, self._retention, epoch, self._rows):
            self._write(epoch, until, since, self._retention)

    def _write(self, epoch: int, until: int, since: Mapping[str, int], retention: Retention) -> None:
        first = self.past.last + 1
        manifests = {number: self._manifests.read(number) for number in range(first, epoch + 1)}
        late: dict[str, dict[int, dict[str, str]]] = {}
        results: dict[int, dict[str, str]] = {}
        for number, manifest in manifests.items():
            files = dict(manifest.files)
            for source, tasks in manifest.late.items():
                names = [late_name(source, manifest.name, task) for task in tasks]
                late.setdefault(source, {})[number] = {name: files.pop(name) for name in names}
            results[number] = files
        began, ended = manifests[first].finished, manifests[epoch].finished
        term = self.store.address.term
        new = Chapter(first, epoch, until, began, ended, "", self._rows, 0, term=term)
        taken = taken_in(self.past, retention, new)
        if taken:
            new = Chapter(taken[0].first, epoch, until, taken[0].began, ended, "", 0, 0, term=term)
        before = self.past.chapters[-1] if self.past.chapters else None
        staged = {number: manifest.staged for number, manifest in manifests.items()}
        writing = Writing(self.store.address, new, before, taken, results, late, staged, dict(since), self.durable)
        (written,) = self._executor.where_rows_are_read(write_chapter, [writing])
        self.past, self._rows = self.past.with_chapter(written), 0
        self._stale += [name for manifest in manifests.values() for name in manifest.files]
        self._stale += self._manifests.paths(range(max(first - 1, 1), epoch))
        self._stale += [chapter.name for chapter in taken]

    def recover(self, past: Chapters) -> None:
        """Goes on from what a manifest says of history."""
        self.past = past
        self._gone = past.last
        while self._gone and self._has_files(self._gone):
            self._gone -= 1

    def _has_files(self, epoch: int) -> bool:
        """Whether the files of an epoch are all there although a chapter has what they say."""
        return self._manifests.has(epoch) and all(map(self.store.has, self._manifests.results(epoch).files))

    def tidy(self, epoch: int) -> None:
        """Removes what a crash has left of epochs and chapters that are told elsewhere."""
        known = {c.name for c in self.past.chapters}
        stale = [name for name in self.store.names(HISTORY) if name not in known and self._is_ours(name)]
        for name in (*self.store.names("results"), *self.store.names("late")):
            of = epoch_of(name)
            if of is not None and of.number <= self.past.last:
                stale.append(name)
        stale += self._manifests.paths(range(min(self.past.last, epoch)))
        self.store.delete(*stale)
        self._gone = self.past.last

    def _is_ours(self, chapter: str) -> bool:
        """Whether a chapter was written in the term of this driver or before."""
        term = chapter.rpartition("-")[2]
        return term.isdigit() and int(term) <= self.store.address.term

    # Reading.

    def is_apart(self, epoch: int) -> bool:
        """Whether what an epoch has yielded is still told by level and partition, and not by a chapter alone."""
        return epoch > self._gone

    def named(self, epoch: int) -> Numbered:
        """An epoch that is told apart, and its term."""
        return Numbered(epoch, self._manifests.results(epoch).term)

    def places(self, query: str, epoch: int) -> list[tuple[int, int]]:
        """The levels and partitions that have yielded something for a query in an epoch that is told apart."""
        return sorted((level, part) for level, part in self._manifests.results(epoch).places.get(query, []))

    def segments(self, query: str, epoch: int) -> list[tuple[str, str]]:
        """The files with what they have yielded, and their digests."""
        names = [result_name(self.named(epoch), level, part) for level, part in self.places(query, epoch)]
        return [(name, self._manifests.results(epoch).files[name]) for name in names]

    def segment(self, query: str, epoch: int, level: int, partition: int) -> pa.Table:
        """What one of them has yielded."""
        name = result_name(self.named(epoch), level, partition)
        return read_segment(self.store, name, query, self._manifests.results(epoch).files[name])

    def staged(self, query: str, epoch: int) -> dict[str, str]:
        """The files that tasks have written for the sink of a query in an epoch, and their digests, as far as known."""
        if self.is_apart(epoch):
            return self._manifests.results(epoch).staged.get(query, {})
        found: dict[str, str] = {}
        for table in self._in_chapters(TableName(Subject.STAGED, query), epoch, epoch):
            found |= staged_in(between(table, epoch, epoch))
        return found

    def of(self, query: str, first: int, last: int) -> pa.Table | None:
        """The result rows of a query in some epochs, in the order of epochs; None when there are none."""
        self.check(first)
        tables = [between(t, first, last) for t in self._in_chapters(TableName(Subject.CHANGES, query), first, last)]
        for number in range(max(first, self.past.last + 1), last + 1):
            tables += [self.segment(query, number, level, part) for level, part in self.places(query, number)]
        tables = [table for table in tables if table.num_rows]
        return pa.concat_tables(tables) if tables else None

    def check(self, first: int) -> None:
        """Refuses what lies behind the horizon."""
        if first <= self.past.horizon.epoch:
            raise BehindHorizon(self.past.horizon.until)

    def _in_chapters(self, table: TableName, first: int, last: int) -> Iterator[pa.Table]:
        for chapter in chapters_between(self.past, first, last):
            found = _part(self.store.address, chapter.name, chapter.digest, table)
            if found is not None:
                yield found

    def held(self, query: str, instant: int, since: int, last: int) -> pa.Table | None:
        """Rows that tell what a query holds at an instant: the content where a chapter ends, and what changed since."""
        base = chapter_at(self.past, instant)
        if base is None and self.past.horizon.epoch >= since:
            raise BehindHorizon(self.past.horizon.until)
        if base is None or base.last < since:
            return self.of(query, since, last)
        content = _part(self.store.address, base.name, base.digest, TableName(Subject.CONTENT, query))
        changes = self.of(query, base.last + 1, last)
        parts = [t for t in (content, changes) if t is not None]
        if not parts:
            return None
        table = pa.concat_tables(parts)
        start, end = (np.asarray(table.column(n).to_numpy(), np.int64) for n in (START, END))
        return table.filter(pa.array((start <= instant) & (end > instant)))

    def late(self, source: str, last: int) -> pa.Table | None:
        """The rows of a source that were too late, in the order of epochs; None when there are none."""
        if source in self.past.horizon.late:
            raise BehindHorizon(self.past.horizon.until)
        tables = self.late_kept(source, last)
        return pa.concat_tables(tables) if tables else None

    def late_kept(self, source: str, last: int) -> list[pa.Table]:
        """Those of them that are still there, in the order of epochs."""
        tables = [between(t, 1, last) for t in self._in_chapters(TableName(Subject.LATE, source), 1, last)]
        for number in range(self.past.last + 1, last + 1):
            tables += self.late_in(source, number)
        return tables

    def late_in(self, source: str, epoch: int, arrived: bool = False) -> list[pa.Table]:
        """Those that an epoch kept apart; perhaps only such as arrived, and were not read from files."""
        manifest = self._manifests.read(epoch)
        found = sorted(manifest.late.get(source, []))
        names = [late_name(source, manifest.name, task) for task in found if not arrived or task < FIRST_READING]
        return [read_segment(self.store, name, source, manifest.files[name]) for name in names]


@lru_cache(maxsize=64)
def _part(address: Address, name: str, digest: str, table: TableName) -> pa.Table | None:
    """A table of a chapter; those that were asked for lately are remembered."""
    return read_segment(store_at(address), name, str(table), digest, missing=True)
