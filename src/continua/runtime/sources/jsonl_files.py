"""JSON Lines files: an object a line, fields by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from continua.runtime.sources.convert import lookup, parse_json
from continua.runtime.sources.rows import RowReader
from continua.runtime.sources.spec import Malformed, SourceRow, SourceSpec
from continua.runtime.sources.text import flaw, readable, text_lines


def read_jsonl(path: Path, file: str, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    """The rows of a JSON Lines file, in the order of the file; a field that is not there is NULL."""
    reader = RowReader(spec, file)
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            fields = _object(line)
        except ValueError as error:
            yield reader.malformed(number, str(error), readable(line), "a JSON object")
            continue
        values = (lookup(fields, name) for name, _ in spec.columns)
        yield reader.row(values, number, partial(readable, line))


def _object(line: str) -> dict[str, object]:
    reason = flaw(line)
    if reason is not None:
        raise ValueError(reason)
    parsed = parse_json(line)
    if not isinstance(parsed, dict):
        raise ValueError("not a JSON object")
    return parsed
