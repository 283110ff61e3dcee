"""The values of records as rows. Each is read by itself, however it looks; all at once where that is the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.sources.csv_header import Layout
from continua.sources.csv_split import read_csv
from continua.sources.jsonl_split import read_jsonl
from continua.sources.kafka.debezium import changes_of
from continua.sources.kafka.decoded_values import NO_VALUE, read_decoded
from continua.sources.kafka.schemas import WITH_SCHEMA
from continua.sources.kafka.topic import Topic
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Piece, Split
from continua.sources.text_bytes import Text, as_columns, flaw, is_utf8, readable
from continua.types import BINARY

_TEXT_OR_LINE_END = re.compile(rb'"(?:[^"\\]|\\.)*"|[\r\n]+', re.DOTALL)
Parse = Callable[[bytes], Piece]


def read_values(topic: Topic, shown: str, values: Sequence[bytes | None]) -> Piece:
    """The rows that values stand for; a line is the number of a value."""
    if topic.envelope:
        return changes_of(topic, shown, values)
    if not topic.is_tagged or not any(value is None for value in values):
        return _rows_of(topic, shown, values)
    there = [number for number, value in enumerate(values) if value is not None]
    found = _rows_of(topic, shown, [values[number] for number in there])
    return _with_removals(found, np.array(there, np.int64), len(values))


def _with_removals(found: Piece, there: Int64s, count: int) -> Piece:
    """Rows, and between them one of NULLs for each record without a value; ``there``: which records have one."""
    gone: Int64s = np.setdiff1d(np.arange(count), there)
    lines = np.concatenate([there[found.lines], gone])
    order = np.argsort(lines, kind="stable")
    rows = np.arange(found.lines.size)
    places = np.concatenate([rows, np.full(gone.size, -1)])[order]
    table = found.columns.take(pa.array(places, mask=places < 0))
    wrong = tuple(replace(m, line=int(there[m.line])) for m in found.wrong)
    return Piece(table, lines[order], wrong)


def _rows_of(topic: Topic, shown: str, values: Sequence[bytes | None]) -> Piece:
    """Values as rows, each by itself."""
    spec = topic.values
    if spec.format in WITH_SCHEMA or topic.schemas.registry is not None:
        return read_decoded(spec, shown, values, topic.schemas)
    if not spec.columns:
        rows = np.arange(len(values))
        return Piece(pa.table({"c0": pa.nulls(len(values))}).select([]), rows)
    if spec.format == "raw":
        return _raw(spec, shown, values)
    present: list[int] = []
    texts: list[bytes] = []
    wrong: list[Malformed] = []
    for number, value in enumerate(values):
        if value is None or not value.strip():
            reason = NO_VALUE if value is None else "the record is empty"
            wrong.append(Malformed(shown, number, reason, "", None, f"a row in {spec.format}"))
            continue
        present.append(number)
        texts.append(value)
    places: Int64s = np.array(present, np.int64)
    found = _parsed(spec, shown, texts)
    wrong += [replace(m, line=int(places[m.line])) for m in found.wrong]
    return Piece(found.columns, places[found.lines], tuple(wrong))


def _parsed(spec: SourceSpec, shown: str, texts: list[bytes]) -> Piece:
    if not texts:
        return Piece(as_columns([], spec), np.empty(0, np.int64))
    parse = _json_parser(spec, shown) if spec.format == "json" else _csv_parser(spec, shown)
    data = b"\n".join(texts)
    if b"\r" in data or data.count(b"\n") != len(texts) - 1:
        whole = _on_one_line if spec.format == "json" else _without_end
        texts = [whole(text) for text in texts]
        data = b"\n".join(texts)
    if b"\r" not in data and data.count(b"\n") == len(texts) - 1:
        found = parse(data)
        if _is_one_each(found, len(texts)):
            return found
    return _one_by_one(spec, shown, parse, texts)


def _is_one_each(piece: Piece, count: int) -> bool:
    """Whether each of some lines has one row, or is none."""
    lines = np.concatenate([piece.lines, np.array([m.line for m in piece.wrong], np.int64)])
    return lines.size == count and bool((np.sort(lines) == np.arange(count)).all())


def _one_by_one(spec: SourceSpec, shown: str, parse: Parse, texts: Sequence[bytes]) -> Piece:
    tables: list[pa.Table] = []
    places: list[int] = []
    wrong: list[Malformed] = []
    for number, text in enumerate(texts):
        found = parse(text)
        if found.lines.size + len(found.wrong) != 1:
            raw = readable(text.decode("utf-8", "surrogateescape"))
            wrong.append(Malformed(shown, number, "not one row", raw, raw, f"a row in {spec.format}"))
            continue
        tables.append(found.columns)
        places += [number] * int(found.lines.size)
        wrong += [replace(m, line=number) for m in found.wrong]
    table = pa.concat_tables(tables).combine_chunks() if tables else as_columns([], spec)
    return Piece(table, np.array(places, np.int64), tuple(wrong))


def _json_parser(spec: SourceSpec, shown: str) -> Parse:
    return lambda data: read_jsonl(spec, *_text_of(shown, data))


def _csv_parser(spec: SourceSpec, shown: str) -> Parse:
    layout = Layout(tuple(range(len(spec.columns))), len(spec.columns), header=False)
    return lambda data: read_csv(spec, *_text_of(shown, data), layout)


def _text_of(shown: str, data: bytes) -> tuple[Split, Text]:
    """Bytes as a text that does not begin a file: a byte order mark is part of its record."""
    split = Split("", shown, 1, 1 + len(data), 1 + len(data), entry=1)
    return split, Text(split, data, 1, True)


def _on_one_line(text: bytes) -> bytes:
    """A JSON text without the line ends that mean nothing; those within a text of its own stay, and are wrong."""
    return _TEXT_OR_LINE_END.sub(lambda m: m[0] if m[0].startswith(b'"') else b" ", text)


def _without_end(text: bytes) -> bytes:
    """A record without the line end behind it."""
    return text.removesuffix(b"\n").removesuffix(b"\r")


def _raw(spec: SourceSpec, shown: str, values: Sequence[bytes | None]) -> Piece:
    """Values as they are, in one column."""
    numbers: Int64s = np.arange(len(values))
    if spec.columns[0][1] == BINARY:
        return Piece(as_columns([pa.array(values, pa.binary())], spec), numbers)
    wrong: list[Malformed] = []
    whole = b"".join(v for v in values if v is not None)
    if b"\0" in whole or not all(v is None or is_utf8(v) for v in values):
        texts = ["" if v is None else v.decode("utf-8", "surrogateescape") for v in values]
        flaws = {number: found for number, text in enumerate(texts) if (found := flaw(text)) is not None}
        for number, reason in flaws.items():
            text = readable(texts[number])
            wrong.append(Malformed(shown, number, reason, text, text, "text in UTF-8"))
        numbers = np.array([n for n in range(len(values)) if n not in flaws], np.int64)
    kept = [values[n] for n in numbers.tolist()]
    columns = as_columns([pa.array(kept, pa.binary()).cast(pa.string())], spec)
    return Piece(columns, numbers, tuple(wrong))
