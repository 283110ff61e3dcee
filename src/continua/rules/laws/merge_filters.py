"""Two filters are one: σ_q(σ_p(R)) = σ_(p AND q)(R); and a part that asks for NOW stands alone (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> from continua.rules.laws.filter_below_map import RULE as FILTER_BELOW_MAP
>>> query = "SELECT q.a FROM (SELECT item_id AS a FROM Category WHERE label = 'x') AS q WHERE q.a > 1"
>>> print(shown(MERGE_FILTERS, query, first=(FILTER_BELOW_MAP,)))
Filter Category.item_id > 1
└─ Filter Category.label = 'x'
   └─ Relation Category
becomes
Filter Category.label = 'x' AND Category.item_id > 1
└─ Relation Category
>>> print(shown(SPLIT_NOW_FILTER, "SELECT price FROM Bid [RANGE 9] WHERE price > 5 AND ts < NOW - 3"))
Filter Bid.price > 5 AND Bid.ts < NOW - 3
└─ Window [RANGE 9]
   └─ Source Bid
becomes
Filter Bid.ts < NOW - 3
└─ Filter Bid.price > 5
   └─ Window [RANGE 9]
      └─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import conjuncts, has_subquery
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Filter
from continua.algebra.safety import cannot_fail, going_first
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered


def _merged(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Filter(input=below, predicate=inner), predicate=outer):
            if uses_now(inner) or not cannot_fail(outer):  # (1), (2)
                return None
            return filtered(below, conjuncts(inner) + conjuncts(outer))
        case _:
            return None


def _split(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=below, predicate=predicate) if kind_of(plan) is not Kind.TAGGED:  # (3)
            if not uses_now(predicate):  # (1)
                return None
            others, clocked = going_first(  # (2)
                conjuncts(predicate),
                lambda part: not uses_now(part) and not has_subquery(part),  # (1), (4)
            )
            return filtered(filtered(below, others), clocked) if clocked and others else None  # (1)
        case _:
            return None


MERGE_FILTERS = Rule(
    "merge_filters",
    "PIPES 2009 lemma 6.7: cascade of filters",
    (
        "1. Neither predicate asks for NOW.",
        "2. The outer predicate cannot fail: it is asked of rows that the inner one keeps out.",
    ),
    _merged,
    tops=(Filter,),
    conventional=True,
)
SPLIT_NOW_FILTER = Rule(
    "split_now_filter",
    "PIPES 2009 lemma 6.7: cascade of filters, from right to left",
    (
        "1. Some parts of the conjunction ask for NOW, and others do not: these can then be moved.",
        "2. These cannot fail, or stand before all that ask for NOW.",
        "3. The filter is of rows, not of modifications.",
        "4. Those that are moved hold no subquery.",
    ),
    _split,
    tops=(Filter,),
)
"""The converse, where only a part of a filter is snapshot-reducible."""
