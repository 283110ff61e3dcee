"""Splits of topics: records as rows, a part of each for every column. A line is the offset of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.sources.kafka.decoded_values import shown_bytes
from continua.sources.kafka.record_keys import key_columns, text_of
from continua.sources.kafka.record_values import read_values
from continua.sources.kafka.records import records_between
from continua.sources.kafka.topic import Topic, topic_of
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Extent, Piece, Split
from continua.sources.text_bytes import as_columns
from continua.sources.values import Failures, column_of_cells
from continua.sqltext.duckdb_types import arrow_type
from continua.types import BIGINT, BINARY, DataType

_ALL = 1 << 62


def read_kafka(spec: SourceSpec, split: Split) -> Piece:
    """The rows of a split."""
    topic = topic_of(spec)
    entry = split.begin if split.entry is None else split.entry
    most = _ALL if split.rows is None else split.rows
    records, exit_ = records_between(topic, spec.name, split.shown, entry, split.end, most)
    extent = Extent(exit_ - entry, entry, exit_, exit_ >= split.size, split.end)
    offsets: Int64s = np.fromiter((r.offset() for r in records), np.int64, len(records)) - entry
    values = read_values(topic, split.shown, [r.value() for r in records])
    found, kept, wrong = _with_parts(spec, topic, split.shown, records, values)
    apart = [replace(m, line=int(offsets[m.line])) for m in (*values.wrong, *wrong)]
    lines = offsets[kept]
    placed = lines + entry if spec.placed else None
    return Piece(found, lines, tuple(sorted(apart, key=lambda m: m.line)), extent, placed)


def _with_parts(
    spec: SourceSpec, topic: Topic, shown: str, records: Sequence[Any], values: Piece
) -> tuple[pa.Table, Int64s, list[Malformed]]:
    """The columns of records whose values could be read, which records these are, and those of which a part can not."""
    kept = values.lines
    whole = kept.size == len(records) and bool((np.diff(kept) == 1).all())
    mine = records if whole else [records[n] for n in kept.tolist()]
    failures = Failures()
    columns: dict[str, pa.Array] = dict(
        zip((name for name, _ in topic.values.columns), values.columns.columns, strict=True)
    )
    types = dict(spec.columns)
    places = {name: number for number, (name, _) in enumerate(spec.columns)}
    if topic.keys and (topic.key_form != "raw" or topic.is_tagged):
        columns |= key_columns(topic, [r.key() for r in mine], [(n, types[n], places[n]) for n in topic.keys], failures)
    for part, name in topic.parts:
        if name not in columns:
            columns[name] = _column_of_part(part, mine, types[name], places[name], failures)
    table = as_columns([columns[name] for name, _ in spec.columns], spec)
    if not failures.reasons:
        return table, kept, []
    wrong: dict[int, Malformed] = {}
    for row, (number, value, reason) in failures.reasons.items():
        name, of = spec.columns[number]
        text, line = shown_bytes(mine[row].value()), int(kept[row])
        wrong.setdefault(line, Malformed(shown, line, reason, text, value, str(of), column=name))
    fine = np.flatnonzero(~np.isin(kept, np.fromiter(wrong, np.int64)))
    return table.take(pa.array(fine)), kept[fine], list(wrong.values())


def _column_of_part(part: str, records: Sequence[Any], of: DataType, number: int, failures: Failures) -> pa.Array:
    """A part of each record as a column."""
    match part:
        case "offset":
            return pa.array([r.offset() for r in records], pa.int64())
        case "tag":
            return pa.array(["-" if r.value() is None else "u" for r in records], pa.string())
        case "partition":
            return pa.array([r.partition() for r in records], pa.int64())
        case "timestamp":
            stamps = (r.timestamp() for r in records)
            unit = 1 if of == BIGINT else 1000
            moments = pa.array([unit * moment if kind else None for kind, moment in stamps], pa.int64())
            return moments if of == BIGINT else moments.view(arrow_type(of))
        case "key" if of == BINARY:
            return pa.array([r.key() for r in records], pa.binary())
        case "key":
            keys = [text_of(r.key(), row, number, failures) for row, r in enumerate(records)]
            return column_of_cells(list(keys), of, number, failures)
        case _:
            found = [_headers(r.headers(), of, row, number, failures) for row, r in enumerate(records)]
            return pa.array(found, arrow_type(of))


def _headers(
    headers: Sequence[tuple[str, bytes | None]] | None, of: DataType, row: int, number: int, failures: Failures
) -> list[tuple[str, str | bytes | None]]:
    """Headers as a map; of several of one name the last one counts, as the last value that was set."""
    found = dict(headers or ())
    if of.element == BINARY:
        return list(found.items())
    return [(name, text_of(value, row, number, failures)) for name, value in found.items()]
