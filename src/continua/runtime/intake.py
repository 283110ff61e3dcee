"""The rows of live runs that come once: those that were inserted, and what standard input and sockets bring.

They are taken in batches. A batch is kept, in the checkpoint if there is one, before any run works on it, and until all
runs that read its sources have it in a finished epoch. So each run has all batches once, whatever the others do, and
after a crash each goes on with those that it has not worked on.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from continua.catalog import is_by_arrival, is_logged
from continua.kernels.jit import Int64s
from continua.physical.nodes import END, START, WEIGHT
from continua.runtime.checkpoint.result_segments import INTAKE, intake_name, read_all, write_segments
from continua.runtime.checkpoint.seals import missing
from continua.runtime.checkpoint.store import Numbered, Store, newest
from continua.runtime.feed import arrived
from continua.runtime.inputs import InputReader
from continua.runtime.log_segments import log_parts, log_segments
from continua.runtime.waiting_rows import Taken
from continua.sources.incoming import Incoming
from continua.sources.incoming_connections import check_standard_input
from continua.sources.incoming_rows import IncomingRows
from continua.sources.intervals import NEVER, Source
from continua.sources.logged import Logged, LoggedSource, Mark, Past
from continua.sources.source_spec import Malformed

Refusing = Callable[[Source, Sequence[Malformed]], None]
"""Takes what has come of a source and is no row."""

_MARKS = ""
"""Beside the rows of sources, a batch in the checkpoint has under this name the marks of rows that others had kept."""
_IN_MEMORY = 64 << 20
"""So many bytes of batches are held in memory where they are in a checkpoint too."""
_AN_EPOCH = 128 << 20
"""An epoch has no more bytes of them, unless a single batch has."""
_NOTHING = Taken({}, {})


@dataclass
class _Batch:
    """Rows that were taken together."""

    name: Numbered
    rows: dict[str, int]
    """How many of each source."""
    size: int
    tables: dict[str, pa.Table] | None
    """None where they are to be read from the checkpoint."""
    inserted: Taken
    """Those of them that were inserted, as they were; nothing where the checkpoint has them."""
    marks: dict[str, Mark] = field(default_factory=dict)
    """By relations whose changes are logged, up to where they were read."""
    contents: frozenset[str] = frozenset()
    """The relations of which it has all that they had then."""
    is_done: bool = False
    """Whether everybody has worked on it: then it is kept for its marks, or as a part of a log."""

    @property
    def number(self) -> int:
        """Its place among all batches."""
        return self.name.number


class Intake:
    """Takes rows in, and has them until all readers are done with them."""

    def __init__(
        self,
        inputs: InputReader,
        refusing: Refusing,
        store: Store | None,
        durable: bool,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """``store``: where batches are kept so that they outlive the process, if they are to.

        ``check`` fails once another driver has that store: what is kept from then on nobody will ever work on.
        """
        self._check = check
        self._inputs = inputs
        self._refusing = refusing
        self._store = store
        self._durable = durable
        self.lock = threading.RLock()
        """Held while something is taken in or given out."""
        self.news = threading.Event()
        """Is set when something has come by itself."""
        self._open: dict[str, Incoming | IncomingRows | LoggedSource | None] = {}
        self._untaken: dict[str, pa.Table] = {}
        """What has come by itself and could not be kept."""
        self._unlogged: dict[str, Logged] = {}
        """The same of relations whose changes are logged."""
        self._failure: BaseException | None = None
        self._readers: list[Reader] = []
        self._holding = 0
        """How many find out from where on they will read."""
        self._left = 0
        """The last batch that readers had worked on which read no more."""
        self.last = 0
        """The number of the last batch that ever was."""
        self.marks: set[int] = set()
        """By what others knew rows that were in the checkpoint when this began."""
        known = () if store is None else newest(store.numbers(INTAKE)).values()
        self._batches = [] if store is None else [self._found(store, name) for name in known]
        self.last = max((b.number for b in self._batches), default=0)

    def _found(self, store: Store, name: Numbered) -> _Batch:
        tables = read_all(store, intake_name(name))
        if (sent := tables.pop(_MARKS, None)) is not None:
            self.marks |= set(_numbers(sent, START).tolist())
        parts = log_parts(tables)
        size = sum(t.nbytes for t in parts.rows.values())
        counts = {n: t.num_rows for n, t in parts.rows.items()}
        return _Batch(name, counts, size, None, _NOTHING, dict(parts.marks), frozenset(parts.contents))

    def reader(self, done: int, intended: int = 0) -> Reader:
        """Somebody who has worked on the batches up to one; ``intended``: on which an epoch was about to work."""
        with self.lock:
            if intended > done and self._store is not None and all(b.number != intended for b in self._batches):
                raise missing(f"{self._store.url}/{INTAKE}/{intended}")
            self.last = max(self.last, done)
            self._readers.append(Reader(self, done))
            return self._readers[-1]

    def check(self, sources: Mapping[str, Source]) -> None:
        """Refuses sources that can not be read along with those that are."""
        with self.lock:
            read = {name: info for reader in self._readers for name, info in reader.known.items()}
        check_standard_input({**read, **sources}.values())

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Nothing is let go of in the block: whoever becomes a reader in it has what others had not read before it."""
        with self.lock:
            self._holding += 1
        try:
            yield
        finally:
            with self.lock:
                self._holding -= 1

    def leave(self, reader: Reader) -> None:
        """A reader reads no more: nothing waits for it from the next look on."""
        with self.lock:
            if reader in self._readers:
                self._readers.remove(reader)
                self._left = max(self._left, reader.done)

    def take(self, known: Mapping[str, Source], read: Collection[str], now: int, rows: int | None) -> bool:
        """Takes in what has come of sources, at most so many rows of each that comes by itself.

        ``read`` are those that are read now. Whether there may be more of one.
        """
        with self.lock:
            if self._failure is not None:
                raise self._failure
            self.news.clear()
            more = self._take_incoming({name: known[name] for name in read}, now, rows)
            self._inputs.notices += [n for x in self._open.values() if x is not None for n in x.notices()]
            inserted = self._inputs.take(known)
            try:
                tables = {n: arrived(known[n], found, now) for n, found in inserted.tables.items()}
                logged = {n: found.rows for n, found in self._unlogged.items() if found.rows.num_rows}
                came = {**self._untaken, **logged}
                self._keep({n: _joined(came.get(n), tables.get(n)) for n in came.keys() | tables}, inserted)
            except BaseException:
                self._inputs.give_back(inserted)
                raise
            self._untaken, self._unlogged = {}, {}
            return more

    def _take_incoming(self, known: Mapping[str, Source], now: int, rows: int | None) -> bool:
        more = False
        for name, info in known.items():
            if name not in self._open:
                self._open[name] = self._inputs.incoming(info, self.news, self._past(name), self._store is not None)
            incoming = self._open[name]
            waits = name in self._untaken or name in self._unlogged
            found = None if incoming is None or waits else incoming.take(now, rows)
            if found is None:
                continue
            if found.wrong:
                self._refuse(info, found.wrong)
            if isinstance(found, Logged):
                self._unlogged[name] = found
                more |= found.more
            elif found.rows.num_rows:
                self._untaken[name] = found.rows
                more |= rows is not None
        return more

    def _past(self, name: str) -> Past:
        """What the log has of a relation."""
        mine = [batch for batch in self._batches if name in batch.marks]
        if not mine or self._store is None:
            return Past()
        first = max((n for n, batch in enumerate(mine) if name in batch.contents), default=0)
        parts = [log_parts(read_all(self._store, intake_name(batch.name))) for batch in mine[first:]]
        content = [parts[0].contents[name]] if name in parts[0].contents else []
        changes = [part.rows[name] for part in parts[len(content) :] if name in part.rows]
        return Past(mine[-1].marks[name], (*content, *changes))

    def _refuse(self, info: Source, wrong: Sequence[Malformed]) -> None:
        """What is no row is kept apart, or ends all runs: it is not known which rows were to come."""
        try:
            self._refusing(info, wrong)
        except BaseException as error:
            self._failure = error
            raise

    def _keep(self, tables: dict[str, pa.Table], inserted: Taken) -> None:
        """Makes rows a batch, with what is logged along with them."""
        sent = inserted.all_marks
        if not tables and not self._unlogged:
            self._inputs.are_kept(sent)
            return
        name = Numbered(self.last + 1, 0 if self._store is None else self._store.address.term)
        if self._store is not None:
            segments = {**tables, **log_segments(self._unlogged), **({_MARKS: _as_rows(sent)} if sent else {})}
            write_segments(self._store, intake_name(name), segments, self._durable)
            try:
                self._check()
            except BaseException:
                self._store.delete(intake_name(name))
                raise
        counts = {name: table.num_rows for name, table in tables.items()}
        size, again = sum(t.nbytes for t in tables.values()), inserted if self._store is None else _NOTHING
        marks = {n: found.mark for n, found in self._unlogged.items()}
        contents = frozenset(n for n, found in self._unlogged.items() if found.content is not None)
        self._batches.append(_Batch(name, counts, size, tables, again, marks, contents))
        self.last = name.number
        self._make_room()
        if sent:
            self._inputs.are_kept(sent)
        if not tables:
            self.forget()  # no epoch works on it

    def _make_room(self) -> None:
        """Lets go of the older batches in memory, where they are in the checkpoint."""
        held = 0
        for batch in reversed(self._batches if self._store is not None else []):
            held += batch.size if batch.tables is not None else 0
            if held > _IN_MEMORY:
                batch.tables = None

    def next(self, reader: Reader, known: Collection[str], rows: int | None) -> dict[str, pa.Table]:
        """The rows that a reader has not worked on, as many as an epoch has."""
        with self.lock:
            chosen: list[_Batch] = []
            counts: Counter[str] = Counter()
            size = 0
            reader.behind = False
            for batch in self._batches:
                mine = batch.rows.keys() & known
                if batch.number <= reader.done or batch.is_done or not mine:
                    continue
                many = rows is not None and any(counts[n] + batch.rows[n] > rows for n in mine)
                if chosen and (many or size + batch.size > _AN_EPOCH):
                    reader.behind = True
                    break
                chosen.append(batch)
                counts.update({n: batch.rows[n] for n in mine})
                size += batch.size
            reader.given = chosen[-1].number if chosen else reader.done
            parts = [self._tables(batch) for batch in chosen]
            return {n: pa.concat_tables([p[n] for p in parts if n in p]) for n in counts}

    def _tables(self, batch: _Batch) -> dict[str, pa.Table]:
        if batch.tables is not None:
            return batch.tables
        assert self._store is not None
        found = read_all(self._store, intake_name(batch.name))
        found.pop(_MARKS, None)
        return log_parts(found).rows

    def waiting(self, done: int, known: Collection[str] | None = None) -> dict[str, int]:
        """How many rows of sources, of all or of some, are in batches behind one."""
        found: Counter[str] = Counter()
        with self.lock:
            for batch in self._batches:
                if batch.number > done and not batch.is_done:
                    found.update({n: c for n, c in batch.rows.items() if known is None or n in known})
        return dict(found)

    def forget(self) -> None:
        """Lets go of batches that everybody is done with."""
        with self.lock:
            for batch in [] if self._holding else list(self._batches):
                if all(r.done >= batch.number or not (batch.rows.keys() & r.known) for r in self._readers):
                    self._finish(batch)
            needed = self._logs() if self._store is not None else set()
            for batch in [b for b in self._batches if b.is_done and b.number not in needed]:
                self._batches.remove(batch)
                if self._store is not None:
                    self._store.delete(intake_name(batch.name))

    def _finish(self, batch: _Batch) -> None:
        """Everybody has worked on a batch: those whose changes are logged need not have them any more."""
        if batch.is_done:
            return
        batch.is_done, batch.tables = True, None
        for name, mark in batch.marks.items():
            source = self._open.get(name)
            if source is not None and not isinstance(source, Incoming | IncomingRows):
                source.finished(mark)

    def _logs(self) -> set[int]:
        """The batches that are kept for what they log: from the last whole content of a relation on, and all marks."""
        found: set[int] = set()
        for name in {name for batch in self._batches for name in batch.marks}:
            mine = [batch for batch in self._batches if name in batch.marks]
            first = max((n for n, batch in enumerate(mine) if name in batch.contents), default=0)
            found |= {batch.number for batch in mine[first:]}
        return found

    def complete(self, name: str) -> int | None:
        """Up to where a source is complete by its own word, with all that was taken in of it."""
        with self.lock:
            source = self._open.get(name)
            return None if source is None or isinstance(source, Incoming | IncomingRows) else source.complete

    def figures(self) -> dict[str, Mapping[str, float]]:
        """By source what it costs others that it is read."""
        with self.lock:
            logged = {n: s for n, s in self._open.items() if not (s is None or isinstance(s, Incoming | IncomingRows))}
            return {name: figures for name, source in logged.items() if (figures := source.figures())}

    def ended(self, reader: Reader) -> list[str]:
        """The sources of which everything has come and a reader has worked on it."""
        with self.lock:
            waiting = self.waiting(reader.done)
            over = [n for n, x in self._open.items() if x is not None and x.ended and n not in self._untaken]
            return [n for n in over if n not in waiting and n in reader.known]

    def close(self) -> None:
        """Nothing more is read. What was inserted, and neither worked on nor kept, waits for another run."""
        for incoming in self._open.values():
            if incoming is not None:
                incoming.close()
        with self.lock:
            worked_on = max([self._left, *(reader.done for reader in self._readers)])
            for batch in reversed(self._batches):
                if batch.number > worked_on and not batch.is_done:
                    self._inputs.give_back(batch.inserted)
            self._batches = []


