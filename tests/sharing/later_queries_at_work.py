"""Live runs that queries join at random times, leave, and that are started again, beside the reference.

    python -m tests.sharing.later_queries_at_work --runs 1000 [--seed N]

Each run is made from its seed alone. Several queries of a run are of one text, or nearly so, and join one after the
other, so that later ones may go on with the operators of earlier ones.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from continua.answers.query import Answer
from continua.errors import ContinuaError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.later_queries import Continuation, outcomes
from continua.runs.live_options import LiveOptions
from continua.runs.plans import why_not
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.windows.occurrences import Row
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE STREAM R (k INT, y INT, ts BIGINT) ORDERED BY ts;
CREATE TABLE C (k INT, n STRING) AS VALUES (0, 'none'), (1, 'one'), (1, 'uno');
"""
TEXTS = (
    "SELECT {op} k, x FROM S [{a}]",
    "SELECT {op} k, x FROM S [{a}] WHERE x > {c}",
    "SELECT {op} k, COUNT(*) AS n, SUM(x) AS s FROM S [{a}] GROUP BY k",
    "SELECT {op} k, COUNT(*) AS n FROM S [{a}] GROUP BY k HAVING COUNT(*) > {c}",
    "SELECT {op} k, n FROM (SELECT k, COUNT(*) AS n FROM S [{a}] GROUP BY k) v WHERE k = {c}",
    "SELECT {op} COUNT(*) AS n, MAX(x) AS m FROM S [{a}]",
    "SELECT {op} DISTINCT k FROM S [{a}]",
    "SELECT {op} S.k, x, y FROM S [{a}], R [{b}] WHERE S.k = R.k",
    "SELECT {op} S.k, COUNT(y) AS n FROM S [{a}] LEFT JOIN R [{b}] ON S.k = R.k GROUP BY S.k",
    "SELECT {op} k FROM S [{a}] EXCEPT ALL SELECT k FROM R [{b}]",
    "SELECT {op} k FROM S [{a}] UNION SELECT k FROM R [{b}]",
    "SELECT {op} k, x FROM S [{a}] WHERE k NOT IN (SELECT k FROM R [{b}])",
    "SELECT {op} k, x FROM S [{a}] ORDER BY x DESC LIMIT 2",
    "SELECT {op} S.k, n, x FROM S [{a}], C WHERE S.k = C.k",
    "SELECT {op} k, COUNT(*) AS n FROM (SELECT ISTREAM k, x FROM S [{a}] WHERE x > {c}) [{b}] GROUP BY k",
    "SELECT {op} k, COUNT(*) AS n FROM (SELECT DSTREAM k, x FROM S [{a}]) [{b}] GROUP BY k",
)
WINDOWS = (
    "RANGE {x}",
    "RANGE {x} SLIDE {y}",
    "RANGE {x} SLIDE {y} ALIGNED TO START",
    "RANGE {x} SLIDE {y} ALIGNED TO {z}",
    "RANGE {x} FULL",
    "RANGE {x} SLIDE {y} FULL",
    "RANGE {x} SLIDE {y} ALIGNED TO START FULL",
    "RANGE {x} LAG {y}",
    "RANGE {x} SLIDE {y} LAG {z}",
    "NOW",
    "FIXED {x}",
    "LANDMARK {z}",
    "ROWS {x}",
    "RANGE UNBOUNDED",
    "PARTITION BY k ROWS {y}",
    "FROM {y}*j TO {y}*j + {x} EVERY {y} ALIGNED TO START",
    "FROM 2*j + {z} TO {w}*j + {z} EVERY {w} ALIGNED TO START",
    "FROM GREATEST({y}*j - {x}, 0) TO {y}*j + {z} EVERY {y}",
    "FROM {z} TO {y}*j + 9 EVERY {y}",
)
ALWAYS = ("SELECT k FROM S [NOW]", "SELECT k FROM R [NOW]")
"""With these all streams are read from the beginning."""
OPERATORS = ("", "", "", "ISTREAM", "DSTREAM", "RSTREAM", "STREAMED")
LAST = 80
Bag: TypeAlias = Counter[tuple[int, str | None, Row, int | None]]
"""Answers of a query."""


