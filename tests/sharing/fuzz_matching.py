"""Random pairs of views and queries against the reference: python -m tests.sharing.fuzz_matching --pairs 5000."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from continua.answers.query import Query
from continua.reference.semantics import Reference
from continua.runs.plans import candidate
from continua.sharing.query_matching import Answered, Missed, match, relation_of, relation_of_plan
from tests.sharing.matching_pairs import KINDS, Pair, World, pair
from tests.sharing.pairs_at_work import run_pairs

LEAST_RECALL = 0.95
PAIRS_IN_A_WORLD = 25
"""So many pairs are asked over the same rows."""


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


def check(seeds: Iterable[int]) -> Found:
    """Matches pairs, and checks by the reference that what is answered from a view is the query."""
    found = Found()
    world = World(random.Random(0))
    for number, seed in enumerate(seeds):
        if number % PAIRS_IN_A_WORLD == 0:
            world = World(random.Random(seed))
        _check(seed, world, found)
    return found


def _check(seed: int, world: World, found: Found) -> None:
    made = pair(seed)
    view, query = world.queries(made)
    answer = match(candidate(query), candidate(view))
    kinds = ("contained", *made.kinds) if made.relation == "contained" else (made.relation,)
    found.built.update(kinds)
    if isinstance(answer, Answered):
        found.answered.update(kinds)
        if not agree(world.reference(query), query, view, answer):
            found.wrong.append(_told(seed, made, answer.text))
    elif made.relation == "contained":
        found.missed.append(_told(seed, made, answer.text if isinstance(answer, Missed) else "no inputs in common"))


def agree(reference: Reference, query: Query, view: Query, answer: Answered) -> bool:
    """Whether the query has the same changes by its own plan and from the view."""
    plan = relation_of_plan(answer.build(relation_of(candidate(view))))
    return reference.changes(relation_of(candidate(query))) == reference.changes(plan)


def _told(seed: int, made: Pair, why: str) -> str:
    return f"seed {seed} ({', '.join(made.kinds)})\n  view  {made.view}\n  query {made.query}\n  {why}"


def main() -> None:
    """Checks pairs and tells of recall; fails where an answer is wrong or too few are found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=1000, help="So many of them run on the engine too.")
    parser.add_argument("--show", type=int, default=5, help="So many missed ones are shown.")
    given = parser.parse_args()
    found = check(range(given.seed, given.seed + given.pairs))
    print("\n".join([*found.lines(), *found.missed[: given.show], *found.wrong]))
    ran = run_pairs(range(given.seed, given.seed + given.runs))
    print("\n".join([f"{ran.pairs:,} ran, in {ran.answered:,} one was answered from the other", *ran.wrong]))
    if found.wrong or ran.wrong or found.recall() < LEAST_RECALL:
        sys.exit(1)


if __name__ == "__main__":
    main()
