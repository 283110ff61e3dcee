"""Answers that are columns, as text: the same lines as one by one, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answer_columns import AnswerColumns, Answers, Part
from continua.cli.output import csv_header, csv_line, field, json_line
from continua.cli.values import instant_json, instant_text, json_text, plain_text, quoted
from continua.column_texts import joined, text_of, texts_of
from continua.instants import TimeDomain
from continua.kernels.jit import Int64s
from continua.session import Query
from continua.sqltext.values import from_duckdb
from continua.types import DataType, Value

_AT_ONCE = 1 << 16


def json_blocks(answers: Answers, queries: Mapping[str, Query], label: str) -> Iterator[str]:
    """The lines of answers as JSON, many to a text."""

    def lines(part: Part) -> pa.Array:
        if isinstance(part, list):
            return pa.array([json_line(queries[a.query], a, label) + "\n" for a in part], pa.string())
        return _json_lines(part, label)

    return _merged(answers, lines)


def csv_blocks(answers: Answers, queries: Mapping[str, Query], label: str) -> Iterator[str]:
    """The lines of answers as CSV, many to a text; the first is the header."""
    until = any(a.until is not None for part in answers.parts if isinstance(part, list) for a in part)
    only = next(iter(queries.values())) if len(queries) == 1 else None

    def lines(part: Part) -> pa.Array:
        if isinstance(part, list):
            return pa.array([csv_line(queries[a.query], a, label, until, only) + "\n" for a in part], pa.string())
        return _csv_lines(part, label, until, only is not None)

    yield csv_header(only, label, until) + "\n"
    yield from _merged(answers, lines)


def _merged(answers: Answers, lines: Callable[[Part], pa.Array]) -> Iterator[str]:
    """The lines of all parts by instant, at one instant in the order of the parts."""
    parts = [p for p in answers.parts if len(p)]
    owner = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    order = np.argsort(np.concatenate([np.empty(0, np.int64), *map(_instants, parts)]), kind="stable")
    done = [0] * len(parts)
    for first in range(0, order.size, _AT_ONCE):
        owners = owner[order[first : first + _AT_ONCE]]
        chunks: list[pa.Array] = []
        for number, part in enumerate(parts):
            count = int((owners == number).sum())
            if count:
                chunks.append(lines(_sliced(part, done[number], count)))
                done[number] += count
        if len(chunks) == 1:
            yield text_of(chunks[0])
            continue
        places = np.empty(owners.size, np.int64)
        places[np.argsort(owners, kind="stable")] = np.arange(owners.size)
        yield text_of(pa.concat_arrays(chunks).take(pa.array(places)))


def _instants(part: Part) -> Int64s:
    return np.array([a.instant for a in part], np.int64) if isinstance(part, list) else part.instants


def _sliced(part: Part, first: int, count: int) -> Part:
    if isinstance(part, list):
        return part[first : first + count]
    chosen = slice(first, first + count)
    signs = None if part.signs is None else part.signs[chosen]
    return AnswerColumns(part.query, part.instants[chosen], signs, part.rows.slice(first, count))


def _json_lines(part: AnswerColumns, label: str) -> pa.Array:
    query = part.query
    pieces = [f'{{"query": {quoted(query.name)}, {quoted(label)}: ', _times(part, instant_json)]
    if part.signs is not None:
        pieces.append(_either(part.signs, ', "op": "+"', ', "op": "-"'))
    return joined(*pieces, ', "row": ', *_json_row(part), "}\n")


def _json_row(part: AnswerColumns) -> list[str | pa.Array]:
    """The rows as JSON objects, in pieces that belong together."""
    pieces: list[str | pa.Array] = []
    for place, (name, of) in enumerate(part.query.types.items()):
        pieces += [f"{', ' if place else '{'}{quoted(name)}: ", _texts(part.rows.column(place), of, json_text, "null")]
    return [*pieces, "}"]


def _csv_lines(part: AnswerColumns, label: str, until: bool, alone: bool) -> pa.Array:
    query = part.query
    pieces: list[str | pa.Array] = [field(query.name), ",", _times(part, instant_text), "," if until else ""]
    if label == "t":
        pieces += [","] if part.signs is None else [_either(part.signs, ",+", ",-")]
    if alone:
        for place, of in enumerate(query.types.values()):
            pieces += [",", _texts(part.rows.column(place), of, _csv_text, "")]
    else:
        doubled = pc.replace_substring(joined(*_json_row(part)), '"', '""')
        pieces += [',"', doubled, '"']
    return joined(*pieces, "\n")


def _csv_text(value: Value, of: DataType) -> str:
    return field(plain_text(value, of))


def _either(signs: Int64s, plus: str, minus: str) -> pa.Array:
    return pc.if_else(pa.array(signs > 0), plus, minus)


def _times(part: AnswerColumns, text: Callable[[int, TimeDomain], str | None]) -> pa.Array:
    """The instants as text; there are often many answers at one."""
    if part.query.domain is TimeDomain.TICKS:
        return pa.array(part.instants).cast(pa.string())
    distinct, places = np.unique(part.instants, return_inverse=True)
    texts = pa.array([text(t, part.query.domain) for t in distinct.tolist()], pa.string())
    return texts.take(pa.array(places))


def _texts(column: pa.ChunkedArray, of: DataType, write: Callable[[Value, DataType], str], null: str) -> pa.Array:
    return texts_of(column, lambda value: write(from_duckdb(value, of), of), null)