@dataclass
class Worked:
    """What came of runs."""

    runs: int = 0
    queries: int = 0
    gone_on: int = 0
    """How many queries went on with the operators of earlier ones, in how many windows of each word."""
    alone: int = 0
    """How many of these had given up their own."""
    back: int = 0
    """How many began where an earlier one did."""
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _window(chance: random.Random) -> str:
    text = WINDOWS[min(chance.randrange(len(WINDOWS)), chance.randrange(len(WINDOWS)))]
    y = chance.randint(1, 5)
    return text.format(x=chance.randint(1, 12), y=y, z=chance.randint(0, 6), w=y + 2)


def _instant(chance: random.Random) -> str:
    return chance.choice(("EARLIEST", "EARLIEST", "0", "10", "30"))


def drawn_texts(chance: random.Random) -> list[str]:
    """The texts of some queries, of which several are equal or differ in a constant."""
    found: list[str] = []
    while len(found) < 6:
        text, operator = chance.choice(TEXTS), chance.choice(OPERATORS)
        if ("EXCEPT" in text or "UNION" in text) or (operator == "RSTREAM" and "GROUP BY" not in text):
            operator = ""
        windows = {"a": _window(chance), "b": _window(chance)}
        some = [text.format(op=operator, c=chance.randint(0, 2), **windows) for _ in range(chance.randint(1, 4))]
        if _is_able(some[0]):
            found += some if chance.random() < 0.8 else [f"STARTING AT {_instant(chance)} AS {text}" for text in some]
    chance.shuffle(found)
    return [*ALWAYS, *found]


def _rows(chance: random.Random) -> dict[str, list[tuple[int, int, int]]]:
    """Rows of both streams in the order in which they come; those of S may be late by up to 2, within its slack."""
    found: dict[str, list[tuple[int, int, int]]] = {"S": [], "R": []}
    for t in range(1, LAST):
        for name in found:
            for _ in range(chance.choice((0, 0, 1, 1, 2))):
                found[name].append((chance.randint(0, 2), chance.randint(0, 3), t))
    found["S"].sort(key=lambda row: row[2] + chance.randint(0, 2))
    return found


def _session(texts: Sequence[str]) -> Session:
    """A session in a process of its own, as it were."""
    forget_memory()
    session = Session(master="none")
    session.execute(DEFINITIONS)
    for number, text in enumerate(texts):
        session.execute(f"REGISTER QUERY q{number} {text if text.startswith('STARTING') else f'AS {text}'};")
    return session


def _is_able(text: str) -> bool:
    """Whether a query makes sense, and the engine runs it."""
    try:
        session = _session([text])
    except ContinuaError:
        return False
    return why_not(session.queries["q0"], session.functions) is None


def _bag(answers: Iterable[Answer]) -> Bag:
    return Counter((a.instant, a.op, a.row, a.until) for a in answers)


def judged(texts: Sequence[str], starts: Sequence[int], rows: dict[str, list[tuple[int, int, int]]]) -> list[Bag]:
    """By the reference, the answers of queries with some starts."""
    session = _session(texts)
    for name, some in rows.items():
        session.insert(name, some)
    queries = [session.queries[f"q{n}"].starting_at(start) for n, start in enumerate(starts)]
    return [_bag(session.answers([query])) for query in queries]


