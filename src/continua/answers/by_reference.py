"""The answers of queries by the reference, over the rows of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from continua.answers.query import Answer, Query, answers_of, endless_answer, failed, floored, snapshot_of
from continua.errors import Diagnostic, EvaluationError
from continua.reference.semantics import Reference, ordered_rows
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import InputReader
from continua.windows.occurrences import Row


def reference_of(query: Query, inputs: InputReader, functions: Iterable[Function]) -> Reference:
    """The reference semantics over the rows of a query's sources."""
    return Reference(floored(inputs.read(query.sources), query.chronon), functions, query.start, query.chronon)


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
