"""Joins in the order that touches the fewest rows (PIPES 2009, equation 9 and lemma 6.7).

>>> from continua.rules.examples import shown
>>> from continua.rules.statistics import Statistics
>>> known = Statistics({"bid": 100.0, "open": 10.0, "close": 0.1}, {}, {("bid", "item_id"): 200.0})
>>> text = '''SELECT price FROM Bid [RANGE 99], Open [RANGE 99], Close [RANGE 9]
...           WHERE Bid.item_id = Open.item_id AND Open.item_id = Close.item_id'''
>>> print(shown(RULE, text, known))
Filter Bid.item_id = Open.item_id AND Open.item_id = Close.item_id
└─ Product
   ├─ Product
   │  ├─ Window [RANGE 99]
   │  │  └─ Source Bid
   │  └─ Window [RANGE 99]
   │     └─ Source Open KEY Open.item_id
   └─ Window [RANGE 9]
      └─ Source Close KEY Close.item_id
becomes
Join Bid.item_id = Open.item_id
├─ Window [RANGE 99]
│  └─ Source Bid
└─ Join Open.item_id = Close.item_id
   ├─ Window [RANGE 99]
   │  └─ Source Open KEY Open.item_id
   └─ Window [RANGE 9]
      └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, conjuncts
from continua.algebra.relational import Filter, Join, Project
from continua.rules.cost import pays
from continua.rules.join_graph import JoinGraph, flatten, is_tree, movable
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    inputs: list[Plan] = []
    conditions: list[Expr] = []
    stays: list[Expr] = []
    below = plan
    if isinstance(plan, Filter) and is_tree(plan.input):
        below = plan.input
        for part in conjuncts(plan.predicate):
            (conditions if movable(part) else stays).append(part)  # (2)
    flatten(below, inputs, conditions)  # (1), (2): it divides only inner joins whose conditions can be moved
    if len(inputs) < 3:  # (1)
        return None
    graph = JoinGraph(inputs, conditions, facts)
    if isinstance(plan, Join) and not graph.is_linked:  # (3)
        return None
    after = graph.built(graph.best())
    if after.schema.names != plan.schema.names:
        after = Project(after, tuple((f.name, f.column) for f in plan.schema))
    after = filtered(after, stays)
    return after if pays(plan, after, facts) else None  # (4)


RULE = Rule(
    "join_reordering",
    "PIPES 2009 eq. 9, lemma 6.7",
    (
        "1. Three inputs or more are joined by inner joins, with filters among them or directly above.",
        "2. The conditions depend on the rows alone, and have a value for every row: they can be asked anywhere. "
        "Others stay above.",
        "3. A product of inputs that no condition links is left to the filter above it.",
        "4. The estimated work drops by a tenth at least.",
    ),
    _rewrite,
    tops=(Filter, Join),
    conventional=True,
)
