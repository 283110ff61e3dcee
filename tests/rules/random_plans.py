"""Random queries that a rule fits, and the answers of plans through the reference."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from continua.algebra.base import Plan
from continua.answers.query import Query, answers_of, floored
from continua.errors import ContinuaError, EvaluationError
from continua.reference.checks import checked
from continua.reference.semantics import Reference
from continua.rules.driver import Phase, rewrite
from continua.rules.rule import Facts, Rule
from continua.rules.statistics import Statistics
from continua.session import Session
from tests.rules.golden import prepared
from tests.square.queries import Queries
from tests.square.worlds import World, WorldMaker

CASES = 60
_QUERIES_PER_WORLD = 10
_TOO_MANY = "one of the plans can change at more instants than the reference looks at"


class Draw(Queries):
    """What a shape can draw from: windows, columns, conditions and whole queries over a random world."""

    def __init__(self, rng: random.Random, world: World) -> None:
        super().__init__(rng, world)
        self.world = world
        self.statistics = Statistics()
        """What a shape makes known of the inputs."""

    def window(self) -> str:
        """Any window."""
        return self._leaves.windows.window()

    def time_window(self) -> str:
        """A window that depends on instants alone."""
        size = self.number(0, 6)
        return self.pick(
            (f"[RANGE {size}]", "[NOW]", "[RANGE UNBOUNDED]", f"[RANGE {size} SLIDE {self.number(1, 4)}]",
             f"[FIXED {self.number(1, 5)}]", f"[LANDMARK {self.number(0, 9)}]")
        )  # fmt: skip

    def predicate(self, *columns: str) -> str:
        """A condition on integer columns that can be NULL."""
        one, two = self.pick(columns), self.pick(columns)
        return self.pick(
            (f"{one} > {self.number(0, 3)}", f"{one} <> {two}", f"{one} IS NULL", f"{one} = {self.number(0, 3)}",
             f"{one} IN (0, 2, {two})", f"NOT ({one} < {two} AND {two} > 1)", f"COALESCE({one}, 1) % 2 = 1")
        )  # fmt: skip


Shape = Callable[[Draw], str]


_References = dict[tuple[int, int, Plan], Reference]


@dataclass(frozen=True)
class Outcome:
    """How many queries a rule changed, how many were drawn, and where the answers differ."""

    fired: int
    drawn: int
    differences: list[str]


def check(rule: Rule, shape: Shape, seed: int, cases: int = CASES) -> Outcome:
    """Draws queries until a rule has changed enough of them, and compares the plans before and after."""
    rng = random.Random(f"{rule.name} {seed}")
    fired = drawn = 0
    differences: list[str] = []
    while fired < cases and drawn < 10 * cases:
        world = WorldMaker(rng, 5, 9).world()
        if world.timestamps:
            continue
        session = world.session()
        session.execute("CREATE STREAM ByKey OVER S KEY k; SET disabled_rules = 'all'")
        references: _References = {}
        for _ in range(_QUERIES_PER_WORLD):
            draw = Draw(rng, world)
            text = shape(draw)
            drawn += 1
            try:
                query = session.sql(text)
            except ContinuaError:
                continue
            assert query is not None
            session.queries.clear()
            facts = Facts(query.chronon, draw.statistics)
            before = prepared(rule, query.bound.plan if rule.required else query.bound.logical, facts)
            done = rewrite(before, [Phase("alone", (rule,))], facts)
            if not done.steps:
                continue
            difference = _difference(session, query, before, done.plan, references)
            if difference == _TOO_MANY:
                continue
            fired += 1
            if difference:
                differences.append(f"{world.definitions}\n{world.rows}\n{text}\n{difference}")
    return Outcome(fired, drawn, differences)


def _difference(session: Session, query: Query, before: Plan, after: Plan, references: _References) -> str:
    key = query.start, query.chronon, query.bound.plan
    if key not in references:
        streams = [s for s in session.catalog.entries() if hasattr(s, "columns") and hasattr(s, "order_by")]
        read, _ = checked(session.inputs.read(streams), query.bound.plan)  # type: ignore[arg-type]
        references[key] = Reference(floored(read, query.chronon), session.functions, query.start, query.chronon)
    found = [_answers(references[key], query, plan) for plan in (before, after)]
    if "TOO_MANY_INSTANTS" in found:
        return _TOO_MANY
    return "" if found[0] == found[1] else f"before {found[0]}\nafter {found[1]}"


def _answers(reference: Reference, query: Query, plan: Plan) -> Counter[str] | str:
    """The answers of a plan; an error of the data is an answer too."""
    asked = replace(query, bound=replace(query.bound, plan=plan))
    try:
        return Counter(repr((a.instant, a.op, a.row, a.until)) for a in answers_of(asked, reference))
    except EvaluationError as error:
        return error.condition
