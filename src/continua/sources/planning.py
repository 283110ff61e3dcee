"""Which splits a source is read by: its files in their order, each cut by size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePath

from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.policy import ANYTHING, Policy
from continua.sources.columnar_split import open_columnar
from continua.sources.compression import codec_of
from continua.sources.format_options import check_options
from continua.sources.generated import splits_of
from continua.sources.paths import SourceFile, find_files
from continua.sources.source_spec import SourceSpec, Unit
from continua.sources.splits import Split
from continua.sources.stored_files import opened, state_of
from continua.sources.valued_folders import parts_of

BYTES = 24 << 20
"""So much of a file is a split: the cost of a task is small beside that, and a core has several to do."""
_DENSITY = 4
"""A columnar file has about this many times the rows of a text file of the same size."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a source as it is now, and the splits of it."""

    file: SourceFile
    splits: tuple[Split, ...]

    @property
    def size(self) -> int:
        """How many bytes are to be read, as far as that is known."""
        return sum(s.size for s in self.splits[:1] if s.size > 0)


def list_splits(spec: SourceSpec, base: Path, policy: Policy = ANYTHING) -> tuple[Split, ...]:
    """The splits of a source, be it of files, generated or of a topic."""
    if spec.unit is Unit.NUMBERS:
        return tuple(splits_of(spec, BYTES))
    if spec.unit is Unit.OFFSETS:
        from continua.sources.kafka.offsets import kafka_splits

        return tuple(kafka_splits(spec, BYTES))
    return tuple(split for listed in list_source(spec, base, policy) for split in listed.splits)


def list_source(spec: SourceSpec, base: Path, policy: Policy = ANYTHING) -> list[Listed]:
    """The files of a source with their splits."""
    check_options(spec)
    names = tuple(name for name, _ in spec.columns)
    found: list[Listed] = []
    for file in find_files(spec, base, policy):
        parts = parts_of(PurePath(file.shown), names)
        found.append(Listed(file, tuple(replace(split, parts=parts) for split in _splits(file, spec, BYTES))))
    return found


def _splits(file: SourceFile, spec: SourceSpec, size: int) -> list[Split]:
    try:
        found = state_of(file.path)
    except OSError as error:
        if isinstance(error, ContinuaError):
            raise
        raise _unreadable(file, spec, error) from error
    if not found.is_regular or (spec.unit is Unit.BYTES and codec_of(file.shown)):
        return [Split(file.path, file.shown, 0, -1, -1)]
    if spec.unit is Unit.GROUPS:
        return _groups(file, spec, found.size, max(size // _DENSITY, 1))
    bounds = [*range(0, max(found.size - size // 2, 1), size), found.size]
    return [Split(file.path, file.shown, a, b, found.size) for a, b in pairwise(bounds)]


def _groups(file: SourceFile, spec: SourceSpec, bytes_: int, size: int) -> list[Split]:
    """Consecutive groups of rows that together have about the size of a split."""
    path = file.path
    try:
        with opened(path) as handle:
            groups = len(open_columnar(spec.format, handle).rows)
    except (OSError, ValueError):
        return [Split(path, file.shown, 0, 1, bytes_)]
    share = max(1, min(groups, round(groups * size / max(bytes_, 1))))
    begins = range(0, max(groups, 1), share)
    return [Split(path, file.shown, a, min(a + share, max(groups, 1)), bytes_) for a in begins]


def _unreadable(file: SourceFile, spec: SourceSpec, error: OSError) -> SourceError:
    return SourceError(
        Diagnostic(
            "SOURCE_NOT_FOUND" if isinstance(error, FileNotFoundError) else "SOURCE_NOT_READABLE",
            f"{file.shown} cannot be read: {error.strerror or error}",
            parameters={"source": spec.name, "path": spec.path, "file": file.shown},
        )
    )
