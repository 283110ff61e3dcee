"""Queries of forms that are seldom drawn, for graphs in which every physical operator is to occur."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.streaming import Tag
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from tests.square.graphs import Graph

DEFINITIONS = """
SET dialect = cql;
CREATE STREAM Keyed OVER S KEY k;
CREATE STREAMED VIEW Often AS SELECT V.TS FROM RELATION(P) V WHERE V.x > 0;
CREATE STREAMED VIEW Recurring AS SELECT C.Timepoint FROM RELATION(clockStr) C WHERE C.Timepoint % 5 < 2;
CREATE WINDOW doubling LANGUAGE PYTHON AS 'tests.acceptance.test_astral_definitions:doubling';
"""
TEXTS = (
    "SELECT C.Timepoint, S.x FROM RELATION(clockStr) C, S [RANGE 3] WHERE C.Timepoint = S.k",
    "SELECT STREAMED k, x FROM RELATION(S, Often)",
    "SELECT RSTREAM(k) FROM S [doubling]",
    "SELECT RSTREAM(k, COUNT(*) AS n) FROM S [RANGE 6 SLIDE 3 ROWS] GROUP BY k",
    "SELECT k, NOW - x AS n FROM L [RANGE 2]",
    "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM S [RANGE 6 SLIDE 4] GROUP BY k",
    "SELECT k, x FROM S [RANGE 4 SLIDE 2] WHERE x = (SELECT MAX(x) FROM S [RANGE 4 SLIDE 2])",
    "SELECT k, x FROM S [RANGE 5] ORDER BY x DESC LIMIT 2",
    "SELECT STREAMED k, x FROM RELATION(S, Recurring)",
    "SPLIT STREAM (SELECT RSTREAM(k) FROM S [RANGE 5]) INTO 2",
)
TAGGED = "SELECT STREAMED * FROM RELATION(Keyed)"


def with_rare(graph: Graph) -> Graph:
    """A graph over ticks with these queries besides its own."""
    session = graph.session
    session.execute(DEFINITIONS)
    found = [session.sql(text) for text in (*TEXTS, TAGGED)]
    queries = [query for query in found if query is not None]
    queries[-1] = tagged_stream(queries[-1])
    return replace(graph, queries=[*graph.queries, *queries], texts=[*graph.texts, *TEXTS, TAGGED])


def tagged_stream(query: Query) -> Query:
    """The tagged stream below a view, as a query of its own: no text says that."""
    plan = query.bound.plan
    below = next(node for node in nodes_of(plan) if isinstance(node, Tag) and node is not plan)
    return replace(query, bound=replace(query.bound, plan=below, logical=below), rewritten=None)
