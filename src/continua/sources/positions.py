"""Up to where the files of a source have been read, with a digest of what was read: it must not change afterwards."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from continua.errors import CheckpointError, Diagnostic
from continua.sources.columnar_split import checksum_of_ends
from continua.sources.compression import codec_of
from continua.sources.intervals import NEVER
from continua.sources.stored_files import exists, name_of, opened, state_of
from continua.sources.stretches import Summary

_CHUNK = 1 << 22
_EDGE = 1 << 12
_POLYNOMIAL = 0xEDB88320


@dataclass(frozen=True, slots=True)
class FilePosition:
    """How much of a file has been read: bytes, rows or numbers, lines, and a checksum over those bytes.

    The bytes of a compressed file are those of its content. Of a columnar one the checksum is that of its two ends.
    """

    offset: int = 0
    line: int = 0
    checksum: int = 0
    size: int = 0
    """The size of the file then; for files that are not read by bytes."""
    ended: bool = False
    """Whether it has been read to its end."""
    groups: tuple[int, ...] = ()
    """Of a columnar file that is read by groups of rows, those with which the splits begin that have been read."""
    latest: int = NEVER
    """The latest time in it."""
    begun_at: int | None = None
    """When a generated source began, where that is not in its definition."""
    identity: str = ""
    """What tells a topic of Kafka from others of its name."""


@dataclass(frozen=True)
class Position:
    """How much of a source has been read."""

    files: Mapping[str, FilePosition] = field(default_factory=dict)
    """By the names of files as messages tell them, in the order in which they were read."""
    latest: int = NEVER
    rows: int = 0

    def after(self, summaries: Sequence[Summary]) -> Position:
        """With splits that were read since, in their order."""
        files, latest, rows = dict(self.files), self.latest, self.rows
        for summary in summaries:
            split, extent = summary.split, summary.extent
            before = files.get(split.shown, FilePosition(line=split.line))
            length = extent.exit - extent.entry
            goes_on = before.offset and (summary.by_position or split.end < 0)
            checksum = combined(before.checksum, extent.checksum, length) if goes_on else extent.checksum
            line = before.line + extent.passed
            by_groups = not summary.by_position and split.rows is None and split.entry is None and split.end >= 0
            groups = (*before.groups, split.begin) if by_groups else ()
            reached = max(before.latest, summary.latest)
            files[split.shown] = FilePosition(
                extent.exit, line, checksum, split.size, extent.ended, groups, reached, split.begun_at, split.identity
            )
            latest, rows = max(latest, reached), rows + summary.rows
        return Position(files, latest, rows)

    def numbered(self, shown: Iterable[str]) -> dict[str, int]:
        """Files by their numbers: first those that were read, then others in their order.

        A file that is not read yet is always begun before those behind it, so that its number does not change.
        """
        return {name: number for number, name in enumerate(dict.fromkeys([*self.files, *shown]))}

    def as_json(self) -> dict[str, Any]:
        """It as plain data."""
        return {"files": {n: asdict(f) for n, f in self.files.items()}, "latest": self.latest, "rows": self.rows}

    @staticmethod
    def of_json(content: Mapping[str, Any]) -> Position:
        """The position that plain data stands for."""
        files = {name: FilePosition(**{**f, "groups": tuple(f["groups"])}) for name, f in content["files"].items()}
        return Position(files, content["latest"], content["rows"])


def positions_after(before: Mapping[str, Position], summaries: Iterable[Summary]) -> dict[str, Position]:
    """Up to where sources have been read after some splits of them."""
    found = dict(before)
    ordered = sorted(summaries, key=lambda s: (s.source, s.number))
    for name in {s.source for s in ordered}:
        found[name] = before.get(name, Position()).after([s for s in ordered if s.source == name])
    return found


def check_unchanged(source: str, position: Position, paths: Mapping[str, str], textual: bool) -> None:
    """Refuses files that are not as they were when they were read; a file that has grown is as it was."""
    for name, known in position.files.items():
        path = paths.get(name)
        if path is None or not exists(path):
            raise changed(source, name, "is not there any more")
        size = state_of(path).size
        if not textual:
            if size != known.size:
                raise changed(source, name, f"had {known.size} bytes, and has {size} now")
            with opened(path) as file:
                if checksum_of_ends(file) != known.checksum:
                    raise changed(source, name, "has another beginning or end than it had")
        elif codec_of(name) is None and size < known.offset:
            raise changed(source, name, f"had at least {known.offset} bytes, and has {size} now")
        elif checksum_of(path, known.offset) != known.checksum:
            raise changed(source, name, f"is not what it was in its first {known.offset} bytes, which have been read")


def check_same_numbers(source: str, position: Position, shown: str) -> None:
    """Refuses a generated source that is not made as it was when it was read."""
    for name in position.files:
        if name != shown:
            raise changed(source, name, f"is {shown} now")


def changed(source: str, file: str, what: str) -> CheckpointError:
    """A file is not what it was when it was read."""
    return CheckpointError(
        Diagnostic(
            "SOURCE_CHANGED",
            f"{file}, of which rows of {source} have been read, {what}",
            hint="give it as it was, or start anew; where logs are rotated, follow a folder in which names stay",
            parameters={"source": source, "file": file},
        )
    )


def checksum_of(path: str, length: int) -> int:
    """The checksum of the first bytes of a file, of a compressed one those of its content."""
    found = 0
    with opened(path) as raw, pa.input_stream(raw, compression=codec_of(name_of(path))) as file:
        while length > 0 and (part := file.read(min(_CHUNK, length))):
            found = zlib.crc32(part, found)
            length -= len(part)
    return found


def checksum_of_edges(path: str, length: int) -> int:
    """The checksum of the first and the last of so many bytes with which a file begins: it is soon found."""
    with opened(path) as file:
        found = zlib.crc32(file.read(min(_EDGE, length)))
        begin = file.seek(max(length - _EDGE, 0))
        return zlib.crc32(file.read(length - begin), found)


def combined(first: int, second: int, length: int) -> int:
    """The CRC-32 of two texts behind one another, from those of each and the length of the second.

    A text of zeros of that length behind the first is a linear map of its checksum; the map for 2n zeros is that for n
    applied twice.

    >>> combined(zlib.crc32(b"con"), zlib.crc32(b"tinua"), 5) == zlib.crc32(b"continua")
    True
    """
    one_bit = [_POLYNOMIAL, *(1 << n for n in range(31))]
    step = _squared(_squared(_squared(one_bit)))
    while length > 0:
        if length & 1:
            first = _times(step, first)
        step = _squared(step)
        length >>= 1
    return first ^ second


def _times(matrix: Iterable[int], vector: int) -> int:
    found = 0
    for row in matrix:
        if vector & 1:
            found ^= row
        vector >>= 1
    return found


def _squared(matrix: list[int]) -> list[int]:
    return [_times(matrix, row) for row in matrix]
