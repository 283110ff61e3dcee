"""Rows by a Python function: SOURCE python('module:function', ...).

The function gives the rows of a range of offsets, the same whenever it is asked: ``function(first, end)`` those from
``first`` to below ``end``, ``function(offset)`` those from ``offset`` on, of which as many are taken as are needed. So
tasks make the rows, in any range, and again after a crash. What it is, tells its module with a digest of the source.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from itertools import islice

from continua.algebra.schema import Field
from continua.catalog import StreamInfo
from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.instants import TimeDomain
from continua.sources.inserted_rows import columns_of_rows
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Extent, Piece, Split

OPTIONS = ("rows", "rows_per_second", "start")
"""The options that are not given to the function."""
_SECOND = 1_000_000
_WIDTH = 64
"""About so many bytes a value takes while it is made."""


@dataclass(frozen=True, slots=True)
class PythonRows:
    """What a definition says of the function."""

    path: str
    arguments: tuple[tuple[str, object], ...]
    rows_per_second: int | None
    start: int
    count: int | None
    function: Callable[..., Iterable[object]] = field(compare=False)
    by_range: bool = True

    time_column = ""

    def width(self, names: tuple[str, ...]) -> float:
        """How many bytes some columns of a row have, about."""
        return _WIDTH * max(len(names), 1)

    def instant(self, number: int) -> int:
        """From when on a row is there."""
        return self.start + number * _SECOND // self.rows_per_second if self.rows_per_second else self.start

    def due(self, now: int) -> int:
        """How many rows are there at a moment: all, unless so many come a second."""
        if self.rows_per_second is None:
            return self.count or 0
        return max(((now - self.start + 1) * self.rows_per_second - 1) // _SECOND + 1, 0)

    def rows(self, first: int, end: int, source: str) -> object:
        """What the function gives for the offsets from one to below another. Raises SourceError where it fails."""
        given = dict(self.arguments)
        try:
            found = self.function(first, end, **given) if self.by_range else self.function(first, **given)
            if hasattr(found, "num_rows") or hasattr(found, "__arrow_c_stream__"):
                return found
            rows = list(islice(found, end - first if not self.by_range else end - first + 1))
        except ContinuaError:
            raise
        except Exception as error:
            reason = f"fails at the offsets {first} to {end}: {type(error).__name__}: {error}"
            raise failed(self.path, source, reason, first, end) from error
        return rows


def failed(path: str, source: str, reason: str, first: int, end: int) -> SourceError:
    """What is raised where a function does not give the rows that it was asked for."""
    parameters: dict[str, object] = {"source": source, "function": path, "first": first, "end": end}
    message = f"{path}, which makes the rows of {source}, {reason}"
    return SourceError(Diagnostic("SOURCE_FAILED", message, parameters=parameters))


@lru_cache(maxsize=256)
def imported(path: str) -> tuple[Callable[..., Iterable[object]], str]:
    """The function of a path ``module:function``, and a digest of its module's source. Raises what importing does."""
    module_name, _, name = path.partition(":")
    module = importlib.import_module(module_name)
    function = getattr(module, name)
    if not callable(function):
        raise TypeError(f"{path} is not callable")
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        source = ""
    return function, sha256(source.encode()).hexdigest()[:8]


def parameters_of(function: Callable[..., object]) -> list[str]:
    """The names of the parameters of a function that may be given by their place."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in places]


def read_python(spec: SourceSpec, split: Split, maker: PythonRows) -> Piece:
    """The rows of a split. A line is the offset of a row."""
    entry = split.begin if split.entry is None else split.entry
    end = split.end if split.rows is None else min(split.end, entry + split.rows)
    info = StreamInfo(spec.name, tuple(Field(n, of) for n, of in spec.columns), TimeDomain.TICKS)
    extent = Extent(max(end - entry, 0), entry, end, end >= split.size, split.end)
    given = maker.rows(entry, end, spec.name) if end > entry else []
    columns, numbers, wrong = columns_of_rows(info, given, split.shown)
    if columns.num_rows + len(wrong) != end - entry:
        some = columns.num_rows + len(wrong)
        count = "more rows" if some > end - entry else f"{some} rows"
        raise failed(maker.path, spec.name, f"gives {count} for the offsets {entry} to {end}", entry, end)
    lines = numbers - 1
    apart = tuple(replace(m, line=m.line - 1) for m in wrong)
    return Piece(columns, lines, apart, extent, lines + entry if spec.placed else None)
