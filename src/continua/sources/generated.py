"""Sources whose rows nobody has written: they are made from their numbers, by any task, in any range.

To the rest of the engine such a source is one file that is read by position. Its splits are ranges of numbers in place
of bytes. In a live run the file grows by the clock: a number is there from its own moment on.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import pyarrow as pa

from continua.catalog import StreamInfo, is_by_arrival
from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.instants import TimeDomain, instant_of, parse_timestamp, show_instant
from continua.kernels.jit import Int64s
from continua.physical.ordered_operators import FINAL
from continua.sources.convert import lookup
from continua.sources.counted_rows import CountedRows
from continua.sources.format_options import bad_option, check_options
from continua.sources.intervals import Source
from continua.sources.nexmark.events import EXTRA, KINDS, MOST_RATE, RATE, SEED, START, Events
from continua.sources.python_rows import OPTIONS, PythonRows, imported, parameters_of
from continua.sources.source_spec import SourceSpec, missing_column
from continua.sources.splits import Split
from continua.types import BIGINT, DataType

_MOST = 64
"""So many splits are listed at once of a source that is behind the clock: more than an epoch reads."""
_LAST = 253_402_300_799_000_000
"""The last second of the calendar."""


class Generator(Protocol):
    """Makes rows from their numbers. Not every number needs to have a row."""

    @property
    def columns(self) -> dict[str, DataType]:
        """The columns that there are, with their types."""
        ...

    @property
    def time_column(self) -> str:
        """The column with the moment from which on a row is there."""
        ...

    def width(self, names: tuple[str, ...]) -> float:
        """How many bytes some columns have for each number, about."""
        ...

    def instant(self, number: int) -> int:
        """The moment from which on a number is there."""
        ...

    def due(self, now: int) -> int:
        """How many numbers are there at a moment."""
        ...

    def rows_below(self, number: int) -> int:
        """How many lower numbers have rows."""
        ...

    def numbers(self, first: int, end: int) -> Int64s:
        """The numbers of rows, of which those from ``first`` to below ``end`` are meant."""
        ...

    def make(self, numbers: Int64s, names: tuple[str, ...]) -> pa.Table:
        """Some columns of the rows of these numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Generated:
    """What the definition of a generated source says."""

    generator: Generator | PythonRows
    names: tuple[str, ...]
    """The generator's own spelling of each declared column."""
    shown: str
    """What stands for the name of a file: it tells all that the rows depend on."""
    count: int | None
    """How many numbers there are; None where there is no end."""
    begun_at: int | None = None
    """When it began, if its definition leaves that to the run."""

    @property
    def width(self) -> int:
        """How many bytes a number stands for, about."""
        return max(round(self.generator.width(self.names)), 1)


def generated(spec: SourceSpec, begun_at: int | None = None) -> Generated:
    """What a source is made by; where its definition does not say when it began, ``begun_at`` does.

    Raises SourceError for what cannot be made.
    """
    check_options(spec)
    options = {name.casefold(): value for name, value in spec.options}
    if spec.format == "python":
        return _by_python(spec, options, begun_at)
    told = _moment(spec, options)
    start = told if told is not None else START if begun_at is None else begun_at
    generator: Generator
    if spec.format == "nexmark":
        kind = spec.path.casefold()
        if kind not in KINDS:
            raise bad_option(spec, "kind", spec.path, f"{listing(KINDS)}: nexmark('bid')")
        rate = _whole(spec, options, "rate", 1, MOST_RATE) or RATE
        seed = _whole(spec, options, "seed", -(1 << 63), (1 << 63) - 1)
        extra = options.get(EXTRA, False)
        if not isinstance(extra, bool):
            raise bad_option(spec, EXTRA, extra, "true or false")
        generator = Events(kind, rate, SEED if seed is None else seed, start, extra)
        shown = f"nexmark('{kind}', rate => {rate}, seed => {generator.seed}"
        count = _whole(spec, options, "events", 0, 1 << 62)
    else:
        rate = _whole(spec, options, "rows_per_second", 1, 1_000_000_000) or 1
        generator = CountedRows(rate, start)
        shown = f"rate(rows_per_second => {rate}"
        count = _whole(spec, options, "rows", 0, 1 << 62)
    if generator.instant(count or 0) > _LAST:
        limit = "events" if spec.format == "nexmark" else "rows"
        raise bad_option(spec, limit, count, "so many that the last of them is before the year 10000")
    if told is not None:
        shown += f", start => '{show_instant(start, TimeDomain.MICROSECONDS)}'"
    names = _own_names(spec, generator, f"{spec.format}(...)")
    return Generated(generator, names, f"{shown})", count, None if told is not None else begun_at)


