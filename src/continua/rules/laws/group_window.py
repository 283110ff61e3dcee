"""A group of a window is the window of that group of the stream (PIPES 2005 5.3.1).

>>> from continua.algebra.expr import Column
>>> from continua.rules.examples import plan_of, shown_plan
>>> (window,) = plan_of("SELECT item_id FROM Bid [RANGE 60]").inputs
>>> print(shown_plan(RULE, Group(window, Column("Bid.bidder_id", BIGINT), 3, 2)))
Group Bid.bidder_id PART 2 OF 3
└─ Window [RANGE 60]
   └─ Source Bid
becomes
Window [RANGE 60]
└─ Filter Bid.bidder_id = 2
   └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Literal
from continua.algebra.relational import Filter, Group, Window
from continua.rules.conditions import as_often, of_the_row
from continua.rules.rule import Facts, Rule
from continua.types import BIGINT, BOOLEAN


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Group(input=Window(input=stream, spec=spec) as window, function=function, index=index):
            if not (spec.time_based and of_the_row(plan) and as_often(plan, spec)):  # (1), (2), (3)
                return None
            wanted = Call("=", (function, Literal(index, BIGINT)), BOOLEAN, function.nullable)
            return replace(window, input=Filter(stream, wanted))
        case _:
            return None


RULE = Rule(
    "group_window",
    "PIPES 2005 5.3.1",
    (
        "1. The window is time-based, or an unbounded one: it gives each element its instants whatever else comes.",
        "2. The function that divides the stream does not ask for NOW.",
        "3. Every element is in the window at some instant, or the function cannot fail: no error comes or goes.",
    ),
    _rewrite,
    tops=(Group,),
)
