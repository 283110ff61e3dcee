"""All rules, in the order in which they are tried."""

from __future__ import annotations

from continua.algebra.plan import Plan
from continua.rules.driver import Phase, Rewritten, rewrite
from continua.rules.rule import Facts, Rule
from continua.rules.window_reduction import RULE as WINDOW_REDUCTION

PHASES: tuple[Phase, ...] = (Phase("windows", (WINDOW_REDUCTION,)),)

ALL: dict[str, Rule] = {rule.name: rule for phase in PHASES for rule in phase.rules}
"""Rules by their names: what SET disabled_rules can switch off."""


def optimize(plan: Plan, facts: Facts | None = None, disabled: frozenset[str] = frozenset()) -> Rewritten:
    """The plan that is run instead of the one that was written."""
    return rewrite(plan, PHASES, facts or Facts(), disabled)
