"""What every operator of a graph does to the first rows of the sources, by the reference semantics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from continua.algebra.base import Kind, Plan
from continua.algebra.leaves import BaseRelation, Source, TaggedSource
from continua.answers.query import floored
from continua.catalog import AggregateInfo, FunctionInfo, RelationInfo, StreamInfo, is_timed
from continua.errors import ContinuaError, Diagnostic
from continua.instants import TimeDomain
from continua.reference.elements import Inputs
from continua.reference.leaf_names import used_inputs
from continua.reference.semantics import Reference, ordered_rows
from continua.runtime.inputs import InputReader
from continua.runtime.reference_rows import reference_rows
from continua.server.builder.checking import Checked
from continua.sources.given import first_rows
from continua.windows.occurrences import Row

ROWS = 200
"""So many rows of each source are a sample."""
SHOWN = 50
"""So many rows of an edge are shown at most."""


@dataclass(frozen=True, slots=True)
class SampledRows:
    """What an operator yields: the content of a relation at an instant, or the elements of a stream up to it."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    count: int
    instants: tuple[int, ...]
    """Of a stream, the instants of the rows; of a relation, none."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows behind every operator at an instant, and the instants at which something comes."""

    instant: int
    domain: TimeDomain
    instants: tuple[int, ...]
    edges: Mapping[str, SampledRows]
    errors: tuple[Diagnostic, ...] = ()


def sampled(
    checked: Mapping[str, Checked],
    sources: Iterable[StreamInfo | RelationInfo],
    inputs: InputReader,
    functions: Iterable[FunctionInfo | AggregateInfo],
    chronon: int,
    asked: int | None = None,
    rows: int = ROWS,
) -> Sample:
    """The sample at an instant; without one at the last at which every source has had rows."""
    read = read_sample(sources, inputs, rows)
    domain = next((c.domain for c in checked.values() if c.domain is not None), TimeDomain.TICKS)
    chronon = chronon if domain is TimeDomain.MICROSECONDS else 1
    reference = Reference(floored(read, chronon), list(functions), 0, chronon, domain)
    instants = tuple(sorted({e.start for s in reference.inputs.streams.values() for e in s}
                            | {m.instant for t in reference.inputs.tagged.values() for m in t}))  # fmt: skip
    lasts = [s[-1].start for s in reference.inputs.streams.values() if s]
    lasts += [t[-1].instant for t in reference.inputs.tagged.values() if t]
    instant = min(lasts, default=0)
    if asked is not None and instants:
        instant = min(max(asked, instants[0]), instants[-1])
    edges: dict[str, SampledRows] = {}
    errors: list[Diagnostic] = []
    for name, found in checked.items():
        if found.plan is None:
            continue
        try:
            edges[name] = _rows_of(found.plan, reference, instant)
        except ContinuaError as error:
            errors += [Diagnostic(d.condition, d.message, None, d.hint, {**d.parameters, "node": name})
                       for d in error.diagnostics]  # fmt: skip
    return Sample(instant, domain, instants, edges, tuple(errors))


def read_sample(sources: Iterable[StreamInfo | RelationInfo], inputs: InputReader, rows: int) -> Inputs:
    """The first rows of sources, as the reference has them."""
    chosen = list(sources)
    tables = first_rows(inputs.given(chosen), rows)
    streams: dict[str, tuple[Any, ...]] = {}
    relations: dict[str, tuple[Any, ...]] = {}
    tagged: dict[str, tuple[Any, ...]] = {}
    for info in chosen:
        name = info.name.casefold()
        table = tables.get(name)
        values = () if table is None else tuple(reference_rows(info, table))
        streams[name], relations[name], tagged[name] = (), (), ()
        if isinstance(info, StreamInfo):
            streams[name] = values
        elif is_timed(info):
            tagged[name] = values
        else:
            relations[name] = values
    return Inputs(streams, relations, tagged)


def sources_of(plans: Iterable[Plan]) -> set[str]:
    """The names of the base streams and relations that plans read."""
    leaves = (leaf for plan in plans for leaf in used_inputs(plan))
    return {leaf.name for leaf in leaves if isinstance(leaf, Source | BaseRelation | TaggedSource)}


def _rows_of(plan: Plan, reference: Reference, instant: int) -> SampledRows:
    columns = tuple(f.short for f in plan.schema)
    if plan.yields is Kind.RELATION:
        rows = ordered_rows(reference.relation(plan, instant))
        return SampledRows(columns, tuple(rows[:SHOWN]), len(rows), ())
    if plan.yields is Kind.STREAM:
        elements = [e for e in reference.stream(plan) if e.start <= instant]
        last = elements[-SHOWN:]
        return SampledRows(columns, tuple(e.row for e in last), len(elements), tuple(e.start for e in last))
    found = [m for m in reference.tagged(plan) if m.instant <= instant]
    shown = found[-SHOWN:]
    return SampledRows(columns, tuple(m.row for m in shown), len(found), tuple(m.instant for m in shown))
