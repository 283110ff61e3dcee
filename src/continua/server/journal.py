"""Rows that were sent to a server: kept from the moment that this is confirmed until a live run has kept them itself.

A run writes down with the batch that it takes in by what marks its rows were known here, so that after a crash it is
certain which rows it has: each is worked on once. Keys by which senders tell that they send the same again are
remembered for longer than the rows.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import pyarrow as pa

from continua.runtime.checkpoint.store import MemoryStore, SealedStore
from continua.server.access import refused
from continua.sources.intervals import Source

ROWS, KEYS = "rows", "keys"
REMEMBERED = 24 * 3600
"""For so many seconds a key is known."""
MOST_BYTES = 1 << 30
"""So many bytes of rows wait at most for queries that read them."""
_LENGTH = 4
_key: ContextVar[str | None] = ContextVar("key", default=None)


@dataclass(frozen=True, slots=True)
class Sent:
    """Rows that were sent together."""

    mark: int
    stream: str
    key: str | None
    rows: int
    size: int
    at: float


class Journal:
    """Keeps rows, and the keys of those that were sent lately."""

    def __init__(self, store: SealedStore | MemoryStore) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._sending = threading.Lock()
        self._sent: dict[int, Sent] = {}
        """What waits, by its mark."""
        self._keys: dict[tuple[str, str], tuple[int, float]] = {}
        """By stream and key, how many rows these were and when they were sent."""
        self._notes: dict[int, float] = {}
        """The files with keys, by their numbers, and when the last of them was sent."""
        self._last = 0
        for name in store.names(KEYS):
            self._read_keys(int(name.rpartition("/")[2]))
        for name in store.names(ROWS):
            self._note(_head(store.get(name), int(name.rpartition("/")[2]))[0])

    def _note(self, sent: Sent) -> None:
        self._sent[sent.mark] = sent
        self._last = max(self._last, sent.mark)
        if sent.key is not None:
            self._keys[sent.stream, sent.key] = sent.rows, sent.at

    def _read_keys(self, number: int) -> None:
        latest = 0.0
        for stream, key, rows, at in json.loads(self._store.get(f"{KEYS}/{number:012}")):
            self._keys[stream, key] = rows, at
            latest = max(latest, at)
        self._notes[number] = latest
        self._last = max(self._last, number)

    @contextmanager
    def once(self, stream: str, key: str | None) -> Iterator[int | None]:
        """Rows are sent in the block under a key; gives how many they were when they had been sent before."""
        if key is None:
            yield None
            return
        with self._sending:
            with self._lock:
                known = self._keys.get((stream.casefold(), key))
            token = _key.set(key)
            try:
                yield None if known is None else known[0]
            finally:
                _key.reset(token)

    def keep(self, source: Source, columns: pa.Table) -> int:
        """Keeps rows; returns their mark."""
        with self._lock:
            if sum(s.size for s in self._sent.values()) + columns.nbytes > MOST_BYTES:
                hint = "start a query that reads them, or drop the stream"
                raise refused("TOO_MANY", f"too many rows wait for queries that read {source.name}", hint)
            self._last += 1
            stream, now = source.name.casefold(), time.time()
            sent = Sent(self._last, stream, _key.get(), columns.num_rows, columns.nbytes, now)
            head = json.dumps([sent.stream, sent.key, sent.rows, sent.size, sent.at]).encode()
            content = len(head).to_bytes(_LENGTH, "little") + head + _packed(columns)
            self._store.put(f"{ROWS}/{sent.mark:012}", content, durable=True)
            self._note(sent)
            return sent.mark

    def are_kept(self, marks: Sequence[int]) -> None:
        """A run has kept rows: they are not needed here, and their keys are."""
        with self._lock:
            done = [self._sent.pop(mark) for mark in marks if mark in self._sent]
            keyed = [(s.stream, s.key, s.rows, s.at) for s in done if s.key is not None]
            if keyed:
                self._last += 1
                self._store.put(f"{KEYS}/{self._last:012}", json.dumps(keyed).encode(), durable=True)
                self._notes[self._last] = max(at for *_, at in keyed)
            self._store.delete(*(f"{ROWS}/{s.mark:012}" for s in done))
            self._forget()

    def _forget(self) -> None:
        """Forgets keys whose time is over."""
        before = time.time() - REMEMBERED
        if self._notes and min(self._notes.values()) < before:
            old = [number for number, at in self._notes.items() if at < before]
            self._store.delete(*(f"{KEYS}/{number:012}" for number in old))
            self._notes = {n: at for n, at in self._notes.items() if n not in old}
            self._keys = {k: known for k, known in self._keys.items() if known[1] >= before}

    def dropped(self, stream: str) -> None:
        """A stream is gone, and so are its rows."""
        with self._lock:
            gone = [s for s in self._sent.values() if s.stream == stream.casefold()]
            self._store.delete(*(f"{ROWS}/{s.mark:012}" for s in gone))
            for sent in gone:
                del self._sent[sent.mark]
            self._keys = {k: known for k, known in self._keys.items() if k[0] != stream.casefold()}

    def again(self, kept: set[int], add: Callable[[str, pa.Table, int], None]) -> None:
        """Has rows wait again that no run had kept when the process ended, as ``kept`` says of the others."""
        with self._lock:
            self.are_kept([mark for mark in self._sent if mark in kept])
            for mark in sorted(self._sent):
                sent, content = _head(self._store.get(f"{ROWS}/{mark:012}"), mark)
                add(sent.stream, pa.ipc.open_stream(io.BytesIO(content)).read_all(), mark)


def _packed(table: pa.Table) -> bytes:
    written = io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return written.getvalue()


def _head(content: bytes, mark: int) -> tuple[Sent, bytes]:
    length = int.from_bytes(content[:_LENGTH], "little")
    stream, key, rows, size, at = json.loads(content[_LENGTH : _LENGTH + length])
    return Sent(mark, stream, key, rows, size, at), content[_LENGTH + length :]
