"""A condition on the partition of a window is asked before it: other parts of the stream stay as they are (CQL 6.1.3).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT price FROM Bid [PARTITION BY item_id ROWS 5] WHERE item_id = 7 AND price > 100"))
Filter Bid.item_id = 7 AND Bid.price > 100
└─ Window [PARTITION BY item_id ROWS 5]
   └─ Source Bid
becomes
Filter Bid.price > 100
└─ Window [PARTITION BY item_id ROWS 5]
   └─ Filter Bid.item_id = 7
      └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import conjuncts
from continua.algebra.relational import Filter, Window
from continua.algebra.safety import cannot_fail
from continua.rules.conditions import of_the_row
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import divided, filtered, uses_only


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Window(input=stream, spec=spec) as window, predicate=predicate) if of_the_row(plan):  # (2)
            moved, kept = divided(
                conjuncts(predicate),
                lambda part: cannot_fail(part) and uses_only(part, spec.partition),  # (1), (3)
            )
            return filtered(replace(window, input=filtered(stream, moved)), kept) if moved else None
        case _:
            return None


RULE = Rule(
    "filter_below_partitioned_window",
    "CQL 6.1.3; Astral definition 11",
    (
        "1. The condition is on columns by which the window divides its stream: it keeps a part, or does not.",
        "2. The predicate asks for the row alone: its answer does not change while the row is in the window.",
        "3. It cannot fail.",
    ),
    _rewrite,
    tops=(Filter,),
)
