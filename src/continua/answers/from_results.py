"""Result rows as answers: elements of streams, changes of relations, modifications of tagged streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from continua.algebra.base import Kind, Plan
from continua.algebra.instant_rows import is_written_as_intervals
from continua.algebra.streaming import Tag
from continua.answers.query import Answer, Query, as_handed_out, tagged_answers
from continua.instants import INFINITY
from continua.physical.nodes import END, START, WEIGHT
from continua.reference.elements import Modification
from continua.reference.semantics import Change, ordered_rows, tagged_changes
from continua.sqltext.duckdb_types import from_duckdb
from continua.windows.occurrences import Element, Row


def answers_from(query: Query, table: pa.Table | None, until: int = INFINITY) -> list[Answer]:
    """The answers of a query up to an instant, from the result rows of all epochs."""
    plan, columns = query.bound.plan, query.columns
    of_relation = plan if isinstance(plan, Tag) and plan.input.yields is Kind.RELATION else None
    if query.kind is Kind.TAGGED and of_relation is None:
        return tagged_answers(query, _modifications(plan, table))
    rows = list(_result_rows(query.bound.logical, table))
    if query.kind is Kind.STREAM and not is_written_as_intervals(plan, query.chronon):
        bags: dict[int, Counter[Row]] = {}
        for row, start, _, weight in rows:
            bags.setdefault(start, Counter())[row] += weight
        return [Answer(query.name, t, None, columns, row) for t in sorted(bags) for row in ordered_rows(bags[t])]
    changes = _changes(rows, until)
    if of_relation is not None:
        return tagged_answers(query, tagged_changes(of_relation, changes))
    if query.kind is Kind.RELATION:
        return [Answer(query.name, c.instant, c.op, columns, c.row) for c in changes for _ in range(c.count)]
    return [
        Answer(query.name, e.start, None, columns, e.row, e.end if e.end != e.start + query.chronon else None)
        for e in as_handed_out(plan, _intervals(changes))
    ]


def content_from(plan: Plan, table: pa.Table | None, instant: int) -> list[Row]:
    """What a relation holds at an instant: a row for each copy, in order."""
    bag: Counter[Row] = Counter()
    if table is not None:
        table = table.filter((pc.field(START) <= instant) & (pc.field(END) > instant))
    for row, _, _, weight in _result_rows(plan, table):
        bag[row] += weight
    return ordered_rows(+bag)


def _modifications(plan: Plan, table: pa.Table | None) -> list[Modification]:
    """The modifications of a tagged stream as it is; the column behind the others is the tag."""
    if table is None:
        return []
    tags = table.column(len(plan.schema)).to_pylist()
    rows = zip(tags, _result_rows(plan, table), strict=True)
    return sorted((Modification(tag, row, start) for tag, (row, start, _, _) in rows), key=lambda m: m.instant)


def _result_rows(plan: Plan, table: pa.Table | None) -> Iterator[tuple[Row, int, int, int]]:
    if table is None:
        return
    types = plan.schema.types
    payload = [table.column(i).to_pylist() for i in range(len(types))]
    times = [table.column(n).to_pylist() for n in (START, END, WEIGHT)]
    for i in range(table.num_rows):
        row = tuple(from_duckdb(column[i], t) for column, t in zip(payload, types, strict=True))
        yield row, times[0][i], times[1][i], times[2][i]


def _changes(rows: list[tuple[Row, int, int, int]], until: int) -> list[Change]:
    """Net changes: at each instant, deletions before insertions, rows in order."""
    nets: dict[int, Counter[Row]] = {}
    for row, start, end, weight in rows:
        nets.setdefault(start, Counter())[row] += weight
        if end < INFINITY and end <= until:
            nets.setdefault(end, Counter())[row] -= weight
    found: list[Change] = []
    for t in sorted(nets):
        for op, sign in (("-", -1), ("+", 1)):
            chosen = {row: n * sign for row, n in nets[t].items() if n * sign > 0}
            found += [Change(t, op, row, chosen[row]) for row in ordered_rows(Counter(set(chosen)))]
    return found


def _intervals(changes: list[Change]) -> list[Element]:
    """The content between changes, as elements that last."""
    instants = sorted({c.instant for c in changes})
    found: list[Element] = []
    bag: Counter[Row] = Counter()
    by_instant: dict[int, list[Change]] = {}
    for change in changes:
        by_instant.setdefault(change.instant, []).append(change)
    for t, until in zip(instants, [*instants[1:], INFINITY], strict=False):
        for change in by_instant[t]:
            bag[change.row] += change.count if change.op == "+" else -change.count
        bag = +bag
        found += [Element(row, t, until, len(found) + i) for i, row in enumerate(ordered_rows(bag))]
    return found
