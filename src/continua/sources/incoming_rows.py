"""Sources by a Python function whose rows come once, as PIPES writes them (PIPES 2009, 3.1).

The function gives whatever it has, one item after the other, and a converter makes a row of each. In a live run it is
called by a thread, and epochs take what has come, which is kept like all that cannot be read again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.lang.statements import RowFunction
from continua.sources.inserted_rows import columns_of_rows
from continua.sources.intervals import NEVER, Source
from continua.sources.source_spec import Malformed
from continua.sources.splits import Piece
from continua.sources.stretches import Stretch, stretch_of

ROOM = 100_000
"""So many items wait for an epoch; the function is not asked for more before some were taken."""


class IncomingRows:
    """The items that a function gives, and that nobody has taken."""

    def __init__(self, info: Source, made: RowFunction, news: threading.Event, first: int = NEVER) -> None:
        """``news`` is set whenever something has come; ``first`` is the instant before which there are no rows."""
        self.info = info
        self.shown = made.shown
        """What stands for a file where its rows are told."""
        self._made = made
        self._first = first
        self._news = news
        self._waiting: deque[object] = deque()
        self._taken = 0
        self._changed = threading.Condition()
        self._over = False
        self._closed = False
        self._failure: ContinuaError | None = None
        self._thread = threading.Thread(target=self._read, daemon=True, name=f"read {self.shown}")
        self._thread.start()

    def _read(self) -> None:
        try:
            for item in self._made.function(*self._made.arguments, **dict(self._made.options)):
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or len(self._waiting) < ROOM)
                    if self._closed:
                        return
                    self._waiting.append(item)
                self._news.set()
        except Exception as error:
            self._failure = _failed(self.info, self._made, error)
        finally:
            with self._changed:
                self._over = True
            self._news.set()

    def take(self, stamp: int, rows: int | None = None) -> Stretch | None:
        """The rows that have come, at most so many; None if there are none.

        ``stamp`` is the instant of rows that have no time of their own.
        """
        with self._changed:
            if not self._waiting and self._failure is not None:
                raise self._failure
            count = len(self._waiting) if rows is None else min(rows, len(self._waiting))
            items = [self._waiting.popleft() for _ in range(count)]
            self._changed.notify_all()
        if not items:
            return None
        piece = _piece(self.info, self._made, items, self._taken)
        found = stretch_of(self.info, piece, self.shown, stamp, NEVER, self._taken + 1, self._first, ordered=False)
        self._taken += count
        return found

    @property
    def ended(self) -> bool:
        """Whether everything was taken and nothing more can come."""
        with self._changed:
            return self._over and not self._waiting and self._failure is None

    def notices(self) -> list[Diagnostic]:
        """What is to be told since it was asked last."""
        return []

    def close(self) -> None:
        """Nothing more is read."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def all_rows(info: Source, made: RowFunction) -> Piece:
    """All rows that a function gives, to its end."""
    try:
        items: Iterable[object] = list(made.function(*made.arguments, **dict(made.options)))
    except Exception as error:
        raise _failed(info, made, error) from error
    return _piece(info, made, list(items), 0)


def _piece(info: Source, made: RowFunction, items: Sequence[object], before: int) -> Piece:
    """The rows of some items; ``before``: how many items came before them."""
    rows: list[object] = []
    places: list[int] = []
    wrong: list[Malformed] = []
    for place, item in enumerate(items):
        try:
            row = item if made.converter is None else made.converter(item)
        except Exception as error:
            reason = f"the converter fails: {type(error).__name__}: {error}"
            wrong.append(Malformed(made.shown, place, reason, str(item), str(item), "what the converter takes"))
            continue
        if row is not None:
            rows.append(row)
            places.append(place)
    known = np.array(places, np.int64)
    columns, numbers, flawed = columns_of_rows(info, rows, made.shown)
    wrong += [replace(m, line=places[m.line - 1]) for m in flawed]
    lines = known[numbers - 1]
    return Piece(columns, lines, tuple(sorted(wrong, key=lambda m: m.line)), offsets=lines + before)


def _failed(info: Source, made: RowFunction, error: Exception) -> ContinuaError:
    if isinstance(error, ContinuaError):
        return error
    message = f"{made.shown}, which gives the rows of {info.name}, fails: {type(error).__name__}: {error}"
    span = info.source.function.span if info.source is not None else None
    return SourceError(Diagnostic("SOURCE_FAILED", message, span, parameters={"source": info.name}))
