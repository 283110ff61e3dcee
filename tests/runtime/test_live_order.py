"""Rows in any order within the slack, in any epochs: live runs answer as the reference does over the sorted rows."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from continua.answers.query import Answer
from continua.runs.live_options import LiveOptions
from continua.session import Session

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts SLACK {s};
CREATE STREAM P (k INT, y INT, ts BIGINT) ORDERED BY ts SLACK {p};
CREATE TABLE C (k INT, n STRING) AS VALUES (0, 'none'), (1, 'one'), (2, 'two');
"""
BOTH = "SELECT S.k, S.x, P.y FROM S [RANGE 5], P [RANGE 9] WHERE S.k = P.k"
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(x) AS s, MAX(x) AS m FROM S [RANGE 7] GROUP BY k",
    "SELECT DISTINCT k FROM S [RANGE 12 SLIDE 4]",
    "SELECT ISTREAM(k) FROM S [RANGE 4] WHERE k NOT IN (SELECT k FROM P [RANGE 6])",
    "SELECT k FROM S [RANGE 6] EXCEPT ALL SELECT k FROM P [NOW]",
    "SELECT S.x, C.n FROM S [NOW] LEFT JOIN C ON S.k = C.k",
    "SELECT k, x FROM S [PARTITION BY k ROWS 2]",
    "SELECT AVG(y) AS a FROM P [ROWS 5]",
    "SELECT RSTREAM(k, COUNT(*) AS n) FROM S [RANGE 5 SLIDE 5] GROUP BY k",
    "SELECT MAX(n) AS m FROM (SELECT k, COUNT(*) AS n FROM P [RANGE 8] GROUP BY k) AS v",
)
CASES = 36
Rows = list[tuple[int, int, int]]


def rows(chance: random.Random) -> Rows:
    """Rows in the order of time."""
    instant, found = 0, []
    for _ in range(chance.randrange(5, 25)):
        instant += chance.choice((0, 0, 1, 1, 2, 3, 7))
        found.append((chance.randrange(3), chance.randrange(9), instant))
    return found


def shuffled(chance: random.Random, given: Rows, slack: int) -> Rows:
    """The rows with delays of at most the slack; those of one instant stay in their order, as positions count."""
    delay = {instant: chance.randint(0, slack) for _, _, instant in given}
    return sorted(given, key=lambda row: row[2] + delay[row[2]])


def bag(answers: list[Answer]) -> Counter[tuple[object, ...]]:
    return Counter((a.query, a.instant, a.op, a.row, a.until) for a in answers)


def arrive(session: Session, chance: random.Random, arrivals: dict[str, Rows]) -> None:
    """The rows of both streams, in random epochs; now and then a promise that holds anyway."""
    assert session.live is not None
    left = {name: list(found) for name, found in arrivals.items()}
    while any(left.values()):
        for name in chance.sample(sorted(left), chance.randint(1, 2)):
            count = chance.randint(0, 6)
            session.insert(name, left[name][:count])
            del left[name][:count]
        session.live.process()
        name = chance.choice(sorted(left))
        if left[name] and chance.random() < 0.3:
            session.live.heartbeat(name, min(row[2] for row in left[name]) - 1)


@pytest.mark.parametrize("seed", range(CASES))
def test_C19_the_order_of_arrival_within_the_slack_does_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    slack = {name: chance.choice((0, 1, 3, 8, 20)) for name in "SP"}
    given = {name: rows(chance) for name in "SP"}
    live, judge = Session(), Session()
    chosen = [BOTH, *chance.sample(QUERIES, 2)]
    for session in (live, judge):
        session.execute(DEFINITIONS.format(s=slack["S"], p=slack["P"]))
        for text in chosen:
            session.sql(text)
    live.start(options=LiveOptions(partitions=chance.choice((1, 2, 3))))
    arrive(live, chance, {name: shuffled(chance, given[name], slack[name]) for name in "SP"})
    assert live.live is not None
    assert set(live.live.live.late.values()) <= {0}
    live.live.finish()
    found = [a for name in live.live.queries for a in live.live.answers(name)]
    live.stop()
    for name in "SP":
        judge.insert(name, given[name])
    assert bag(found) == bag(judge.answers())
