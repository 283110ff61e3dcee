"""There and back: an unbounded window of an Istream, the stream of a window of a stream (CQL 5.1, PIPES 2009 eq. 12).

>>> from continua.rules.examples import shown
>>> print(shown(RELATION_ROUND_TRIP, "SELECT COUNT(*) FROM (ISTREAM(SELECT DISTINCT item_id FROM Bid)) AS i"))
Window [RANGE UNBOUNDED]
└─ Istream
   └─ DuplicateElimination
      └─ Map Bid.item_id AS i.item_id
         └─ Window [RANGE UNBOUNDED]
            └─ Source Bid
becomes
DuplicateElimination
└─ Map Bid.item_id AS i.item_id
   └─ Window [RANGE UNBOUNDED]
      └─ Source Bid
>>> left = "DSTREAM(SELECT item_id AS n FROM Bid [RANGE 9])"
>>> print(shown(STREAM_ROUND_TRIP, f"SELECT RSTREAM(n) FROM ({left}) AS d [NOW]"))
Rstream
└─ Map d.n AS n
   └─ Window [NOW]
      └─ Dstream
         └─ Map Bid.item_id AS d.n
            └─ Window [RANGE 9]
               └─ Source Bid
becomes
Dstream
└─ Map d.n AS n
   └─ Map Bid.item_id AS d.n
      └─ Window [RANGE 9]
         └─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Literal
from continua.algebra.instant_rows import has_moments
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.relational import Filter, Project, Window
from continua.algebra.safety import cannot_fail
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.traverse import expressions_of
from continua.rules.conditions import over_window
from continua.rules.rule import Facts, Rule


def _relation(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Window(input=ToStream(operator=StreamOperator.ISTREAM, input=below), spec=spec):
            if not is_monotonic(below) or not spec.holds_everything:  # (1), (2)
                return None
            return below if below.schema == plan.schema else None  # (3)
        case _:
            return None


def _stream(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case ToStream(
            operator=StreamOperator.ISTREAM | StreamOperator.RSTREAM as outer, input=below, as_intervals=False
        ):  # (4)
            inner = _inner(below)
            if inner is None or not has_moments(inner, facts.chronon) or not _keeps_rows_apart(below):  # (1), (2)
                return None

            def origin(window: Window) -> Plan | None:
                spec = window.spec
                gives_back = spec.holds_everything if outer is StreamOperator.ISTREAM else spec.is_now(facts.chronon)
                return inner.input if gives_back else None  # (1)

            relation = over_window(below, origin)  # (2)
            after = None if relation is None else ToStream(inner.operator, relation)
            return after if after is not None and after.schema == plan.schema else None  # (3)
        case _:
            return None


def _inner(plan: Plan) -> ToStream | None:
    """The derived stream that is filtered and mapped."""
    while isinstance(plan, Filter | Project):
        plan = plan.input
    return plan.input if isinstance(plan, Window) and isinstance(plan.input, ToStream) else None  # (1), (2)


def _keeps_rows_apart(plan: Plan) -> bool:
    """Whether rows are dropped or renamed but never made equal, so that what enters and leaves is the same."""
    match plan:
        case Filter(input=below):
            return all(map(cannot_fail, expressions_of(plan))) and _keeps_rows_apart(below)  # (2)
        case Project(input=below, outputs=outputs):
            kept = {e.name for _, e in outputs if isinstance(e, Column)}
            plain = all(isinstance(e, Column | Literal) for _, e in outputs)
            return plain and kept >= set(below.schema.names) and _keeps_rows_apart(below)  # (2)
        case _:
            return True


RELATION_ROUND_TRIP = Rule(
    "relation_round_trip",
    "CQL 5.1, 6.2.2",
    (
        "1. The relation below Istream only grows: what has entered it since the start is what it holds.",
        "2. The window over Istream is unbounded; it does not slide, and it is not late.",
        "3. The columns stay the same: none is hidden below Istream, which would have made it visible.",
    ),
    _relation,
    tops=(Window,),
)
STREAM_ROUND_TRIP = Rule(
    "stream_round_trip",
    "CQL 5.1, 7.2.1; PIPES 2009 eq. 12",
    (
        "1. Istream stands over an unbounded window, or Rstream over a now-window, of a derived stream whose elements "
        "do not last: it gives that stream back.",
        "2. There are only filters in between, which do not ask for NOW and cannot fail, and maps that keep all "
        "columns and add constants at most: rows that differ stay different, so that they may as well work on the "
        "relation below.",
        "3. The columns stay the same: none is hidden below the inner stream operator, which makes columns visible.",
        "4. The elements are not to be handed out as intervals.",
    ),
    _stream,
    tops=(ToStream,),
)
