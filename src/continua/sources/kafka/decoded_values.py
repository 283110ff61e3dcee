"""Values that are read one by one, each as fields with names, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.sources.convert import lookup, parse_json
from continua.sources.kafka.schemas import Decode, Schemas, decoded, parted
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Piece
from continua.sources.text_bytes import as_columns, flaw, readable
from continua.sources.values import Failures, column_of_cells

Fields = dict[str, object]
NO_VALUE = "the record has no value"


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A row as fields, and the number of the record that it is of."""

    number: int
    fields: Fields


def shown_bytes(value: bytes | None) -> str:
    """A value as text, for messages."""
    return readable((value or b"").decode("utf-8", "surrogateescape"))


def json_decoder(schemas: Schemas) -> Decode:
    """What reads values in JSON; behind the number of a schema, where a registry is named."""

    def read(value: bytes) -> object:
        content = value if schemas.registry is None else parted(value)[1]
        text = content.decode("utf-8", "surrogateescape")
        reason = flaw(text)
        if reason is not None:
            raise ValueError(reason)
        return parse_json(text)

    return read


def decoder_of(schemas: Schemas, form: str) -> Decode:
    """What reads values of a format, as what they are to Python."""
    return json_decoder(schemas) if form == "json" else schemas.decoder(form)


def read_each(
    decode: Decode, shown: str, values: Sequence[bytes | None], form: str, use: Callable[[int, Fields], None]
) -> list[Malformed]:
    """Has the fields of each value used; those that have none are told, as are those that ``use`` says no to."""
    wrong: list[Malformed] = []
    for number, value in enumerate(values):
        try:
            if value is None:
                raise ValueError(NO_VALUE)
            fields = decoded(decode, value)
            if not isinstance(fields, dict):
                raise ValueError("not an object with fields")
            use(number, fields)
        except ValueError as error:
            text = shown_bytes(value)
            wrong.append(Malformed(shown, number, str(error), text, text or None, f"a row in {form}"))
    return wrong


def read_decoded(spec: SourceSpec, shown: str, values: Sequence[bytes | None], schemas: Schemas) -> Piece:
    """The rows that values stand for; a line is the number of a value."""
    rows: list[FieldRow] = []
    wrong = read_each(
        decoder_of(schemas, spec.format), shown, values, spec.format, lambda n, f: rows.append(FieldRow(n, f))
    )
    return piece_of(spec, shown, values, rows, wrong)


def piece_of(
    spec: SourceSpec, shown: str, values: Sequence[bytes | None], rows: Sequence[FieldRow], wrong: list[Malformed]
) -> Piece:
    """Fields as columns by name; one that is not there is NULL. Where one is wrong, its record has no row at all."""
    failures = Failures()
    cells = [[lookup(row.fields, name) for row in rows] for name, _ in spec.columns]
    table = as_columns(
        [column_of_cells(c, of, i, failures) for i, (c, (_, of)) in enumerate(zip(cells, spec.columns, strict=True))],
        spec,
    )
    numbers: Int64s = np.array([row.number for row in rows], np.int64)
    if not spec.columns:
        table = pa.table({"c0": pa.nulls(numbers.size)}).select([])
    if not failures.reasons:
        return Piece(table, numbers, tuple(wrong))
    told: dict[int, Malformed] = {}
    for row, (place, value, reason) in failures.reasons.items():
        name, of = spec.columns[place]
        number = rows[row].number
        text = shown_bytes(values[number])
        told.setdefault(number, Malformed(shown, number, reason, text, value, str(of), column=name))
    kept = np.flatnonzero(~np.isin(numbers, np.fromiter(told, np.int64)))
    return Piece(table.take(pa.array(kept)), numbers[kept], (*wrong, *told.values()))
