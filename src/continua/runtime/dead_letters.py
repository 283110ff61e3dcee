"""Where records go that are no rows, and whose source names a place for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from continua.runtime.checkpoint.store import Address
from continua.sources.source_spec import Unit
from continua.sources.stretches import FileSource, Summary


def keep_dead_letters(store: Address, sources: Mapping[str, FileSource], summaries: Sequence[Summary]) -> None:
    """Keeps those of an epoch before it is finished: what was kept already is known by the place of each record."""
    for name in sorted({s.source for s in summaries if s.wrong}):
        spec = sources[name].spec
        if spec.unit is Unit.OFFSETS:
            from continua.sources.kafka.dead_letters import write_dead_letters

            mine = [s for s in summaries if s.source == name]
            wrong = [replace(m, line=m.line + s.extent.entry) for s in mine for m in s.wrong]
            write_dead_letters(spec, store.run or store.url, wrong)
