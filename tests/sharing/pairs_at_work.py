"""Pairs of views and queries in one run of the engine, as relations or as streams, beside the reference."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.plans import matching_of
from continua.runtime.executors.executor import InProcess
from tests.sharing.matching_pairs import World, pair
from tests.square.checking import by_reference, difference, lines

OPERATORS = ("STREAMED", "COMPLETE", "ISTREAM", "DSTREAM", "RSTREAM")


@dataclass
class Ran:
    """What came of pairs that ran."""

    pairs: int = 0
    answered: int = 0
    """In how many of them one was answered from the other."""
    wrong: list[str] = field(default_factory=list)


def run_pairs(seeds: Iterable[int]) -> Ran:
    """Runs pairs, each in an order, in epochs and over partitions of its own."""
    found = Ran()
    for seed in seeds:
        _run(seed, random.Random(f"at work {seed}"), found)
    return found


def _run(seed: int, chance: random.Random, found: Ran) -> None:
    made, session = pair(seed), World(random.Random(seed)).session
    texts = [f"SELECT {chance.choice(OPERATORS)} {text.removeprefix('SELECT ')}" for text in (made.view, made.query)]
    chance.shuffle(texts)
    queries = [query for text in texts if (query := session.sql(f"{text};")) is not None]
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    options = BoundedOptions(chance.choice((None, 3, 7)), partitions=chance.choice((1, 2, 3)))
    with BoundedRun(queries, inputs, [], InProcess(), options) as run:
        run.to_the_end()
        answers = run.answers()
    found.pairs += 1
    found.answered += bool(matching_of(queries).answered)
    if any(difference(lines([a for a in answers if a.query == q.name]), by_reference(session, q)) for q in queries):
        found.wrong.append(f"seed {seed}\n  " + "\n  ".join(texts))
