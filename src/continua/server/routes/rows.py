"""Rows in."""

from __future__ import annotations

import io

import msgspec
import pyarrow as pa
import pyarrow.csv as csv
from msgspec import Struct

from continua.errors import BindError, Diagnostic, did_you_mean
from continua.server.access import refused
from continua.server.declared import JSON, Call, route
from continua.server.permits import STREAM
from continua.server.roles import Role
from continua.server.service import Service
from continua.sources.inserted_rows import Rows

CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
KEY = "Idempotency-Key"
_LONGEST_KEY = 200


class Inserted(Struct, frozen=True):
    """Rows that were taken."""

    rows: int
    again: bool = False
    """Whether they had been sent before under the same key, so that nothing was done."""


@route(
    "POST",
    "/api/streams/{name}/rows",
    Role.WRITE,
    about=STREAM,
    media=(JSON, CSV, ARROW),
    gives=Inserted,
    headers={KEY: "Rows that are sent again under the same key, within a day, are taken once."},
)
def insert_rows(service: Service, call: Call) -> Inserted:
    """Adds rows to a stream or relation: all of them, or none.

    JSON is an array of objects or arrays, CSV has a header, and Arrow is a stream of its IPC format. They are checked
    like the rows of any source. When this is answered they are kept, whatever becomes of the process.
    """
    name = call.name
    info = service.session.catalog.table(name)
    if info is None:
        hint = did_you_mean(name, service.session.catalog.table_names())
        raise BindError(Diagnostic("UNKNOWN_NAME", f"there is no stream {name}", hint=hint, parameters={"name": name}))
    key = call.request.headers.get(KEY)
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise refused("BAD_REQUEST", f"an idempotency key has 1 to {_LONGEST_KEY} characters")
    rows, count = _rows(call)
    with service.journal.once(name, key) as known:
        if known is not None:
            return Inserted(known, again=True)
        service.session.insert(name, rows)
    service.news_of_rows()
    return Inserted(count)


def _rows(call: Call) -> tuple[Rows, int]:
    """The rows of a body, and how many they are."""
    kind = call.request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    try:
        if kind == JSON:
            found = msgspec.json.decode(call.body, type=list[dict[str, object] | list[object]])
            return [row if isinstance(row, dict) else tuple(row) for row in found], len(found)
        table = _csv(call.body) if kind == CSV else pa.ipc.open_stream(io.BytesIO(call.body)).read_all()
        return table, table.num_rows
    except (msgspec.DecodeError, pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise refused("BAD_REQUEST", f"the body holds no rows: {first}") from None


def _csv(content: bytes) -> pa.Table:
    """Records with a header, all of whose fields are texts: what they mean the stream says."""
    header = csv.open_csv(io.BytesIO(content)).schema.names
    texts = csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=True)
    return csv.read_csv(io.BytesIO(content), convert_options=texts)