class Reader:
    """How far a run is with what is taken in."""

    def __init__(self, intake: Intake, done: int) -> None:
        self._intake = intake
        self.done = done
        """The last batch that is in a finished epoch."""
        self.given = done
        """The last batch that was given."""
        self.behind = False
        """Whether there may be more than what was given last."""
        self.known: Mapping[str, Source] = {}
        """The sources that it reads."""
        self.complete: dict[str, int] = {}
        """Up to where sources are complete by their own word, with what was given last."""

    @property
    def news(self) -> threading.Event:
        """Is set when something has come by itself."""
        return self._intake.news

    @property
    def waiting(self) -> dict[str, int]:
        """How many rows of each source were taken in and not worked on."""
        return self._intake.waiting(self.done)

    def next(
        self,
        known: Mapping[str, Source],
        read: Collection[str],
        now: int,
        rows: int | None,
        first_open: Mapping[str, int],
    ) -> dict[str, pa.Table]:
        """What the next epoch has of sources, of which some are read now: rows without a time have come now.

        ``first_open``: by source the first instant at which something may still happen: changes that are logged do
        not happen before it.
        """
        with self._intake.lock:  # what others take in meanwhile is not what is given here
            more = self._intake.take(known, read, now, rows)
            found = self._intake.next(self, known, rows)
            logged = [name for name in read if is_logged(known[name])]
            told = {} if self.behind else {name: self._intake.complete(name) for name in logged}
        self.complete = {name: instant for name, instant in told.items() if instant is not None}
        self.behind |= more
        return {name: _restamped(table, known[name], now, first_open.get(name, NEVER)) for name, table in found.items()}

    def finished(self) -> None:
        """What was given last is in a finished epoch."""
        self.done = self.given
        self._intake.forget()

    def close(self) -> None:
        """It reads no more."""
        self._intake.leave(self)

    @property
    def ended(self) -> list[str]:
        """The sources of which everything has come and was worked on."""
        return self._intake.ended(self)


def _restamped(rows: pa.Table, info: Source, now: int, first_open: int) -> pa.Table:
    """Rows without a time of their own have come when a run takes them: it may have closed the instant before.

    The same is true of changes that are logged, which never happen in an instant that is closed.
    """
    if is_logged(info):
        start = np.maximum(_numbers(rows, START), first_open)
    elif is_by_arrival(info):
        start = np.full(rows.num_rows, now, np.int64)
    else:
        return rows
    columns = {START: start, END: _numbers(rows, END) - _numbers(rows, START) + start}
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    return rows


def _as_rows(marks: Sequence[int]) -> pa.Table:
    """Marks as what can stand in a file of rows: where these begin."""
    numbers = np.array(marks, np.int64)
    ones = np.ones(numbers.size, np.int64)
    return pa.table({START: pa.array(numbers), END: pa.array(numbers + 1), WEIGHT: pa.array(ones)})


def _numbers(rows: pa.Table, name: str) -> Int64s:
    return np.asarray(rows.column(name).to_numpy(), np.int64)


def _joined(first: pa.Table | None, second: pa.Table | None) -> pa.Table:
    """Rows that have come by themselves, and behind them those that were inserted."""
    return pa.concat_tables([table for table in (first, second) if table is not None])