def run_live(seed: int, worked: Worked) -> None:
    """A run that queries join and leave, and that is started again at times."""
    chance = random.Random(f"later {seed}")
    texts, rows = drawn_texts(chance), _rows(chance)
    left = {name: list(some) for name, some in rows.items()}
    first = chance.randint(2, 4)
    waiting = list(range(first, len(texts)))
    joined, gone = list(range(first)), set[int]()
    found: dict[int, list[Answer]] = {}
    starts: dict[int, int] = {}
    with TemporaryDirectory() as folder:
        options = LiveOptions(checkpoint=Path(folder), partitions=chance.choice((1, 2)), durable=False)
        session = _session(texts)
        session.start([session.queries[f"q{n}"] for n in joined], options)
        while any(left.values()) or waiting:
            for name, some in left.items():
                taken = chance.randint(0, 18)
                session.insert(name, some[:taken])
                left[name] = some[taken:]
            live = session.live
            assert live is not None
            live.process()
            if waiting and chance.random() < 0.6:
                together = [waiting.pop(0) for _ in range(min(len(waiting), chance.choice((1, 1, 2))))]
                session.start([session.queries[f"q{n}"] for n in together])
                joined += together
            # what an RSTREAM has told in intervals is known in full when these have ended
            staying = [n for n in joined if n not in gone and n >= len(ALWAYS) and "RSTREAM" not in texts[n]]
            if staying and chance.random() < 0.15:
                leaving = chance.choice(staying)
                found[leaving] = live.answers(f"q{leaving}")
                starts[leaving] = live.queries[f"q{leaving}"].start
                live.drop(f"q{leaving}")
                gone.add(leaving)
            if chance.random() < 0.25:
                if chance.random() < 0.5:
                    session.stop()
                # else the process has ended as it was: what is not in the checkpoint is gone
                session = _session(texts)
                session.start([session.queries[f"q{n}"] for n in joined if n not in gone], options)
        live = session.live
        assert live is not None
        live.finish()
        for n in joined:
            if n not in gone:
                found[n], starts[n] = live.answers(f"q{n}"), live.queries[f"q{n}"].start
                known = live.main._members.registered[f"q{n}"].goes_on
                worked.gone_on += known is not None
                worked.alone += known is not None and known.alone
                worked.back += known is not None and known.told > 0
        untils = {n: None for n in joined if n not in gone}
        session.stop()
    wanted = judged([texts[n] for n in joined], [starts[n] for n in joined], rows)
    worked.runs += 1
    for n, bag in zip(joined, wanted, strict=True):
        worked.queries += 1
        mine = _bag(found[n])
        if n not in untils:  # it has left: what it had told by then is right
            last = max((a.instant for a in found[n]), default=-1)
            bag = Counter({answer: count for answer, count in bag.items() if answer[0] <= last})
        if mine != bag:
            worked.wrong.append(_told(f"live {seed}", n, texts[n], starts[n], mine, bag))


def run_bounded(seed: int, worked: Worked) -> None:
    """Queries that start at times of their own, over all rows."""
    chance = random.Random(f"starts {seed}")
    texts, rows = drawn_texts(chance), _rows(chance)
    starts = [chance.choice((0, 0, 5, 10, 12, 20, 30, 45)) for _ in texts]
    session = _session(texts)
    for name, some in rows.items():
        session.insert(name, some)
    queries = [session.queries[f"q{n}"].starting_at(start) for n, start in enumerate(starts)]
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    options = BoundedOptions(chance.choice((None, 7, 40)), partitions=chance.choice((1, 2, 3)))
    with BoundedRun(queries, inputs, [], InProcess(), options) as run:
        run.to_the_end()
        answers = run.answers()
    worked.runs += 1
    worked.gone_on += sum(isinstance(outcome, Continuation) for _, outcome in outcomes(queries, []))
    for n, (text, start, query) in enumerate(zip(texts, starts, queries, strict=True)):
        worked.queries += 1
        mine, bag = _bag(a for a in answers if a.query == query.name), _bag(session.answers([query]))
        if mine != bag:
            worked.wrong.append(_told(f"starts {seed}", n, text, start, mine, bag))


def _told(seed: str, number: int, text: str, start: int, mine: Bag, bag: Bag) -> str:
    more, less = sorted((mine - bag).items(), key=str)[:5], sorted((bag - mine).items(), key=str)[:5]
    return f"{seed}: q{number} from {start}: {text}\n  too much {more}\n  too little {less}"


def main() -> None:
    """Runs until there are enough of them; fails where an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for way in (run_bounded, run_live):
        worked = Worked()
        for seed in range(given.seed, given.seed + given.runs):
            way(seed, worked)
            if worked.wrong:
                break
        told = f"{worked.queries:,} queries in {worked.runs:,} runs, {worked.gone_on:,} went on with others' operators"
        print(
            f"{way.__name__}: {told}, {worked.alone:,} of them have no others any more, {worked.back:,} began earlier"
        )
        print("\n".join(worked.wrong))
        if worked.wrong:
            sys.exit(1)


if __name__ == "__main__":
    main()
