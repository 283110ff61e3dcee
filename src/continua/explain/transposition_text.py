"""Which queries go on with the operators of earlier ones, and which nearly do, for a reader (Astral 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from continua.answers.query import Query
from continua.instants import show_instant
from continua.runs.later_queries import Continuation, NotTransposed, outcomes
from continua.runtime.fingerprints import Function


@dataclass(frozen=True, slots=True)
class TranspositionText:
    """A query and one that started earlier: how it goes on with the operators of that, or why it does not."""

    query: str
    earlier: str
    goes_on: bool
    by: tuple[str, ...]
    """The theorem for each of its windows, or the condition that failed."""
    windows: tuple[int, ...]
    """K for each of its windows: so many were evaluated for the earlier query before its first."""
    after: int | None
    """The last instant that it answers by operators of its own."""
    text: str


def transpositions(
    queries: Sequence[Query], functions: Sequence[Function], query: str | None = None
) -> list[TranspositionText]:
    """What is told of queries with different starts, of all or of what concerns one of them."""
    if len({q.start for q in queries}) < 2:
        return []
    known = {q.name: q for q in queries}
    told = [_told(known[name], outcome) for name, outcome in outcomes(queries, functions)]
    return [t for t in told if query is None or query in (t.query, t.earlier)]


def _told(query: Query, outcome: Continuation | NotTransposed) -> TranspositionText:
    if isinstance(outcome, NotTransposed):
        text = f"{query.name} does not go on with the operators of {outcome.earlier}: {outcome.detail}"
        return TranspositionText(
            query.name, outcome.earlier, False, (outcome.condition,), (), None, f"{text} ({outcome.condition})"
        )
    windows, earlier = outcome.later.windows, outcome.goes_on.of
    by = tuple(w.theorem for w in windows)
    factors = tuple(w.windows for w in windows)
    after = show_instant(outcome.goes_on.after, query.domain)
    found = list(dict.fromkeys(f"K = {w.windows} by {w.theorem}" for w in windows))
    why = f", {' and '.join(found)}" if found else ""
    text = f"{query.name} goes on with the operators of {earlier} behind {after}{why}"
    return TranspositionText(query.name, earlier, True, by, factors, outcome.goes_on.after, text)
