"""Random SyncSQL programs with synchronizations, and random window sequences, on both time domains.

    python -m tests.square.sync_programs --programs 5000 [--seed N]

A program is a few queries over the same tagged streams: views at every instant and at the points of synchronization
streams (regular ones, ones that recur, events, unions and intersections), windows by predicate and by the latest
instant of a clock, and window sequences. The engine is compared with the reference, in epochs and partitions as
they are drawn, over ticks with all rules and with none; over timestamps nothing says when the query starts.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from datetime import datetime, timedelta

from continua.answers.query import Query
from continua.rules.order import EVERYTHING
from continua.session import Session
from tests.square.checking import Outcome, check
from tests.square.graphs import BATCHES, PARTITIONS, Cut, Graph, accepted
from tests.square.worlds import World

EPOCH = datetime(2024, 1, 5, 8, 59, 50)
QUERIES = 4
ROWS = 7
SPAN = 18


class Program:
    """Draws the statements of a program."""

    def __init__(self, rng: random.Random, timestamps: bool) -> None:
        self.rng = rng
        self.timestamps = timestamps

    def length(self, least: int = 0, most: int = 6) -> str:
        """A length of time."""
        number = self.rng.randint(least, most)
        if not self.timestamps:
            return str(number)
        return f"INTERVAL '{number}' SECOND" if number >= 0 else f"INTERVAL '-{-number}' SECOND"

    def definitions(self) -> str:
        """The streams, and synchronization streams over the clock and over a stream."""
        time = "TIMESTAMP" if self.timestamps else "int"
        chronon = "SET chronon = '1 second';" if self.timestamps and self.rng.random() < 0.5 else ""
        text = f"SET dialect = sync; {chronon}"
        for name in ("S", "P"):
            text += f"REGISTER SOURCE {name}Src (int k, int x, {time} ts) ORDERED BY ts;"
            text += f"CREATE STREAM {name} OVER {name}Src KEY NULL; CREATE STREAM {name}K OVER {name}Src KEY k;"
        for name in ("Sync1", "Sync2"):
            text += f"CREATE STREAMED VIEW {name} AS SELECT C.Timepoint FROM ℜ(clockStr) C WHERE {self.points()};"
        operator = self.rng.choice(("UNION", "INTERSECT"))
        text += f"CREATE STREAMED VIEW Sync3 AS SELECT * FROM ℜ(Sync1) {operator} SELECT * FROM ℜ(Sync2);"
        text += "CREATE STREAMED VIEW Events AS SELECT V.TS FROM ℜ(P) V WHERE V.x > 0;"
        text += "CREATE STREAMED VIEW NowView AS SELECT 1 AS KEY, MAX(T.Timepoint) AS t FROM ℜ(clockStr) T;"
        text += "CREATE STREAMED VIEW Slide AS SELECT 1 AS KEY, MAX(T.Timepoint) AS t FROM ℜ(Sync1) T;"
        return text

    def points(self) -> str:
        """A condition on time points that recurs."""
        step = self.rng.randint(1, 5)
        rest = self.rng.randint(0, step - 1)
        if not self.timestamps:
            return self.rng.choice(
                (f"C.Timepoint % {step} = {rest}", f"C.Timepoint % {step} = {rest}", f"C.Timepoint % 6 > {step}",
                 f"C.Timepoint DIV 2 % {step} = {rest}", f"C.Timepoint % 4 IN (1, {rest % 4})")
            )  # fmt: skip
        return self.rng.choice(
            (f"C.Timepoint % INTERVAL '{step}' SECOND = INTERVAL '{rest}' SECOND",
             f"EXTRACT(SECOND FROM C.Timepoint) % {step} = {rest}",
             f"HOUR(C.Timepoint) >= 9 AND SECOND(C.Timepoint) BETWEEN {rest} AND {30 + step}",
             "HOUR(C.Timepoint) BETWEEN 9 AND 16 AND DAYOFWEEK(C.Timepoint) BETWEEN 2 AND 6")
        )  # fmt: skip

    def view(self) -> str:
        """A relation of a tagged stream, at all instants or at some."""
        name = self.rng.choice(("S", "P", "SK", "PK"))
        sync = self.rng.choice(("", "", "", "Sync1", "Sync2", "Sync3", "Events"))
        return self.rng.choice((f"ℜ_{sync}({name})", f"ℜ({name}, {sync})")) if sync else f"ℜ({name})"

    def age(self, present: str, timestamp: str) -> str:
        """How long before an instant a row came."""
        length = self.length(1)
        return self.rng.choice(
            (f"{present} - {length} < {timestamp} AND {timestamp} <= {present}",
             f"{present} - {length} <= {timestamp} AND {timestamp} <= {present}",
             f"{timestamp} + {length} > {present}",
             f"{timestamp} + {self.length(0, 2)} <= {present} AND {present} - {length} < {timestamp}",
             f"{timestamp} < {present} AND {timestamp} >= {present} - {length}")
        )  # fmt: skip

    def sequence(self) -> str:
        """A window sequence: its bounds move linearly, over time or over rows, in a rhythm of either."""
        rng = self.rng
        slope, start, width = rng.randint(0, 3), rng.randint(0, 2), rng.randint(0, 4)
        kind = "ROWS" if rng.random() < 0.5 else "SECONDS" if self.timestamps else "TICKS"
        rate = rng.choice(("ROWS", "SECONDS" if self.timestamps else "TICKS"))
        first = f"{slope} * j + {start} {kind}" if slope else f"{start} {kind}"
        last = f"{slope or rng.randint(1, 2)} * j + {start + width} {kind}"
        partition = "PARTITION BY k " if rng.random() < 0.3 else ""
        return f"[{partition}FROM {first} TO {last} EVERY {rng.randint(1, 4)} {rate}]"

    def query(self) -> str:
        """A query of the program."""
        rng = self.rng
        output = rng.choice(("STREAMED", "STREAMED", "COMPLETE", "ISTREAM", "DSTREAM"))
        where = f" AND A.x > {rng.randint(0, 2)}" if rng.random() < 0.3 else ""
        match rng.randint(0, 8):
            case 0 | 1:
                return f"SELECT {output} A.k, A.x FROM {self.view()} A WHERE {self.age('Now', 'A.TS')}{where}"
            case 2:
                clock = rng.choice(("NowView", "Slide"))
                columns = rng.choice(("A.k, A.x", "A.k, COUNT(*) AS n, SUM(A.x) AS s"))
                group = " GROUP BY A.k" if "COUNT" in columns else ""
                view = self.view() if clock == "NowView" else rng.choice(("ℜ(S)", "ℜ_Sync1(S)", "ℜ_Sync1(SK)", "ℜ(SK)"))
                asked = f"{self.age('N.t', 'A.TS')}{where}"
                return f"SELECT {output} {columns} FROM {view} A, ℜ({clock}) N WHERE {asked}{group}"
            case 3:
                on = f"A.k = B.k AND {self.age('Now', 'A.TS')} AND {self.age('Now', 'B.TS')}"
                return f"SELECT {output} A.k, A.x, B.x AS y FROM {self.view()} A, {self.view()} B WHERE {on}{where}"
            case 4:
                return f"SELECT {output} A.k, COUNT(*) AS n, MAX(A.x) AS m FROM {self.view()} A GROUP BY A.k"
            case 5:
                apart = self.length(0)
                on = f"B.TS - {apart} <= A.TS AND A.TS <= B.TS + {apart}"
                return f"SELECT {output} A.k, A.x, B.x AS y FROM {self.view()} A, {self.view()} B WHERE {on}"
            case 6:
                return f"SELECT {output} A.k, A.x FROM {self.view()} A WHERE A.x > 0"
            case _:
                source, told = rng.choice(("SSrc", "PSrc")), rng.choice((output, "RSTREAM"))
                return f"SELECT {told} k, x FROM {source} {self.sequence()}"

    def rows(self) -> list[tuple[object, ...]]:
        """Rows of a source, in the order of time."""
        rng = self.rng
        instants = sorted(rng.randint(0, SPAN) for _ in range(rng.randint(1, ROWS)))
        moved = [
            EPOCH + timedelta(seconds=t, microseconds=rng.choice((0, 0, 7))) if self.timestamps else t for t in instants
        ]
        return [(rng.choice((0, 1, 2, None)), rng.choice((-1, 0, 1, 2, 3)), t) for t in sorted(moved)]


def draw(seed: int, queries: int = QUERIES) -> Graph:
    """The program of a seed, ready to run."""
    rng = random.Random(seed)
    program = Program(rng, timestamps=seed % 2 == 1)
    definitions = program.definitions()
    rows = {name: program.rows() for name in ("SSrc", "PSrc")}
    session = Session()
    session.execute(definitions)
    for name, found in rows.items():
        session.insert(name, found)
    left_out: Counter[str] = Counter()
    texts: list[str] = []
    chosen: list[Query] = []
    for _ in range(5 * queries):
        text = program.query()
        query = accepted(session, text, left_out) if len(chosen) < queries else None
        if query is not None:
            chosen.append(query)
            texts.append(text)
    cut = Cut(
        rng.choice(BATCHES), rng.choice(PARTITIONS), rng.random() < 0.2, rng.random() < 0.2, rng.choice((None, 1, 3))
    )
    world = World(definitions, rows, timestamps=program.timestamps)
    return Graph(seed, world, session, chosen, texts, cut, left_out)


def checked(seed: int) -> tuple[Graph, Outcome]:
    """Runs a program by the engine and by the reference."""
    graph = draw(seed)
    return graph, check(graph, ("",) if graph.world.timestamps else ("", EVERYTHING))


def told(graph: Graph, outcome: Outcome) -> str:
    """The differences, with all that is needed to see them again."""
    given = f"seed {graph.seed}, {graph.cut}\n{graph.world.definitions}\n{graph.world.rows}"
    return "\n".join([given, *(f"{d.text}\n{d.what}" for d in outcome.differences)])


def main(arguments: list[str] | None = None) -> int:
    """Runs programs; the exit status is 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1_000_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    ran = differing = 0
    left_out: Counter[str] = Counter()
    for number in range(seed, seed + options.programs):
        graph, outcome = checked(number)
        ran += outcome.ran
        left_out += outcome.left_out
        if outcome.differences:
            differing += 1
            print(f"\n{told(graph, outcome)}", flush=True)
        if (number - seed) % 100 == 99:
            print(
                f"{number - seed + 1} programs: {ran} queries, {differing} programs differ", file=sys.stderr, flush=True
            )
    print(f"{options.programs} programs, {ran} queries: {differing} programs differ")
    for reason, times in left_out.most_common(20):
        print(f"  left out {times:6}: {reason}")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
