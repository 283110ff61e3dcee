"""Text files as bytes: the stretch that a split needs, and every byte accounted for.

Bytes that are no UTF-8 travel as lone surrogates, so that one bad byte costs its own record and no other.
"""

from __future__ import annotations

import re
import zlib

import pyarrow as pa

from continua.sources.compression import decompressed
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Extent, Split
from continua.sources.stored_files import part_of
from continua.sqltext.duckdb_types import arrow_type

_ESCAPED = re.compile("[\udc80-\udcff]")
_MORE = 1 << 16
"""So much is read behind a split at first, to find where its last record ends."""


class Text:
    """The bytes of a split, and as many behind it as its last record needs."""

    def __init__(self, split: Split, data: bytes, base: int, last: bool) -> None:
        self._split = split
        self.data = data
        self.base = base
        """Where the data begins in the file."""
        self.last = last
        """Whether the file ends with the data."""

    @property
    def stop(self) -> int:
        """Records that begin before this place of the data are of the split."""
        if self._split.rows is not None:
            return len(self.data) if self.last else max(self._split.size - self.base, len(self.data))
        if self._split.end >= self._split.size:
            return len(self.data) if self.last else self._split.size - self.base
        return self._line_at(self._split.end)

    def entry(self, known: int | None) -> int:
        """The place of the data where the first record begins: with the first line, unless it is known."""
        if known is not None:
            return known - self.base
        return self._line_at(self._split.begin) if self._split.begin else 0

    def _line_at(self, offset: int) -> int:
        """The place of the data where the first line begins that begins at an offset of the file or behind it."""
        while True:
            found = self.data.find(b"\n", max(offset - 1 - self.base, 0))
            if found >= 0:
                return found + 1
            if self.last:
                return len(self.data)
            self.read_on()

    def extent(self, passed: int, begin: int, end: int) -> Extent:
        """What was read, from one place of the data to another: so many lines."""
        ended = self.last and end >= len(self.data)
        first, last = self.base + begin, self.base + end
        return Extent(passed, first, last, ended, last, self.checksum(begin, end))

    def checksum(self, begin: int, end: int) -> int:
        """The checksum of a stretch of the data, where it is wanted."""
        return zlib.crc32(memoryview(self.data)[begin:end]) if self._split.checked else 0

    def read_on(self) -> None:
        """Reads as much again: a record does not end within the data."""
        begin = self.base + len(self.data)
        more, self.last = _bytes(self._split, begin, max(_MORE, len(self.data)))
        self.data += more


def is_utf8(data: bytes) -> bool:
    """Whether all of some bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def open_text(split: Split) -> Text:
    """The text of a split."""
    if split.end < 0:
        return Text(split, decompressed(split.path), 0, True)
    base = split.entry if split.rows is not None and split.entry is not None else max(split.begin - 1, 0)
    wanted = _MORE if split.rows is not None else max(split.end - base, 0) + _MORE
    data, last = _bytes(split, base, wanted)
    return Text(split, data, base, last)


def _bytes(split: Split, begin: int, count: int) -> tuple[bytes, bool]:
    """Bytes of a file as it was listed, and whether they are its last."""
    count = max(min(count, split.size - begin), 0)
    found = part_of(split.path, begin, count)
    return found, begin + len(found) >= split.size or len(found) < count


def as_columns(columns: list[pa.Array], spec: SourceSpec) -> pa.Table:
    """Arrays as the columns of a source; without any, as one that has no rows."""
    schema = pa.schema([(f"c{i}", arrow_type(of)) for i, (_, of) in enumerate(spec.columns)])
    if not columns:
        return schema.empty_table()
    return pa.Table.from_arrays(columns, schema=schema)


def flaw(text: str) -> str | None:
    """Why no text may look like this, or None."""
    if "\0" in text:
        return "a NUL byte"
    if not text.isascii() and _ESCAPED.search(text):
        return "bytes that are not UTF-8"
    return None


def readable(text: str) -> str:
    """A raw record as text that can be written again: no line end, odd bytes as ``\\xNN``."""
    raw = text.rstrip("\r\n").encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
