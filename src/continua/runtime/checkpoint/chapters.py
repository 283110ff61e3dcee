"""The history of a live run: what its queries yielded, in chapters, and their content where each chapter ends.

An epoch's results are a file for each partition, and its manifest. Every so often the epochs since are put together
into a chapter, one file: the changes of each query, epoch by epoch, what each query holds at its end, and the late
rows. A chapter goes into the one before it if that is no longer than itself, so that there are few, and the content at
an instant is that of a chapter and the changes since. Chapters behind the retention are dropped: the end of the last
of them is the horizon, and what was before it can not be told any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from continua.catalog import Retention
from continua.kernels.relation.changes import net_changes
from continua.kernels.relation.timeline import Events
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner
from continua.kernels.words.columns import Codec
from continua.physical.nodes import END, START, WEIGHT
from continua.physical.once import Once, distinct, together
from continua.runtime.checkpoint.result_segments import read_all, write_segments
from continua.runtime.checkpoint.store import Address, Store, store_at

HISTORY = "history"
"""The folder of chapters."""
EPOCH = "#epoch"
"""The column that says of which epoch a change is."""
_FILE, _DIGEST = "file", "digest"

_PERIOD = 32
"""After so many epochs there is a chapter, however small they were."""
_LEAST_ROWS = 10_000
"""Before there are that many changes there is none on account of them."""
_MOST_EPOCHS, _MOST_ROWS = 4096, 1 << 20
"""Longer chapters do not grow any more."""
_SHARE = 8
"""A chapter spans at most such a part of what is kept."""


class Subject(Enum):
    """What a table of a chapter tells of a query, or of a source."""

    CONTENT = "content"
    """What the query holds at the end."""
    CHANGES = "changes"
    """How that has changed, epoch by epoch."""
    STAGED = "staged"
    """The files that tasks have written for its sink."""
    LATE = "late"
    """The rows of a source that were too late."""


@dataclass(frozen=True, slots=True)
class TableName:
    """Of what a table of a chapter tells, and what."""

    subject: Subject
    of: str

    def __str__(self) -> str:
        """As it is in the file."""
        return f"{self.subject.value} {self.of}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """It as it is in the file."""
        subject, of = text.split(" ", 1)
        return cls(Subject(subject), of)


@dataclass(frozen=True, slots=True)
class Chapter:
    """Some epochs that are put together."""

    first: int
    last: int
    until: int
    """Up to which instant they have closed."""
    began: int
    finished: int
    """When the first and the last of them were finished, by the clock."""
    digest: str
    rows: int
    """How many changes there are."""
    held: int
    """How many rows all queries hold at its end."""
    late: tuple[str, ...] = ()
    """The sources that have late rows in it."""
    term: int = 0
    """In which it was written."""

    @property
    def name(self) -> str:
        """The name of the file that it is in."""
        return f"{HISTORY}/{self.first}-{self.last}-{self.term}"


@dataclass(frozen=True, slots=True)
class Horizon:
    """The last epoch that can not be told any more, the instant up to which it had closed, and whose late rows went."""

    epoch: int = 0
    until: int = 0
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chapters:
    """What a manifest says of history."""

    chapters: tuple[Chapter, ...] = ()
    """Those that are kept. The end of the first may be the horizon: then only its content counts."""
    horizon: Horizon = Horizon()

    def as_json(self) -> dict[str, Any]:
        """It as plain data."""
        return {"chapters": [asdict(c) for c in self.chapters], "horizon": asdict(self.horizon)}

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Chapters:
        """It from plain data."""
        chapters = tuple(Chapter(**{**c, "late": tuple(c["late"])}) for c in content["chapters"])
        horizon = content["horizon"]
        return cls(chapters, Horizon(**{**horizon, "late": tuple(horizon["late"])}))

    @property
    def last(self) -> int:
        """The last epoch that is in a chapter."""
        return self.chapters[-1].last if self.chapters else 0

    def with_chapter(self, chapter: Chapter) -> Chapters:
        """With one more, which has perhaps taken in others."""
        return replace(self, chapters=(*(c for c in self.chapters if c.last < chapter.first), chapter))

    def behind(self, retention: Retention, now: int, epoch: int) -> Chapters:
        """Without the chapters that are behind what is kept; of the last of them the content stays."""

        def old(chapter: Chapter) -> bool:
            if retention.epochs is not None:
                return epoch - chapter.last >= retention.epochs
            return retention.microseconds is not None and now - chapter.finished > retention.microseconds

        gone = sum(1 for c in self.chapters if old(c))
        if not gone or self.chapters[gone - 1].last == self.horizon.epoch:
            return self
        end = self.chapters[gone - 1]
        late = {*self.horizon.late, *(s for c in self.chapters[:gone] for s in c.late)}
        return Chapters(self.chapters[gone - 1 :], Horizon(end.last, end.until, tuple(sorted(late))))


def is_due(past: Chapters, retention: Retention, epoch: int, rows: int) -> bool:
    """Whether the epochs since the last chapter are to become one; ``rows``: how many changes they have."""
    held = past.chapters[-1].held if past.chapters else 0
    since = epoch - past.last
    period = max(_PERIOD, min(held // 1000, 1024))
    if retention.epochs is not None:
        period = min(period, max(retention.epochs, 1))
    return since >= period or rows >= max(held, _LEAST_ROWS)


def taken_in(past: Chapters, retention: Retention, first: Chapter) -> tuple[Chapter, ...]:
    """The last chapters that one which is about to be written takes in."""
    found: tuple[Chapter, ...] = ()
    span, rows, began = first.last - first.first + 1, first.rows, first.began
    most = _MOST_EPOCHS if retention.epochs is None else min(_MOST_EPOCHS, max(retention.epochs // _SHARE, 1))
    for chapter in reversed(past.chapters):
        length = chapter.last - chapter.first + 1
        time = None if retention.microseconds is None else retention.microseconds // _SHARE
        too_long = length > span or span + length > most or rows + chapter.rows > _MOST_ROWS
        if (
            chapter.last <= past.horizon.epoch
            or too_long
            or (time and first.finished - min(began, chapter.began) > time)
        ):
            break
        found, span, rows, began = (chapter, *found), span + length, rows + chapter.rows, chapter.began
    return found


@dataclass(frozen=True)
class Writing:
    """A chapter to be written, for the task that does it."""

    store: Address
    chapter: Chapter
    """Without what is known only once it is written."""
    before: Chapter | None
    """The one that it goes on from."""
    taken: tuple[Chapter, ...]
    """Those that it takes in: the last of them is the one before."""
    epochs: Mapping[int, Mapping[str, str]]
    """The epochs in it that are in no chapter yet: their files with results, and the digests."""
    late: Mapping[str, Mapping[int, Mapping[str, str]]]
    """For each source the files with late rows, by epoch."""
    staged: Mapping[int, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """By epoch and query, the files that tasks have written for sinks, and their digests."""
    since: Mapping[str, int] = field(default_factory=dict)
    """The first epoch of each query."""
    durable: bool = False


def write_chapter(writing: Writing) -> Chapter:
    """Writes a chapter, and says what is in it."""
    store = store_at(writing.store)
    parts: dict[TableName, list[pa.Table]] = {}
    numbered, joined = Once(_of_epoch), Once(_whole)
    for chapter in writing.taken:
        for name, table in read_chapter(store, chapter).items():
            kept = _of_those_that_run(writing, name, table)
            if kept is not None:
                parts.setdefault(name, []).append(kept)
    for epoch, files in writing.epochs.items():
        for file, digest in files.items():
            for query, table in read_all(store, file, digest).items():
                if writing.since.get(query, epoch + 1) <= epoch:
                    parts.setdefault(TableName(Subject.CHANGES, query), []).append(numbered(table, epoch))
    for epoch, by_query in writing.staged.items():
        for query, staged in by_query.items():
            if writing.since.get(query, epoch + 1) <= epoch:
                parts.setdefault(TableName(Subject.STAGED, query), []).append(_of_epoch(_listed(staged), epoch))
    for source, by_epoch in writing.late.items():
        for epoch, files in by_epoch.items():
            for file, digest in files.items():
                table = read_all(store, file, digest)[source]
                parts.setdefault(TableName(Subject.LATE, source), []).append(_of_epoch(table, epoch))
    whole = {name: joined(*tables) for name, tables in parts.items()}
    rows = sum(t.num_rows for t in distinct(t for name, t in whole.items() if name.subject is Subject.CHANGES))
    held = _contents(writing, whole)
    tables = {str(name): table for name, table in {**whole, **held}.items()}
    stored = write_segments(store, writing.chapter.name, tables, writing.durable)
    return replace(
        writing.chapter,
        digest=stored.digest,
        rows=rows,
        held=sum(t.num_rows for t in distinct(held.values())),
        late=tuple(sorted(name.of for name in whole if name.subject is Subject.LATE)),
    )


def read_chapter(store: Store, chapter: Chapter) -> dict[TableName, pa.Table]:
    """All tables of a chapter."""
    return {TableName.parse(key): table for key, table in read_all(store, chapter.name, chapter.digest).items()}


def _whole(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables).combine_chunks()


def _of_those_that_run(writing: Writing, name: TableName, table: pa.Table) -> pa.Table | None:
    """What of a table of an earlier chapter somebody can still ask for: a name may have been another query's before."""
    if name.subject is Subject.LATE:
        return table
    if name.subject is Subject.CONTENT or name.of not in writing.since:
        return None
    epochs = np.asarray(table.column(EPOCH).to_numpy(), np.int64)
    begin = int(np.searchsorted(epochs, writing.since[name.of]))
    if not begin:
        return table
    return table.slice(begin) if begin < table.num_rows else None


