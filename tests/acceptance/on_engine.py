"""The engine beside the reference: every query that a test asks is run on both, and their answers compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TypeAlias

from continua.algebra.base import Kind, kind_of
from continua.algebra.streaming import Tag, ToStream
from continua.answers.query import Answer, Query, answers_of
from continua.errors import ContinuaError
from continua.reference.elements import Inputs
from continua.reference.semantics import Reference, ordered_rows
from continua.runs.bounded import BoundedOptions, BoundedRun, content_at
from continua.runs.plans import why_not
from continua.runtime.executors.executor import InProcess
from continua.runtime.fingerprints import Function
from continua.session import Session
from continua.windows.occurrences import Row

Line: TypeAlias = tuple[object, ...]
BATCHES = (None, 1, 2, 3, 7)
"""How many rows of each source an epoch reads; None for all."""
THOROUGH = 25
"""How many queries of a test are run with all cuts."""


def lines(answers: Iterable[Answer]) -> Counter[Line]:
    """Answers as a bag of plain tuples."""
    return Counter((a.query, a.instant, a.op, a.columns, a.row, a.until) for a in answers)


@dataclass
class Beside:
    """Runs queries on the engine and compares; ``refused`` has the reason for each query that it cannot run."""

    refused: dict[str, str] = field(default_factory=dict)
    checked: int = 0
    _partitions: cycle[int] = field(default_factory=lambda: cycle((1, 2)))
    _others: cycle[int | None] = field(default_factory=lambda: cycle(BATCHES))
    _seen: set[tuple[int, str, int]] = field(default_factory=set)
    _sessions: list[Session] = field(default_factory=list)
    _compared: int = 0

    def begin(self) -> None:
        """A new test begins."""
        self._seen, self._sessions, self._compared = set(), [], 0

    def _options(self) -> list[BoundedOptions]:
        """All cuts for the first queries of a test, one after the other for the rest: some tests try hundreds."""
        self._compared += 1
        cuts = BATCHES if self._compared <= THOROUGH else (next(self._others),)
        return [BoundedOptions(batch_rows=rows, partitions=next(self._partitions)) for rows in cuts]

    def compare(self, session: Session, queries: Sequence[Query], references: Mapping[str, Reference]) -> None:
        """Holds the engine's answers against those of the reference, with several cuts into epochs."""
        for query in queries:
            if self._skipped(session, query):
                continue
            reason = why_not(query, session.functions)
            if reason is not None:
                self.refused[query.explain()] = reason
                continue
            self._compare(query, session, references[query.name])

    def _skipped(self, session: Session, query: Query) -> bool:
        """Whether the same query over the same rows was compared before."""
        key = (id(session), query.name, session.inputs.read(query.sources).size)
        if key in self._seen:
            return True
        self._seen.add(key)
        self._sessions.append(session)
        return False

    def _compare(self, query: Query, session: Session, reference: Reference) -> None:
        inputs, functions = session.inputs.read(query.sources), session.functions
        try:
            expected = lines(answers_of(query, reference))
        except ContinuaError as error:
            if error.condition == "TOO_MANY_INSTANTS":
                self._compare_contents(session, query, reference)
            else:
                _fails_alike(query, inputs, functions, error)
            return
        for options in self._options():
            found = lines(engine_answers([query], inputs, functions, options))
            assert found == expected, difference(query, options, found, expected)
            self.checked += 1

    def _compare_contents(self, session: Session, query: Query, reference: Reference) -> None:
        """Where the reference cannot write down all changes: some instants, if there is a relation."""
        plan = query.bound.plan
        below = plan.input if isinstance(plan, ToStream | Tag) else plan
        if kind_of(below) is not Kind.RELATION:
            return
        starts = sorted({e.start for elements in reference.inputs.streams.values() for e in elements})
        for instant in starts[:: 1 + len(starts) // 5]:
            if instant >= query.start:
                self.compare_content(session, query, instant, ordered_rows(reference.relation(below, instant)))

    def compare_content(self, session: Session, query: Query, instant: int, expected: list[Row]) -> None:
        """Holds the engine's content at an instant against the reference's."""
        if why_not(query, session.functions) is not None:
            return
        inputs, functions = session.inputs.read(query.sources), session.functions
        for options in self._options():
            found = content_at(query, instant, inputs, functions, InProcess(), options)
            assert Counter(found) == Counter(expected), (query.explain(), instant, options)
            self.checked += 1


def _fails_alike(query: Query, inputs: Inputs, functions: Sequence[Function], expected: ContinuaError) -> None:
    try:
        engine_answers([query], inputs, functions, BoundedOptions())
    except ContinuaError as error:
        assert error.condition == expected.condition, (error, expected)
        return
    raise AssertionError(f"the reference fails with {expected}, the engine does not")


def engine_answers(
    queries: Sequence[Query], inputs: Inputs, functions: Sequence[Function], options: BoundedOptions
) -> list[Answer]:
    """What the engine answers."""
    with BoundedRun(queries, inputs, functions, InProcess(), options) as run:
        run.to_the_end()
        return run.answers()


def difference(query: Query, options: BoundedOptions, found: Counter[Line], expected: Counter[Line]) -> str:
    """Where two answers differ, for whoever reads the failure."""
    more, less = sorted((found - expected).elements(), key=str), sorted((expected - found).elements(), key=str)
    parts = [query.explain(), f"epochs of {options.batch_rows} rows, {options.partitions} partitions"]
    parts += [f"only the engine: {line}" for line in more[:12]]
    parts += [f"only the reference: {line}" for line in less[:12]]
    return "\n".join(parts)
