"""A join of tuples that are at most so long apart joins windows, and keeps what it has found (SyncSQL 2.2).

A pair of elements appears when the later of them comes, while the earlier one is in its window, and stays. So all pairs
are what has ever entered the join of the windows: state is a few instants of both streams.

>>> from continua.rules.examples import shown
>>> both = "RELATION(Bid) a, RELATION(Open) b WHERE a.item_id = b.item_id AND a.TS - b.TS <= 5 AND b.TS - a.TS <= 2"
>>> print(shown(RULE, f"SELECT a.price FROM {both}"))
Filter a.item_id = b.item_id AND a.TS - b.TS <= 5 AND b.TS - a.TS <= 2
└─ Product
   ├─ RelationalView WITH a.TS
   │  └─ Tagger
   │     └─ Source Bid AS a
   └─ RelationalView WITH b.TS
      └─ Tagger
         └─ Source Open AS b KEY b.item_id
becomes
Window [RANGE UNBOUNDED]
└─ Istream
   └─ Filter a.item_id = b.item_id AND a.TS - b.TS <= 5 AND b.TS - a.TS <= 2
      └─ Product
         ├─ Map a.item_id, a.bidder_id, a.price, a.ts AS a.TS
         │  └─ Window [RANGE 2]
         │     └─ Source Bid AS a
         └─ Map b.item_id, b.seller_id, b.start_price, b.ts AS b.TS
            └─ Window [RANGE 5]
               └─ Source Open AS b KEY b.item_id
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr, Now, walk
from continua.algebra.relational import Filter, Join, Window
from continua.algebra.safety import cannot_fail
from continua.algebra.streaming import RelationalView, StreamOperator, Tag, ToStream
from continua.instants import INFINITY
from continua.rules.rule import Facts, Rule
from continua.rules.windowed_views import MOST, Age, age, conditions_of, has_ages, inputs_of, replaced, windowed
from continua.windows.over_time import TimeWindow


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    inputs = list(inputs_of(plan))
    if len(inputs) != 2 or inputs[0] == inputs[1] or not all(map(_is_of_elements, inputs)):  # (1), (2)
        return None
    first, second = (view.schema.names[-1] for view in inputs)
    apart, others = Age(-MOST), list[Expr]()
    for condition in conditions_of(plan):
        found = age(condition, lambda part: isinstance(part, Column) and part.name == second)
        if found is not None and found[0] == first:
            apart = apart.and_also(found[1])
        else:
            others.append(condition)
    if apart.least <= -MOST or apart.end >= INFINITY or apart.least >= apart.end:  # (3)
        return None
    if not all(map(_can_wait, others)):  # (4)
        return None
    stays = Age(0, max(apart.end, 1)), Age(0, max(1 - apart.least, 1))
    windows: dict[Plan, Plan | None] = {}
    for view, ages in zip(inputs, stays, strict=True):
        made = windowed(view, ages, facts.chronon)
        if made is None:
            return None
        windows[view] = made.plan
    joined = replaced(plan, windows, ())
    if joined is None:
        return None
    if any(field.hidden for field in plan.schema):  # (5)
        return None
    return Window(ToStream(StreamOperator.ISTREAM, joined), TimeWindow(INFINITY, text="[RANGE UNBOUNDED]"))


def _is_of_elements(view: Plan) -> bool:
    """Whether it is a view in which every element stays, with its instant."""
    if not isinstance(view, RelationalView) or not has_ages(view) or view.sync is not None:
        return False
    return isinstance(view.input, Tag) and not view.input.key


def _can_wait(condition: Expr) -> bool:
    return cannot_fail(condition) and not any(isinstance(part, Now) for part in walk(condition))


RULE = Rule(
    "band_join_window",
    "SyncSQL 2.2",
    (
        "1. Filters and an inner join stand over two views with the timestamps of their rows, which are two streams.",
        "2. Each is the view, refreshed at every instant, of a stream without a key whose elements have an instant "
        "each, given by a column: no element leaves it. Equal pairs have equal timestamps, so that they come together.",
        "3. Conditions say between which two lengths of time the instants of a pair may lie apart.",
        "4. Pairs that are too far apart are asked no more: the other conditions cannot fail. None asks for NOW, so "
        "that a pair which meets them does so for ever.",
        "5. The columns stay the same: none is hidden, which Istream would have made visible.",
    ),
    _rewrite,
    tops=(Filter, Join),
)
