"""A now-window leaves a stream as it is (PIPES 2009 eq. 12): S [NOW] holds what S has, and Rstream gives it back.

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT MAX(p) AS most FROM (RSTREAM(SELECT price AS p FROM Bid [NOW])) AS b [RANGE 60]"))
Window [RANGE 60]
└─ Rstream
   └─ Map Bid.price AS b.p
      └─ Window [NOW]
         └─ Source Bid
becomes
Window [RANGE 60]
└─ Map Bid.price AS b.p
   └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Filter, Project, Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.synchronization import synchronization
from continua.algebra.traverse import with_inputs
from continua.rules.conditions import of_the_row, over_window
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    after = _relation(plan, facts.chronon) or _stream(plan, facts.chronon)
    return after if after is not None and after.schema == plan.schema else None  # (4)


def _relation(plan: Plan, chronon: int) -> Plan | None:
    """R itself for the now-window of its Rstream."""
    match plan:
        case Window(input=ToStream(operator=StreamOperator.RSTREAM, input=below), spec=spec):
            return below if spec.is_now(chronon) and not synchronization(below).is_synchronized else None  # (1)
        case _:
            return None


def _stream(plan: Plan, chronon: int) -> Plan | None:
    """A window over S itself instead of the Rstream of its now-window."""
    match plan:
        case Window(input=stream, spec=spec) if spec.ignores_order:  # (3)
            restored = _restored(stream, chronon)
            return None if restored is None else replace(plan, input=restored)
        case _:
            return None


def _restored(stream: Plan, chronon: int) -> Plan | None:
    """The stream without the now-window and the Rstream in it; None where there are none."""
    match stream:
        case ToStream(operator=StreamOperator.RSTREAM, input=below):
            return over_window(below, lambda window: window.input if window.spec.is_now(chronon) else None)  # (2)
        case Filter(input=below) | Project(input=below) if of_the_row(stream):  # (2)
            restored = _restored(below, chronon)
            return None if restored is None else with_inputs(stream, lambda _: restored)
        case _:
            return None


RULE = Rule(
    "now_window",
    "PIPES 2009 eq. 12",
    (
        "1. A now-window stands over an Rstream that tells its relation at every instant, not only when a slide is "
        "due: it holds that relation.",
        "2. Or a window stands over the Rstream of filters and maps of a now-window: these may as well work on the "
        "stream. Nothing in them asks for NOW.",
        "3. Then the window does not ask for the order of the elements of one instant, which an Rstream changes: it "
        "does not count positions.",
        "4. The columns stay the same: none is hidden below the Rstream, which would have made it visible.",
    ),
    _rewrite,
    tops=(Window,),
)
