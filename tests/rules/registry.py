"""All rules there are: those of the optimizer, and converses of their laws, which no phase applies."""

from __future__ import annotations

from continua.rules.laws.filter_window import FILTER_ABOVE_WINDOW, FILTER_BELOW_WINDOW
from continua.rules.laws.map_window import MAP_ABOVE_WINDOW, MAP_BELOW_WINDOW
from continua.rules.laws.window_union import WINDOW_ABOVE_UNION
from continua.rules.order import ALL
from continua.rules.rule import Rule
from tests.rules.conventional_preparing import CONVENTIONAL
from tests.rules.preparing import CUT, GROUPED, SYNCHRONIZED

PREPARED: dict[str, tuple[Rule, ...]] = {
    "filter_above_window": (FILTER_BELOW_WINDOW,),
    "map_above_window": (MAP_BELOW_WINDOW,),
    "group_window": (GROUPED,),
    "merge_slides": (SYNCHRONIZED,),
    "coalesce_split": (CUT,),
    **CONVENTIONAL,
}
"""Rules that must be applied first, so that there is something to rewrite: plans that no query is bound to."""

_CONVERSES = (FILTER_ABOVE_WINDOW, MAP_ABOVE_WINDOW, WINDOW_ABOVE_UNION)

EVERY: dict[str, Rule] = {**ALL, **{r.name: r for r in _CONVERSES}}
