"""What a definition says of a source that is read by splits, and where in the script it says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from continua.catalog import RelationInfo
from continua.errors import ContinuaError, Diagnostic, SourceError, did_you_mean
from continua.lang.statements import SourceCall
from continua.sources.format_options import FORMATS, SCHEMA, WITH_SCHEMA
from continua.sources.frame_sources import FRAMES
from continua.sources.intervals import Source
from continua.sources.source_spec import SchemaFile, SourceSpec

_KNOWN = (*FORMATS, *FRAMES)
_OPTIONS_ONLY = "options only"
_ARGUMENTS = {
    "nexmark": ("one kind of events", "nexmark('bid')"),
    "python": ("one function", "python('module:function', rows => 1000)"),
    "rate": (_OPTIONS_ONLY, "rate(rows_per_second => 100)"),
    "kafka": ("one topic", "kafka('topic', servers => 'host:9092', format => 'json')"),
}
"""What stands in the parentheses of sources that are no files, and an example."""


def file_spec(info: Source, call: SourceCall, data: Path) -> SourceSpec:
    """What is declared of files, or of a generated source. Raises SourceError where the call makes no sense.

    ``data`` is the folder in which files are that options name: tasks are given what such a file says.
    """
    function = call.function.text.lower()
    if function not in FORMATS:
        raise SourceError(
            Diagnostic(
                "UNKNOWN_SOURCE",
                f"{info.name} reads from {call.function}(...), which is not a source that can be read",
                call.function.span,
                did_you_mean(function, _KNOWN) or f"sources: {', '.join(_KNOWN)}",
                {"source": function, "stream": info.name},
            )
        )
    takes, example = _ARGUMENTS.get(function, ("one path", f"{function}('file')"))
    wanted = 0 if takes == _OPTIONS_ONLY else 1
    if len(call.arguments) != wanted or not all(isinstance(argument, str) for argument in call.arguments):
        message = f"{function}(...) takes {takes}"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, example))
    columns = tuple((f.name, f.type) for f in info.columns)
    path = "".join(map(str, call.arguments))
    by_pairs = isinstance(info, RelationInfo) and not info.key
    options = tuple((name, _content(info, call, data, name, value)) for name, value in call.options)
    return SourceSpec(function, path, columns, options, info.skip_errors, info.name, by_pairs=by_pairs)


def _content(info: Source, call: SourceCall, data: Path, option: str, value: object) -> object:
    """The value of an option; of one that names a file with a schema what that says."""
    if option.casefold() != SCHEMA or call.function.text.lower() not in WITH_SCHEMA:
        return value
    try:
        return SchemaFile(str(value), (data / str(value)).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"the schema of {info.name}, {value}, cannot be read: {getattr(error, 'strerror', None) or error}"
        parameters: dict[str, object] = {"source": info.name, "file": str(value)}
        raise SourceError(Diagnostic("SOURCE_NOT_READABLE", message, call.function.span, None, parameters)) from None


@contextmanager
def at_its_source(info: Source) -> Iterator[None]:
    """What is wrong with a source, or keeps it from being read, is told with its place in the script."""
    span = info.source.function.span if info.source else None
    try:
        yield
    except SourceError as error:
        first = error.diagnostics[0]
        raise type(error)(replace(first, span=first.span or span)) from None
    except OSError as error:
        if isinstance(error, ContinuaError):
            raise
        message = f"{error.filename or info.name} cannot be read: {error.strerror or error}"
        parameters = {"source": info.name, "file": error.filename}
        raise SourceError(Diagnostic("SOURCE_NOT_READABLE", message, span, parameters=parameters)) from None


def refuse_once(info: Source, spec: SourceSpec) -> NoReturn:
    """Refuses a source whose rows come once, where a run would have to read them again."""
    message = f"{spec.path} is no file: its rows come once, and it is not followed like one"
    hint = f"{spec.format}('-') is standard input, and socket('host', port) a connection"
    span = info.source.function.span if info.source else None
    raise SourceError(Diagnostic("NOT_A_FILE", message, span, hint, {"source": info.name, "path": spec.path}))
