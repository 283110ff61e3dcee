"""A condition on how long ago a row came makes a window of a view (SyncSQL 2.2, examples 5 and 6).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT r.price FROM RELATION(Bid) r WHERE NOW - 5 < r.TS AND r.TS <= NOW AND r.price > 9"))
Filter NOW - 5 < r.TS AND r.TS <= NOW AND r.price > 9
└─ RelationalView WITH r.TS
   └─ Tagger
      └─ Source Bid AS r
becomes
Filter r.price > 9
└─ Map r.item_id, r.bidder_id, r.price, r.ts AS r.TS
   └─ Window [RANGE 4]
      └─ Source Bid AS r
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Expr
from continua.algebra.relational import Filter, Join
from continua.rules.rule import Facts, Rule
from continua.rules.windowed_views import (
    Age,
    age,
    always_has_a_value,
    conditions_of,
    has_ages,
    inputs_of,
    is_now,
    replaced,
    windowed,
)


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    inputs = list(inputs_of(plan))  # (1)
    conditions = list(conditions_of(plan))
    for view in inputs:
        if not has_ages(view) or inputs.count(view) > 1:  # (2)
            continue
        timestamp = view.schema.fields[-1].name
        wanted, asked = Age(), []
        for condition in conditions:
            found = age(condition, is_now)
            if found is not None and found[0] == timestamp:
                wanted = wanted.and_also(found[1])
                asked.append(condition)
        made = windowed(view, wanted, facts.chronon)  # (3), (4)
        if made is None:
            continue
        dropped: list[Expr] = asked if made.exact else []
        others = [part for part in conditions if part not in dropped]
        if (len(inputs) == 1 and made.holds_all) or all(map(always_has_a_value, others)):  # (5)
            return replaced(plan, {view: made.plan}, dropped)
    return None


RULE = Rule(
    "predicate_window",
    "SyncSQL 2.2",
    (
        "1. Filters and inner joins stand over a view with the timestamps of its rows.",
        "2. It is the view of a stream whose elements have an instant each, given by a column; with a key, the last "
        "element of each counts.",
        "3. Conditions compare the timestamp, and lengths of time, with NOW so that every row leaves some time. Where "
        "the window holds other rows too, the conditions stay.",
        "4. A view that is synchronized is refreshed at regular points of whole instants.",
        "5. Rows that the window does not hold are asked no more: the other conditions cannot fail, or every row is in "
        "the window at some instant.",
    ),
    _rewrite,
    tops=(Filter, Join),
)
