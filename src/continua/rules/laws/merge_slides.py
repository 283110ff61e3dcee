"""A slide over a slide is the slower of the two, a slide over a window is one of the window (SyncSQL prop. 1, 3).

>>> from continua.rules.examples import plan_of, shown_plan
>>> plan = Synchronize(plan_of("SELECT DISTINCT item_id FROM Bid [RANGE 60]"), 10)
>>> print(shown_plan(RULE, Synchronize(plan, 30)))
Synchronize EVERY 30
└─ Synchronize EVERY 10
   └─ DuplicateElimination
      └─ Map Bid.item_id AS item_id
         └─ Window [RANGE 60]
            └─ Source Bid
becomes
Synchronize EVERY 30
└─ DuplicateElimination
   └─ Map Bid.item_id AS item_id
      └─ Window [RANGE 60]
         └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Window
from continua.algebra.streaming import Synchronize
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case Synchronize(input=Synchronize(step=inner, offset=start) as below, step=step, offset=offset):
            if step % inner == 0 and (offset - start) % inner == 0:  # (1), (2)
                return replace(plan, input=below.input)
            return below if inner % step == 0 and (offset - start) % step == 0 else None  # (1), (2)
        case Synchronize(input=Window(spec=spec) as window, step=step, offset=offset):
            slower = spec.slower(step, offset) if step % facts.chronon == 0 else None  # (1), (2), (3)
            return None if slower is None else replace(window, spec=slower)
        case _:
            return None


RULE = Rule(
    "merge_slides",
    "SyncSQL prop. 1, 3",
    (
        "1. A relation is synchronized twice, or it is a window over time or rows that does not move by rows.",
        "2. The points of one of the two are among those of the other; a window that does not slide has all points.",
        "3. The step of a window is a multiple of the length of an instant.",
    ),
    _rewrite,
    tops=(Synchronize,),
)
