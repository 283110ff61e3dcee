"""The square: the engine's answers against those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from continua.algebra.relational import Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.traverse import nodes_of
from continua.answers.query import Answer, Query
from continua.errors import ContinuaError, EvaluationError, NotSupportedError
from continua.kernels.store.interner import Interner
from continua.physical import time_pieces
from continua.rules.order import EVERYTHING, optimize
from continua.rules.rule import Facts
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess, Tables
from continua.runtime.jobs import Job
from continua.runtime.row_blocks import Block
from continua.runtime.tasks import close_partitions
from continua.session import Session
from continua.windows.measures import Axis
from continua.windows.sequence import SequenceWindow
from tests.square.graphs import Cut, Graph
from tests.square.worlds import Rows

Line = tuple[object, ...]
Lines = Counter[Line]


@dataclass(frozen=True)
class Expected:
    """What the reference answers. An answer without an end is told up to some instant, beyond which it repeats."""

    lines: Lines
    endless: bool


@dataclass(frozen=True)
class Difference:
    """Where the engine's answer to a query first differs, with both contents there."""

    number: int
    text: str
    what: str


@dataclass
class Outcome:
    """How many cases ran, what was left out and why, and the differences."""

    ran: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


Engine = Callable[[Session, Sequence[Query], Cut], dict[str, Lines]]
"""Answers queries that run as one graph, cut as is said."""


def check(graph: Graph, rules_off: Sequence[str] = ("", EVERYTHING), engines: Sequence[Engine] = ()) -> Outcome:
    """Compares every query of a graph; all of them run together.

    They do so once for each of ``rules_off``: the rewrite rule that is switched off, none, or all of them. ``engines``
    are what they run on each time; without them, it is this process.
    """
    outcome = Outcome(left_out=Counter(graph.left_out))
    expected: dict[str, Expected] = {}
    for query in graph.queries:
        try:
            expected[query.name] = by_reference(graph.session, query)
        except EvaluationError as error:
            outcome.left_out[f"the reference fails: {error.condition}"] += 1
    for number, (off, engine) in enumerate(zip(rules_off, engines or [by_engine] * len(rules_off), strict=True)):
        chosen = [rewritten_without(q, off) for q in graph.queries if q.name in expected]
        ran = outcome.ran
        _compare(graph, chosen, expected, outcome, engine)
        outcome.ran = outcome.ran if number == 0 else ran
    return outcome


def rewritten_without(query: Query, rule: str) -> Query:
    """The query as it runs with a rule switched off."""
    return replace(query, rewritten=optimize(query.bound.plan, Facts(query.chronon), frozenset({rule})))


def _compare(
    graph: Graph, chosen: Sequence[Query], expected: Mapping[str, Expected], outcome: Outcome, engine: Engine
) -> None:
    found = _together(graph, chosen, outcome, engine)
    texts = {q.name: (i, t) for i, (q, t) in enumerate(zip(graph.queries, graph.texts, strict=True))}
    for query in chosen:
        if query.name not in found:
            continue
        outcome.ran += 1
        what = difference(found[query.name], expected[query.name])
        if what is None:
            continue
        other = unnested(graph.session, query)
        if other is not None and difference(found[query.name], other) is None:
            outcome.left_out["the reference contradicts itself"] += 1
            continue
        outcome.differences.append(Difference(*texts[query.name], what))


def _together(graph: Graph, queries: Sequence[Query], outcome: Outcome, engine: Engine) -> dict[str, Lines]:
    """The engine's answers; those of queries that fail are found by running each alone."""
    try:
        return engine(graph.session, queries, graph.cut)
    except Exception:
        pass
    able: list[Query] = []
    for query in queries:
        number = [q.name for q in graph.queries].index(query.name)
        try:
            engine(graph.session, [query], graph.cut)
        except NotSupportedError as error:
            outcome.left_out[f"not for the engine after all: {error.diagnostics[0].message}"] += 1
        except Exception as error:
            if isinstance(error, EvaluationError) and has_failing_part(graph.session, query):
                outcome.left_out["a part fails that the reference did not need"] += 1
                continue
            outcome.ran += 1
            outcome.differences.append(Difference(number, graph.texts[number], failure(error)))
        else:
            able.append(query)
    try:
        return engine(graph.session, able, graph.cut)
    except Exception as error:
        outcome.differences.append(Difference(-1, "all queries together", failure(error)))
        return {}


def failure(error: Exception) -> str:
    """What an engine's failure says."""
    trace = error.parameters.get("trace", "") if isinstance(error, ContinuaError) else ""
    return f"the engine fails: {type(error).__name__}: {error}\n{trace}"


def by_engine(session: Session, queries: Sequence[Query], cut: Cut) -> dict[str, Lines]:
    """The engine's answers to queries that run as one graph."""
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    with _as_cut(cut), TemporaryDirectory() as folder:
        options = BoundedOptions(cut.batch_rows, Path(folder) if cut.reopened else None, cut.partitions)
        with BoundedRun(
            queries, inputs, session.functions, Reopening() if cut.reopened else InProcess(), options
        ) as run:
            run.to_the_end()
            answers = run.answers()
    return {q.name: lines([a for a in answers if a.query == q.name]) for q in queries}


