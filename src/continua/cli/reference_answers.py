"""From registered queries to their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from continua.answers.query import Answer, Query, failed
from continua.cli.interrupts import interruptible
from continua.errors import (
    ContinuaError,
    DataError,
    Diagnostic,
    EvaluationError,
    MachineError,
    NotSupportedError,
    SourceError,
)
from continua.session import Session
from continua.sinks.named import CONSOLE

Found = TypeVar("Found")


def refuse_sinks(queries: Iterable[Query]) -> None:
    """Fails for queries whose answers should go somewhere else than to standard output."""
    sinks = [q.sink.function for q in queries if q.sink is not None and q.sink.function.text.lower() != CONSOLE]
    if sinks:
        raise NotSupportedError(
            *(
                Diagnostic(
                    "NOT_SUPPORTED",
                    f"INTO {sink}(...) needs the interval engine: the reference semantics only prints answers",
                    sink.span,
                    f"leave INTO out, or write INTO {CONSOLE}",
                    {"feature": f"INTO {sink}"},
                )
                for sink in sinks
            )
        )


def reference_answers(session: Session, queries: Sequence[Query]) -> list[Answer]:
    """All answers by the reference, in time order; at one instant in the order of registration."""
    found = each(queries, lambda query: session.answers([query])).all()
    return sorted(found, key=lambda answer: answer.instant)


def reference_contents(session: Session, queries: Sequence[Query], instants: Mapping[str, int]) -> Outcomes[Answer]:
    """What each query's relation holds at its instant by the reference, an answer for each copy."""

    def content(query: Query) -> list[Answer]:
        instant = instants[query.name]
        return [Answer(query.name, instant, None, query.columns, row) for row in session.snapshot(query, instant)]

    return each(queries, content)


@dataclass
class Outcomes(Generic[Found]):
    """What was found for queries, and by the name of each that failed, why."""

    found: list[Found] = field(default_factory=list)
    errors: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)

    def all(self) -> list[Found]:
        """What was found if no query has failed."""
        if self.errors:
            raise EvaluationError(*(d for some in self.errors.values() for d in some))
        return self.found


def each(queries: Sequence[Query], answer: Callable[[Query], list[Found]]) -> Outcomes[Found]:
    """The answers of all queries. One that fails does so alone; a bad source, or machine, stops them all."""
    done: Outcomes[Found] = Outcomes()
    for query in queries:
        try:
            with interruptible():
                done.found += answer(query)
        except (DataError, SourceError, MachineError):
            raise
        except ContinuaError as error:
            done.errors[query.name] = failed(query, error).diagnostics
    return done
