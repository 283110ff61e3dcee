"""Two maps are one: μ_g(μ_f(R)) = μ_(g ∘ f)(R) (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT q.a * 2 AS b FROM (SELECT price + 1 AS a, item_id FROM Bid [NOW]) AS q"))
Map q.a * 2 AS b
└─ Map Bid.price + 1 AS q.a, Bid.item_id AS q.item_id
   └─ Window [NOW]
      └─ Source Bid
becomes
Map (Bid.price + 1) * 2 AS b
└─ Window [NOW]
   └─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Case, Column, Expr, children, columns_of, has_subquery
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Project
from continua.algebra.safety import cannot_fail
from continua.functions.scalars import SCALARS
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import is_plain, substituted, uses_of

_LAZY = ("AND", "OR", *(name for name, function in SCALARS.items() if function.may_skip_arguments))
"""Functions that need not look at all of their arguments."""


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Project(input=Project(input=below, outputs=inner), outputs=outer):
            uses = uses_of(e for _, e in outer)
            repeated = [e for name, e in inner if uses[name] > 1]
            if any(uses_now(e) or has_subquery(e) for _, e in (*inner, *outer)):  # (1)
                return None
            if not all(map(is_plain, repeated)):  # (2)
                return None
            lazily = {name for _, e in outer for name in _used_lazily(e)}
            if not all(is_plain(e) or cannot_fail(e) for name, e in inner if name in lazily):  # (3)
                return None
            computed = dict(inner)
            outputs = tuple(
                (n, computed[e.name] if isinstance(e, Column) else substituted(e, computed)) for n, e in outer
            )
            return Project(below, outputs)
        case _:
            return None


def _used_lazily(expr: Expr) -> frozenset[str]:
    """The columns that an expression may leave alone."""
    if isinstance(expr, Case) or (isinstance(expr, Call) and expr.function in _LAZY):  # (3)
        return columns_of(expr)
    return frozenset(name for part in children(expr) for name in _used_lazily(part))


RULE = Rule(
    "merge_maps",
    "PIPES 2009 lemma 6.7: cascade of maps",
    (
        "1. No expression of either map asks for NOW or holds a subquery.",
        "2. What the inner map computes is used at most once, unless it is a column or a constant.",
        "3. What can fail is not used where it might not be computed: in CASE, COALESCE and the like, AND and OR.",
    ),
    _rewrite,
    tops=(Project,),
    conventional=True,
)
