"""Answers as records of Kafka: each change by itself, or of each key what it is after an instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from continua.answers.encoding.column_texts import plain_texts
from continua.answers.encoding.record_texts import answer_rows, json_objects

Header = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Record:
    """A record that is to be written; without a value it says that its key is gone."""

    key: bytes | None
    value: bytes | None
    headers: list[Header]


def changes(
    answers: pa.Table,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    deletion_key: tuple[str, ...],
    epoch: int,
    part: str,
) -> Iterator[Record]:
    """Answers one by one, in their order; ``part`` is which share of the epoch they are."""
    rows = _texts(answer_rows(columns, deletion_key, answers))
    keys = _keys(answers, columns, key)
    ops = _ops(answers, columns)
    of_epoch = [("epoch", b"%d" % epoch), ("part", part.encode())]
    for number, (t, op, own, row) in enumerate(
        zip(_texts(plain_texts(answers.column(0))), ops, keys, rows, strict=True)
    ):
        tag = [] if op is None else [("op", op)]
        yield Record(own, row, [*tag, ("t", t or b""), *of_epoch, ("number", b"%d" % number)])


def net_states(answers: pa.Table, columns: tuple[str, ...], key: tuple[str, ...], epoch: int) -> Iterator[Record]:
    """Of each instant and key that changes what is there after it, or that nothing is."""
    rows = _texts(json_objects(columns, _values(answers, columns)))
    number = 0
    now: bytes | None = None
    found: dict[bytes | None, bytes | None] = {}

    def records() -> Iterator[Record]:
        nonlocal number
        for own, row in found.items():
            op = b"-" if row is None else b"u"
            place = ("number", b"%d" % number)
            yield Record(own, row, [("op", op), ("t", now or b""), ("epoch", b"%d" % epoch), place])
            number += 1
        found.clear()

    changed = zip(
        _texts(plain_texts(answers.column(0))),
        _ops(answers, columns),
        _keys(answers, columns, key),
        rows,
        strict=True,
    )
    for t, op, own, row in changed:
        if t != now:
            yield from records()
            now = t
        if op != b"-":
            found[own] = row
        else:
            # deletions come before insertions: what is inserted at the same instant takes its place
            found.setdefault(own, None)
    yield from records()


def _values(answers: pa.Table, columns: tuple[str, ...]) -> list[pa.ChunkedArray]:
    found: list[pa.ChunkedArray] = answers.columns[-len(columns) :]
    return found


def _ops(answers: pa.Table, columns: tuple[str, ...]) -> list[bytes | None]:
    if answers.num_columns == len(columns) + 1:
        return [None] * answers.num_rows
    return _texts(answers.column(1))


def _keys(answers: pa.Table, columns: tuple[str, ...], key: tuple[str, ...]) -> list[bytes | None]:
    if not key:
        return [None] * answers.num_rows
    values = _values(answers, columns)
    return _texts(json_objects(key, [values[columns.index(name)] for name in key]))


def _texts(column: pa.ChunkedArray | pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found
