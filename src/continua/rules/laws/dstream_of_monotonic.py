"""Nothing leaves a relation that only grows: its Dstream is empty (CQL 5.1, 6.2.2).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT DSTREAM(item_id) FROM Bid WHERE price > 100"))
Dstream
└─ Map Bid.item_id AS item_id
   └─ Filter Bid.price > 100
      └─ Window [RANGE UNBOUNDED]
         └─ Source Bid
becomes
Dstream
└─ Values
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.leaves import Values
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.safety import cannot_fail
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.traverse import expressions_of, nodes_of
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case ToStream(operator=StreamOperator.DSTREAM, input=below) if is_monotonic(below):  # (1)
            safe = all(cannot_fail(expr) for node in nodes_of(below) for expr in expressions_of(node))  # (2)
            return ToStream(StreamOperator.DSTREAM, Values(below.schema.fields, ())) if safe else None
        case _:
            return None


RULE = Rule(
    "dstream_of_monotonic",
    "CQL 5.1, 6.2.2",
    (
        "1. The relation only grows, as far as that can be told from its plan.",
        "2. No expression in it can fail: an error is an answer too.",
    ),
    _rewrite,
    tops=(ToStream,),
)
