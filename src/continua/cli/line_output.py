"""Answers as lines of JSON and CSV, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.answer_columns import Part
from continua.answers.encoding.column_texts import instant_jsons, instant_texts, joined, text_of
from continua.answers.encoding.record_texts import answer_lines, csv_header, csv_records
from continua.answers.encoding.text_columns import AnswerTexts, block, sliced
from continua.answers.encoding.value_texts import csv_field
from continua.answers.query import Query
from continua.kernels.jit import Int64s

_AT_ONCE = 1 << 16


def json_blocks(parts: Sequence[tuple[Query, Part]], label: str) -> Iterator[str]:
    """The lines of answers as JSON, many to a text."""

    def lines(found: AnswerTexts) -> pa.Array:
        domain = found.query.domain
        untils = None
        if found.ends is not None:
            ends, last = found.ends
            untils = pc.if_else(last, instant_jsons(ends, domain), pa.scalar(None, pa.string()))
        times = instant_jsons(found.instants, domain)
        return answer_lines(found.query.name, label, times, untils, found.ops, found.json_rows())

    return _merged(parts, lines, label)


def csv_blocks(queries: Mapping[str, Query], parts: Sequence[tuple[Query, Part]], label: str) -> Iterator[str]:
    """The lines of answers as CSV, many to a text; the first is the header.

    One query has its own columns; the rows of several have no columns in common and are JSON.
    """
    until = any(block(*part).ends is not None for part in parts if isinstance(part[1], list))
    only = next(iter(queries.values())) if len(queries) == 1 else None

    def lines(found: AnswerTexts) -> pa.Array:
        domain = found.query.domain
        fields: list[str | pa.Array] = [csv_field(found.query.name), instant_texts(found.instants, domain)]
        if until:
            fields.append("" if found.ends is None else instant_texts(found.ends[0], domain).fill_null(""))
        if label == "t":
            fields.append("" if found.ops is None else found.ops.fill_null(""))
        if only is not None:
            return csv_records([*fields, *found.csv_columns()])
        return csv_records([*fields, joined('"', pc.replace_substring(found.json_rows(), '"', '""'), '"')])

    names = ["query", label, *(["until"] if until else []), *(["op"] if label == "t" else [])]
    yield csv_header([*names, *(only.columns if only else ["row"])])
    yield from _merged(parts, lines, label)


def _merged(parts: Sequence[tuple[Query, Part]], lines: Callable[[AnswerTexts], pa.Array], label: str) -> Iterator[str]:
    """The lines of all parts by instant, at one instant in the order of the parts; contents one after the other."""
    parts = [(query, part) for query, part in parts if len(part)]
    owner = np.repeat(np.arange(len(parts)), [len(part) for _, part in parts])
    times = np.concatenate([np.empty(0, np.int64), *(_instants(query, part) for query, part in parts)])
    order = np.argsort(times, kind="stable") if label == "t" else np.arange(times.size)
    done = [0] * len(parts)
    for first in range(0, order.size, _AT_ONCE):
        owners = owner[order[first : first + _AT_ONCE]]
        chunks: list[pa.Array] = []
        for number, (query, part) in enumerate(parts):
            count = int((owners == number).sum())
            if count:
                chunks.append(lines(block(query, sliced(part, done[number], count))))
                done[number] += count
        if len(chunks) == 1:
            yield text_of(chunks[0])
            continue
        places = np.empty(owners.size, np.int64)
        places[np.argsort(owners, kind="stable")] = np.arange(owners.size)
        yield text_of(pa.concat_arrays(chunks).take(pa.array(places)))


def _instants(query: Query, part: Part) -> Int64s:
    return block(query, part).instants