def _listed(staged: Mapping[str, str]) -> pa.Table:
    """Files and their digests; as everything in a chapter they have times, which mean nothing."""
    none = np.zeros(len(staged), np.int64)
    return pa.table({_FILE: list(staged), _DIGEST: list(staged.values()), START: none, END: none, WEIGHT: none})


def _of_epoch(table: pa.Table, epoch: int) -> pa.Table:
    return table.add_column(0, EPOCH, pa.array(np.full(table.num_rows, epoch, np.int64)))


def _contents(writing: Writing, whole: Mapping[TableName, pa.Table]) -> dict[TableName, pa.Table]:
    """What each query holds where a chapter ends."""
    before = writing.before
    known = {} if before is None else read_chapter(store_at(writing.store), before)
    some, joined, held = Once(between), Once(together), Once(held_at)
    found: dict[TableName, pa.Table] = {}
    for query, since in writing.since.items():
        content, changes = TableName(Subject.CONTENT, query), TableName(Subject.CHANGES, query)
        first = max(since, 1 if before is None else before.last + 1)
        parts = []
        if before is not None and since <= before.last and content in known:
            parts.append(known[content])
        if changes in whole:
            parts.append(some(whole[changes], first, writing.chapter.last))
        if parts:
            found[content] = held(joined(*parts), writing.chapter.until)
    return found


