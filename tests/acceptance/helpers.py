"""Small scripts over small inputs: asks a query and shows its answer line by line and instant by instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeAlias

from continua.answers.query import Query, snapshot_of
from continua.errors import Diagnostic
from continua.instants import instant_of, value_of
from continua.reference.semantics import Reference, ordered_rows
from continua.session import Session
from continua.types import Value

Row: TypeAlias = tuple[Value, ...]
Moment: TypeAlias = int | datetime
Line: TypeAlias = tuple[Moment, str | None, Row]


@dataclass(frozen=True)
class Asked:
    """A query of a session that has its inputs."""

    session: Session
    query: Query
    prepared: Reference | None = None

    @cached_property
    def reference(self) -> Reference:
        """The reference over the rows that have arrived when it is first needed."""
        return self.prepared or self.session.reference([self.query])[self.query.name]

    @property
    def lines(self) -> list[Line]:
        """The answer: the instant, ``+``, ``-`` or ``u`` (None for an element of a stream), and the row."""
        domain = self.query.domain
        return [(value_of(a.instant, domain), a.op, a.row) for a in self.session.answers([self.query])]

    @property
    def elements(self) -> list[tuple[Moment, Row]]:
        """The answer of a query that is a stream."""
        assert all(op is None for _, op, _ in self.lines)
        return [(t, row) for t, _, row in self.lines]

    @property
    def notices(self) -> dict[str, list[dict[str, object]]]:
        """What the author is told: the parameters of each notice, by condition."""
        found: dict[str, list[dict[str, object]]] = {}
        for notice in self.query.bound.notices:
            found.setdefault(notice.condition, []).append(notice.parameters)
        return found

    def at(self, moment: Moment) -> list[Row]:
        """R at one instant: of the relation, or of the relation behind the stream; a row a copy, in order."""
        return ordered_rows(snapshot_of(self.query.bound.plan, self.reference, instant_of(moment)))

    def contents(self, moments: Iterable[Moment]) -> list[list[Row]]:
        """R at each of the instants."""
        return [self.at(moment) for moment in moments]

    def streamed_at(self, moment: Moment) -> list[Row]:
        """The elements that the stream has at one instant, in order."""
        instant = instant_of(moment)
        elements = self.reference.stream(self.query.bound.plan)
        return ordered_rows(Counter(e.row for e in elements if e.start <= instant < e.end))

    def streamed(self, moments: Iterable[Moment]) -> list[list[Row]]:
        """The elements at each of the instants."""
        return [self.streamed_at(moment) for moment in moments]


def session_with(
    definitions: str, rows: Mapping[str, Sequence[Row]] | None = None, session: Session | None = None
) -> Session:
    """A session (a new one unless one is given) in which the definitions hold and the rows have arrived."""
    session = session or Session()
    session.execute(definitions)
    for name, arrived in (rows or {}).items():
        session.insert(name, arrived)
    return session


def ask_in(session: Session, query: str) -> Asked:
    """Registers a query in a session that has its inputs."""
    registered = session.sql(query)
    assert registered is not None
    return Asked(session, registered)


def ask_all(session: Session, *queries: str) -> list[Asked]:
    """Registers several queries, which one reference answers: cheaper where many streams are tried."""
    registered = [ask_in(session, query).query for query in queries]
    references = session.reference(registered)
    return [Asked(session, query, references[query.name]) for query in registered]


def ask(definitions: str, rows: Mapping[str, Sequence[Row]], query: str, session: Session | None = None) -> Asked:
    """Asks one query over the given definitions and rows."""
    return ask_in(session_with(definitions, rows, session), query)


def found(diagnostics: Iterable[Diagnostic], condition: str) -> list[dict[str, object]]:
    """The parameters of the diagnostics with a condition."""
    return [d.parameters for d in diagnostics if d.condition == condition]


def day(time: str) -> datetime:
    """A moment of the day on which examples with timestamps take place: ``day("10:30")``."""
    return datetime.fromisoformat(f"2024-03-01 {time}")


def auction_streams(time: str) -> str:
    """The five streams of CQL 4.1, in the given time domain: ``BIGINT`` or ``TIMESTAMP``."""
    return f"""
        CREATE STREAM Register (user_id INT, name STRING, state STRING, ts {time}) ORDERED BY ts;
        CREATE STREAM Deregister (user_id INT, ts {time}) ORDERED BY ts KEY user_id;
        CREATE STREAM Open (item_id INT, seller_id INT, start_price DOUBLE, ts {time}) ORDERED BY ts KEY item_id;
        CREATE STREAM Close (item_id INT, ts {time}) ORDERED BY ts KEY item_id;
        CREATE STREAM Bid (item_id INT, bidder_id INT, bid_price DOUBLE, ts {time}) ORDERED BY ts;
    """
