"""Which queries are answered from others, and which are nearly contained in one, for a reader (SyncSQL 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from continua.runs.plans import Form, matching_of
from continua.sharing.query_matching import Answered


@dataclass(frozen=True, slots=True)
class MatchText:
    """A query and another one: how it is answered from that, or why it is not."""

    query: str
    view: str
    answered: bool
    by: str
    """The theorem, or the condition that failed."""
    kinds: tuple[str, ...]
    """What compensates."""
    text: str


def matches(forms: Sequence[Form], query: str | None = None) -> list[MatchText]:
    """What is told of matching, of all queries or of what concerns one of them."""
    found = matching_of([form.query for form in forms])
    chosen = {form.query.name for form in forms if form.recorded is not None}
    told = [
        MatchText(a.query, a.view, a.query in chosen, a.theorem, a.kinds, _text(a, a.query in chosen))
        for a in found.answered.values()
    ]
    told += [MatchText(m.query, m.view, False, m.condition, (), m.text) for m in found.missed]
    return [t for t in told if query is None or query in (t.query, t.view)]


def _text(answer: Answered, chosen: bool) -> str:
    if chosen:
        return answer.text
    return f"{answer.query} could be answered from {answer.view} by {answer.theorem}: its own plan is less work"
