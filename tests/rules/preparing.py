"""Rules that make plans to which no query is bound, so that other rules have something to rewrite.

They need not keep the answers: what is compared comes after them.
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Literal
from continua.algebra.relational import Filter, Group, Window
from continua.algebra.streaming import Coalesce, Split, Synchronize
from continua.rules.rule import Facts, Rule
from continua.windows.measures import Axis, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow


def _grouped(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=below, predicate=Call(function="=", arguments=(value, Literal(value=int(index))))):
            return Group(below, value, index + 1, index) if index > 0 else None
        case _:
            return None


def _synchronized(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case (
            Window(spec=TimeWindow(slide=Rate(axis=Axis.TIME, amount=step), lag=lag) as spec)
            | Window(spec=RowsWindow(slide=Rate(amount=step), lag=lag) as spec)
        ):
            window = replace(plan, spec=replace(spec, slide=None, text=""))
            match (spec.size + lag) % 5:
                case 0:
                    return Synchronize(window, step, lag)
                case 1:
                    return Synchronize(Synchronize(window, step, lag), 2 * step, lag)
                case 2:
                    return Synchronize(Synchronize(window, 2 * step, lag + 1), step, 1 - lag)
                case 3:
                    return Synchronize(Synchronize(window, 2 * step, lag), step, 2 * step + lag)
                case _:
                    return Synchronize(Synchronize(window, step, lag), 2 * step + 1, lag)
        case _:
            return None


def _cut(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Window(input=Coalesce() | Split()):
            return None
        case Window(input=stream):
            return Coalesce(Split(replace(plan, input=Split(Coalesce(stream, 3), 2)), 2))
        case _:
            return None


_ALL = ("1. None: the answers may change.",)

GROUPED = Rule("grouped", "a condition as a group", _ALL, _grouped)
SYNCHRONIZED = Rule("synchronized", "a slide of a window as slides over it", _ALL, _synchronized)
CUT = Rule("cut", "windows and streams cut and merged", _ALL, _cut)
