"""A map over a window may as well stand below it (PIPES 2005 5.3.1, PIPES 2009 eq. 14, Astral prop. 1).

>>> from continua.rules.examples import shown
>>> print(shown(MAP_BELOW_WINDOW, "SELECT item_id, price FROM Bid [ROWS 10]"))
Map Bid.item_id AS item_id, Bid.price AS price
└─ Window [ROWS 10]
   └─ Source Bid
becomes
Window [ROWS 10]
└─ Map Bid.item_id AS item_id, Bid.price AS price
   └─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column
from continua.algebra.relational import Project, Window
from continua.rules.conditions import as_often, in_order_of_arrival, of_the_row
from continua.rules.rule import Facts, Rule


def _below(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case Project(input=Window(input=stream, spec=spec), outputs=outputs) if of_the_row(plan):  # (3)
            narrower = len(outputs) < len(stream.schema) and not spec.is_now(facts.chronon)  # (5)
            ordered = spec.ignores_order or in_order_of_arrival(stream)  # (4)
            if not (narrower and ordered and as_often(plan, spec)):  # (2)
                return None
            moved = spec.renamed({e.name: name for name, e in outputs if isinstance(e, Column)})  # (1)
            return None if moved is None else Window(Project(stream, outputs), moved)
        case _:
            return None


def _above(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Window(input=Project(input=stream, outputs=outputs) as below, spec=spec) if as_often(below, spec):  # (2)
            moved = spec.renamed({name: e.name for name, e in outputs if isinstance(e, Column)})  # (1)
            return None if moved is None else Project(Window(stream, moved), outputs)
        case _:
            return None


_CONDITIONS = (
    "1. The columns by which the window divides the stream are handed on as they are.",
    "2. Every element is in the window at some instant, or the map cannot fail: no error comes or goes.",
)

MAP_BELOW_WINDOW = Rule(
    "map_below_window",
    "PIPES 2005 5.3.1; PIPES 2009 eq. 14; Astral prop. 1",
    (
        *_CONDITIONS,
        "3. The map does not ask for NOW: it makes the same of an element while that is in the window.",
        "4. If the window counts positions, the elements of one instant come in the order of their arrival, not of "
        "their values, which the map changes.",
        "5. It drops columns that the window would have to keep; a now-window keeps nothing.",
    ),
    _below,
    tops=(Project,),
)
MAP_ABOVE_WINDOW = Rule(
    "map_above_window", "PIPES 2009 eq. 14, Astral prop. 1, from right to left", _CONDITIONS, _above, tops=(Window,)
)
"""The converse: a window is shared when maps stand above it."""
