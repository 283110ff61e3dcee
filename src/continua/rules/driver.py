"""The driver: brings every rule to every place of a plan, phase by phase, until nothing changes.

It owns what rules need not think of: the order, the limits, the checks after each step, the trace.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from continua.algebra.base import Plan
from continua.algebra.instant_rows import is_momentary
from continua.algebra.reducibility import is_snapshot_reducible
from continua.algebra.relational import Project, Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.synchronization import synchronization
from continua.algebra.traverse import nodes_of
from continua.errors import Diagnostic, PlanError
from continua.rules.rule import Facts, Rule

MOST_STEPS = 500
"""So many steps a phase may take: rules that undo each other must not hang a query."""
RAN_OUT = "RULES_RAN_OUT"
"""The condition of the notice that they have taken so many."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Rules that are applied together, each where it fits, from the top down, until none fits any more."""

    name: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A rule at work: the part of the plan before and after."""

    rule: Rule
    before: Plan
    after: Plan


@dataclass(slots=True)
class Rewritten:
    """A plan after all rules, what they did, and how many seconds each took that was tried, be it in vain."""

    plan: Plan
    facts: Facts = field(default_factory=Facts)
    disabled: frozenset[str] = frozenset()
    steps: list[Rewriting] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    ran_out: list[str] = field(default_factory=list)
    """The phases whose rules would have gone on after all the steps that they may take."""
    ends: list[tuple[Plan, int]] = field(default_factory=list)
    """The plan after each phase, and how many steps there were by then."""

    def applied(self, phase: int) -> Iterator[str]:
        """The rules that did something in a phase."""
        first = self.ends[phase - 1][1] if phase else 0
        return (step.rule.name for step in self.steps[first : self.ends[phase][1]])

    @property
    def notices(self) -> list[Diagnostic]:
        """A notice for each phase that ran out of steps: the plan is right, and may be slower than it could be."""
        return [
            Diagnostic(
                RAN_OUT,
                f"the rules of phase '{name}' were stopped after {MOST_STEPS} steps: the plan is right, not the best",
                hint="EXPLAIN REWRITES shows the steps; SET disabled_rules switches off a rule that repeats itself",
                parameters={"phase": name, "steps": MOST_STEPS},
            )
            for name in self.ran_out
        ]


def rewrite(
    plan: Plan,
    phases: Iterable[Phase],
    facts: Facts,
    disabled: frozenset[str] = frozenset(),
    known: Rewritten | None = None,
) -> Rewritten:
    """The plan after the rules of all phases. Those that are switched off are left out, unless they are required.

    ``known`` is what comes of the same plan by the same facts with fewer rules switched off: up to the phase in which
    one of the others did something, the same comes of it again.
    """
    run = _Run(facts, Rewritten(plan, facts, disabled))
    for number, phase in enumerate(phases):
        if known is not None and disabled.isdisjoint(known.applied(number)):
            run.take(known, number, phase.name)
            continue
        known = None
        rules = tuple(r for r in phase.rules if r.required or r.name not in disabled)
        run.phase(replace(phase, rules=rules))
    return run.result


class _Run:
    def __init__(self, facts: Facts, result: Rewritten) -> None:
        self._facts = facts
        self.result = result
        self._left = 0
        self._ran_out = False
        """Whether a rule would have made a step that was one too many."""
        self._settled: set[tuple[Plan, bool]] = set()
        """Parts in which no rule of the phase fits any more, each with whether an Rstream stands above it."""

    def take(self, known: Rewritten, number: int, name: str) -> None:
        """What a phase has done before, it would do again."""
        plan, steps = known.ends[number]
        self.result.plan, self.result.steps = plan, known.steps[:steps]
        self.result.ran_out += [name] if name in known.ran_out else []
        self.result.ends.append(known.ends[number])

    def phase(self, phase: Phase) -> None:
        """Applies the rules of a phase until none fits, or too many steps were taken.

        A required rule sees the plan as a whole, from its root; the others are brought to every place.
        """
        self._apply(phase)
        self.result.ends.append((self.result.plan, len(self.result.steps)))

    def _apply(self, phase: Phase) -> None:
        self._left, self._ran_out = MOST_STEPS, False
        self._settled = set()
        required = [r for r in phase.rules if r.required]
        others = [r for r in phase.rules if not r.required]
        before: Plan | None = None
        while self.result.plan != before and not self._ran_out:
            before = self.result.plan
            root = self._here(before, required, False)
            self.result.plan = self._everywhere(root, others, False)
        if self._ran_out:
            self.result.ran_out.append(phase.name)

    def _everywhere(self, plan: Plan, rules: Sequence[Rule], listed: bool) -> Plan:
        """The plan after each rule was tried once at each place, from the top down.

        ``listed``: whether an Rstream stands above, so that it matters when the relation is refreshed. A
        synchronization stream (``sync``) stays as it is: by its form it is known which points it has.
        """
        if self._ran_out or (plan, listed) in self._settled:
            return plan
        changed = self._here(plan, rules, listed)
        below = listed or (isinstance(changed, ToStream) and changed.operator is StreamOperator.RSTREAM)
        parts: dict[str, Any] = {}
        for name in changed.input_names:
            part = getattr(changed, name)
            after = part if name == "sync" else self._everywhere(part, rules, below)
            if after is not part:
                parts[name] = after
        if parts:
            return replace(changed, **parts)
        if changed is plan:
            self._settled.add((plan, listed))
        return changed

    def _here(self, plan: Plan, rules: Iterable[Rule], listed: bool) -> Plan:
        """The plan after each rule was tried once on its topmost operators."""
        for rule in rules:
            if self._ran_out:
                break
            if not isinstance(plan, rule.tops) or (rule.conventional and not is_snapshot_reducible(plan)):
                continue
            began = time.perf_counter()
            after = rule.rewrite(plan, self._facts)
            seconds = self.result.seconds
            seconds[rule.name] = seconds.get(rule.name, 0.0) + time.perf_counter() - began
            if after is None or after == plan:
                continue
            _check(rule, plan, after)
            if listed and not refreshes_alike(plan, after, self._facts.chronon):
                continue
            if self._left == 0:
                self._ran_out = True
                break
            self._left -= 1
            self.result.steps.append(Rewriting(rule, plan, after))
            plan = after
        return plan


def _check(rule: Rule, before: Plan, after: Plan) -> None:
    """Refuses a step that changes the schema: its rule is wrong, and no query runs with it."""
    alike = before.yields is after.yields and before.schema.names == after.schema.names
    if alike and before.schema.types == after.schema.types:
        return
    raise PlanError(
        Diagnostic(
            "RULE_CHANGES_SCHEMA",
            f"rule {rule.name} makes ({_columns(after)}) of ({_columns(before)})",
            hint=f"SET disabled_rules = '{rule.name}' goes round it",
            parameters={"rule": rule.name},
        )
    )


def _columns(plan: Plan) -> str:
    return ", ".join(f"{f.name} {f.type}" for f in plan.schema)


def refreshes_alike(before: Plan, after: Plan, chronon: int) -> bool:
    """Whether an Rstream above lists both plans at the same instants, and in the same form."""
    if before.yields is not after.yields:
        return False
    same = synchronization(before) == synchronization(after) and _refreshed(before) == _refreshed(after)
    return same and is_momentary(before, chronon) == is_momentary(after, chronon)


def _refreshed(plan: Plan) -> Counter[tuple[object, Plan]]:
    """The windows that are refreshed at points of their own, which begin with the first element of their streams.

    Maps below them are left out, since they drop no element, as a filter may do.
    """
    windows = (n for n in nodes_of(plan) if isinstance(n, Window))
    return Counter((w.spec, _unmapped(w.input)) for w in windows if synchronization(w).is_synchronized)


def _unmapped(stream: Plan) -> Plan:
    """The stream whose elements are mapped."""
    while isinstance(stream, Project):
        stream = stream.input
    return stream
