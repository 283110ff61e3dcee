"""What the rules about windows and streams make of a plan can be run, and the engine's answers are the reference's."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from continua.algebra.base import Plan
from continua.answers.query import Query
from continua.errors import ContinuaError, EvaluationError, NotSupportedError
from continua.rules.driver import Phase, Rewritten, rewrite
from continua.rules.rule import Facts, Rule
from continua.runs.plans import sink_of
from continua.session import Session
from tests.rules.golden import prepared
from tests.rules.random_plans import Draw
from tests.rules.registry import EVERY
from tests.rules.stream_shapes import STREAM_SHAPES
from tests.square.checking import by_engine, by_reference, difference
from tests.square.graphs import Cut
from tests.square.worlds import WorldMaker

RULES = [EVERY[name] for name in STREAM_SHAPES]
CASES = 12


@pytest.mark.parametrize("rule", RULES, ids=STREAM_SHAPES.keys())
def test_rewritten_plans_run(rule: Rule) -> None:
    rng = random.Random(f"run {rule.name}")
    ran = 0
    while ran < CASES:
        world = WorldMaker(rng, 8, 12).world()
        if world.timestamps:
            continue
        session = world.session()
        text = STREAM_SHAPES[rule.name](Draw(rng, world))
        query = _query(session, text)
        if query is None:
            continue
        facts = Facts(query.chronon)
        before = prepared(rule, query.bound.logical, facts)
        after = rewrite(before, [Phase("alone", (rule,))], facts)
        if after.steps and _runs(query, before, session):
            assert _runs(query, after.plan, session), f"{text}: the engine cannot run what the rule makes of it"
            ran += _compared(session, _with(query, before, after), f"{world.definitions}\n{world.rows}\n{text}")


def _query(session: Session, text: str) -> Query | None:
    try:
        query = session.sql(text)
    except ContinuaError:
        return None
    session.queries.clear()
    return query


def _runs(query: Query, plan: Plan, session: Session) -> bool:
    try:
        sink_of(query, plan, session.functions)
    except NotSupportedError:
        return False
    return True


def _with(query: Query, before: Plan, after: Rewritten) -> Query:
    return replace(query, bound=replace(query.bound, plan=before, logical=before), rewritten=after)


def _compared(session: Session, query: Query, told: str) -> bool:
    """Whether there was something to compare: the reference may fail on the data."""
    try:
        expected = by_reference(session, query)
    except EvaluationError:
        return False
    found = by_engine(session, [query], Cut(batch_rows=3, partitions=2))[query.name]
    what = difference(found, expected)
    assert what is None, f"{told}\n{what}"
    return True
