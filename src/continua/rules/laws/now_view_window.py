"""A join with the latest instant of a clock makes windows of views (SyncSQL 3.3, examples 13 and 14).

>>> from continua.rules.examples import shown
>>> clock = "SELECT MAX(c.Timepoint) AS latest FROM RELATION(clockStr) c WHERE c.Timepoint % 2 = 0"
>>> query = f"SELECT r.price FROM RELATION(Bid) r, ({clock}) n WHERE n.latest - 5 <= r.TS AND r.TS <= n.latest"
>>> print(shown(RULE, query))
Map r.price AS price
└─ Filter n.latest - 5 <= r.TS AND r.TS <= n.latest
   └─ Product
      ├─ RelationalView WITH r.TS
      │  └─ Tagger
      │     └─ Source Bid AS r
      └─ Map max AS n.latest
         └─ ScalarAggregation MAX(c.Timepoint) AS max
            └─ Filter c.Timepoint % 2 = 0
               └─ RelationalView WITH c.TS
                  └─ Clock c
becomes
Map r.price AS price
└─ Map r.item_id, r.bidder_id, r.price, r.ts AS r.TS
   └─ Window [RANGE 5 SLIDE 2]
      └─ Source Bid AS r
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr, Now, columns_of, transform
from continua.algebra.relational import Aggregate, Project
from continua.algebra.synchronization import latest_point
from continua.algebra.traverse import expressions_of, with_inputs
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered
from continua.rules.windowed_views import (
    MOST,
    Age,
    age,
    always_has_a_value,
    conditions_of,
    has_ages,
    inputs_of,
    replaced,
    windowed,
)
from continua.windows.change_points import EVERY_INSTANT, Points


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    if not isinstance(plan, Project | Aggregate):
        return None
    tree = plan.input
    used = {name for expr in expressions_of(plan) for name in columns_of(expr)}
    for clock in inputs_of(tree):
        present = latest_point(clock)  # (1)
        if present is None or used & set(clock.schema.names):  # (2)
            continue
        after = _without(tree, clock, *present, facts)
        if after is not None:
            return with_inputs(plan, {tree: after}.__getitem__)
    return None


def _without(tree: Plan, clock: Plan, latest: str, points: Points, facts: Facts) -> Plan | None:
    """The tree with windows in place of what is compared with the latest instant of a clock."""
    conditions = list(conditions_of(tree))
    asked = [part for part in conditions if columns_of(part) & set(clock.schema.names)]
    others = [part for part in conditions if part not in asked]
    inputs = [part for part in inputs_of(tree) if part != clock]
    wanted: dict[str, Age] = {}
    for condition in asked:
        found = age(condition, lambda part: isinstance(part, Column) and part.name == latest)
        if found is None:  # (3)
            return None
        wanted[found[0]] = wanted.get(found[0], Age(-MOST)).and_also(found[1])
    windows: dict[Plan, Plan | None] = {clock: None}
    kept: list[Expr] = []
    for timestamp, ages in wanted.items():
        view = next((part for part in inputs if timestamp in part.schema.names), None)
        if view is None or not has_ages(view) or view.schema.names[-1] != timestamp:  # (4)
            return None
        made = windowed(view, ages, facts.chronon, points)  # (3), (5)
        if made is None or not (made.exact or points == EVERY_INSTANT):
            return None
        if not made.exact:
            kept += [_of_now(part, latest) for part in asked if timestamp in columns_of(part)]
        windows[view] = made.plan
    if not wanted or not all(map(always_has_a_value, others)):  # (3), (6)
        return None
    after = replaced(tree, windows, asked)
    return None if after is None else filtered(after, kept)


def _of_now(condition: Expr, latest: str) -> Expr:
    """A condition on the latest instant of all as one on NOW."""
    return transform(condition, lambda p: Now(p.type) if isinstance(p, Column) and p.name == latest else p)


RULE = Rule(
    "now_view_window",
    "SyncSQL 3.3",
    (
        "1. Filters and inner joins stand over views and the latest instant of the clock, or of regular points of it.",
        "2. What stands above uses nothing but the views.",
        "3. All that is asked of that instant is how long before it a row came, so that every row leaves some time.",
        "4. The rows are of views of streams whose elements have an instant each, given by a column; with a key, the "
        "last element of each counts.",
        "5. The views are refreshed at every instant or at the points of the clock. Unless those are all instants, the "
        "conditions keep rows back until the next of them, and a view with a key is refreshed there too.",
        "6. Rows that no window holds are asked no more: the other conditions cannot fail.",
    ),
    _rewrite,
    tops=(Project, Aggregate),
)
