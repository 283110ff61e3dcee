"""Relations that are asked for their changes, which are logged: what was read of them is in the store before any run
works on it, with a mark that says from where reading goes on.

Their rows have an instant and a tag of their own, in hidden columns. No change is earlier than the first instant that
is open when a run takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from continua.catalog import RelationInfo
from continua.errors import Diagnostic
from continua.kernels.jit import Int64s
from continua.sources.source_spec import Malformed
from continua.sources.splits import Piece
from continua.sources.stretches import Stretch, stretch_of
from continua.sqltext.connections import connection
from continua.sqltext.duckdb_types import arrow_type
from continua.types import STRING, TIMESTAMP

RETAINED = "retainedWalBytes"
"""The figure that says how much of its log a database keeps for a reader."""
Mark = Mapping[str, object]
"""From where reading goes on, as plain data."""


@dataclass(frozen=True)
class Logged:
    """What was read of a relation."""

    rows: pa.Table
    """Its changes, with their intervals."""
    mark: Mark
    wrong: Sequence[Malformed] = ()
    content: pa.Table | None = None
    """All that the relation has after these changes, if that is to be logged too: then nothing before it is needed."""
    more: bool = False
    """Whether there is more."""


@dataclass(frozen=True)
class Past:
    """What the log has of a relation."""

    mark: Mark | None = None
    changes: tuple[pa.Table, ...] = ()
    """From the last content on that was logged."""


class LoggedSource(Protocol):
    """A relation that is asked for what has changed."""

    shown: str
    """What stands for a file where its rows are told."""

    def take(self, now: int, rows: int | None) -> Logged | None:
        """What has changed, about so many rows; None where nothing has."""
        ...

    @property
    def complete(self) -> int | None:
        """Up to which instant all that was read is all there is; None where that is not known."""
        ...

    def finished(self, mark: Mark) -> None:
        """Everybody has worked on what was read up to a mark."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        ...

    def figures(self) -> Mapping[str, float]:
        """What it costs others that it is read."""
        ...

    def notices(self) -> list[Diagnostic]:
        """What is to be told since it was asked last."""
        ...

    def close(self) -> None:
        """Nothing more is read."""
        ...


@dataclass
class Modifications:
    """What is done to a relation, row by row: the declared columns, tags and instants."""

    columns: pa.Table
    tags: list[str]
    instants: Int64s
    wrong: list[Malformed] = field(default_factory=list)


def untimed(info: RelationInfo) -> RelationInfo:
    """The relation as one that is read as a whole."""
    visible = tuple(f for f in info.columns if not f.hidden)
    return replace(info, columns=visible, order_by=None, tagged_by=None, refresh=None)


def all_there(info: RelationInfo, content: pa.Table, shown: str, first: int) -> Stretch:
    """The rows of a relation that was read as a whole: they are there from the beginning of time."""
    width = sum(not f.hidden for f in info.columns)
    payload, count = content.select([f"c{n}" for n in range(width)]), content.num_rows
    return as_stretch(info, Modifications(payload, ["+"] * count, np.full(count, first, np.int64)), shown, 0)


def as_stretch(info: RelationInfo, found: Modifications, shown: str, before: int) -> Stretch:
    """Modifications as rows of a relation; ``before``: how many were read before them."""
    lines = np.arange(len(found.tags), dtype=np.int64)
    columns = found.columns.append_column("time", pa.array(found.instants).view(arrow_type(TIMESTAMP)))
    columns = columns.append_column("tag", pa.array(found.tags, arrow_type(STRING)))
    piece = Piece(columns, lines, tuple(found.wrong), offsets=lines + before)
    return stretch_of(info, piece, shown, 0, 0, before + 1, ordered=False)


def content_after(info: RelationInfo, changes: Sequence[pa.Table]) -> pa.Table:
    """What a relation has after changes: their columns and the tag +."""
    width = sum(not f.hidden for f in info.columns)
    names = [f"c{n}" for n in range(width + 1)]
    payload, tag = ", ".join(names[:-1]), names[-1]
    all_changes = pa.concat_tables([table.select(names) for table in changes])
    if info.key:
        known = {f.name: name for f, name in zip(info.columns, names, strict=False)}
        key = ", ".join(known[name] for name in info.key)
        query = f"""
            SELECT {payload}, '+' AS {tag} FROM (SELECT *, row_number() OVER () AS n FROM changes)
            QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY n DESC) = 1 AND {tag} <> '-'
        """
    else:
        query = f"""
            SELECT {payload}, '+' AS {tag} FROM (
                SELECT {payload}, SUM(CASE {tag} WHEN '+' THEN 1 ELSE -1 END)::BIGINT AS n
                FROM changes GROUP BY ALL HAVING n > 0
            ), range(n)
        """
    database = connection()
    database.register("changes", all_changes)
    return database.sql(query).to_arrow_table().cast(all_changes.schema)


def differences(before: pa.Table, after: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows that are gone, and those that are new."""
    database = connection()
    database.register("before", before)
    database.register("after", after)
    gone = database.sql("SELECT * FROM before EXCEPT ALL SELECT * FROM after").to_arrow_table()
    new = database.sql("SELECT * FROM after EXCEPT ALL SELECT * FROM before").to_arrow_table()
    return gone.cast(before.schema), new.cast(before.schema)
