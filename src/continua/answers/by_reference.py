"""The answers of queries by the reference, over the rows of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from continua.answers.query import Answer, Query, answers_of, endless_answer, failed, floored, snapshot_of
from continua.errors import Diagnostic, EvaluationError
from continua.reference.checks import checked
from continua.reference.elements import Inputs
from continua.reference.leaf_names import used_inputs
from continua.reference.semantics import Reference, ordered_rows
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import InputReader
from continua.sources.broken_keys import broken
from continua.sources.source_spec import Malformed
from continua.windows.occurrences import Row


def reference_of(query: Query, inputs: InputReader, functions: Iterable[Function]) -> Reference:
    """The reference semantics over the rows of a query's sources."""
    read = read_for(query, inputs)
    return Reference(floored(read, query.chronon), functions, query.start, query.chronon)


def read_for(query: Query, inputs: InputReader, others: Inputs | None = None) -> Inputs:
    """What the leaves of a query read; ``others``: what is read, if it is not the rows of its sources.

    Rows that break what their sources say of their keys are kept apart, or the first of them in time is an error.
    """
    plan = query.bound.plan
    read, rejected = checked(others or inputs.read(query.sources), plan)
    columns = {leaf.name.casefold(): leaf.schema.fields for leaf in used_inputs(plan)}  # type: ignore[attr-defined]
    sources = {s.name.casefold(): s for s in query.sources}
    apart: dict[str, list[Malformed]] = {}
    for found in rejected:
        places = inputs.places(sources[found.name])
        origin, offset = (-1, -1) if places is None else (int(part[found.place]) for part in places)
        names = [f.short for f in columns[found.name]]
        told = broken(found.check, names, found.row, found.instant, origin, offset)
        name = found.check.told_as
        row = told.malformed(*inputs.where(name, origin, offset))
        if not found.check.skips:
            raise row.error(name)
        apart.setdefault(name, []).append(row)
    for name, rows in apart.items():
        inputs.apart.report_broken(name, rows)
    return read


def reference_answers(
    queries: Iterable[Query], references: Mapping[str, Reference], notices: list[Diagnostic]
) -> list[Answer]:
    """All answers of queries, in time order; at one instant in the order of the queries.

    That an answer goes on for ever is told in ``notices``.
    """
    found: list[Answer] = []
    for query in queries:
        reference = references[query.name]
        with _named(query):
            found += answers_of(query, reference)
            last = reference.endless_after(query.bound.plan)
        if last is not None:
            notices.append(endless_answer(query, last))
    return sorted(found, key=lambda a: a.instant)


def reference_content(query: Query, instant: int, reference: Reference) -> list[Row]:
    """The content of a query's relation at an instant; a row that is there twice stands there twice."""
    with _named(query):
        return ordered_rows(snapshot_of(query.bound.plan, reference, instant))


@contextmanager
def _named(query: Query) -> Iterator[None]:
    """What fails on the data of a query tells which it is."""
    try:
        yield
    except EvaluationError as error:
        raise failed(query, error) from None
