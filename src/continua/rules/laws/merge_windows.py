"""A window over the stream of a now-window that is late is one window, and the delays add up (Astral 6.1.1).

>>> from continua.rules.examples import shown
>>> late = "RSTREAM(SELECT item_id FROM Bid [RANGE 0 LAG 5])"
>>> print(shown(RULE, f"SELECT COUNT(*) FROM ({late}) AS d [RANGE 60 LAG 1]"))
Window [RANGE 60 LAG 1]
└─ Rstream
   └─ Map Bid.item_id AS d.item_id
      └─ Window [RANGE 0 LAG 5]
         └─ Source Bid
becomes
Window [RANGE 60 LAG 6]
└─ Map Bid.item_id AS d.item_id
   └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.rules.conditions import over_window
from continua.rules.rule import Facts, Rule
from continua.windows.measures import Axis
from continua.windows.over_time import TimeWindow


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case Window(input=ToStream(operator=StreamOperator.RSTREAM, input=below), spec=TimeWindow() as spec):  # (1)
            lags: list[int] = []

            def stream(window: Window) -> Plan | None:
                match window.spec:
                    case TimeWindow(size=size, slide=None, lag=lag) if size == facts.chronon and lag > 0:  # (1)
                        lags.append(lag)
                        return window.input
                    case _:
                        return None

            restored = over_window(below, stream)  # (1)
            if restored is None or not _can_wait(spec, lags[0]):  # (2)
                return None
            after = Window(restored, replace(spec, lag=spec.lag + lags[0], text=""))
            return after if after.schema == plan.schema else None  # (3)
        case _:
            return None


def _can_wait(spec: TimeWindow, lag: int) -> bool:
    """Whether a window whose input is late by that much is the same as a later window."""
    return spec.slide is None or (spec.slide.axis is Axis.TIME and lag % spec.slide.amount == 0)


RULE = Rule(
    "merge_windows",
    "Astral 6.1.1; PIPES 2009 eq. 12",
    (
        "1. A time window stands over the Rstream of filters and maps of a now-window that is late; nothing in them "
        "asks for NOW.",
        "2. The window does not slide, or it slides over time and the now-window is late by a multiple of the slide: "
        "the points at which it moves stay where they are.",
        "3. The columns stay the same: none is hidden below the Rstream, which would have made it visible.",
    ),
    _rewrite,
    tops=(Window,),
)
