"""Bids on random auctions, in the order of their time: the rows of most benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = 2_000
PER_INSTANT = 10
COLUMNS = "auction BIGINT, price BIGINT, ts BIGINT"
_ROW_GROUPS = 8


def bids(count: int, seed: int, rate: float = PER_INSTANT, first: int = 0) -> pa.Table:
    """So many of them from an instant on, so many an instant."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "auction": random.integers(0, KEYS, count),
            "price": random.integers(1, 10_000, count),
            "ts": first + (np.arange(count) / rate).astype(np.int64),
        }
    )


def write(table: pa.Table, path: Path) -> None:
    """Writes rows as a file of a few row groups."""
    pq.write_table(table, path, row_group_size=max(1, table.num_rows // _ROW_GROUPS))


def definition(name: str, more: str = "") -> str:
    """The statement that declares such a file as a stream."""
    return f"CREATE STREAM {name} ({COLUMNS}) SOURCE parquet('{name}.parquet') ORDERED BY ts {more};\n"
