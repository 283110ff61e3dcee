"""Queries on the engine and by the reference over the same small inputs, with several cuts into epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from continua.algebra.streaming import Tag, ToStream
from continua.answers.query import Query, answers_of
from continua.physical import nodes
from continua.reference.semantics import ordered_rows
from continua.runs.bounded import BoundedOptions, content_at
from continua.runs.plans import sink_of, why_not
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.windows.occurrences import Row
from tests.acceptance.on_engine import BATCHES, difference, engine_answers, lines
from tests.square.worlds import REJECTED

Rows = Mapping[str, Sequence[Row]]
CUTS = [BoundedOptions(batch_rows=rows, partitions=parts) for rows in BATCHES for parts in (1, 2)]

STREAMS = """
    CREATE STREAM S (a INT, k STRING, ts BIGINT) ORDERED BY ts;
    CREATE STREAM U (b INT, k STRING, ts BIGINT) ORDERED BY ts;
    CREATE STREAM I (a INT, s BIGINT, e BIGINT) VALID FROM s TO e;
    CREATE RELATION P (k STRING, n INT);
    CREATE RELATION M (k STRING, v INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY k ON ERROR SKIP;
    CREATE RELATION N (k STRING, v INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op ON ERROR SKIP;
"""
ROWS: Rows = {
    "S": [(1, "x", 0), (2, "y", 1), (3, "x", 1), (4, "x", 4), (5, "y", 9), (6, "x", 9), (7, "x", 15)],
    "U": [(1, "x", 2), (2, "y", 3), (2, "y", 3), (9, None, 11)],
    "I": [(1, 0, 3), (2, 2, 3), (2, 2, 5), (1, 4, 9)],
    "P": [("x", 1), ("y", 2)],
    "M": [("x", 1, "+", 0), ("x", 2, "u", 3), ("y", 5, "+", 3), ("x", 0, "-", 7), ("x", 7, "+", 7), ("z", 1, "+", 8)],
    "N": [("x", 1, "+", 0), ("x", 1, "+", 3), ("y", 5, "+", 3), ("x", 1, "-", 7), ("x", 7, "+", 7), ("y", 5, "-", 8)],
}


def asked(
    query: str, definitions: str = STREAMS, rows: Rows | None = None, dialect: str = "cql"
) -> tuple[Session, Query]:
    """A query of a session that has its inputs."""
    session = Session(dialect=dialect, rejects=REJECTED)
    session.execute(definitions)
    for name, arrived in (ROWS if rows is None else rows).items():
        session.insert(name, arrived)
    found = session.sql(query)
    assert found is not None
    return session, found


def agree(session: Session, query: Query, cuts: Sequence[BoundedOptions] = CUTS) -> int:
    """Asserts that engine and reference give the same answer, however it is cut into epochs: how many lines."""
    assert why_not(query, session.functions) is None, why_not(query, session.functions)
    inputs = session.inputs.read(query.sources)
    expected = lines(answers_of(query, session.reference([query])[query.name]))
    for options in cuts:
        found = lines(engine_answers([query], inputs, session.functions, options))
        assert found == expected, difference(query, options, found, expected)
    return expected.total()


def contents_agree(session: Session, query: Query, instants: Sequence[int] = (0, 4, 10, 40)) -> None:
    """Asserts that engine and reference agree on what the relation of a query holds at instants."""
    plan = query.bound.plan
    below = plan.input if isinstance(plan, ToStream | Tag) else plan
    inputs, reference = session.inputs.read(query.sources), session.reference([query])[query.name]
    for number, instant in enumerate(instants):
        expected = ordered_rows(reference.relation(below, instant))
        options = CUTS[number % len(CUTS)]
        assert content_at(query, instant, inputs, session.functions, InProcess(), options) == expected, instant


def graph(session: Session, query: Query) -> list[nodes.Node]:
    """The physical operators of a query, each after its inputs."""
    found: dict[str, nodes.Node] = {}

    def visit(node: nodes.Node) -> None:
        for below in node.inputs:
            visit(below)
        found.setdefault(node.id, node)

    visit(sink_of(query, query.bound.logical, session.functions))
    return list(found.values())
