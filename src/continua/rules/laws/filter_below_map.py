"""A filter over a map may stand below it: σ_p(μ_f(R)) = μ_f(σ_(p ∘ f)(R)) (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT q.a FROM (SELECT item_id AS a, price FROM Bid [NOW]) AS q WHERE q.a > 1"))
Filter q.a > 1
└─ Map Bid.item_id AS q.a, Bid.price AS q.price
   └─ Window [NOW]
      └─ Source Bid
becomes
Map Bid.item_id AS q.a, Bid.price AS q.price
└─ Filter Bid.item_id > 1
   └─ Window [NOW]
      └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Expr, columns_of, conjuncts, has_subquery, walk
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Filter, Project
from continua.algebra.safety import going_first
from continua.functions.scalars import SCALARS
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered, is_plain, substituted, uses_of

_MOST_PARTS = 8
_OPERATORS = (
    *("AND", "OR", "NOT", "IS NULL", "IS TRUE", "IS FALSE", "=", "<>", "<", "<=", ">", ">=", "<=>"),
    *("+", "-", "*", "/", "%", "DIV", "||", "LIKE", "ILIKE"),
)


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Project(input=below, outputs=outputs) as over, predicate=predicate):
            computed = dict(outputs)
            moved, kept = going_first(conjuncts(predicate), lambda part: _fits(part, computed))  # (3)
            if not moved:
                return None
            lower = filtered(below, [substituted(part, computed) for part in moved])
            return filtered(replace(over, input=lower), kept)
        case _:
            return None


def _fits(part: Expr, outputs: dict[str, Expr]) -> bool:
    """Whether what the condition uses can be computed twice: once for the filter, once for the map."""
    if has_subquery(part):  # (4)
        return False
    uses = uses_of((part,))
    return all(  # (1), (2): a column or a constant does not ask for NOW
        is_plain(outputs[name]) or (uses[name] == 1 and _is_cheap(outputs[name])) for name in columns_of(part)
    )


def _is_cheap(expr: Expr) -> bool:
    """Whether it is short, of operators and functions that are built in, and the same at every instant."""
    parts = list(walk(expr))
    calls = [part.function for part in parts if isinstance(part, Call)]
    known = all(name in _OPERATORS or name in SCALARS for name in calls)
    return known and len(parts) <= _MOST_PARTS and not uses_now(expr) and not has_subquery(expr)  # (1), (2), (4)


RULE = Rule(
    "filter_below_map",
    "PIPES 2009 lemma 6.7: filter and map",
    (
        "1. What the condition uses does not ask for NOW.",
        "2. That is a column, a constant, or something that the condition uses once and that is cheap enough to be "
        "computed for the filter and again for the map.",
        "3. The condition cannot fail, or all conditions before it move too.",
        "4. Neither the condition nor what it uses holds a subquery.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)
