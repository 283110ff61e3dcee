"""Conditions that several rules share: what windows and expressions depend on, and what stands over one window."""

from __future__ import annotations

from collections.abc import Callable

from continua.algebra.base import Plan, remembered
from continua.algebra.expr import has_subquery
from continua.algebra.leaves import Source
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Filter, Project, Window
from continua.algebra.safety import cannot_fail
from continua.algebra.traverse import expressions_of, origin, with_inputs
from continua.windows.over_time import TimeWindow
from continua.windows.spec import WindowSpec


def now_spec(chronon: int) -> TimeWindow:
    """The now-window: as long as one instant."""
    return TimeWindow(chronon, text="[NOW]")


# Expressions.


@remembered
def of_the_row(plan: Plan) -> bool:
    """Whether what the topmost operator computes depends on the row alone: not on NOW, nor on other relations."""
    return not any(uses_now(expr) or has_subquery(expr) for expr in expressions_of(plan))


def as_often(plan: Plan, spec: WindowSpec) -> bool:
    """Whether it makes no difference if an operator computes its expressions below a window or above it."""
    return spec.holds_all or all(map(cannot_fail, expressions_of(plan)))


# Filters and maps over one window.


def over_window(plan: Plan, change: Callable[[Window], Plan | None]) -> Plan | None:
    """Filters and maps of one window with something else in its place; None where other things stand over it.

    What they compute depends on the row alone.
    """
    match plan:
        case Window():
            return change(plan)
        case Filter(input=below) | Project(input=below) if of_the_row(plan):
            inner = over_window(below, change)
            return None if inner is None else with_inputs(plan, lambda _: inner)
        case _:
            return None


def in_order_of_arrival(stream: Plan) -> bool:
    """Whether the elements of one instant come as they arrived: those of derived streams come by their values.

    Those of a stream with positions come by these, which must be there.
    """
    source = origin(stream)
    return isinstance(source, Source) and not source.order
