"""Answers as records of Kafka: each change by itself, or of each key what it is after an instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import pyarrow as pa

from continua.answers.encoding.column_texts import plain_texts
from continua.answers.encoding.record_texts import answer_rows, json_objects
from continua.sources.kafka.transactions import Header, Record

_AT_ONCE = 1 << 15
_OPS: dict[bytes | None, tuple[Header, ...]] = {op: (("op", op),) for op in (b"+", b"-", b"u")} | {None: ()}


def changes(
    answers: pa.Table,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    deletion_key: tuple[str, ...],
    epoch: int,
    part: str,
) -> Iterator[Record]:
    """Answers one by one, in their order; ``part`` is which share of the epoch they are."""
    of_epoch: tuple[Header, ...] = (("epoch", b"%d" % epoch), ("part", part.encode()))
    now: bytes | None = None
    at: tuple[Header, ...] = ()
    number = 0
    for some in _parts(answers):
        rows = _texts(answer_rows(columns, deletion_key, some))
        times, ops, keys = _texts(plain_texts(some.column(0))), _ops(some, columns), _keys(some, columns, key)
        for t, op, own, row in zip(times, ops, keys, rows, strict=False):  # what is the same for all repeats
            if t != now:
                now, at = t, (("t", t or b""), *of_epoch)
            yield own, row, [*_OPS[op], *at, ("number", b"%d" % number)]
            number += 1


def net_states(
    answers: pa.Table, columns: tuple[str, ...], key: tuple[str, ...], epoch: int, part: str
) -> Iterator[Record]:
    """Of each instant and key that changes what is there after it, or that nothing is."""
    of_epoch: tuple[Header, ...] = (("epoch", b"%d" % epoch), ("part", part.encode()))
    number = 0
    now: bytes | None = None
    found: dict[bytes | None, bytes | None] = {}

    def records() -> Iterator[Record]:
        nonlocal number
        at: tuple[Header, ...] = (("t", now or b""), *of_epoch)
        for own, row in found.items():
            yield own, row, [*_OPS[b"-" if row is None else b"u"], *at, ("number", b"%d" % number)]
            number += 1
        found.clear()

    for some in _parts(answers):
        rows = _texts(json_objects(columns, _values(some, columns)))
        times, ops, keys = _texts(plain_texts(some.column(0))), _ops(some, columns), _keys(some, columns, key)
        for t, op, own, row in zip(times, ops, keys, rows, strict=True):
            if t != now:
                yield from records()
                now = t
            if op != b"-":
                found[own] = row
            else:
                # deletions come before insertions: what is inserted at the same instant takes its place
                found.setdefault(own, None)
    yield from records()


def _parts(answers: pa.Table) -> Iterator[pa.Table]:
    for first in range(0, answers.num_rows, _AT_ONCE):
        yield answers.slice(first, _AT_ONCE)


def _values(answers: pa.Table, columns: tuple[str, ...]) -> list[pa.ChunkedArray]:
    found: list[pa.ChunkedArray] = answers.columns[-len(columns) :]
    return found


def _ops(answers: pa.Table, columns: tuple[str, ...]) -> Sequence[bytes | None] | repeat[None]:
    if answers.num_columns == len(columns) + 1:
        return repeat(None)
    return _texts(answers.column(1))


def _keys(answers: pa.Table, columns: tuple[str, ...], key: tuple[str, ...]) -> Sequence[bytes | None] | repeat[None]:
    if not key:
        return repeat(None)
    values = _values(answers, columns)
    return _texts(json_objects(key, [values[columns.index(name)] for name in key]))


def _texts(column: pa.ChunkedArray | pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found
