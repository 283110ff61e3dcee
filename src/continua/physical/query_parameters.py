"""What planning one query depends on, and what the parts of the planner ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from continua.algebra.base import Plan
from continua.instants import TimeDomain
from continua.physical.relation import Relation
from continua.rules.statistics import Statistics

if TYPE_CHECKING:
    from continua.physical.followed_until import FollowedUntil


@dataclass(frozen=True)
class QueryParameters:
    """The query's start t0, its chronon and its time domain, and by what its operators are chosen."""

    start: int = 0
    chronon: int = 1
    domain: TimeDomain = TimeDomain.TICKS
    generation: str = ""
    """Stored relations are fed once: queries that come later have sources of their own for them."""
    statistics: Statistics = field(default_factory=Statistics)
    """What is known of the inputs."""
    light_side_everywhere: bool = True
    """Whether the lighter side of a join may be sent to every partition where statistics say that it pays."""
    carried: Mapping[str, int] = field(default_factory=dict)
    """The leaves whose content at the start is fed to a query that joins later (:mod:`carried_leaves`).

    With each stands since when the operator runs whose rows it goes on with.
    """
    last: int | None = None
    """The last instant of which elements of streams count, where others answer from then on (:mod:`handover`)."""


class Plans(Protocol):
    """The physical operators of plans."""

    parameters: QueryParameters
    whole: Plan
    """The query."""
    further: int
    """How many chronons further than usual the clock goes on behind the last input."""

    def relation(self, plan: Plan) -> Relation:
        """The content of a relation over time."""
        ...

    def changing(self, plan: Plan) -> Relation:
        """The content of a relation whose changes are told."""
        ...

    def stream(self, plan: Plan) -> Relation:
        """The elements of a stream; some may last."""
        ...

    def elements(self, plan: Plan, span: int | None = None) -> Relation:
        """The elements of a stream, each of one chronon; ``span``: how many instants the window over it holds."""
        ...

    def clock_followed_until(self) -> FollowedUntil:
        """How far the clock goes when the input has ended."""
        ...

    def synchronization(self, plan: Plan) -> Relation:
        """The time points of a synchronization stream: the first one behind the last input is among them."""
        ...
