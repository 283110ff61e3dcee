"""Whether a table fits a declared source, by the names and types of its columns alone."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from continua.errors import BindError, Diagnostic, did_you_mean, listing
from continua.sources.intervals import Source
from continua.types import DataType


def check_columns(info: Source, schema: pa.Schema, what: str) -> list[str]:
    """The table's own spelling of each declared column, in the declared order.

    All that does not fit is told together: columns that are missing, that nobody declared, or that can hold no value of
    the declared type. ``what`` is what the table is called.
    """
    names = check_names(info, schema.names, what)
    wrong = [
        _mistake(
            "TYPE_MISMATCH",
            f"column {name} of {what} holds {schema.field(name).type}, and {info.name} declares it {field.type}",
            "cast it before",
            info,
            name,
        )
        for name, field in zip(names, info.columns, strict=True)
        if not can_hold(schema.field(name).type, field.type)
    ]
    if wrong:
        raise BindError(*wrong)
    return names


def check_names(info: Source, present: Sequence[str], what: str) -> list[str]:
    """The same by names alone."""
    declared = [f.name for f in info.columns]
    by_name: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    for name in present:
        if by_name.setdefault(name.casefold(), name) != name or list(present).count(name) > 1:
            wrong.append(_mistake("DUPLICATE_COLUMN", f"{what} has the column {name} twice", None, info, name))
        elif name.casefold() not in {n.casefold() for n in declared}:
            hint = did_you_mean(name, declared) or f"{info.name} has {listing(declared)}"
            wrong.append(_mistake("UNKNOWN_COLUMN", f"{info.name} has no column {name}", hint, info, name))
    for name in declared:
        if name.casefold() not in by_name:
            hint = did_you_mean(name, present) or f"it has {listing(list(present)) or 'no columns'}"
            wrong.append(_mistake("MISSING_COLUMN", f"{what} has no column {name}", hint, info, name))
    if wrong:
        raise BindError(*wrong)
    return [by_name[name.casefold()] for name in declared]


def _mistake(condition: str, message: str, hint: str | None, info: Source, column: str) -> Diagnostic:
    return Diagnostic(condition, message, hint=hint, parameters={"source": info.name, "column": column})


def can_hold(own: pa.DataType, of: DataType) -> bool:
    """Whether some value of a type of Arrow is one of a declared type: texts may be, and what widens to it."""
    kinds = pa.types
    if kinds.is_dictionary(own):
        return can_hold(own.value_type, of)
    if kinds.is_null(own) or kinds.is_string(own) or kinds.is_large_string(own) or kinds.is_string_view(own):
        return True
    match of.name:
        case "BOOLEAN":
            return bool(kinds.is_boolean(own))
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return bool(kinds.is_integer(own))
        case "FLOAT" | "DOUBLE" | "DECIMAL":
            return bool(kinds.is_integer(own) or kinds.is_floating(own) or kinds.is_decimal(own))
        case "BINARY":
            return bool(kinds.is_binary(own) or kinds.is_large_binary(own) or kinds.is_binary_view(own))
        case "DATE":
            return bool(kinds.is_date32(own))
        case "TIMESTAMP":
            return bool(kinds.is_timestamp(own) or kinds.is_date32(own))
        case "ARRAY" if of.element is not None:
            lists = kinds.is_list(own) or kinds.is_large_list(own) or kinds.is_fixed_size_list(own)
            return bool(lists) and can_hold(own.value_type, of.element)
        case "MAP" if of.key is not None and of.element is not None:
            return bool(kinds.is_map(own)) and can_hold(own.key_type, of.key) and can_hold(own.item_type, of.element)
        case "STRUCT":
            return bool(kinds.is_struct(own))
        case _:
            return False