def between(table: pa.Table, first: int, last: int) -> pa.Table:
    """The rows of some epochs of a chapter, without the number of the epoch."""
    epochs = np.asarray(table.column(EPOCH).to_numpy(), np.int64)
    begin, end = np.searchsorted(epochs, [first, last + 1])
    return table.slice(int(begin), int(end - begin)).drop_columns([EPOCH])


def held_at(table: pa.Table, instant: int) -> pa.Table:
    """What changes up to an instant amount to: each row that is there then once, with how often."""
    times = (START, END, WEIGHT)
    end = np.asarray(table.column(END).to_numpy(), np.int64)
    table = table.filter(pa.array(end > instant)).combine_chunks()
    names = [name for name in table.column_names if name not in (START, WEIGHT)]
    codec = Codec(table.select(names).schema, Interner(Arena(), "strings"))
    words = codec.encode(table.select(names))
    count = table.num_rows
    start, weight = np.zeros(count, np.int64), np.asarray(table.column(WEIGHT).to_numpy(), np.int64)
    places, sums = net_changes(Events(start, start, weight, words))
    kept = table.take(pa.array(places))
    columns = {name: kept.column(name) for name in table.column_names if name not in times}
    since = np.full(places.size, instant, np.int64)
    return pa.table({**columns, START: since, END: kept.column(END), WEIGHT: sums})


def chapters_between(past: Chapters, first: int, last: int) -> Iterator[Chapter]:
    """The chapters with some of these epochs."""
    for chapter in past.chapters:
        if chapter.last >= first and chapter.first <= last and chapter.last > past.horizon.epoch:
            yield chapter


def chapter_at(past: Chapters, instant: int) -> Chapter | None:
    """The last chapter that ends before, or at, an instant; None where the beginning is as good."""
    return next((c for c in reversed(past.chapters) if c.until <= instant), None)


def staged_in(table: pa.Table) -> dict[str, str]:
    """The files that such rows tell of, and their digests."""
    return dict(zip(table.column(_FILE).to_pylist(), table.column(_DIGEST).to_pylist(), strict=True))
