"""Coalesce and split change no snapshot: another operator may as well read what is below them (PIPES 2005 4.2.5).

>>> from continua.rules.examples import plan_of, shown_plan
>>> (window,) = plan_of("SELECT item_id FROM Bid [RANGE 60]").inputs
>>> (stream,) = window.inputs
>>> print(shown_plan(RULE, Window(Split(Coalesce(stream), 5), window.spec)))
Window [RANGE 60]
└─ Split INTO 5
   └─ Coalesce
      └─ Source Bid
becomes
Window [RANGE 60]
└─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Kind, Plan
from continua.algebra.relational import Filter, Project, Window
from continua.algebra.streaming import Coalesce, Split
from continua.algebra.traverse import with_inputs
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Coalesce(input=below) | Split(input=below) if plan.yields is Kind.RELATION:  # (1)
            return below
        case Split(input=Split(input=below, length=inner), length=outer):  # (2)
            return Split(below, min(inner, outer))
        case Coalesce(input=Coalesce() | Split()) | Split(input=Coalesce()) if plan.yields is Kind.STREAM:  # (2)
            return with_inputs(plan, _uncut)
        case Window(input=Coalesce() | Split()):  # (2)
            return with_inputs(plan, _uncut)
        case Filter(input=Coalesce() | Split()) | Project(input=Coalesce() | Split()):
            return with_inputs(plan, _uncut) if plan.yields is Kind.STREAM else None  # (2)
        case _:
            return None


def _uncut(plan: Plan) -> Plan:
    while isinstance(plan, Coalesce | Split):
        plan = plan.input
    return plan


RULE = Rule(
    "coalesce_split",
    "PIPES 2005 4.2.5",
    (
        "1. It is a relation whose intervals are cut or merged: only the form of a stream can be seen.",
        "2. Or it is a stream that a window, a filter, a map or another such operator reads: only where a stream is "
        "handed out does its form matter.",
    ),
    _rewrite,
    tops=(Coalesce, Split, Window, Filter, Project),
)
