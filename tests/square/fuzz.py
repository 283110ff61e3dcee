"""Random queries on the engine, against the reference.

    python -m tests.square.fuzz --cases 20000 [--seed N] [--each-rule] [--spark]

A case is a query over random data, run with others in one graph, in random epochs and partitions. Each graph is made
from its seed alone: seed N runs the graphs N, N + 1, ...; --seed with --cases 1 runs one graph again. A graph runs with
all rewrite rules and without any; with --each-rule, each graph runs with another rule switched off. With --spark it
runs on Spark, over files that are cut in splits, in ways that follow from its seed.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from continua.rules.order import EVERYTHING, NAMES
from tests.square.checking import Difference, Engine, by_engine, check
from tests.square.graphs import Graph, draw
from tests.square.shrinking import shrunk

QUERIES = 24
"""How many queries run as one graph."""


@dataclass(frozen=True)
class Task:
    """One graph to be checked."""

    seed: int
    queries: int
    rows: int
    off: str
    """The rule that is switched off, if it is one: otherwise all rules, and none."""


@dataclass(frozen=True)
class Found:
    """What came of it."""

    ran: int
    differences: tuple[str, ...]
    left_out: Counter[str]


def main(arguments: list[str] | None = None) -> int:
    """Runs cases until there are enough of them; the exit status is 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--queries", type=int, default=QUERIES, help="how many queries run as one graph")
    parser.add_argument("--rows", type=int, default=9, help="the most elements of a stream")
    parser.add_argument("--rule-off", default="", help="a rewrite rule that is switched off")
    parser.add_argument("--each-rule", action="store_true", help="with each rule off in turn, a graph each")
    parser.add_argument("--spark", action="store_true", help="on Spark, over files")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    rules = list(NAMES) if options.each_rule else [options.rule_off]
    seed = random.SystemRandom().randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    ran = graphs = differing = 0
    left_out: Counter[str] = Counter()
    tasks = (Task(seed + n, options.queries, options.rows, rules[n % len(rules)]) for n in count())
    for found in _on_spark(tasks) if options.spark else _checked(tasks, 1 if options.cases == 1 else options.processes):
        for difference in found.differences:
            print(f"\n{difference}", flush=True)
        ran += found.ran
        graphs += 1
        differing += len(found.differences)
        left_out += found.left_out
        print(f"\r{graphs} graphs: {ran} cases, {differing} differ ", end="", file=sys.stderr, flush=True)
        if ran >= options.cases:
            break
    seconds = time.monotonic() - began
    print(f"\nseed {seed}: {ran} cases in {graphs} graphs, {differing} differ, {seconds:.0f} s", flush=True)
    for reason, times in left_out.most_common():
        print(f"  left out {times:6}: {reason}")
    return 1 if differing else 0


def _checked(tasks: Iterator[Task], processes: int) -> Iterator[Found]:
    """What comes of tasks, in their order; each process has some ahead of it."""
    if processes == 1:
        yield from map(checked, tasks)
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), faulthandler.enable) as pool:
        waiting = deque(pool.submit(checked, task) for task in islice(tasks, 2 * processes))
        try:
            while True:
                yield waiting.popleft().result()
                waiting.append(pool.submit(checked, next(tasks)))
        finally:
            pool.shutdown(cancel_futures=True)


def _on_spark(tasks: Iterator[Task]) -> Iterator[Found]:
    """What comes of tasks on one Spark session; which ways graphs run in is decided by their seeds."""
    from tests.spark.fuzzing import engines_of, session

    with TemporaryDirectory() as folder, session() as spark:
        for task in tasks:
            yield checked(task, engines_of(spark, Path(folder) / str(task.seed), task.seed))


def checked(task: Task, engines: Sequence[Engine] = (by_engine, by_engine)) -> Found:
    """Checks the graph of a seed."""
    graph = draw(task.seed, task.queries, task.rows)
    rules_off = (task.off,) if task.off else ("", EVERYTHING)
    outcome = check(graph, rules_off, engines[: len(rules_off)])
    without = f"without rule {task.off}: " if task.off else ""
    differences = tuple(f"{without}{told(graph, d, engine=engines[0])}" for d in outcome.differences)
    return Found(outcome.ran, differences, outcome.left_out)


def told(graph: Graph, difference: Difference, seconds: float = 30, engine: Engine = by_engine) -> str:
    """A difference with all that is needed to see it again."""
    lines = [
        f"graph {graph.seed}, case {difference.number}, {graph.cut}",
        difference.text,
        difference.what,
    ]
    if difference.number >= 0:
        repro = shrunk(graph.world, difference.text, graph.cut, seconds, engine)
        lines += ["it agrees when it runs alone"] if repro is None else [repro.what, "", repro.script]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
