"""Every rule, on random plans that it fits: the answers stay the same."""

from __future__ import annotations

import pytest

from continua.rules.rule import Rule
from tests.rules.random_plans import CASES, check
from tests.rules.registry import EVERY
from tests.rules.shapes import SHAPES

FEWER = {"now_view_window": 20, "predicate_window": 40, "band_join_window": 30}
"""Rules for which fewer queries are drawn: the reference looks at every instant of a clock."""


@pytest.mark.parametrize("rule", EVERY.values(), ids=EVERY.keys())
def test_answers_stay_the_same(rule: Rule) -> None:
    cases = FEWER.get(rule.name, CASES)
    outcome = check(rule, SHAPES[rule.name], seed=1, cases=cases)
    assert not outcome.differences, "\n\n".join(outcome.differences[:3])
    assert outcome.fired >= cases, f"only {outcome.fired} of {outcome.drawn} queries were changed"
