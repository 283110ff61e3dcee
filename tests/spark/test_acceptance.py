"""What the papers ask for, by way of Spark: every query that a test with an id asks, over files that are cut in splits.

The tests of tests/acceptance say what the answers are; there the reference and the engine in one process give them.
Here the same queries, dozens of them in one graph, are answered by tasks on Spark, and compared with the reference.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.answers.query import Answer
from continua.catalog import StreamInfo
from continua.errors import ContinuaError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.on_spark import OnSpark
from tests.acceptance.asked import Asked, asked_by, functions, id_of
from tests.acceptance.on_engine import lines
from tests.acceptance.planned import planned_by
from tests.acceptance.test_pipes_operators import BOUNDED, bids, check_bounded
from tests.spark.gathering import Gathered, gathered
from tests.spark.in_files import Files, Moves, Way, cut

TOGETHER = 130
"""So many queries run as one graph."""


WAYS = (
    Way(48, partitions=2, moves=Moves.THROUGH_EXCHANGES),
    Way(64, partitions=3, moves=Moves.THROUGH_DRIVER),
    Way(80, partitions=2, batch=8),
)
"""How the graphs run, in turn."""
PLANNED = ("A5", "P11", "P12", "P19", "Q8")
"""Their tests look at plans alone: the queries of these are run over random rows."""
LEFT_OUT = ("P13", "P17")
"""They are about what operators hold: the tests of one ask no queries, and the other has a test of its own."""
NO_SOURCE = "UNKNOWN_SOURCE"
"""Where there are no rows that could be in a file."""
TESTS = functions()
IDS = sorted({id_of(test) for test in TESTS}, key=lambda id_: (id_[0], int(id_[1:])))


@dataclass
class Outcome:
    """How many queries of each id ran, and where the answers differ."""

    ran: Counter[str] = field(default_factory=Counter)
    differences: dict[str, list[str]] = field(default_factory=dict)

    def compare(self, asked: Asked, found: list[Answer] | Exception) -> None:
        """Notes whether an answer is that of the reference."""
        self.ran[asked.id] += 1
        what = difference(asked, found)
        if what is not None:
            self.differences.setdefault(asked.id, []).append(f"{asked.test}\n{asked.query.explain()}\n{what}")


def difference(asked: Asked, found: list[Answer] | Exception) -> str | None:
    """What differs from the answer of the reference."""
    if isinstance(found, Exception) or isinstance(asked.answers, ContinuaError):
        conditions = [getattr(x, "condition", None) for x in (found, asked.answers)]
        return None if conditions[0] == conditions[1] else f"Spark: {found}\nreference: {asked.answers}"
    more, less = (_bag(found), _bag(asked.answers))
    if more == less:
        return None
    return f"only on Spark: {list((more - less).elements())}\nonly by the reference: {list((less - more).elements())}"


def _bag(answers: list[Answer]) -> Counter[tuple[object, ...]]:
    return lines(replace(answer, query="") for answer in answers)


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All queries of all tests, run once."""
    folder = tmp_path_factory.mktemp("asked")
    called = {test: function for test, function in TESTS.items() if id_of(test) not in LEFT_OUT}
    asked = [a for test, function in called.items() for a in asked_by(test, function, folder)]
    asked += [a for test, function in TESTS.items() if id_of(test) in PLANNED for a in planned_by(test, function)]
    found = Outcome()
    wrong = [a for a in asked if isinstance(a.answers, ContinuaError) and a.answers.condition != NO_SOURCE]
    groups = gathered((a for a in asked if not isinstance(a.answers, ContinuaError)), TOGETHER)
    groups.sort(key=lambda group: len(group.queries), reverse=True)
    groups += [group for each in wrong for group in gathered([each], 1)]
    for group, way in zip(groups, cycle(WAYS), strict=False):
        run(spark, group, way, tmp_path_factory, found)
    return found


def run(spark: SparkSession, group: Gathered, way: Way, folders: pytest.TempPathFactory, outcome: Outcome) -> None:
    """Runs queries together, and compares; where that fails, each half of them."""
    try:
        answers = answered(spark, group, way, folders.mktemp("rows"))
    except Exception as error:
        alone = list(group.asked.values())
        if len(alone) == 1:
            outcome.compare(alone[0], error)
        for half in gathered(alone, -(-len(alone) // 2)) if len(alone) > 1 else []:
            run(spark, half, way, folders, outcome)
        return
    by_query: dict[str, list[Answer]] = {name: [] for name in group.asked}
    for answer in answers:
        by_query[answer.query].append(answer)
    for name, asked in group.asked.items():
        outcome.compare(asked, by_query[name])


def answered(spark: SparkSession, group: Gathered, way: Way, folder: Path) -> list[Answer]:
    """The answers of queries that run together on Spark."""
    options = BoundedOptions(way.batch, partitions=way.partitions)
    functions = list(group.functions.values())
    with (
        cut(way),
        BoundedRun(group.queries, group.given(Files(folder)), functions, OnSpark(spark), options) as run,
    ):
        run.to_the_end()
        return run.answers()


@pytest.mark.parametrize("id_", IDS)
def test_the_queries_of_every_id_have_their_answers_on_spark(outcome: Outcome, id_: str) -> None:
    assert outcome.ran[id_] or id_ in LEFT_OUT
    assert id_ not in outcome.differences, "\n\n".join(outcome.differences[id_])


def test_P17_on_spark_too_answers_come_as_time_goes_on_and_state_is_bounded(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = bids(8)
    with cut(Way(32)):
        given = Files(tmp_path).given(
            session, [info for info in session.catalog.entries() if isinstance(info, StreamInfo)]
        )
        check_bounded(session, [BOUNDED["join"]], OnSpark(spark), given)
