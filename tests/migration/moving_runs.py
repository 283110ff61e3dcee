"""Random queries on the engine that move from plan to plan at random epochs, in runs that are stopped now and then."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from continua.answers.query import Query
from continua.rules.statistics import Statistics
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.runtime.progress import Progress
from continua.session import Session
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import fresh_process
from tests.square.checking import Lines, Outcome, check, lines
from tests.square.drawing import Chooser
from tests.square.graphs import Cut, Graph, accepted
from tests.square.graphs import draw as any_graph
from tests.square.worlds import Row, World

MOST_CRASHES = 6
LASTING = 0.75
"""The share of runs with a checkpoint."""
_DEFINITIONS = "".join(f"CREATE STREAM {name} (k INT, x INT, s STRING, ts BIGINT) ORDERED BY ts;\n" for name in "ABC")
_SETTINGS = ("", "", "", "SET start_time = 3;\n")
_ITEMS = ("COUNT(*)", "SUM(a.x)", "MAX(c.x)", "MIN(b.s)", "COUNT(DISTINCT b.x)", "AVG(a.x)")


@dataclass
class Tally:
    """What queries did."""

    moves: int = 0
    """How often one has moved."""
    ended: int = 0
    """How often one has given up the plan that it had before."""
    crashes: int = 0
    amid: int = 0
    """How many of the crashes were while two plans of a query were at work."""
    stays: Counter[str] = field(default_factory=Counter)
    """Why queries did not move."""

    def __str__(self) -> str:
        return f"{self.moves} moves, {self.crashes} crashes, {self.amid} of them amid moves"


class Texts(Chooser):
    """Draws queries over three streams that more than one plan answers."""

    def text(self) -> str:
        """A query, as a relation or as a stream."""
        shapes = (self._joined, self._joined, self._counted, self._counted, self._sets, self._gated, self._outer)
        text = self.pick(shapes)()
        operator = self.pick(("", "", "", "ISTREAM", "DSTREAM"))
        return f"{self.pick(_SETTINGS)}{f'{operator}({text})' if operator else text};\n"

    def _window(self) -> str:
        size = self.number(0, 6)
        return self.pick((f"[RANGE {size}]", f"[RANGE {size}]", f"[RANGE {size} SLIDE {self.number(1, 4)}]", "[NOW]"))

    def _from(self) -> str:
        """Three inputs with their conditions; now and then one of them is not bounded by time, or stays for ever."""
        windows = [self._window() for _ in "abc"]
        if self.chance(15):
            windows[self.number(0, 2)] = self.pick(("[ROWS 3]", "[RANGE UNBOUNDED]", "[PARTITION BY k ROWS 1]"))
        items = ", ".join(f"{name} {window} {name.lower()}" for name, window in zip("ABC", windows, strict=True))
        links = [f"a.k {self.pick(('=', '=', '<=>'))} b.k", f"{self.pick('ab')}.{self.pick('kx')} = c.k"]
        if self.chance(60):
            links.append(self._condition(*"abc"))
        return f"{items} WHERE {' AND '.join(links)}"

    def _condition(self, *aliases: str) -> str:
        one, two = self.pick(aliases), self.pick(aliases)
        return self.pick(
            (f"{one}.x > {self.number(0, 2)}", f"{one}.x <= {two}.x", f"{one}.s = 'u'", f"{one}.k IN (0, {two}.x)")
        )

    def _joined(self) -> str:
        columns = self.pick(("a.x, b.s, c.x AS z", "a.k, c.s", "b.x + c.x AS n, a.s", "DISTINCT a.s, c.x"))
        return f"SELECT {columns} FROM {self._from()}"

    def _counted(self) -> str:
        key = self.pick(("a.k", "c.x", "b.s", ""))
        calls = ", ".join(f"{self.pick(_ITEMS)} AS n{i}" for i in range(self.number(1, 2)))
        having = self.pick(("", " HAVING COUNT(*) > 1")) if key else ""
        return (
            f"SELECT {key + ', ' if key else ''}{calls} FROM {self._from()}{f' GROUP BY {key}{having}' if key else ''}"
        )

    def _sets(self) -> str:
        operator = self.pick(("EXCEPT", "INTERSECT", "UNION", "EXCEPT ALL", "INTERSECT ALL", "UNION ALL"))
        parts = [f"SELECT k, x FROM {name} {self._window()}" for name in "AB"]
        where = self.pick(("", " WHERE u.x > 0", " WHERE u.k = u.x"))
        return f"SELECT u.k, COUNT(*) AS n FROM ({f' {operator} '.join(parts)}) u{where} GROUP BY u.k"

    def _gated(self) -> str:
        inner = f"SELECT b.k FROM B {self._window()} b WHERE b.x > {self.number(0, 2)}"
        also = f" AND {self._condition('a', 'c')}" if self.chance(60) else ""
        where = f"a.k = c.k AND a.x {self.pick(('IN', 'NOT IN'))} ({inner}){also}"
        return f"SELECT a.s, c.x FROM A {self._window()} a, C {self._window()} c WHERE {where}"

    def _outer(self) -> str:
        kind = self.pick(("LEFT", "FULL", "RIGHT"))
        join = f"A {self._window()} a {kind} JOIN B {self._window()} b ON a.k = b.k"
        where = self.pick(("", f" WHERE {self._condition('a')}", f" WHERE {self._condition('b')}"))
        return f"SELECT a.k, b.s, a.x FROM {join}{where}"


def graph_of_joins(seed: int, count: int, span: int = 24) -> Graph:
    """Queries over the same random rows of three streams."""
    rng = random.Random(f"moving {seed}")
    rows: dict[str, list[Row]] = {}
    for name in "ABC":
        times = sorted(rng.randrange(span) for _ in range(rng.randrange(5, 25)))
        rows[name] = [(rng.choice((0, 1, 2, None)), rng.randrange(4), rng.choice("uvw"), ts) for ts in times]
    world = World(_DEFINITIONS, rows)
    session = world.session()
    left_out: Counter[str] = Counter()
    texts: list[str] = []
    while len(texts) < count:
        text = Texts(rng).text()
        if accepted(session, text, left_out) is not None:
            texts.append(text)
    cut = Cut(rng.choice((1, 2, 3)), rng.choice((1, 2, 3)), True, rng.random() < 0.3, rng.choice((None, None, 1, 3)))
    return Graph(seed, world, session, list(session.queries.values()), texts, cut, left_out)


class Moving:
    """Runs queries as one graph; between epochs some of them move, and some of the runs are stopped."""

    def __init__(self, seed: int, tally: Tally, crashes: bool = True, often: float = 0.35) -> None:
        self._rng = random.Random(f"moves {seed}")
        self._tally = tally
        self._crashes = crashes
        self._often = often

    def __call__(self, session: Session, queries: Sequence[Query], cut: Cut) -> dict[str, Lines]:
        """The answers when they have come to their end."""
        with TemporaryDirectory() as folder, fresh_process():
            # without a checkpoint answers are made of intervals, not of changes, and nothing goes on after a crash
            lasts = self._rng.random() < LASTING
            checkpoint = Path(folder) if lasts else None
            options = BoundedOptions(cut.batch_rows, checkpoint, cut.partitions, self._rng.choice((None, 0, 3000)))
            for _ in range(self._rng.randrange(MOST_CRASHES) if lasts and self._crashes else 0):
                if not self._stopped(session, queries, options):
                    break
            with self._run(session, queries, options) as run:
                run.to_the_end(lambda done: self._move(run, done))
                answers = run.answers()
        return {q.name: lines([a for a in answers if a.query == q.name]) for q in queries}

    def _run(self, session: Session, queries: Sequence[Query], options: BoundedOptions) -> BoundedRun:
        inputs = session.inputs.read({s for q in queries for s in q.sources})
        return BoundedRun(queries, inputs, session.functions, InProcess(), options)

    def _stopped(self, session: Session, queries: Sequence[Query], options: BoundedOptions) -> bool:
        """A life of random length; whether it was stopped before its end."""
        fault = Fault(int(self._rng.expovariate(1 / 90)) + 1)
        moving = False
        with fresh_process(), hooked(fault):
            try:
                with self._run(session, queries, options) as run:
                    try:
                        run.to_the_end(lambda done: self._move(run, done))
                    finally:
                        moving = any(running.leaving is not None for running in run._running)
            except Stopped:
                self._tally.crashes += 1
                self._tally.amid += moving
                return True
        return False

    def _move(self, run: BoundedRun, done: Progress) -> None:  # noqa: ARG002
        """Some queries move to other plans: by other statistics, or without rules that have done something."""
        for running in list(run._running):
            if self._rng.random() >= self._often:
                continue
            why = run.move(running.query.name, self._statistics(run), self._without(running.begun))
            if why is None:
                self._tally.moves += 1
            else:
                self._tally.stays[why] += 1

    def _statistics(self, run: BoundedRun) -> Statistics | None:
        if self._rng.random() < 0.3:
            return None
        sources = sorted({s.name.casefold() for r in run._running for s in r.query.sources})
        return Statistics({s: self._rng.choice((0.01, 1.0, 1000.0)) for s in sources})

    def _without(self, query: Query) -> tuple[str, ...]:
        if query.rewritten is None:
            return ()
        applied = sorted({step.rule.name for step in query.rewritten.steps if not step.rule.required})
        return tuple(name for name in applied if self._rng.random() < 0.3)


def checked(seed: int, queries: int, tally: Tally, crashes: bool = True) -> tuple[Graph, Outcome]:
    """The queries of a seed while they move, against the reference: now and then they are any queries."""
    graph = any_graph(seed, queries, most=9, span=24) if seed % 8 == 7 else graph_of_joins(seed, queries)
    return graph, check(graph, ("",), [Moving(seed, tally, crashes)])