class Reopening(InProcess):
    """Reads the state of every partition from its file for every other epoch."""

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels."""
        if job.epoch.number % 2:
            close_partitions(job.scratch)
        return super().run(job, fed, levels, partitions, arrivals)


@contextmanager
def _as_cut(cut: Cut) -> Iterator[None]:
    """Forgets strings after each epoch, and cuts epochs in small pieces, where that is said."""
    with pytest.MonkeyPatch.context() as patch:
        if cut.collecting:
            patch.setattr(Interner, "should_collect", True)
        if cut.piece_rows is not None:
            patch.setattr(time_pieces, "ROWS", cut.piece_rows)
        yield


def lines(answers: Sequence[Answer]) -> Lines:
    """Answers as a bag of lines; values of different types are different."""
    return Counter(
        (a.instant, a.op or "", a.columns, _typed(a.row), -1 if a.until is None else a.until) for a in answers
    )


def _typed(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return type(value).__name__, value


def by_reference(session: Session, query: Query) -> Expected:
    """The reference's answer."""
    told = len(session.inputs.notices)
    answers = lines(session.answers([query]))
    endless = any(n.condition == "ENDLESS_ANSWER" for n in session.inputs.notices[told:])
    return Expected(answers, endless or _repeats(query))


def _repeats(query: Query) -> bool:
    """Whether it is an Rstream that goes on while a window by rows waits for its next row."""
    plan = query.bound.plan
    windows = [n.spec for n in nodes_of(plan) if isinstance(n, Window)]
    waiting = any(isinstance(w, SequenceWindow) and w.rate.axis is Axis.TIME is not w.bounds for w in windows)
    return waiting and isinstance(plan, ToStream) and plan.operator is StreamOperator.RSTREAM


def unnested(session: Session, query: Query) -> Expected | None:
    """The reference's answer to the unnested form of a query: where it has two answers, the judge is at fault."""
    try:
        return by_reference(session, replace(query, bound=replace(query.bound, plan=query.bound.logical)))
    except ContinuaError:
        return None


def has_failing_part(session: Session, query: Query) -> bool:
    """Whether a part of a query fails by itself, be it that the answer needs no row of it.

    SQL leaves open whether the query fails then: an intersection with nothing need not know what it is that of.
    """
    for part in nodes_of(query.bound.logical):
        try:
            by_reference(session, replace(query, bound=replace(query.bound, plan=part)))
        except EvaluationError:
            return True
        except ContinuaError:
            continue
    return False


def difference(engine: Lines, expected: Expected) -> str | None:
    """The first instant at which answers differ, with both contents; None where they agree."""
    reference = expected.lines
    if expected.endless and not reference:
        return None
    if expected.endless:
        last = min(max((_instant(line) for line in bag), default=-1) for bag in (engine, reference))
        if last < max(_settled(engine), _settled(reference)):
            return f"one answer ends at {last}, when the other still changes"
        engine, reference = _until(engine, last), _until(reference, last)
    if engine == reference:
        return None
    first = min(map(_instant, (engine - reference) + (reference - engine)))
    told = [f"first difference at {first}"]
    for name, bag in (("engine", engine), ("reference", reference)):
        content = {line: count for line, count in bag.items() if line[0] == first}
        told.append(f"  {name}:" + ("" if content else " nothing"))
        told += [f"    {_shown(line)} x {count}" for line, count in sorted(content.items(), key=str)]
    return "\n".join(told)


def _instant(line: Line) -> int:
    assert isinstance(line[0], int)
    return line[0]


def _until(bag: Lines, last: int) -> Lines:
    return Counter({line: count for line, count in bag.items() if _instant(line) <= last})


def _settled(bag: Lines) -> int:
    """The instant from which on an answer only repeats itself."""
    by_instant: dict[int, Lines] = {}
    for line, count in bag.items():
        by_instant.setdefault(_instant(line), Counter())[line[1:]] += count
    instants = sorted(by_instant)
    while len(instants) > 1 and by_instant[instants[-1]] == by_instant[instants[-2]]:
        instants.pop()
    return instants[-1] if instants else -1


def _shown(line: Line) -> str:
    _, op, _, row, until = line
    assert isinstance(row, tuple)
    return f"{op or '='} {tuple(v[1] if len(v) == 2 else v for v in row)}" + (f" until {until}" if until != -1 else "")


def compare(definitions: str, rows: Rows, text: str, cut: Cut, engine: Engine = by_engine) -> str | None:
    """What differs in the answers to one query; None where they agree, or the reference has none."""
    session = Session()
    session.execute(definitions)
    for name, content in rows.items():
        session.insert(name, content)
    query = session.sql(text)
    assert query is not None
    try:
        expected = by_reference(session, query)
    except EvaluationError:
        return None
    try:
        found = engine(session, [query], cut)[query.name]
    except NotSupportedError:
        return None
    except Exception as error:
        open_ = isinstance(error, EvaluationError) and has_failing_part(session, query)
        return None if open_ else failure(error)
    return difference(found, expected)


def agree(definitions: str, rows: Rows, text: str, cut: Cut) -> None:
    """Fails where engine and reference differ."""
    what = compare(definitions, rows, text, cut)
    assert what is None, f"{text}\n{what}"
