"""Random queries on the engine, against the reference.

    python -m tests.square.fuzz --cases 20000 [--seed N] [--each-rule]

A case is a query over random data, run with others in one graph, in random epochs and partitions. Each graph is made
from its seed alone: seed N runs the graphs N, N + 1, ...; --seed with --cases 1 runs one graph again. A graph runs with
all rewrite rules and without any; with --each-rule, each graph runs with another rule switched off.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter

from continua.rules.order import ALL, EVERYTHING
from tests.square.checking import Difference, check
from tests.square.graphs import Graph, draw
from tests.square.shrinking import shrunk

QUERIES = 24
"""How many queries run as one graph."""


def main(arguments: list[str] | None = None) -> int:
    """Runs cases until there are enough of them; the exit status is 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--queries", type=int, default=QUERIES, help="how many queries run as one graph")
    parser.add_argument("--rows", type=int, default=9, help="the most elements of a stream")
    parser.add_argument("--rule-off", default="", help="a rewrite rule that is switched off")
    parser.add_argument("--each-rule", action="store_true", help="with each rule off in turn, a graph each")
    options = parser.parse_args(arguments)
    rules = list(ALL) if options.each_rule else [options.rule_off]
    seed = random.SystemRandom().randrange(1_000_000_000) if options.seed is None else options.seed
    faulthandler.enable()
    print(f"seed {seed}", flush=True)
    began = time.monotonic()
    ran = graphs = differing = 0
    left_out: Counter[str] = Counter()
    while ran < options.cases:
        print(f"\rgraph {seed + graphs}: {ran} cases, {differing} differ ", end="", file=sys.stderr, flush=True)
        graph = draw(seed + graphs, options.queries, options.rows)
        off = rules[graphs % len(rules)]
        outcome = check(graph, (off,) if options.each_rule or options.rule_off else ("", EVERYTHING))
        for difference in outcome.differences:
            print(f"\n{f'without rule {off}: ' if off else ''}{told(graph, difference)}", flush=True)
        ran += outcome.ran
        graphs += 1
        differing += len(outcome.differences)
        left_out += outcome.left_out
    seconds = time.monotonic() - began
    print(f"\nseed {seed}: {ran} cases in {graphs} graphs, {differing} differ, {seconds:.0f} s", flush=True)
    for reason, count in left_out.most_common():
        print(f"  left out {count:6}: {reason}")
    return 1 if differing else 0


def told(graph: Graph, difference: Difference, seconds: float = 30) -> str:
    """A difference with all that is needed to see it again."""
    lines = [
        f"graph {graph.seed}, case {difference.number}, {graph.cut}",
        difference.text,
        difference.what,
    ]
    if difference.number >= 0:
        repro = shrunk(graph.world, difference.text, graph.cut, seconds)
        lines += ["it agrees when it runs alone"] if repro is None else [repro.what, "", repro.script]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
