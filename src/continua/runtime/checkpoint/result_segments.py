"""Result segments: what a partition of a level yields for all queries in an epoch, in one file.

The tables of all queries stand one after the other, then an index says where each is and what its checksum is. So an
epoch writes one file a partition however many queries there are, and one query's rows are read without the others'.
Queries that have the same rows, since they share all their operators, have one table.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import overload

import pyarrow as pa

from continua.physical.once import Once
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.seals import Stored, damaged, understood
from continua.runtime.checkpoint.store import Address, Numbered, Store, store_at
from continua.runtime.row_blocks import packed, unpacked

INTAKE = "intake"
"""The folder of rows that have come and can not be read again, until everybody has worked on them."""
_LENGTH = 8
"""The bytes behind the index: its length."""

Index = dict[str, tuple[int, int, int]]
"""For each query where its table starts, how long it is, and its checksum."""


def write_segments(store: Store, name: str, tables: Mapping[str, pa.Table], durable: bool = False) -> Stored:
    """Writes the tables of queries."""
    parts: list[bytes] = []
    index: Index = {}
    place = 0
    pack, known = Once(packed), dict[bytes, tuple[int, int, int]]()
    for query, table in tables.items():
        data = pack(table)
        if data not in known:
            known[data] = place, len(data), zlib.crc32(data)
            parts.append(data)
            place += len(data)
        index[query] = known[data]
    listed = json.dumps(index).encode()
    parts += [listed, len(listed).to_bytes(_LENGTH, "little")]
    return store.put(name, b"".join(parts), durable)


def read_all(store: Store, name: str, digest: str | None = None) -> dict[str, pa.Table]:
    """All tables of a file, with that digest if it is known; those that stand at one place are one table."""
    content = store.get(name, digest)
    found: dict[tuple[int, int], pa.Table] = {}
    result: dict[str, pa.Table] = {}
    for key, (start, length, _) in _listed(content, f"{store.url}/{name}").items():
        if (start, length) not in found:
            found[start, length] = unpacked(content[start : start + length])
        result[key] = found[start, length]
    return result


@overload
def read_segment(store: Store, name: str, query: str, digest: str) -> pa.Table: ...
@overload
def read_segment(store: Store, name: str, query: str, digest: str, missing: bool) -> pa.Table | None: ...
def read_segment(store: Store, name: str, query: str, digest: str, missing: bool = False) -> pa.Table | None:
    """The table of a query, from the file with that digest; an error if it is not what was written.

    ``missing``: whether there may be none of the query.
    """
    index = _index(store.address, name, store.version(name), digest)
    if query not in index:
        if missing:
            return None
        raise damaged(f"{store.url}/{name}")
    start, length, checksum = index[query]
    data = store.part(name, start, length)
    if len(data) != length or zlib.crc32(data) != checksum:
        raise damaged(f"{store.url}/{name}")
    return unpacked(data)


@lru_cache(maxsize=1024)
def _index(address: Address, name: str, version: str, digest: str) -> Index:  # noqa: ARG001
    """The index of a file; the whole file is checked when it is first asked for."""
    store = store_at(address)
    return _listed(store.get(name, digest), f"{store.url}/{name}")


def _listed(content: bytes, path: str) -> Index:
    """The index of a content."""
    length = int.from_bytes(content[-_LENGTH:], "little")
    with understood(path):
        listed = json.loads(content[-_LENGTH - length : -_LENGTH])
        return {query: tuple(place) for query, place in listed.items()}


def result_name(epoch: Numbered, level: int, partition: int) -> str:
    """Of what a partition of a level yields for all queries in an epoch."""
    return f"results/{epoch}-{level}-{partition}"


def late_name(source: str, epoch: Numbered, task: int) -> str:
    """Of the rows of a source that a task of an epoch kept apart. A source may be called whatever one likes."""
    return f"late/{safe_name(source)}/{epoch}-{task}"


def epoch_of(name: str) -> Numbered | None:
    """The epoch and the term of either of them."""
    return Numbered.of("-".join(name.rpartition("/")[2].split("-")[:2]))


def intake_name(number: Numbered) -> str:
    """Of a batch of such rows, source by source."""
    return f"{INTAKE}/{number}"