def _by_python(spec: SourceSpec, options: dict[str, object], begun_at: int | None) -> Generated:
    """Rows by a function: it is found anew by each process, and must be the one that was read before."""
    try:
        function, digest = imported(spec.path)
        places = parameters_of(function)
    except (Exception, SystemExit) as error:
        message, parameters = f"cannot import {spec.path}: {error}", {"path": spec.path}
        raise SourceError(Diagnostic("BAD_PYTHON_NAME", message, parameters=dict(parameters))) from None
    by_range = places[:2] == ["first", "end"]
    count = _whole(spec, options, "rows", 0, 1 << 62)
    rate = _whole(spec, options, "rows_per_second", 1, 1_000_000_000)
    told = _moment(spec, options)
    if count is None and rate is None:
        raise bad_option(
            spec, "rows", None, "the number of rows, where rows_per_second does not say how many there are"
        )
    start = told if told is not None else START if begun_at is None else begun_at
    own = tuple((name, value) for name, value in spec.options if name.casefold() not in OPTIONS)
    try:
        inspect.signature(function).bind(*((0, 0) if by_range else (0,)), **dict(own))
    except TypeError as error:
        message = f"{spec.path} cannot be called with the options that are given: {error}"
        hint = "it is called with first and end, or with an offset, and with all options but " + listing(OPTIONS)
        raise SourceError(Diagnostic("BAD_OPTION", message, hint=hint, parameters={"source": spec.name})) from None
    maker = PythonRows(spec.path, own, rate, start, count, function, by_range)
    if maker.instant(count or 0) > _LAST:
        raise bad_option(spec, "rows", count, "so many that the last of them is before the year 10000")
    shown = ", ".join((f"python('{spec.path}'", *(f"{name} => {value!r}" for name, value in spec.options)))
    names = tuple(name for name, _ in spec.columns)
    moment = begun_at if rate is not None and told is None else None
    return Generated(maker, names, f"{shown}, source {digest})", count, moment)


def _whole(spec: SourceSpec, options: dict[str, object], name: str, least: int, most: int) -> int | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise bad_option(spec, name, value, f"a whole number from {least} to {most}")
    return value


def _moment(spec: SourceSpec, options: dict[str, object]) -> int | None:
    value = options.get("start")
    if value is None:
        return None
    try:
        return instant_of(parse_timestamp(value if isinstance(value, str) else ""))
    except ValueError:
        raise bad_option(spec, "start", value, "a timestamp such as '2026-01-01 00:00:00'") from None


def _own_names(spec: SourceSpec, generator: Generator, shown: str) -> tuple[str, ...]:
    """The generator's spelling of each declared column, all of which have types that its values fit."""
    found: list[str] = []
    present = generator.columns
    for column, of in spec.columns:
        name = lookup({name: name for name in present}, column)
        if name is None:
            unasked = spec.format == "nexmark" and column.casefold() == EXTRA
            hint = (
                "write extra => true"
                if unasked
                else did_you_mean(column, present) or f"there are {listing(list(present))}"
            )
            raise missing_column(spec, column, shown, hint)
        if not _fits(present[name], of):
            raise SourceError(
                Diagnostic(
                    "TYPE_MISMATCH",
                    f"column {column} of {spec.name} is {of}, and {shown} makes {present[name]}",
                    hint=f"declare it as {column} {present[name]}",
                    parameters={"source": spec.name, "column": column, "left": str(of), "right": str(present[name])},
                )
            )
        found.append(name)
    return tuple(found)


def _fits(made: DataType, declared: DataType) -> bool:
    return made == declared or (made == BIGINT and declared.name in ("INT", "DOUBLE", "DECIMAL"))


def splits_of(spec: SourceSpec, size: int) -> list[Split]:
    """All splits of a source, each of about so many bytes. Raises SourceError for a source that never ends."""
    found = generated(spec)
    if found.count is None:
        limit = "events" if spec.format == "nexmark" else "rows"
        raise SourceError(
            Diagnostic(
                "ENDLESS_SOURCE",
                f"{spec.name} has no end: {spec.format}(...) goes on for ever",
                hint=f"an endless source needs --follow; or say how many {limit} there are: {limit} => 1000000",
                parameters={"source": spec.name, "option": limit},
            )
        )
    return _cut(found, 0, found.count, found.count, size)


def due_splits(spec: SourceSpec, read: int, now: int, begun_at: int, size: int) -> list[Split]:
    """The splits of what is there at a moment and has not been read, or the first of them where there are many."""
    found = generated(spec, begun_at)
    due = found.generator.due(now)
    due = due if found.count is None else min(due, found.count)
    return _cut(found, read, min(due, read + _step(found, size) * _MOST), due, size)


def _step(found: Generated, size: int) -> int:
    """How many numbers are a split of about so many bytes."""
    return max(size // found.width, 1)


def _cut(found: Generated, begin: int, end: int, there: int, size: int) -> list[Split]:
    """The numbers from one to below another as splits; ``there``: how many numbers there are in all."""
    bounds = [*range(begin, end, _step(found, size)), end]
    whole = Split(found.shown, found.shown, begin, end, there, begun_at=found.begun_at, width=found.width)
    return [replace(whole, begin=a, end=b) for a, b in pairwise(bounds)]


def complete_after(info: Source, spec: SourceSpec, last: Split) -> int | None:
    """Up to where a source is complete once it has been read to the end of a split; None where only its rows tell."""
    if is_by_arrival(info):
        return None
    found = generated(spec, last.begun_at)
    if last.end == found.count:
        return FINAL
    ordered = info.valid[0] if isinstance(info, StreamInfo) and info.valid else info.order_by
    if ordered is None or ordered.casefold() != found.generator.time_column.casefold():
        return None
    return found.generator.instant(last.end) - 1
