"""State: what an operator must remember, what bounds that, and which operators of a plan nothing bounds.

A diagnosis for the author of a query: it changes nothing. It is conservative: an operator with state over an input
whose content can grow for ever counts as unbounded.
"""

from __future__ import annotations

from collections.abc import Iterable

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import has_subquery
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import (
    Aggregate,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.streaming import RelationalView, Split, StreamOperator, Synchronize, Tag, ToStream
from continua.algebra.synchronization import stream_name
from continua.algebra.traverse import all_inputs, expressions_of, nodes_of, subplans_of
from continua.windows.change_points import EVERY_INSTANT
from continua.windows.state import NOTHING, State, count, everything, some_rows


def unbounded_state(plan: Plan) -> list[tuple[Plan, str]]:
    """The operators of a plan, from the top, whose state can grow for ever, each with what piles up in it."""
    found = ((node, state(node)) for node in nodes_of(plan))
    return [(node, needs.by) for node, needs in found if not needs.bounded]


def state(plan: Plan) -> State:
    """What the topmost operator remembers by itself; what its inputs remember is theirs."""
    match plan:
        case Source() | TaggedSource() | BaseRelation() | Clock() | Values() | Split():
            return NOTHING
        case Window(input=stream, spec=spec):
            return spec.remembers(stream_name(stream)) or _content(plan)
        case Filter() | Project() | Group():
            return _content_of(all_inputs(plan)) if _depends_on_more_than_the_row(plan) else NOTHING
        case SetOperation(operator=SetOperator.UNION, distinct=False):
            return NOTHING
        case Join():
            return _content_of((*_kept_sides(plan), *subplans_of(plan)))
        case Tag(input=below, key=key) if kind_of(below) is Kind.STREAM:
            return some_rows(1, "", key) if key else NOTHING
        case Timeslice() | RelationalView():
            return _content(plan)
        case ToStream(operator=StreamOperator.ISTREAM, input=below) if _only_passes_on(below):
            return NOTHING
        case _:
            return _content_of(all_inputs(plan))


def _only_passes_on(plan: Plan) -> bool:
    """Whether each element enters once and never leaves, so that what enters need not be compared (CQL 7.2.1)."""
    match plan:
        case Window(spec=spec):
            return spec.never_forgets and spec.knows_ends and spec.points("") == EVERY_INSTANT
        case Filter(input=below) | Project(input=below):
            return not _depends_on_more_than_the_row(plan) and _only_passes_on(below)
        case SetOperation(operator=SetOperator.UNION, distinct=False, left=left, right=right):
            return _only_passes_on(left) and _only_passes_on(right)
        case _:
            return False


def _depends_on_more_than_the_row(plan: Plan) -> bool:
    """On a subquery or, in a relation whose rows stay, on the instant."""
    expressions = expressions_of(plan)
    asks_time = kind_of(plan) is Kind.RELATION and any(map(uses_now, expressions))
    return asks_time or any(map(has_subquery, expressions))


def _kept_sides(join: Join) -> list[Plan]:
    """A row is kept for partners that come later. Beside a static relation none do, so its fate is decided at once.

    Unless it is on the side that an outer, semi or anti join looks through: there it decides the fate of others.
    """
    if _depends_on_more_than_the_row(join):
        return [join.left, join.right]
    left, right = _is_static(join.left), _is_static(join.right)
    keeps_left = left or not right or join.join in (JoinKind.RIGHT, JoinKind.FULL)
    keeps_right = right or not left or join.join not in (JoinKind.INNER, JoinKind.RIGHT)
    return [side for side, kept in ((join.left, keeps_left), (join.right, keeps_right)) if kept]


def _is_static(plan: Plan) -> bool:
    timed = any(isinstance(node, Source | TaggedSource | Clock) for node in nodes_of(plan))
    return not timed and not any(uses_now(e) for node in nodes_of(plan) for e in expressions_of(node))


def _content_of(plans: Iterable[Plan]) -> State:
    parts = [_content(plan) for plan in plans]
    unbounded = dict.fromkeys(part.by for part in parts if not part.bounded)
    if unbounded:
        return State(False, " and ".join(unbounded))
    return State(True, " and ".join(dict.fromkeys(part.by for part in parts)) or NOTHING.by)


def _content(plan: Plan) -> State:
    """How much a relation can hold at one instant; of a stream, how much can come at one."""
    match plan:
        case BaseRelation(name=name):
            return State(True, f"the rows of {name}")
        case Values(rows=rows):
            return State(True, count(len(rows)))
        case Source(name=name) | TaggedSource(name=name):
            return State(True, f"one instant of {name}")
        case Clock():
            return State(True, "one instant of the clock")
        case Window():
            return _window_content(plan)
        case Aggregate(keys=()):
            return State(True, count(1))
        case TopK(limit=int() as limit, partition=()):
            return State(True, count(limit))
        case Timeslice(instant=instant):
            return State(True, f"the snapshot at {instant}")
        case Join(join=JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL, left=left, right=right):
            return _content_of((left, right))
        case Join(left=left):
            return _content(left)
        case SetOperation(operator=SetOperator.UNION | SetOperator.MAX_UNION, left=left, right=right):
            return _content_of((left, right))
        case SetOperation(operator=SetOperator.INTERSECTION, left=left, right=right):
            sides = (_content(left), _content(right))
            return next((side for side in sides if side.bounded), sides[0])
        case SetOperation(left=left):
            return _content(left)
        case RelationalView(input=below):
            return _view_content(below)
        case ToStream(operator=StreamOperator.ISTREAM | StreamOperator.DSTREAM, input=below):
            return State(True, f"one instant of {stream_name(below)}") if _is_linear(below) else _content(below)
        case _:
            return _content_of(plan.inputs[:1])


def _window_content(window: Window) -> State:
    """What the window holds, unless more than can be bounded comes at one instant."""
    found, at_once = window.spec.holds(stream_name(window.input)), _content(window.input)
    return found if window.spec.counts_rows or at_once.bounded or not found.bounded else at_once


def _view_content(tagged: Plan) -> State:
    """What a tagged stream can make of its relation: with a key one row for each value, else all that it inserts."""
    match tagged:
        case TaggedSource(key=(_, *_) as key):
            return some_rows(1, "", key)
        case Tag(input=below, key=key) if kind_of(below) is Kind.STREAM:
            if key:
                return some_rows(1, "", key)
            return everything(stream_name(below))
        case Tag(input=below):
            return _content(below)
        case Clock():
            return everything("the clock")
        case TaggedSource(name=name):
            return State(False, f"everything since the start of {name} that is not deleted")
        case _:
            return _view_content(tagged.inputs[0])


def _is_linear(plan: Plan) -> bool:
    """Whether an element that comes or goes changes only its own rows, so that little changes at one instant."""
    match plan:
        case BaseRelation() | Values():
            return True
        case Window(input=stream):
            return _content(stream).bounded
        case Filter(input=below) | Project(input=below) | Group(input=below):
            return _is_linear(below) and not _depends_on_more_than_the_row(plan)
        case SetOperation(operator=SetOperator.UNION, distinct=False, left=left, right=right):
            return _is_linear(left) and _is_linear(right)
        case Synchronize(input=below):
            return _is_linear(below)
        case _:
            return False
