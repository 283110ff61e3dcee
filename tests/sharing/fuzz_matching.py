"""Random pairs of views and queries against the reference: python -m tests.sharing.fuzz_matching --pairs 5000."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from continua.answers.query import Query
from continua.runs.plans import candidate
from continua.session import Session
from continua.sharing.query_matching import Answered, Missed, match, relation_of, relation_of_plan
from tests.sharing.matching_pairs import KINDS, Pair, pair, session_of

LEAST_RECALL = 0.95


@dataclass
class Found:
    """What came of many pairs."""

    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    built: Counter[str] = field(default_factory=Counter)
    """How many pairs were made in each way, and contained ones with each compensation."""
    answered: Counter[str] = field(default_factory=Counter)
    """How many of these were answered from the view."""

    def recall(self, kind: str = "contained") -> float:
        """The share of the pairs that were built to be contained which was found."""
        return self.answered[kind] / self.built[kind] if self.built[kind] else 1.0

    def lines(self) -> list[str]:
        """A table for a reader."""
        kinds = ("contained", *KINDS, "nearly", "not")
        return [f"{k:16} {self.answered[k]:6,} of {self.built[k]:6,}  {self.recall(k):7.1%}" for k in kinds]


def checked(seed: int, found: Found) -> None:
    """Matches a pair, and checks by the reference that what is answered from the view is the query."""
    made = pair(seed)
    session = session_of(made, random.Random(seed))
    view, query = session.queries["view"], session.queries["query"]
    answer = match(candidate(query), candidate(view))
    kinds = ("contained", *made.kinds) if made.relation == "contained" else (made.relation,)
    found.built.update(kinds)
    if isinstance(answer, Answered):
        found.answered.update(kinds)
        if not agree(session, query, view, answer):
            found.wrong.append(_told(seed, made, answer.text))
    elif made.relation == "contained":
        found.missed.append(_told(seed, made, answer.text if isinstance(answer, Missed) else "no inputs in common"))


def agree(session: Session, query: Query, view: Query, answer: Answered) -> bool:
    """Whether the query has the same changes by its own plan and from the view."""
    own, other = session.reference([query])[query.name], session.reference([query])[query.name]
    plan = answer.build(relation_of(candidate(view)))
    return own.changes(relation_of(candidate(query))) == other.changes(relation_of_plan(plan))


def _told(seed: int, made: Pair, why: str) -> str:
    return f"seed {seed} ({', '.join(made.kinds)})\n  view  {made.view}\n  query {made.query}\n  {why}"


def main() -> None:
    """Checks pairs and tells of recall; fails where an answer is wrong or too few are found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="So many missed ones are shown.")
    given = parser.parse_args()
    found = Found()
    for seed in range(given.seed, given.seed + given.pairs):
        checked(seed, found)
    print("\n".join([*found.lines(), *found.missed[: given.show], *found.wrong]))
    if found.wrong or found.recall() < LEAST_RECALL:
        sys.exit(1)


if __name__ == "__main__":
    main()
