"""From the raw fields of a record to a row of the declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from continua.runtime.sources.convert import converter
from continua.runtime.sources.spec import Malformed, SourceRow, SourceSpec
from continua.types import Value


class RowReader:
    """Builds the rows of one file."""

    def __init__(self, spec: SourceSpec, file: str) -> None:
        self._columns = [(name, of, converter(of)) for name, of in spec.columns]
        self._file = file

    def row(self, fields: Iterable[object], line: int, text: Callable[[], str]) -> SourceRow | Malformed:
        """The row of the raw fields, one a declared column; ``text`` gives the record if it must be kept."""
        values: list[Value] = []
        for (name, of, read), field in zip(self._columns, fields, strict=True):
            try:
                values.append(read(field))
            except ValueError as error:
                return Malformed(self._file, line, str(error), text(), field, str(of), column=name)
        return SourceRow(tuple(values), self._file, line)

    def malformed(self, line: int, reason: str, text: str, expected: str) -> Malformed:
        """A record that is malformed as a whole."""
        return Malformed(self._file, line, reason, text, text, expected)
