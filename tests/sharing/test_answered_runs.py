"""Queries that are answered from each other in one run, streams among them, have the answers of the reference."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from tests.sharing.pairs_at_work import run_pairs

RELATIONS = (
    "k, x FROM S [RANGE UNBOUNDED]",
    "k, x FROM S [NOW]",
    "k, x FROM S [RANGE 4 SLIDE 2]",
    "k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k",
    "DISTINCT k FROM S [RANGE UNBOUNDED]",
)
NARROWER = ("k FROM S [RANGE UNBOUNDED] WHERE x > 1", "x FROM S [NOW] WHERE k = 1", "k FROM S [RANGE 4 SLIDE 2]")
OPERATORS = ("", "ISTREAM", "DSTREAM", "RSTREAM", "STREAMED")
ROWS = [(n * 7 % 3, n * 5 % 4, n // 2) for n in range(24)]


@pytest.mark.parametrize(("first", "second"), list(product(OPERATORS, OPERATORS)))
def test_what_a_stream_tells_is_not_taken_for_what_it_is_of(first: str, second: str) -> None:
    """Rules may write a stream of a relation as a stream of another one: nobody is answered from that."""
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;")
    for operator, text in [*product((first,), RELATIONS), *product((second,), (*RELATIONS, *NARROWER))]:
        session.execute(f"SELECT {operator} {text};")
    session.insert("S", ROWS)
    queries = list(session.queries.values())
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    with BoundedRun(queries, inputs, [], InProcess(), BoundedOptions(5)) as run:
        run.to_the_end()
        found = Counter((a.query, a.instant, a.op, a.row, a.until) for a in run.answers())
    wanted = Counter((a.query, a.instant, a.op, a.row, a.until) for a in session.answers())
    assert found == wanted


def test_random_pairs_have_the_answers_of_the_reference_when_they_run() -> None:
    ran = run_pairs(range(45))
    assert not ran.wrong, "\n".join(ran.wrong)
    assert ran.answered >= 10
