"""All rules, in the order in which they are tried."""

from __future__ import annotations

from continua.algebra.plan import Plan
from continua.rules.aggregation_below_join import RULE as AGGREGATION_BELOW_JOIN
from continua.rules.driver import Phase, Rewritten, rewrite
from continua.rules.filter_order import RULE as FILTER_ORDER
from continua.rules.join_reordering import RULE as JOIN_REORDERING
from continua.rules.relational_phases import CLEANING, NORMAL_FORM, PRUNING, PUSHDOWN, SUBQUERIES
from continua.rules.rule import Facts, Rule
from continua.rules.window_phase import WINDOW_RULES

PHASES: tuple[Phase, ...] = (
    SUBQUERIES,
    NORMAL_FORM,
    PUSHDOWN,
    Phase("windows", WINDOW_RULES),
    Phase("cost", (JOIN_REORDERING, AGGREGATION_BELOW_JOIN, FILTER_ORDER)),
    PRUNING,
    CLEANING,
)

ALL: dict[str, Rule] = {rule.name: rule for phase in PHASES for rule in phase.rules}
"""Rules by their names: what SET disabled_rules can switch off."""


EVERYTHING = "all"
"""Switches all rules off."""
LIGHT_SIDE_EVERYWHERE = "light_side_everywhere"
"""The choice of where the rows of a join go: no rewriting, but it is switched off like a rule."""
NAMES = (*ALL, LIGHT_SIDE_EVERYWHERE)
"""All that can be switched off."""


def optimize(plan: Plan, facts: Facts | None = None, disabled: frozenset[str] = frozenset()) -> Rewritten:
    """The plan that is run instead of the one that was written."""
    switched_off = frozenset(NAMES) if EVERYTHING in disabled else disabled
    return rewrite(plan, PHASES, facts or Facts(), switched_off)
