"""Reading a source: its files one after the other, each row either a value or a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.runtime.sources.csv_files import read_csv
from continua.runtime.sources.jsonl_files import read_jsonl
from continua.runtime.sources.options import check_options
from continua.runtime.sources.paths import SourceFile, find_files
from continua.runtime.sources.spec import Malformed, Reject, SourceRow, SourceSpec

FileReader: TypeAlias = Callable[[Path, str, SourceSpec], Iterator[SourceRow | Malformed]]


def read_source(spec: SourceSpec, base: Path) -> tuple[list[SourceRow], list[Reject]]:
    """All rows of a source in the order of its files, and the records left out under ON ERROR SKIP.

    Without ON ERROR SKIP the first malformed record raises DataError. A source that cannot be read at all
    raises SourceError.
    """
    check_options(spec)
    reader = _reader(spec.format)
    rows: list[SourceRow] = []
    rejects: list[Reject] = []
    for file in find_files(spec, base):
        for item in _read_file(reader, file, spec):
            if isinstance(item, SourceRow):
                rows.append(item)
            elif spec.skip_malformed:
                rejects.append(item.reject())
            else:
                raise item.error(spec.name)
    return rows, rejects


def _reader(format_: str) -> FileReader:
    match format_:
        case "csv":
            return read_csv
        case "jsonl":
            return read_jsonl
        case _:
            # Arrow takes longer to import than most scripts take to run.
            from continua.runtime.sources.parquet_files import read_parquet

            return read_parquet


def _read_file(reader: FileReader, file: SourceFile, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    try:
        yield from reader(file.path, file.shown, spec)
    except ContinuaError:
        raise
    except OSError as error:
        raise SourceError(
            Diagnostic(
                "SOURCE_NOT_READABLE",
                f"{file.shown} cannot be read: {error.strerror or error}",
                parameters={"source": spec.name, "path": spec.path, "file": file.shown},
            )
        ) from error
