"""Answers as columns: what ``from_results`` makes one by one, where rows need no looking at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.algebra.base import Kind
from continua.algebra.instant_rows import is_written_as_intervals
from continua.answers.from_results import answers_from
from continua.answers.query import Answer, Query
from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.physical.nodes import END, START, WEIGHT
from continua.sqltext.duckdb_types import from_duckdb

_ROOM = 1 << 62
_NARROW = 1 << 31
"""Integers that lie in a range of at most this need no table of those that occur."""


@dataclass(frozen=True)
class AnswerColumns:
    """The answers of a query in order: instants, signs for changes of a relation, and the rows."""

    query: Query
    instants: Int64s
    signs: Int64s | None
    rows: pa.Table

    def __len__(self) -> int:
        return int(self.instants.size)

    def answers(self) -> list[Answer]:
        """The answers one by one."""
        name, columns = self.query.name, self.query.columns
        types = self.query.bound.logical.schema.types
        lists = [[from_duckdb(v, of) for v in self.rows.column(i).to_pylist()] for i, of in enumerate(types)]
        signs = [None] * len(self) if self.signs is None else ["+" if s > 0 else "-" for s in self.signs.tolist()]
        found = zip(self.instants.tolist(), signs, zip(*lists, strict=True), strict=True)
        return [Answer(name, instant, op, columns, row) for instant, op, row in found]


Part: TypeAlias = AnswerColumns | list[Answer]
"""The answers of one query, in the order of time."""


class Answers(Sequence[Answer]):
    """Answers in time order, at one instant in the order of their parts; made one by one only if they are asked for."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = [sorted(p, key=lambda a: a.instant) if isinstance(p, list) else p for p in parts]

    @cached_property
    def _all(self) -> list[Answer]:
        found = [a for part in self.parts for a in (part if isinstance(part, list) else part.answers())]
        return sorted(found, key=lambda a: a.instant)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._all)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        return self._all[place]


def columns_from(query: Query, table: pa.Table | None) -> AnswerColumns | None:
    """The answers of a query from its result rows; None where they are not simply elements or net changes."""
    logical = query.bound.logical
    stream = query.kind is Kind.STREAM and not is_written_as_intervals(query.bound.plan, query.chronon)
    if table is None or not len(logical.schema) or not (stream or query.kind is Kind.RELATION):
        return None
    keys = _keys(table.select(list(range(len(logical.schema)))))
    if keys is None:
        return None
    start, end, weight = (np.asarray(table.column(n).to_numpy(), np.int64) for n in (START, END, WEIGHT))
    row = np.arange(start.size)
    if not stream:
        ends = np.flatnonzero(end < INFINITY)
        start, row = np.concatenate([start, end[ends]]), np.concatenate([row, ends])
        weight = np.concatenate([weight, -weight[ends]])
    if bool((start >= INFINITY).any()):
        return None
    instants, row, net = _net(start, keys[row], row, weight)
    if stream:
        chosen = np.flatnonzero(net > 0)
    else:
        chosen = np.lexsort((net > 0, instants))
        chosen = chosen[net[chosen] != 0]
    chosen = np.repeat(chosen, np.abs(net[chosen]))
    rows = table.select(list(range(len(logical.schema)))).take(pa.array(row[chosen])).combine_chunks()
    return AnswerColumns(query, instants[chosen], None if stream else np.sign(net[chosen]), rows)


def epoch_part(query: Query, results: pa.Table | None, until: int) -> Part:
    """The answers of epochs that are finished, from their result rows, which are elements or net changes.

    How long an element lasts is not known yet: such are told as changes, by where they begin and where they end.
    """
    found = columns_from(query, results)
    if found is not None or results is None:
        return found or []
    if not (query.kind is Kind.STREAM and is_written_as_intervals(query.bound.plan, query.chronon)):
        return answers_from(query, results, until)
    start, weight = (np.asarray(results.column(n).to_numpy(), np.int64) for n in (START, WEIGHT))
    order = np.lexsort((weight, start))
    order = np.repeat(order, np.abs(weight[order]))
    rows = results.select(list(range(len(query.bound.logical.schema)))).take(pa.array(order)).combine_chunks()
    return AnswerColumns(query, start[order], np.sign(weight[order]), rows)


def _net(instant: Int64s, key: Int64s, row: Int64s, weight: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """By instant and in the order of keys: the instants, one row of each key, and the sum of its weights."""
    if not instant.size:
        return instant, row, weight
    first, span = int(instant.min()), int(key.max()) + 1
    if (int(instant.max()) - first + 1) * span < _ROOM:
        order = np.argsort((instant - first) * span + key)
    else:
        order = np.lexsort((key, instant))
    instant, key = instant[order], key[order]
    change = (instant[1:] != instant[:-1]) | (key[1:] != key[:-1])
    begins = np.concatenate([[0], np.flatnonzero(change) + 1])
    return instant[begins], row[order[begins]], np.add.reduceat(weight[order], begins)


def _keys(payload: pa.Table) -> Int64s | None:
    """A number a row: equal for equal rows, and in the order in which answers are; None where that is not simple."""
    keys, count = np.zeros(payload.num_rows, np.int64), 1
    for column in payload.columns:
        codes = _codes(column)
        if codes is None:
            return None
        number = int(codes.max(initial=0)) + 1
        if count * number >= _ROOM:
            (keys, count), (codes, number) = _dense(keys), _dense(codes)
        if count * number >= _ROOM:
            return None
        keys, count = keys * number + codes, count * number
    return keys


def _dense(keys: Int64s) -> tuple[Int64s, int]:
    """Numbers without gaps between them, in the same order, and how many there are."""
    distinct, places = np.unique(keys, return_inverse=True)
    return places.astype(np.int64), int(distinct.size)


def _codes(column: pa.ChunkedArray) -> Int64s | None:
    """The values of a column as numbers in their order: NULL first, NaN last."""
    kind, values = column.type, column.combine_chunks()
    if pa.types.is_floating(kind):
        numbers = values.fill_null(1.0).to_numpy()
        if bool(np.signbit(numbers[numbers == 0.0]).any()):
            return None  # equal to the other zero and not written like it
    elif pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        plain = (
            values.view(pa.int64() if kind.bit_width == 64 else pa.int32()) if pa.types.is_temporal(kind) else values
        )
        ends = pc.min_max(plain)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is None:
            return np.zeros(len(values), np.int64)
        if high - low < _NARROW:
            return _with_nulls(values, np.asarray(plain.fill_null(low).to_numpy(), np.int64) - low + 1)
    elif not (pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or kind in (pa.string(), pa.binary())):
        return None
    encoded = values.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(1, ranks.size + 1)
    places = encoded.indices.fill_null(0).to_numpy()
    return _with_nulls(values, ranks[places] if ranks.size else np.zeros(len(values), np.int64))


def _with_nulls(values: pa.Array, codes: Int64s) -> Int64s:
    if values.null_count:
        codes[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return codes
