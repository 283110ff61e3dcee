"""Result segments: what a partition of a level yields for all queries in an epoch, in one file.

The tables of all queries stand one after the other, then an index says where each is and what its checksum is. So an
epoch writes one file a partition however many queries there are, and one query's rows are read without the others'.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from continua.runtime.blocks import packed, unpacked
from continua.runtime.files import Stored, damaged, understood
from continua.runtime.store import Address, Store, store_at

_LENGTH = 8
"""The bytes behind the index: its length."""

Index = dict[str, tuple[int, int, int]]
"""For each query where its table starts, how long it is, and its checksum."""


def write_segments(store: Store, name: str, tables: Mapping[str, pa.Table], lasting: bool = False) -> Stored:
    """Writes the tables of queries."""
    parts: list[bytes] = []
    index: Index = {}
    place = 0
    for query, table in tables.items():
        data = packed(table)
        index[query] = place, len(data), zlib.crc32(data)
        parts.append(data)
        place += len(data)
    listed = json.dumps(index).encode()
    parts += [listed, len(listed).to_bytes(_LENGTH, "little")]
    return store.put(name, b"".join(parts), lasting)


def read_segment(store: Store, name: str, query: str, digest: str) -> pa.Table:
    """The table of a query, from the file with that digest; an error if it is not what was written."""
    try:
        start, length, checksum = _index(store.address, name, store.version(name), digest)[query]
    except KeyError:
        raise damaged(Path(store.url) / name) from None
    data = store.part(name, start, length)
    if len(data) != length or zlib.crc32(data) != checksum:
        raise damaged(Path(store.url) / name)
    return unpacked(data)


@lru_cache(maxsize=1024)
def _index(address: Address, name: str, version: tuple[int, ...], digest: str) -> Index:  # noqa: ARG001
    """The index of a file; the whole file is checked when it is first asked for."""
    content = store_at(address).get(name, digest)
    length = int.from_bytes(content[-_LENGTH:], "little")
    with understood(f"{address.url}/{name}"):
        listed = json.loads(content[-_LENGTH - length : -_LENGTH])
        return {query: tuple(place) for query, place in listed.items()}
