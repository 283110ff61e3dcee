"""What a task tells of the rows that its checks have rejected."""

from __future__ import annotations

from continua.physical.check_nodes import Checked
from continua.physical.execute import Produced
from continua.physical.nodes import OFFSET, ORIGIN, START
from continua.physical.placement import Placement
from continua.sources.broken_keys import Broken, broken, first_of
from continua.sqltext.duckdb_types import from_duckdb, type_of


def rejected_rows(placement: Placement, produced: Produced) -> tuple[Broken, ...]:
    """The rows, check by check in the order of time."""
    found: list[Broken] = []
    for name, table in produced.rejected.items():
        node = placement.nodes[name]
        assert isinstance(node, Checked)
        payload = [
            [from_duckdb(value, type_of(field.type)) for value in table.column(i).to_pylist()]
            for i, field in enumerate(list(node.schema)[: len(node.columns)])
        ]
        places = zip(*(table.column(n).to_pylist() for n in (START, ORIGIN, OFFSET)), strict=True)
        for row, (start, origin, offset) in zip(zip(*payload, strict=True), places, strict=True):
            found.append(broken(node.check, node.columns, row, start, origin, offset))
    return tuple(first_of(found))
