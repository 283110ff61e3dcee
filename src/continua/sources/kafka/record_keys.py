"""The columns that are read from the keys of records."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from continua.sources.convert import lookup
from continua.sources.kafka.decoded_values import decoder_of
from continua.sources.kafka.schemas import decoded
from continua.sources.kafka.topic import Topic
from continua.sources.text_bytes import flaw, readable
from continua.sources.values import Failures, column_of_cells
from continua.types import BINARY, DataType


def key_columns(
    topic: Topic, keys: Sequence[bytes | None], columns: Sequence[tuple[str, DataType, int]], failures: Failures
) -> dict[str, pa.Array]:
    """Keys as columns: names, types and places among the columns of the source.

    A key is a row with fields of these names, or the value of the only column. Of a topic whose records are states of
    keys each must have one.
    """
    first = columns[0][2]
    cells: list[list[object]] = [[] for _ in columns]
    for row, key in enumerate(keys):
        if key is None and topic.is_tagged:
            failures.add(row, first, None, "the record has no key")
        found = None if key is None else _fields(topic, key, row, columns, failures)
        for n, (name, _, _) in enumerate(columns):
            cells[n].append(lookup(found, name) if isinstance(found, dict) else found)
    return {
        name: column_of_cells(mine, of, place, failures) for (name, of, place), mine in zip(columns, cells, strict=True)
    }


def _fields(
    topic: Topic, key: bytes, row: int, columns: Sequence[tuple[str, DataType, int]], failures: Failures
) -> object:
    """A key as fields or as a value; what is neither is noted, and None."""
    _, of, first = columns[0]
    if topic.key_form == "raw":
        return key if of == BINARY else text_of(key, row, first, failures)
    try:
        found = decoded(decoder_of(topic.schemas, topic.key_form), key)
        if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
            found = found["payload"]  # as the converter of Kafka Connect wraps it
        if not isinstance(found, dict) and len(columns) > 1:
            raise ValueError("not an object with fields")
    except ValueError as error:
        failures.add(row, first, readable(key.decode("utf-8", "surrogateescape")), f"the key: {error}")
        return None
    return found


def text_of(raw: bytes | None, row: int, number: int, failures: Failures) -> str | None:
    """Bytes as text; what is no text is noted."""
    if raw is None:
        return None
    text = raw.decode("utf-8", "surrogateescape")
    reason = flaw(text)
    if reason is None:
        return text
    failures.add(row, number, readable(text), reason)
    return None
