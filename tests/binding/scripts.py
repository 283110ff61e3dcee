"""A session with a few streams and relations, and short ways to see what a script does in it."""

from __future__ import annotations

import pytest

from continua.answers.query import Query
from continua.errors import ContinuaError, Diagnostic
from continua.session import Session

DEFINITIONS = """
CREATE STREAM Bid (item_id INT, bidder_id INT, price DOUBLE, note STRING, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM S (a INT, b INT, s STRING, ts BIGINT) ORDERED BY ts;
CREATE RELATION R (a INT, b INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
CREATE TABLE T (a INT, c INT) AS VALUES (1, 10), (2, 20), (2, 20), (NULL, 30);
CREATE TABLE U (a INT, name STRING) AS VALUES (1, 'one'), (2, 'two'), (3, NULL);
CREATE VIEW V AS SELECT a, COUNT(*) AS n FROM S [RANGE 5] GROUP BY a;
"""


def session(dialect: str = "cql") -> Session:
    """A session with the definitions."""
    made = Session(dialect=dialect)
    made.execute(DEFINITIONS)
    return made


def query(text: str, dialect: str = "cql") -> Query:
    """The query of a script without mistakes."""
    found = session(dialect).sql(text)
    assert found is not None
    return found


def rows(text: str) -> list[tuple[object, ...]]:
    """The content of a query's relation at instant 0, copies included, in an order of their own."""
    made = session()
    found = made.sql(text)
    assert found is not None
    return made.snapshot(found, 0)


def notices(text: str, dialect: str = "cql") -> list[Diagnostic]:
    """What the author of a query is told."""
    return list(query(text, dialect).bound.notices)


def mistakes(text: str, dialect: str = "cql") -> tuple[Diagnostic, ...]:
    """What is wrong with a script."""
    made = session(dialect)
    with pytest.raises(ContinuaError) as caught:
        made.execute(text)
    return caught.value.diagnostics


def mistake(text: str, dialect: str = "cql") -> Diagnostic:
    """The only thing that is wrong with a script."""
    found = mistakes(text, dialect)
    assert len(found) == 1, [d.render(text) for d in found]
    return found[0]


def place(diagnostic: Diagnostic) -> tuple[int, int]:
    """Line and column of a mistake."""
    assert diagnostic.span is not None, "a mistake without a place"
    return diagnostic.span.line, diagnostic.span.column


def expect(text: str, condition: str, parameters: dict[str, object], where: tuple[int, int]) -> Diagnostic:
    """Checks the only mistake of a script, and returns it."""
    found = mistake(text)
    assert found.condition == condition, found.render(text)
    assert {name: found.parameters.get(name) for name in parameters} == parameters
    assert place(found) == where
    return found
