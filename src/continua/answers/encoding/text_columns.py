"""Answers as columns of texts, whether they are columns or objects: what the formats of the commands are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.answer_columns import AnswerColumns, Part
from continua.answers.encoding.column_texts import csv_texts, plain_texts
from continua.answers.encoding.record_texts import json_objects
from continua.answers.encoding.value_texts import csv_text, json_object, json_text, plain_text
from continua.answers.query import Answer, Query
from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.types import DataType, Value


class AnswerTexts(ABC):
    """Some answers of one query, in their order."""

    query: Query

    @property
    @abstractmethod
    def instants(self) -> Int64s:
        """Where each answer begins."""

    @property
    def ends(self) -> tuple[Int64s, pa.Array] | None:
        """Where elements of more than one instant end, and which answers are such; None where there are none."""
        return None

    @property
    @abstractmethod
    def ops(self) -> pa.Array | None:
        """What happened to each row; None where all are elements of a stream."""

    @abstractmethod
    def json_rows(self) -> pa.Array:
        """The rows as JSON objects."""

    @abstractmethod
    def csv_columns(self) -> list[pa.Array]:
        """The query's columns as fields of CSV."""

    @abstractmethod
    def plain_columns(self) -> list[pa.Array]:
        """The query's columns as plain text; NULL stays NULL."""


def block(query: Query, part: Part) -> AnswerTexts:
    """The answers of a query as a block."""
    return _Objects(query, part) if isinstance(part, list) else _Columns(query, part)


def json_row(types: Mapping[str, DataType], columns: Sequence[str], row: Sequence[Value]) -> str:
    """Some columns of a query as a JSON object."""
    return json_object((name, json_text(value, types[name])) for name, value in zip(columns, row, strict=True))


def sliced(part: Part, first: int, count: int) -> Part:
    """Some of the answers."""
    if isinstance(part, list):
        return part[first : first + count]
    chosen = slice(first, first + count)
    signs = None if part.signs is None else part.signs[chosen]
    return AnswerColumns(part.query, part.instants[chosen], signs, part.rows.slice(first, count))


@dataclass(frozen=True)
class _Columns(AnswerTexts):
    query: Query
    part: AnswerColumns

    @property
    def instants(self) -> Int64s:
        return self.part.instants

    @property
    def ops(self) -> pa.Array | None:
        return None if self.part.signs is None else pc.if_else(pa.array(self.part.signs > 0), "+", "-")

    def json_rows(self) -> pa.Array:
        return json_objects(list(self.query.types), self.part.rows.columns)

    def csv_columns(self) -> list[pa.Array]:
        return [csv_texts(column) for column in self.part.rows.columns]

    def plain_columns(self) -> list[pa.Array]:
        return [plain_texts(column) for column in self.part.rows.columns]


@dataclass(frozen=True)
class _Objects(AnswerTexts):
    """A deletion by key has no values but those of the key: the others are left out, or empty."""

    query: Query
    part: Sequence[Answer]

    @property
    def instants(self) -> Int64s:
        return np.array([a.instant for a in self.part], np.int64)

    @property
    def ends(self) -> tuple[Int64s, pa.Array] | None:
        if all(a.until is None for a in self.part):
            return None
        ends = np.array([INFINITY if a.until is None else a.until for a in self.part], np.int64)
        return ends, pa.array([a.until is not None for a in self.part])

    @property
    def ops(self) -> pa.Array | None:
        return pa.array([a.op for a in self.part], pa.string()) if any(a.op for a in self.part) else None

    def json_rows(self) -> pa.Array:
        types = self.query.types
        return pa.array([json_row(types, a.columns, a.row) for a in self.part], pa.string())

    def csv_columns(self) -> list[pa.Array]:
        return self._columns(csv_text)

    def plain_columns(self) -> list[pa.Array]:
        return self._columns(lambda value, of: None if value is None else plain_text(value, of))

    def _columns(self, write: Callable[[Value, DataType], str | None]) -> list[pa.Array]:
        rows = [dict(zip(a.columns, a.row, strict=True)) for a in self.part]
        return [
            pa.array([write(row[name], of) if name in row else "" for row in rows], pa.string())
            for name, of in self.query.types.items()
        ]
