"""What the tests of PIPES, SyncSQL and Astral share: questions to a session, and answers in the papers' notation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from continua.algebra.base import Plan
from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.query import Answer, Query, snapshot_of
from continua.instants import instant_of
from continua.reference.semantics import ordered_rows
from continua.session import Session
from continua.types import Value
from continua.windows.occurrences import Element, Row, Timeline
from continua.windows.spec import GenericWindow, WindowSpec

TEMPERATURES = """
    REGISTER SOURCE TemperatureSource (char RoomID, int Temperature, int ts) ORDERED BY ts;
    CREATE STREAM RoomTempStr OVER TemperatureSource KEY RoomID;
    CREATE STREAM TempStr OVER TemperatureSource KEY NULL;
"""


def sync_view(step: int) -> str:
    """The synchronization stream of SyncSQL's example 10, with a tick at every multiple of ``step``."""
    return f"create STREAMED view Sync{step} as select C.Timepoint from ℜ(clockStr) C where C.Timepoint % {step} = 0;"


def temperatures(*rows: tuple[str, int, int]) -> Session:
    """A session in SyncSQL's dialect with the streams of example 1 over these rows."""
    session = Session(dialect="sync")
    session.execute(TEMPERATURES + sync_view(2) + sync_view(4) + sync_view(5))
    session.insert("TemperatureSource", rows)
    return session


def ask(session: Session, text: str) -> Query:
    """The last query of a script."""
    query = session.sql(text)
    assert query is not None
    return query


def written(answers: Iterable[Answer]) -> list[str]:
    """Tagged tuples as SyncSQL writes them: type, attributes, timestamp."""
    return [f"{a.op}<{','.join(map(str, a.row))}>{a.instant}" for a in answers]


def tagged(session: Session, text: str) -> list[str]:
    """The tagged stream that a query puts out."""
    return written(session.answers([ask(session, text)]))


def states(session: Session, query: Query, instants: Iterable[int]) -> dict[int, list[Row]]:
    """The relation of a query, or the one behind its stream, at each of the instants."""
    reference = session.reference([query])[query.name]
    return {t: ordered_rows(snapshot_of(query.bound.plan, reference, t)) for t in instants}


def first_column(session: Session, text: str, instants: Iterable[int]) -> dict[int, list[Value]]:
    """The values of the first column of a query at each of the instants."""
    return {t: [row[0] for row in rows] for t, rows in states(session, ask(session, text), instants).items()}


def segments(answers: Iterable[Answer], chronon: int = 1) -> list[tuple[Row, int, int, int]]:
    """A stream in its one canonical form: row, start, end and multiplicity, by start and row."""
    steps: dict[Row, Counter[int]] = {}
    for a in answers:
        ends = steps.setdefault(a.row, Counter())
        ends[a.instant] += 1
        ends[a.instant + chronon if a.until is None else a.until] -= 1
    found: list[tuple[Row, int, int, int]] = []
    for row, ends in steps.items():
        count, start = 0, 0
        for t in sorted(t for t, step in ends.items() if step):
            if count:
                found.append((row, start, t, count))
            count, start = count + ends[t], t
    return sorted(found, key=lambda segment: (segment[1], str(segment[0])))


def windows_of(plan: Plan) -> list[WindowSpec]:
    """The windows of a plan, from the top down."""
    return [node.spec for node in nodes_of(plan) if isinstance(node, Window)]


def micros(text: str) -> int:
    """The instant of a timestamp."""
    return instant_of(datetime.fromisoformat(text))


def timeline(instants: Sequence[int], start: int = 0) -> Timeline:
    """A stream with one element an instant given, whose row is its position."""
    return Timeline([Element((n,), t, t + 1, n) for n, t in enumerate(instants)], start, 1)


def positions(window: WindowSpec, stream: Timeline, t: int) -> list[Value]:
    """The positions of the elements that are in a window at an instant."""
    return [o.row[0] for o in window.content(stream, t, lambda _: 0)]


HOUR = 60


def working_hours(day: int, night: int) -> GenericWindow:
    """Astral's example 5 in minutes: the last hour, every ``day`` minutes from 7 to 20, every ``night`` else."""

    def gamma(t: int) -> int:
        rate = day if 7 * HOUR <= t % (24 * HOUR) < 20 * HOUR else night
        return t // rate * rate

    return GenericWindow("working_hours", lambda t: max(t - HOUR, 0), lambda t: t, gamma, (day, night))
