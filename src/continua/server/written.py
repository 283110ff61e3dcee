"""What queries hold and what changes, as JSON, CSV and Arrow."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from continua.algebra.schema import Schema
from continua.answers.answer_columns import Part
from continua.answers.answer_tables import content_table
from continua.answers.encoding.column_texts import instant_jsons, joined, text_of
from continua.answers.encoding.record_texts import csv_file, json_objects
from continua.answers.encoding.text_columns import block
from continua.answers.query import Query
from continua.instants import show_instant
from continua.physical.ordered_operators import FINAL
from continua.runs.live_run import LiveRun
from continua.server.shapes import Column, Content, Instant
from continua.sources.intervals import NEVER
from continua.windows.occurrences import Row

EMPTY = Raw(b"[]")


def columns_of(query: Query) -> list[Column]:
    """The columns of a query's answers."""
    return [Column(name, str(of)) for name, of in query.types.items()]


def fields_of(schema: Schema) -> list[Column]:
    """The columns of a schema."""
    return [Column(field.short, str(field.type)) for field in schema]


def content(query: Query, instant: int, rows: Sequence[Row], limit: int) -> Content:
    """What a query holds, of which the first rows are shown."""
    shown = rows_json(content_table(query, rows[:limit]))
    return Content(query.name, show_instant(instant, query.domain), columns_of(query), shown, len(rows))


def rows_json(table: pa.Table) -> Raw:
    """The rows of a table as a JSON array of objects."""
    if not table.num_columns:
        return listed(pa.array(["{}"] * table.num_rows))
    return listed(json_objects(table.column_names, table.columns))


def listed(objects: pa.Array | pa.ChunkedArray) -> Raw:
    """JSON texts as a JSON array."""
    if not len(objects):
        return EMPTY
    whole = text_of(joined(objects, ","))
    return Raw(f"[{whole[:-1]}]".encode())


def changes_json(query: Query, part: Part) -> Raw:
    """Changes as a JSON array of objects: when, what happened, and the row."""
    if not len(part):
        return EMPTY
    found = block(query, part)
    pieces: list[str | pa.Array] = ['{"t": ', instant_jsons(found.instants, query.domain)]
    if found.ends is not None:
        ends, last = found.ends
        untils = pc.if_else(last, instant_jsons(ends, query.domain), pa.scalar(None, pa.string()))
        pieces.append(joined(', "until": ', untils).fill_null(""))
    if found.ops is not None:
        pieces.append(joined(', "op": "', found.ops, '"').fill_null(""))
    return listed(joined(*pieces, ', "row": ', found.json_rows(), "}"))


def csv_bytes(table: pa.Table) -> bytes:
    """A table as CSV with a header."""
    return b"".join(csv_file(table))


def arrow_bytes(table: pa.Table) -> bytes:
    """A table as a stream of Arrow's IPC format."""
    written = io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return written.getvalue()


def closed(run: LiveRun) -> int | None:
    """The latest instant of a run that is closed; of one whose sources have ended, the latest of any row."""
    until = run.engine.until
    if until <= NEVER:
        return None
    return until if until < FINAL else run.live.latest


def shown_instant(instant: int | None, query: Query) -> Instant | None:
    """An instant as JSON has it."""
    return None if instant is None else show_instant(instant, query.domain)
