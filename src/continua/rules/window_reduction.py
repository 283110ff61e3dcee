"""Window reduction: what enters an unbounded window is what is in it now (CQL 7.2.1).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT ISTREAM(*) FROM Open [RANGE UNBOUNDED] WHERE start_price > 100"))
Istream
└─ Map Open.item_id AS item_id, Open.seller_id AS seller_id, Open.start_price AS start_price
   └─ Filter Open.start_price > 100
      └─ Window [RANGE UNBOUNDED]
         └─ Source Open KEY Open.item_id
becomes
Rstream
└─ Map Open.item_id AS item_id, Open.seller_id AS seller_id, Open.start_price AS start_price
   └─ Filter Open.start_price > 100
      └─ Window [NOW]
         └─ Source Open KEY Open.item_id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.momentary import has_moments
from continua.algebra.plan import Filter, Group, Plan, Project, StreamOperator, ToStream, Window
from continua.algebra.properties import uses_now
from continua.algebra.traverse import expressions_of
from continua.rules.rule import Facts, Rule
from continua.windows.spec import RowsWindow, TimeWindow

NOW = TimeWindow(1, text="[NOW]")


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case ToStream(operator=StreamOperator.ISTREAM, input=below):
            reduced = _reduced(below, facts)
            return None if reduced is None else ToStream(StreamOperator.RSTREAM, reduced)
        case _:
            return None


def _reduced(plan: Plan, facts: Facts) -> Plan | None:
    """The relation over a now-window instead."""
    match plan:
        case Window(input=stream, spec=TimeWindow(slide=None, lag=0) | RowsWindow(slide=None, lag=0) as spec):
            fits = spec.unbounded and not getattr(spec, "partition", ()) and has_moments(stream, facts.chronon)
            return replace(plan, spec=NOW) if fits else None
        case Filter(input=below) | Project(input=below) | Group(input=below):
            reduced = None if any(map(uses_now, expressions_of(plan))) else _reduced(below, facts)
            return None if reduced is None else replace(plan, input=reduced)
        case _:
            return None


RULE = Rule(
    "window_reduction",
    "CQL 7.2.1",
    (
        "1. Istream stands over filters and maps of one window, and nothing in them asks for NOW.",
        "2. The window is unbounded: no element leaves it, so that what is new in it is what has just come.",
        "3. No element of the stream lasts: each comes once.",
    ),
    _rewrite,
)
