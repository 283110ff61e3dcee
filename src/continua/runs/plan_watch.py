"""When a query moves to another plan (PIPES 6.4.3): once what its plan costs too much has paid for the change.

While a query runs, what epochs tell of its sources and of its operators is held against what its plan was chosen by.
Where rates, numbers of different values, or what conditions let through are clearly others, the rules make another plan
of it. The cost model says how much work that plan would save; what all of it takes in seconds, epochs tell. The
move itself takes the time of the other plan up to the split time, besides that of the plan that is left. A query moves
when the other plan would have saved as much by now. And it leaves a plan that is no worse than its first one only as
long as its moves together have not lost more than a small part of what the first plan would have taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from continua.algebra.base import Plan
from continua.answers.query import Query
from continua.instants import INFINITY
from continua.physical.migration import Stays
from continua.rules.cost import work
from continua.rules.order import EVERYTHING, PLAN_MIGRATION
from continua.rules.rule import Facts
from continua.rules.statistics import Statistics, observed
from continua.runs.measured_conditions import Epoch, measured
from continua.runs.moving_plans import Running
from continua.runs.sampling import has_choice, rewritten_by
from continua.runtime.progress import Progress
from continua.sources.intervals import NEVER

EPOCHS = 5
"""What is seen is that of so many epochs."""
HISTORY = 64
"""So many are known, to tell what windows hold."""
CLEARLY = 0.7
"""Only a plan with less than this part of the work of another one is worth a move."""
OTHERWISE = 1.5
"""From such a ratio on what is observed is not what was known."""
FIXED = 0.25
"""The part of what a query takes that no plan saves: every epoch has its operators called, and rows read."""
TOUCH = 3e-7
"""About so many seconds it takes to touch a row, as the cost model counts that."""
LEAST = 0.002
"""So many seconds an epoch must become shorter at least, ..."""
LEAST_PART = 0.1
"""... and by such a part of all that it takes."""
OFTEN = 3
"""Plans are not compared more often than once in so many epochs, ..."""
SELDOM = 50
"""... and once in so many epochs whatever is seen."""
WATCHING = 0.02
"""The part of the time of all epochs that comparing plans may take, ..."""
AT_FIRST = 0.2
"""... besides so many seconds."""
MOST_LOST = 0.05
"""The part of what the first plan would have taken that moves may have lost."""

MovedTo = Callable[[Running, Statistics, Collection[str]], Running | Stays]
"""How a query would move by statistics, and without some rules."""
ValuesOf = Callable[[Query], Statistics]
"""What the latest rows of the sources of a query tell of values."""
OperatorsOf = Callable[[Running], Mapping[Plan, str]]
"""Which operators yield which relations of the plan of a query."""


@dataclass
class _Watched:
    """What is known of a query; times are seconds."""

    facts: Facts
    """By what its plans were compared the last time."""
    current: float = 0.0
    """The work of its plan in an instant."""
    first: float = 0.0
    """That of the plan by which it began."""
    other: float | None = None
    """That of the best plan, where that is clearly cheaper."""
    best: Plan | None = None
    """That plan."""
    looked: int = 0
    """When that was found out."""
    regret: float = 0.0
    """What that plan would have saved since it is the best one."""
    epochs: int = 1
    """For how many epochs both plans would be at work, as far as that is known."""
    saved: float = 0.0
    """What all moves have saved together, less what they took."""
    whole: float = 0.0
    """What the first plan would have taken by now."""
    why: str = ""
    """Why it has not moved although another plan is better."""
    graph: str = ""
    """The graph that runs."""
    since: int = 0
    """The first epoch that was run by it alone."""
    operators: Mapping[Plan, str] = field(default_factory=dict)


class PlanWatch:
    """Watches the epochs of a run."""

    def __init__(self, values: ValuesOf, moved: MovedTo, operators: OperatorsOf) -> None:
        self._values, self._moved, self._operators = values, moved, operators
        self._epochs: deque[tuple[Progress, int]] = deque(maxlen=HISTORY)
        """The last epochs, each with how many instants it has closed."""
        self._watched: dict[str, _Watched] = {}
        self._able: dict[str, tuple[Query, bool]] = {}
        """Whether queries may move, which is found out once."""
        self._after = NEVER
        self._took = 0.0
        """What all epochs took."""
        self._spent = 0.0
        """What it took to compare plans."""

    def why(self, name: str) -> str:
        """Why a query has not moved although another plan is better; empty where none is."""
        found = self._watched.get(name)
        return "" if found is None else found.why

    def moves(self, done: Progress, running: Iterable[Running]) -> list[Running]:
        """The queries that move after an epoch."""
        length = done.until - self._after if self._after > NEVER and done.until < INFINITY - 1 else 0
        self._after = done.until
        self._epochs.append((done, length))
        self._took += done.seconds.get("run", 0.0) + done.seconds.get("commit", 0.0)
        able = [r for r in running if self._may_move(r)]
        self._watched = {r.query.name: w for r in able if (w := self._watched.get(r.query.name)) is not None}
        if length <= 0 or not able:
            return []
        began = perf_counter()
        found = [self._move(r, done, length) for r in able]
        self._spent += perf_counter() - began
        return [r for r in found if r is not None]

    def _move(self, running: Running, done: Progress, length: int) -> Running | None:
        rewritten = running.begun.rewritten
        assert rewritten is not None
        known = self._watched.setdefault(running.query.name, _Watched(rewritten.facts))
        self._look(running, known, done.epoch)
        if running.leaving is not None or not known.current:
            return None
        takes = done.query_seconds.get(running.query.name, 0.0)
        first = _instead(takes, (known.current - known.first) * length)
        known.whole += first
        known.saved += first - takes
        if known.other is None:
            known.regret, known.why = 0.0, ""
            return None
        other = _instead(takes, (known.current - known.other) * length)
        if takes - other < max(LEAST, LEAST_PART * done.seconds.get("run", 0.0)):
            return None
        known.regret += takes - other
        is_lost = known.saved < -MOST_LOST * known.whole and known.current <= known.first
        if is_lost or known.regret < other * known.epochs or not self._is_still_better(running, known):
            return None
        found = self._moved(running, known.facts.statistics, running.registered.without)
        if isinstance(found, Stays):
            known.why, known.other = found.why, None
            return None
        assert found.registered.moved is not None
        known.epochs = -(-max(found.registered.moved.split - self._after, 0) // length)
        if known.regret < other * known.epochs:
            return None
        known.saved -= other * known.epochs
        known.current, known.other, known.regret = known.other, None, 0.0
        return found

    def _may_move(self, running: Running) -> bool:
        """Whether a query has a choice of plans, and is not forbidden to change between them."""
        query = running.begun
        known, able = self._able.get(query.name, (None, False))
        if known is not query:
            done = query.rewritten
            able = done is not None and done.disabled.isdisjoint((EVERYTHING, PLAN_MIGRATION)) and has_choice(query)
            self._able[query.name] = query, able
        return able

    def _look(self, running: Running, known: _Watched, epoch: int) -> None:
        """Compares the plan that runs with the best one, where what is seen is not what was known."""
        if known.graph != running.graph.id:
            known.graph, known.operators = running.graph.id, self._operators(running)
        if running.leaving is not None:
            known.since = epoch + 1
        if known.looked and epoch - known.looked < OFTEN:
            return
        if self._spent > AT_FIRST + WATCHING * self._took:
            return
        latest = [done for done, _ in self._epochs][-EPOCHS:]
        seen = observed(latest).of(s.name for s in running.query.sources)
        told, before = Statistics(seen.rates, conditions=self._measured(known)), known.facts.statistics
        is_due = not known.looked or epoch - known.looked >= SELDOM
        if not is_due and not _differ(told.rates, before.rates) and not _differ(told.conditions, before.conditions):
            return
        facts = Facts(known.facts.chronon, told.or_else(self._values(running.query)).or_else(before))
        known.facts, known.looked = facts, epoch
        best = rewritten_by(running.begun, facts.statistics, running.registered.without)
        known.current, known.first = work(running.query.optimized, facts), work(running.begun.optimized, facts)
        least = work(best.optimized, facts)
        known.other = least if least < CLEARLY * known.current else None
        if best.optimized != known.best:
            known.best, known.regret = best.optimized, 0.0

    def _is_still_better(self, running: Running, known: _Watched) -> bool:
        """Whether the best plan is clearly better by the last two epochs alone: rates may have changed again."""
        assert known.best is not None
        rates = observed([done for done, _ in self._epochs][-3:]).of(s.name for s in running.query.sources)
        facts = Facts(known.facts.chronon, rates.or_else(known.facts.statistics))
        return work(known.best, facts) < CLEARLY * work(running.query.optimized, facts)

    def _measured(self, known: _Watched) -> dict[str, float]:
        """What the operators of a query's plan have shown of its conditions since no other plan was at work."""
        epochs = [Epoch(done.rows, length) for done, length in self._epochs if done.epoch >= known.since and length]
        return measured(known.operators, epochs, EPOCHS, known.facts) if epochs else {}


def _instead(seconds: float, less: float) -> float:
    """What a plan takes that touches so many rows less in an epoch than one that takes so long."""
    return max(seconds - less * TOUCH, seconds * FIXED)


def _differ(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether something that was seen is clearly not what was known."""
    pairs = ((seen, other.get(name)) for name, seen in one.items())
    return any(known is None or seen > OTHERWISE * known or known > OTHERWISE * seen for seen, known in pairs)
