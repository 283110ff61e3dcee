"""The union of equal time-based windows is the window over the union of the streams (PIPES 2009 eq. 15).

>>> from continua.rules.examples import shown
>>> union = "SELECT item_id FROM Open [NOW] UNION ALL SELECT item_id FROM Close [NOW]"
>>> print(shown(WINDOW_BELOW_UNION, f"SELECT COUNT(*) FROM (RSTREAM({union})) AS u [RANGE 60]"))
Window [RANGE 60]
└─ Rstream
   └─ Union
      ├─ Map Open.item_id AS u.item_id
      │  └─ Window [NOW]
      │     └─ Source Open KEY Open.item_id
      └─ Map Close.item_id AS right.item_id
         └─ Window [NOW]
            └─ Source Close KEY Close.item_id
becomes
Union
├─ Map Open.item_id AS u.item_id
│  └─ Window [RANGE 60]
│     └─ Source Open KEY Open.item_id
└─ Map Close.item_id AS right.item_id
   └─ Window [RANGE 60]
      └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Filter, Project, SetOperation, SetOperator, Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.traverse import with_inputs
from continua.rules.conditions import as_often, now_spec, of_the_row
from continua.rules.rule import Facts, Rule
from continua.windows.spec import WindowSpec


def _below(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case Window(input=ToStream(operator=StreamOperator.RSTREAM, input=below), spec=spec):
            if not spec.time_based or not _has_union(below):  # (1), (4)
                return None
            own = spec.undivided

            def lengthened(window: Window) -> Plan | None:
                return replace(window, spec=own) if window.spec.is_now(facts.chronon) else None  # (4)

            pushed = _changed(below, own, lengthened)
            return pushed if pushed is not None and pushed.schema == plan.schema else None  # (5)
        case _:
            return None


def _above(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case SetOperation(operator=SetOperator.UNION, distinct=False):
            first = _first(plan)
            if first is None or first.is_now(facts.chronon) or not first.time_based:  # (1), (4)
                return None
            now = now_spec(facts.chronon)

            def shortened(window: Window) -> Plan | None:
                return replace(window, spec=now) if window.spec.undivided == first else None  # (4)

            lowered = _changed(plan, first, shortened)
            return None if lowered is None else Window(ToStream(StreamOperator.RSTREAM, lowered), first)
        case _:
            return None


def _first(plan: Plan) -> WindowSpec | None:
    """The first of the windows, which all others must be equal to."""
    match plan:
        case Window(spec=spec):
            return spec.undivided
        case Filter(input=below) | Project(input=below) | SetOperation(left=below):
            return _first(below)
        case _:
            return None


def _has_union(plan: Plan) -> bool:
    """Whether there are only filters and maps over a bag union."""
    match plan:
        case SetOperation(operator=SetOperator.UNION, distinct=False):
            return True
        case Filter(input=below) | Project(input=below):
            return _has_union(below)
        case _:
            return False


def _changed(plan: Plan, spec: WindowSpec, change: Callable[[Window], Plan | None]) -> Plan | None:
    """Filters, maps and bag unions of windows, with each window changed; None where one cannot be."""
    match plan:  # (2)
        case Window():
            return change(plan)
        case Filter(input=below) | Project(input=below) if of_the_row(plan) and as_often(plan, spec):  # (2), (3)
            inner = _changed(below, spec, change)
            return None if inner is None else with_inputs(plan, lambda _: inner)
        case SetOperation(operator=SetOperator.UNION, distinct=False, left=left, right=right):
            first, second = _changed(left, spec, change), _changed(right, spec, change)
            return replace(plan, left=first, right=second) if first is not None and second is not None else None
        case _:
            return None


_CONDITIONS = (
    "1. The window is time-based, or an unbounded one: it gives each element its instants whatever else comes.",
    "2. There are filters, maps and bag unions between the windows, and nothing in them asks for NOW.",
    "3. Every element is in the window at some instant, or these cannot fail: no error comes or goes.",
)

WINDOW_BELOW_UNION = Rule(
    "window_below_union",
    "PIPES 2009 eq. 15, from right to left",
    (
        *_CONDITIONS,
        "4. The union of the streams is the Rstream of the union of their now-windows.",
        "5. The columns stay the same: none is hidden below the Rstream, which would have made it visible.",
    ),
    _below,
    tops=(Window,),
)
WINDOW_ABOVE_UNION = Rule(
    "window_above_union",
    "PIPES 2009 eq. 15",
    (*_CONDITIONS, "4. All windows are equal, and longer than the present instant."),
    _above,
    tops=(SetOperation,),
)
"""The converse: all that reads the union shares one window. It is in no phase, since it undoes the law above."""
