"""All rules there are: those of the optimizer, and those that serve sharing alone."""

from __future__ import annotations

from continua.rules.filter_window import FILTER_ABOVE_WINDOW, FILTER_BELOW_WINDOW
from continua.rules.order import ALL
from continua.rules.rule import Rule

PREPARED: dict[str, tuple[Rule, ...]] = {"filter_above_window": (FILTER_BELOW_WINDOW,)}
"""Rules that must be applied first, so that there is something to rewrite: plans that no query is bound to."""

EVERY: dict[str, Rule] = {**ALL, **{r.name: r for r in (FILTER_ABOVE_WINDOW, FILTER_BELOW_WINDOW)}}
