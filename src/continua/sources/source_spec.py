"""What a source is, what a row of it is, and what is kept of a row that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from continua.errors import DataError, Diagnostic, SourceError
from continua.types import DataType, Value

MALFORMED, UNTIMED, BROKEN_KEY = "MALFORMED_ROW", "NULL_TIMESTAMP", "BROKEN_KEY"


class Unit(Enum):
    """In what the splits of a format are counted, and how far it has been read."""

    BYTES = "bytes"
    GROUPS = "groups of rows"
    NUMBERS = "numbers of rows that are made"
    OFFSETS = "offsets of records"


_UNITS = {
    "parquet": Unit.GROUPS,
    "orc": Unit.GROUPS,
    "nexmark": Unit.NUMBERS,
    "rate": Unit.NUMBERS,
    "python": Unit.NUMBERS,
    "kafka": Unit.OFFSETS,
}
"""The formats that are not text."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where the rows of a stream or relation come from and how they are written there."""

    format: str
    path: str
    columns: tuple[tuple[str, DataType], ...]
    options: tuple[tuple[str, object], ...] = ()
    skip_malformed: bool = False
    name: str = ""
    placed: bool = False
    """Whether it is asked where each row stands."""
    by_pairs: bool = False
    """Whether it is of a relation without a key: an update is the removal of a row and the insertion of another."""

    @property
    def unit(self) -> Unit:
        """In what its splits are counted."""
        return _UNITS.get(self.format, Unit.BYTES)


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A file with a schema: its name, and what it says."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row and where its record starts: the line of a text file, the row of a Parquet file, from 1."""

    values: tuple[Value, ...]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Late:
    """A row that broke the promise of a heartbeat: ``instant <= heartbeat``."""

    row: SourceRow
    instant: int
    heartbeat: int


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that was left out, with its raw text, so that nothing is lost without a trace."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that is no row: which part of it was read, and what was expected in its place."""

    file: str
    line: int
    reason: str
    text: str
    value: object
    expected: str
    column: str | None = None
    condition: str = MALFORMED
    hint: str | None = None

    @property
    def _cause(self) -> str:
        return self.reason if self.column is None else f"column {self.column}: {self.reason}"

    def reject(self) -> Reject:
        """The record as kept under ON ERROR SKIP."""
        return Reject(self.file, self.line, self._cause, self.text)

    def error(self, source: str) -> DataError:
        """The error that the record is without ON ERROR SKIP."""
        told = ", so the row has no place in time" if self.condition == UNTIMED else ""
        return DataError(
            Diagnostic(
                self.condition,
                f"{self.file}:{self.line}: {self._cause}{told}",
                hint=self.hint or "correct the row, or declare the source with ON ERROR SKIP to keep such rows apart",
                parameters={
                    "source": source,
                    "file": self.file,
                    "line": self.line,
                    "column": self.column,
                    "value": self.value,
                    "expected": self.expected,
                },
            )
        )


def missing_column(spec: SourceSpec, column: str, file: str, hint: str) -> SourceError:
    """The error that a file as a whole lacks a declared column."""
    return SourceError(
        Diagnostic(
            "MISSING_COLUMN",
            f"{file} has no column {column}",
            hint=hint,
            parameters={"source": spec.name, "column": column, "file": file},
        )
    )
