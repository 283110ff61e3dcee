"""Queries that tests with ids look at as plans alone: over random rows, so that they can be run."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from continua.algebra.base import Plan
from continua.answers.outcome import Outcome
from continua.catalog import RelationInfo, StreamInfo
from continua.rules.examples import AUCTION, plan_of
from continua.session import Session
from continua.sources.intervals import Source
from continua.windows.occurrences import Row
from tests.acceptance import test_optimization
from tests.acceptance.asked import Asked, parametrisations, taken

ROWS = 12
"""So many rows every source has."""
_VALUES: dict[str, tuple[object, ...]] = {"INT": (1, 2, 3, 4, 7, 150), "STRING": ("a", "b", "c", None)}


def planned_by(test: str, function: Callable[..., object]) -> list[Asked]:
    """The queries that a test plans, in all its parametrisations, each as if it had been asked."""
    sessions: list[Session] = []
    execute = Session.execute

    def noting(session: Session, text: str) -> list[Outcome]:
        if session not in sessions:
            sessions.append(session)
        return execute(session, text)

    def planning(text: str) -> Plan:
        session = Session()
        session.execute(AUCTION)
        session.execute(text)
        return plan_of(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "execute", noting)
        patch.setattr(test_optimization, "plan_of", planning)
        for values in parametrisations(function):
            function(**values)
    found: list[Asked] = []
    for session in sessions:
        _fill(session)
        references = session.reference(session.queries.values())
        found += [taken(test, session, query, references[name]) for name, query in session.queries.items()]
    return found


def _fill(session: Session) -> None:
    """Gives every source rows."""
    chance = random.Random(len(session.queries))
    for entry in session.catalog.entries():
        if isinstance(entry, StreamInfo | RelationInfo):
            session.insert(entry.name, [_row(chance, entry, place) for place in range(ROWS)])


def _row(chance: random.Random, info: Source, place: int) -> Row:
    return tuple(place if f.name == info.order_by else chance.choice(_VALUES[f.type.name]) for f in info.columns)
