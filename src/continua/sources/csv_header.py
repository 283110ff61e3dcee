"""Where the records of a CSV file have the declared columns: by the names of its header, or by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from continua.errors import SourceError, did_you_mean, listing
from continua.sources.format_options import CsvOptions
from continua.sources.source_spec import SourceSpec, missing_column
from continua.sources.text_bytes import readable


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records have the declared columns, how many fields they have, and whether the first one is a header."""

    positions: tuple[int, ...]
    width: int
    header: bool


def layout_of_first(first: Sequence[str], file: str, spec: SourceSpec, options: CsvOptions) -> Layout:
    """The layout of a file whose first record has these fields."""
    if options.header is not False:
        named = _header_positions(first, spec)
        if None in named and (options.header or _resembles_header(named)):
            raise _missing_from_header(first, spec, file, said=options.header is True)
        if None not in named:
            return Layout(tuple(p for p in named if p is not None), len(first), header=True)
    return Layout(tuple(range(len(spec.columns))), len(spec.columns), header=False)


def _header_positions(fields: Sequence[str], spec: SourceSpec) -> list[int | None]:
    """Where a header has each declared column."""
    places: dict[str, int] = {}
    for position, field in enumerate(fields):
        places.setdefault(field.strip().casefold(), position)
    return [places.get(name.casefold()) for name, _ in spec.columns]


def _resembles_header(named: list[int | None]) -> bool:
    """Whether most of the declared names stand in the record: then it is a header with a name missing."""
    return 2 * sum(p is not None for p in named) > len(named)


def _missing_from_header(fields: Sequence[str], spec: SourceSpec, file: str, said: bool) -> SourceError:
    positions = _header_positions(fields, spec)
    column = next(name for (name, _), p in zip(spec.columns, positions, strict=True) if p is None)
    names = [readable(field.strip()) for field in fields]
    hint = did_you_mean(column, names) or f"the header has {listing(names) or 'no names'}"
    return missing_column(spec, column, file, hint if said else f"{hint} (header => false if the first line is a row)")
