"""A filter over a time-based window may as well stand below it (CQL 7.2.2, PIPES 2009 eq. 13, Astral prop. 2, 3).

>>> from continua.rules.examples import shown
>>> print(shown(FILTER_BELOW_WINDOW, "SELECT item_id FROM Bid [RANGE 60] WHERE price > 100"))
Filter Bid.price > 100
└─ Window [RANGE 60]
   └─ Source Bid
becomes
Window [RANGE 60]
└─ Filter Bid.price > 100
   └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Filter, Window
from continua.rules.conditions import as_often, of_the_row
from continua.rules.rule import Facts, Rule


def _below(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Window(input=stream, spec=spec) as window, predicate=predicate):
            if spec.time_based and as_often(plan, spec) and of_the_row(plan):  # (1), (2), (3)
                return replace(window, input=Filter(stream, predicate))
        case _:
            pass
    return None


def _above(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Window(input=Filter(input=stream, predicate=predicate) as below, spec=spec):
            # (3): there is no NOW that a filter on a stream could ask for
            if spec.time_based and as_often(below, spec):  # (1), (2)
                return Filter(replace(plan, input=stream), predicate)
        case _:
            pass
    return None


_CONDITIONS = (
    "1. The window is time-based, or an unbounded one: a window that counts elements would count others.",
    "2. Every element is in the window at some instant, or the predicate cannot fail: no error comes or goes.",
    "3. The predicate asks for the row alone: its answer does not change while the row is in the window.",
)

FILTER_BELOW_WINDOW = Rule(
    "filter_below_window", "CQL 7.2.2; PIPES 2009 eq. 13; Astral prop. 2, 3", _CONDITIONS, _below, tops=(Filter,)
)
FILTER_ABOVE_WINDOW = Rule("filter_above_window", "CQL 7.2.2, from right to left", _CONDITIONS, _above, tops=(Window,))
"""The converse: a window is shared when filters stand above it. It is in no phase, since it undoes the law above."""
