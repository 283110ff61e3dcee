"""Sources whose bytes come once and are not kept anywhere: standard input, and connections.

A thread reads them into a buffer of limited size. Epochs take whole records out of it, as if each connection were a
file of which only the part is here that nobody has taken yet.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from continua.errors import DataError, Diagnostic
from continua.sources.csv_header import Layout
from continua.sources.csv_split import layout_of, read_csv
from continua.sources.intervals import NEVER, Source
from continua.sources.jsonl_split import read_jsonl
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Piece, Split
from continua.sources.stretches import Stretch, stretch_of
from continua.sources.text_bytes import Text
from continua.sources.text_split import read_text

ROOM = 32 << 20
"""So many bytes wait for an epoch; whoever sends more has to wait too."""

Chunks = Iterator[bytes]
"""What a connection brings, until it ends."""


@dataclass
class _Connection:
    """What a connection has brought and nobody has taken, and how its records are read."""

    data: bytearray = field(default_factory=bytearray)
    ended: bool = False
    broken: bool = False
    """Whether it ended in the middle of something: then a line without an end is no row."""
    offset: int = 0
    """How many bytes of it were taken."""
    lines: int = 0
    layout: Layout | None = None


class Incoming:
    """A source whose rows come by connections, one after the other."""

    def __init__(
        self,
        info: Source,
        spec: SourceSpec,
        shown: str,
        connections: Iterator[tuple[Chunks, bool]],
        news: threading.Event,
        first: int = NEVER,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        """``connections``: each with whether another may follow it. ``news`` is set whenever something has come.

        ``first`` is the instant before which there are no rows. ``end`` ends the connections, where that can be done.
        """
        self.info = info
        self._first = first
        self._end = end
        self._spec = spec
        self.shown = shown
        """What stands for a file where its rows are told."""
        self._waiting: deque[_Connection] = deque()
        self._news = news
        self._changed = threading.Condition()
        self._over = False
        self._closed = False
        self._failure: Exception | None = None
        self._notices: list[Diagnostic] = []
        self._passed = 0
        """How many lines of all connections were taken: by these rows are told apart."""
        self._thread = threading.Thread(target=self._read, args=(connections,), daemon=True, name=f"read {shown}")
        self._thread.start()

    # In the thread that reads.

    def _read(self, connections: Iterator[tuple[Chunks, bool]]) -> None:
        try:
            for chunks, another in connections:
                mine = _Connection()
                with self._changed:
                    self._waiting.append(mine)
                broken = self._read_connection(mine, chunks)
                with self._changed:
                    mine.ended, mine.broken = True, broken or another
                self._news.set()
                if self._closed:
                    return
        except Exception as error:
            self._failure = error
        finally:
            with self._changed:
                self._over = True
            self._news.set()

    def _read_connection(self, mine: _Connection, chunks: Chunks) -> bool:
        """Reads to the end of a connection; whether it broke."""
        try:
            for chunk in chunks:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._size() < ROOM)
                    if self._closed:
                        return True
                    mine.data += chunk
                self._news.set()
        except OSError:
            return True
        return False

    def _size(self) -> int:
        return sum(len(c.data) for c in self._waiting)

    # Where epochs are made.

    def take(self, stamp: int, rows: int | None = None) -> Stretch | None:
        """The rows that have come, at most so many; None if there are none.

        ``stamp`` is the instant of rows that have no time of their own.
        """
        if self._failure is not None:
            raise self._failure
        with self._changed:
            while self._waiting:
                found = self._taken(self._waiting[0], stamp, rows)
                if found is not None:
                    self._changed.notify_all()
                    return found
                if not self._waiting[0].ended:
                    self._check_length(self._waiting[0])
                    return None
                left = len(self._waiting.popleft().data)
                if left:
                    self._notices.append(_unfinished(self.info, self.shown, left))
        return None

    def _check_length(self, mine: _Connection) -> None:
        """Refuses a line for the end of which there is no room: it would be waited for in vain."""
        if len(mine.data) >= ROOM:
            raise DataError(
                Diagnostic(
                    "LINE_TOO_LONG",
                    f"{self.shown}:{mine.lines + 1}: a line of {self.info.name} has more than {ROOM >> 20} MB",
                    hint="is every row a line?",
                    parameters={"source": self.info.name, "connection": self.shown, "line": mine.lines + 1},
                )
            )

    def _taken(self, mine: _Connection, stamp: int, rows: int | None) -> Stretch | None:
        whole = mine.data.rfind(b"\n") + 1
        last = mine.ended and not mine.broken
        end = len(mine.data) if last else whole
        if not end:
            return None
        text = bytes(mine.data[:end])
        piece = self._piece(mine, text, last, rows)
        taken = max(piece.extent.exit - mine.offset, 0)
        if not taken:
            return None
        piece = replace(piece, offsets=piece.lines + self._passed)
        self._passed += piece.extent.passed
        found = stretch_of(self.info, piece, self.shown, stamp, NEVER, mine.lines + 1, self._first, ordered=False)
        del mine.data[:taken]
        mine.offset += taken
        mine.lines += piece.extent.passed
        return found

    def _piece(self, mine: _Connection, data: bytes, last: bool, rows: int | None) -> Piece:
        """The records of a text that begins where the last one that was taken ended."""
        begin, end = mine.offset, mine.offset + len(data)
        split = Split("", self.shown, begin, end, end, begin, rows, growing=not last)
        text = Text(split, data, begin, True)
        match self._spec.format:
            case "csv":
                mine.layout = mine.layout or layout_of(self._spec, self.shown, text)
                return read_csv(self._spec, split, text, mine.layout)
            case "jsonl":
                return read_jsonl(self._spec, split, text)
            case _:
                return read_text(self._spec, split, text)

    @property
    def ended(self) -> bool:
        """Whether everything was taken and nothing more can come."""
        with self._changed:
            return self._over and not self._waiting and self._failure is None

    def notices(self) -> list[Diagnostic]:
        """What is to be told since it was asked last."""
        with self._changed:
            found, self._notices = self._notices, []
        return found

    def close(self) -> None:
        """Nothing more is read."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._end()


def _unfinished(info: Source, shown: str, size: int) -> Diagnostic:
    return Diagnostic(
        "LINE_UNFINISHED",
        f"{shown} broke off within a line of {info.name}: its {size} bytes are left out",
        parameters={"source": info.name, "connection": shown, "bytes": size},
    )
