"""The instants at which an answer can change are all there: between two of them the answer stays the same.

CONTINUA_INSTANT_CASES=5000 pytest tests/properties/test_instants.py
"""

from __future__ import annotations

import os
from bisect import bisect_right

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from continua.algebra.base import Plan
from continua.algebra.streaming import Tag, ToStream
from continua.errors import EvaluationError
from continua.reference.semantics import Reference
from tests.properties.windowed_queries import Case, cases

CASES = int(os.environ.get("CONTINUA_INSTANT_CASES", "150"))
BEYOND = 25
"""How far beyond the last listed instant the answer must still stay the same."""


def relation_of(case: Case) -> tuple[Reference, Plan]:
    """The reference over a case's rows, and the relation of its query."""
    session = case.session()
    query = session.sql(case.text)
    assert query is not None
    plan = query.bound.plan
    return session.reference([query])[query.name], plan.input if isinstance(plan, ToStream | Tag) else plan


def check(case: Case, others: list[int]) -> None:
    """Fails where the answer differs from that at the listed instant before.

    An answer that follows the clock round and round changes for ever: it is listed up to a little beyond the inputs.
    """
    reference, plan = relation_of(case)
    listed = reference.instants(plan)
    assert listed == sorted(set(listed)) and listed[0] == 0
    asked = {t + d for t in listed for d in (-1, 1)} | {listed[-1] + BEYOND} | set(others)
    last = listed[-1] if "NOW %" in case.text else listed[-1] + 60
    for t in sorted(asked - set(listed)):
        if not 0 <= t <= last:
            continue
        before = listed[bisect_right(listed, t) - 1]
        assert reference.relation(plan, t) == reference.relation(plan, before), (
            f"the answer at {t} is not that at {before}; listed are {listed}"
        )


def test_no_instant_of_change_is_missing() -> None:
    answered = 0

    @settings(
        max_examples=CASES,
        deadline=None,
        print_blob=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(cases(), st.lists(st.integers(0, 60), max_size=10))
    def complete(case: Case, others: list[int]) -> None:
        nonlocal answered
        try:
            check(case, others)
        except EvaluationError as error:
            assert error.condition == "TOO_MANY_INSTANTS", error
            event("too many instants")
            assume(False)
        answered += 1

    complete()
    assert answered >= 0.8 * CASES


ROWS: dict[str, list[tuple[object, ...]]] = {
    "S": [(0, 1, 2), (1, 1, 2), (0, 2, 5), (2, 0, 11), (1, None, 12), (0, 1, 19)],
    "P": [(0, 0, 0), (1, 2, 5), (0, 1, 9)],
}
EXAMPLES = (
    "S [NOW]",
    "S [RANGE 4]",
    "S [RANGE 4 SLIDE 3]",
    "S [RANGE 2 SLIDE 5]",
    "S [RANGE 4 LAG 3]",
    "S [RANGE 4 SLIDE 3 LAG 2]",
    "S [RANGE 4 SLIDE 2 ROWS]",
    "S [RANGE UNBOUNDED SLIDE 7]",
    "S [ROWS 2]",
    "S [ROWS 2 SLIDE 2]",
    "S [ROWS 2 RANGE 3]",
    "S [ROWS 2 LAG 4]",
    "S [PARTITION BY k ROWS 1]",
    "S [PARTITION BY k ROWS 2 RANGE 4 SLIDE 2]",
    "S [FIXED 6]",
    "S [LANDMARK 4]",
    "S [SESSION GAP 3]",
    "S [SESSION GAP 3 PARTITION BY k]",
    "(ISTREAM(SELECT k, x FROM S [SESSION GAP 2])) [SESSION GAP 4]",
    "S [FROM 5*j TO 5*j + 4 EVERY 5]",
    "S [FROM 0 TO 4*j EVERY 4]",
    "S [FROM 2*j ROWS TO 2*j + 1 ROWS EVERY 2 ROWS]",
    "S [FROM j ROWS TO j + 1 ROWS EVERY 3]",
    "S [FROM 2*j TO 2*j + 2 EVERY 2 ROWS]",
    "S [PARTITION BY k FROM 4*j TO 4*j + 3 EVERY 4 LAG 1]",
    "S [PARTITION BY k FROM j ROWS TO j + 1 ROWS EVERY 1 ROW]",
    "S [PARTITION BY k FROM j ROWS TO j + 1 ROWS EVERY 3]",
    "S WINDOW(RANGE 4 SLIDE 3)",
    "(ISTREAM(SELECT k, x FROM S [RANGE 3])) [RANGE 5]",
    "(DSTREAM(SELECT k, x FROM S [RANGE 3 SLIDE 2])) [ROWS 2]",
    "(RSTREAM(SELECT k, x FROM S [NOW])) [RANGE 4]",
    "(RSTREAM(SELECT k, x FROM S [RANGE 5 SLIDE 4])) [RANGE 3]",
)


@pytest.mark.parametrize("item", EXAMPLES)
@pytest.mark.parametrize("query", ["SELECT * FROM {}", "SELECT k, COUNT(*) AS n FROM {} GROUP BY k"])
def test_every_instant_around_an_example(item: str, query: str) -> None:
    check(Case(ROWS, query.format(item)), list(range(60)))
