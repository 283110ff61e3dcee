"""What a rewrite rule is, and what it may know besides the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from continua.algebra.base import Plan
from continua.rules.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds for the query as a whole: the length of an instant (``chronon``), and what is known of its inputs."""

    chronon: int = 1
    statistics: Statistics = field(default_factory=Statistics)


@dataclass(frozen=True, slots=True)
class Rule:
    """A law, read from left to right: ``rewrite`` gives an equivalent plan, or None where it does not apply.

    It looks at the topmost operators of the plan that it is given; the driver brings it to every place. A rule that is
    ``conventional`` is one of the extended relational algebra: it holds where the topmost operator is
    snapshot-reducible (PIPES 2009, lemma 6.7), and the driver sees to that. A rule that is ``required`` cannot be
    switched off: later steps do not understand the plans that it rewrites.

    The ``conditions`` are numbered sentences: "1. The window is time-based ...". A comment in the code cites the number
    of the condition that is checked in its line, as SQLite does where it flattens subqueries: ``# (1)``, or ``# (1),
    (3)`` for several. Where a condition holds without a check, the comment says why: ``# (2): a column is no NOW``. A
    function that serves two rules of a file cites conditions that both have. Every condition is cited somewhere, and
    tests/rules/test_conditions.py sees to that.

    Some things no rule needs to check or to tell, because the driver does: that the columns keep their names and types,
    and that an Rstream above lists the relation at the same instants as before.
    """

    name: str
    law: str
    conditions: tuple[str, ...]
    rewrite: Callable[[Plan, Facts], Plan | None]
    tops: tuple[type[Plan], ...] = (Plan,)
    """The operators that may be topmost where it applies: it is tried nowhere else."""
    conventional: bool = False
    required: bool = False
