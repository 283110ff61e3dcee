"""Types as sqlglot reads them, to ours."""

from __future__ import annotations

from sqlglot import exp

from continua.types import SPELLINGS, DataType, array, decimal, map_of, struct

_RENAMED = {
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP",
    "NVARCHAR": "STRING",
    "NCHAR": "STRING",
    "VARBINARY": "BINARY",
}


def data_type(node: exp.DataType) -> DataType | None:
    """The type that a syntax node means; None when Continua has no such type."""
    kind = node.this
    name = kind.name if isinstance(kind, exp.DType) else "INTERVAL" if isinstance(kind, exp.Interval) else str(kind)
    match name:
        case "DECIMAL":
            sizes = [int(p.name) for p in node.expressions if p.name.isdigit()]
            precision = sizes[0] if sizes else 10
            scale = sizes[1] if len(sizes) > 1 else 0
            return decimal(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
        case "ARRAY" | "LIST":
            element = _part(node, 0)
            return array(element) if element else None
        case "MAP":
            key, value = _part(node, 0), _part(node, 1)
            return map_of(key, value) if key and value else None
        case "STRUCT":
            fields = []
            for part in node.expressions:
                kind = part.args.get("kind") if isinstance(part, exp.ColumnDef) else None
                found = data_type(kind) if isinstance(kind, exp.DataType) else None
                if found is None:
                    return None
                fields.append((part.name, found))
            return struct(*fields)
        case _:
            return SPELLINGS.get(_RENAMED.get(name, name))


def _part(node: exp.DataType, index: int) -> DataType | None:
    parts = node.expressions
    if index >= len(parts) or not isinstance(parts[index], exp.DataType):
        return None
    return data_type(parts[index])
