"""Many filters of one column: the answers of the reference, in one pass."""

from __future__ import annotations

import random

import pytest

from continua.answers.query import Answer
from continua.physical.banks import LEAST, Masks, banks_of
from continua.physical.evaluator import evaluator_with
from continua.physical.placement import in_order
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.plans import graph_of
from continua.runtime.executors.executor import InProcess
from continua.session import Session

DEFINITIONS = "CREATE STREAM S (k INT, x DOUBLE, name STRING, ts BIGINT) ORDERED BY ts;"
NAN, INFINITE = float("nan"), float("inf")


def _session(texts: list[str]) -> Session:
    session = Session()
    session.execute(DEFINITIONS)
    chance = random.Random(3)
    rows = []
    for i in range(60):
        x = chance.choice((None, 0.0, -0.0, 1.5, 2.0, NAN, INFINITE, -3.0))
        rows.append((chance.choice((None, 0, 1, 2, 3, -2)), x, chance.choice((None, "a", "b", "", "ä'")), i // 3))
    session.insert("S", rows)
    session.execute(";".join(texts))
    return session


def _texts(answers: list[Answer]) -> list[str]:
    return sorted(repr(a).replace("-0.0", "0.0") for a in answers)


@pytest.mark.parametrize(
    ("query", "constants"),
    [
        ("SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k) v WHERE n > {}", range(10)),
        ("SELECT n, k FROM (SELECT k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k) v WHERE n <= {}", range(10)),
        ("SELECT k FROM S [RANGE 3] WHERE k >= {}", range(-4, 8)),
        ("SELECT k, x FROM S [RANGE 3] WHERE x < {}", ("0", "1", "2", "-3", "3", "1e300", "0.0e0", "-1", "5", "7")),
        ("SELECT x FROM S [RANGE 3] WHERE x > {}", ("0", "1", "2", "-3", "3", "1e300", "0.0e0", "-1", "5", "7")),
        ("SELECT x, k FROM S [RANGE 3] WHERE k IN ({}, 2) AND name <> 'b'", range(-4, 8)),
        ("SELECT name, k FROM S [RANGE 3] WHERE name = {}", ("'a'", "'b'", "''", *(f"'c{i}'" for i in range(7)))),
        ("SELECT k, x FROM S [RANGE 3] WHERE k >= {0} AND name = 'a' AND x < {0}", range(-4, 8)),
        ("SELECT k FROM S [RANGE 3] WHERE x > {0} AND k < 3 AND x <= 2.5e0", range(-4, 8)),
        ("SELECT ts, k FROM S [RANGE 3] WHERE k > 0 AND {} >= k", range(8)),
        ("SELECT k FROM S [RANGE 3] WHERE k > 1 AND k < {} AND x = 2.0e0", range(1, 10)),
    ],
)
def test_the_answers_are_those_of_the_reference(query: str, constants: list[object]) -> None:
    session = _session([query.format(c) for c in constants])
    queries = list(session.queries.values())
    nodes = in_order([graph_of(q, []) for q in queries])
    assert len(banks_of(nodes, evaluator_with(()))) >= LEAST
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    with BoundedRun(queries, inputs, [], InProcess(), BoundedOptions(7)) as run:
        run.to_the_end()
        found = run.answers()
    assert _texts(found) == _texts(session.answers())


def test_few_filters_need_no_bank() -> None:
    session = _session([f"SELECT k FROM S [RANGE 3] WHERE k > {i}" for i in range(LEAST - 1)])
    nodes = in_order([graph_of(q, []) for q in session.queries.values()])
    assert not banks_of(nodes, evaluator_with(()))


@pytest.mark.parametrize(
    "texts",
    [
        [f"SELECT k FROM S [RANGE 3] WHERE k > {i} AND ({i} < 3 OR x > {i})" for i in range(LEAST)],
        # the filters that are left when those of a column with few are gone are few themselves
        [f"SELECT k FROM S [RANGE 3] WHERE k > {i}" + " AND x > 1.0e0" * (i < 2) for i in range(LEAST + 1)],
    ],
)
def test_for_other_filters_nothing_is_sorted(texts: list[str]) -> None:
    session = _session(texts)
    found = banks_of(in_order([graph_of(q, []) for q in session.queries.values()]), evaluator_with(()))
    assert len(found) == len(texts) and all(isinstance(member.bank, Masks) for member in found.values())
