"""Rows with the greatest or least value of their own relation: the others stay where they are read."""

from __future__ import annotations

import random

import numpy as np
import pytest

from continua.kernels.aggregate.leaders import leaders
from continua.kernels.words.batch import INFINITY, Batch
from continua.physical.leading import Leaders
from continua.physical.placement import in_order
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.plans import graph_of
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from tests.sources.worlds import bag

DEFINITIONS = """
CREATE STREAM S (k INT, v INT, d DOUBLE, s STRING, ts BIGINT) ORDERED BY ts SLACK 3;
CREATE VIEW W AS SELECT k, v, s FROM S [RANGE 4 SLIDE 2];
CREATE VIEW Counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM S [RANGE 6 SLIDE 2] GROUP BY k;
"""
LED = {
    "the greatest of a window": "SELECT RSTREAM k, v FROM W WHERE v = (SELECT MAX(v) FROM W)",
    "the least of a window": "SELECT k, v FROM S [RANGE 4 SLIDE 2] WHERE v = (SELECT MIN(v) FROM S [RANGE 4 SLIDE 2])",
    "doubles": "SELECT ISTREAM k, d FROM S [FIXED 6] WHERE d = (SELECT MAX(d) FROM S [FIXED 6])",
    "every instant": "SELECT k, v FROM S [RANGE 3] WHERE v = (SELECT MAX(v) FROM S [RANGE 3])",
    "some of the rows": "SELECT k, v FROM W WHERE k > 1 AND v = (SELECT MAX(v) FROM W)",
    "groups": "SELECT k, n FROM Counts WHERE n = (SELECT MAX(n) FROM Counts)",
    "sums of groups": "SELECT k, total FROM Counts WHERE total = (SELECT MIN(total) FROM Counts)",
    "a bound": "SELECT k, v FROM W WHERE v IN (SELECT MAX(v) FROM W HAVING MAX(v) < 3)",
}
NOT_LED = {
    "another window": "SELECT k, v FROM S [RANGE 4 SLIDE 2] WHERE v = (SELECT MAX(v) FROM S [RANGE 2 SLIDE 2])",
    "the greatest of some": "SELECT k, v FROM W WHERE v = (SELECT MAX(v) FROM W WHERE k < 2)",
    "another column": "SELECT k, v FROM S [RANGE 4 SLIDE 2] WHERE v = (SELECT MAX(k) FROM S [RANGE 4 SLIDE 2])",
    "texts": "SELECT k, s FROM S [RANGE 4 SLIDE 2] WHERE s = (SELECT MAX(s) FROM S [RANGE 4 SLIDE 2])",
    "an average": "SELECT k, v FROM S [RANGE 4 SLIDE 2] WHERE v = (SELECT AVG(v) FROM S [RANGE 4 SLIDE 2])",
    "all others": "SELECT k, v FROM S [RANGE 4 SLIDE 2] WHERE v NOT IN (SELECT MAX(v) FROM S [RANGE 4 SLIDE 2])",
    "what is taken back": "SELECT DISTINCT v FROM S [ROWS 3] WHERE v = (SELECT MAX(v) FROM S [ROWS 3])",
}


def session_with(text: str, seed: int) -> Session:
    rng = random.Random(seed)
    session = Session(master="none")
    session.execute(DEFINITIONS + f"REGISTER QUERY q AS {text};")
    numbers = [-3, -2, -1, 0, 1, 2, 5, None]
    doubles = [-0.5, 0.0, 1.5, float("inf"), float("nan"), None]
    times = sorted(rng.randrange(24) for _ in range(rng.randrange(1, 40)))
    keys = [0, 1, 2, 3, None]
    session.insert("S", [(*map(rng.choice, (keys, numbers, doubles, "abc")), t) for t in times])  # type: ignore[arg-type]
    return session


@pytest.mark.parametrize("name", [*LED, *NOT_LED])
def test_the_answers_are_those_of_the_definition(name: str) -> None:
    for seed in range(12):
        session = session_with({**LED, **NOT_LED}[name], seed)
        queries = list(session.queries.values())
        given = session.inputs.read(queries[0].sources)
        for options in (BoundedOptions(), BoundedOptions(3, partitions=3)):
            with BoundedRun(queries, given, [], InProcess(), options) as run:
                run.to_the_end()
                assert bag(run.answers()) == bag(session.answers()), seed


@pytest.mark.parametrize("name", [*LED, *NOT_LED])
def test_where_rows_stay(name: str) -> None:
    session = session_with({**LED, **NOT_LED}[name], 1)
    found = [n for n in in_order([graph_of(session.queries["q"], [])]) if isinstance(n, Leaders)]
    assert bool(found) == (name in LED)


@pytest.mark.parametrize("greatest", [True, False])
@pytest.mark.parametrize("certain", [True, False])
def test_of_rows_that_are_valid_for_the_same_time_those_with_the_first_value_are_kept(
    greatest: bool, certain: bool
) -> None:
    rng = np.random.default_rng(5)
    for size in (1, 2, 9, 60):
        start, end = rng.integers(0, 3, size), rng.choice([5, 6, INFINITY], size)
        words = np.vstack([rng.integers(-4, 4, size), rng.integers(0, 5, size) == 0]).astype(np.int64)
        batch = Batch(words, start, end, rng.choice([-1, 1, 1, 2], size))
        kept = leaders(batch, certain, greatest)
        for i in range(size):
            others = [
                j
                for j in range(size)
                if (start[j], end[j]) == (start[i], end[i])
                and batch.weight[j] > 0
                and not words[1, j]
                and (certain or end[j] < INFINITY)
            ]
            exceeded = any(words[0, j] > words[0, i] if greatest else words[0, j] < words[0, i] for j in others)
            if not kept[i]:
                assert i in others and exceeded
            elif i in others and size == 60:
                assert not exceeded
