"""A filter over a time-based window may as well stand below it (CQL 7.2.2, PIPES 2005 eq. 13, Astral property 3).

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

from continua.algebra.plan import Filter, Plan, Window
from continua.algebra.properties import uses_now
from continua.rules.rule import Facts, Rule
from continua.windows.spec import FixedWindow, LandmarkWindow, RowsWindow, TimeWindow, WindowSpec


def is_time_based(spec: WindowSpec) -> bool:
    """Whether the window of an element depends on its instant alone."""
    match spec:
        case TimeWindow(slide=slide):
            return slide is None or slide.axis.value == "time"
        case FixedWindow() | LandmarkWindow():
            return True
        case RowsWindow():
            return spec.unbounded and spec.slide is None
        case _:
            return False


def _below(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Window(input=stream, spec=spec) as window, predicate=predicate):
            if is_time_based(spec) and not uses_now(predicate):
                return replace(window, input=Filter(stream, predicate))
        case _:
            pass
    return None


def _above(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Window(input=Filter(input=stream, predicate=predicate), spec=spec) if is_time_based(spec):
            return Filter(replace(plan, input=stream), predicate)
        case _:
            return None


_CONDITIONS = (
    "1. The window is time-based, or an unbounded one: a window that counts elements would count others.",
    "2. The predicate does not ask for NOW: its answer for a row does not change while the row is in the window.",
)

FILTER_BELOW_WINDOW = Rule("filter_below_window", "CQL 7.2.2; PIPES 2005 eq. 13; Astral prop. 3", _CONDITIONS, _below)
FILTER_ABOVE_WINDOW = Rule("filter_above_window", "CQL 7.2.2, from right to left", _CONDITIONS[:1], _above)
"""The converse: a window is shared when filters stand above it."""
