"""Graphs: a world and dozens of queries over it, and how the engine is to run them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.errors import ContinuaError
from continua.instants import TimeDomain
from continua.runs.plans import why_not
from continua.session import Session
from tests.square.queries import Queries
from tests.square.worlds import Settings, World, WorldMaker

BATCHES = (None, None, 1, 2, 3, 7)
PARTITIONS = (1, 2, 5)
MOST_WINDOWS = 5
"""With those of views; a query itself draws fewer."""
_VIEWS = ("V1", "D1", "T1", "V2", "D2")


@dataclass(frozen=True)
class Cut:
    """How many rows a source brings in an epoch (None: all), and over how many partitions work is divided."""

    batch_rows: int | None = None
    partitions: int = 1
    reopened: bool = False
    """Whether there is a checkpoint, and the state of partitions is read again from its files."""
    collecting: bool = False
    """Whether strings that are no longer needed are forgotten after each epoch, not only when there are many."""
    piece_rows: int | None = None
    """Into pieces of how many rows a partition cuts an epoch, if not of as many as usual."""


@dataclass
class Graph:
    """Queries of one session, and how often others were drawn and left out, by the reason."""

    seed: int
    world: World
    session: Session
    queries: list[Query]
    texts: list[str]
    cut: Cut
    left_out: Counter[str]


def draw(seed: int, count: int, most: int = 25, span: int = 40) -> Graph:
    """The graph of a seed: all that is random comes from it."""
    rng = random.Random(seed)
    left_out: Counter[str] = Counter()
    world = _with_views(WorldMaker(rng, most, span).world(), rng, left_out)
    session = world.session()
    mixed = rng.random() < 0.25
    queries: list[Query] = []
    texts: list[str] = []
    for _ in range(20 * count):
        if len(queries) == count:
            break
        text = (Settings(rng).script(world.timestamps) if mixed else "") + Queries(rng, world).statement()
        query = accepted(session, text, left_out)
        if query is None:
            continue
        if (query.domain is TimeDomain.MICROSECONDS) is not world.timestamps:
            session.queries.pop(query.name)
            left_out["without a stream, so not in the time of the others"] += 1
            continue
        queries.append(query)
        texts.append(text)
    return Graph(seed, world, session, queries, texts, _cut(rng), left_out)


def _cut(rng: random.Random) -> Cut:
    return Cut(
        rng.choice(BATCHES),
        rng.choice(PARTITIONS),
        rng.random() < 0.3,
        rng.random() < 0.3,
        rng.choice((None, None, 1, 3)),
    )


def accepted(session: Session, text: str, left_out: Counter[str]) -> Query | None:
    """The query, if it can be bound and the engine can run it."""
    try:
        query = session.sql(text)
    except ContinuaError as error:
        left_out[f"refused: {error.condition}"] += 1
        return None
    assert query is not None
    if sum(isinstance(node, Window) for node in nodes_of(query.bound.plan)) > MOST_WINDOWS:
        session.queries.pop(query.name)
        left_out["more windows than the reference answers quickly"] += 1
        return None
    reason = why_not(query, session.functions)
    if reason is not None:
        session.queries.pop(query.name)
        left_out[f"not for the engine: {reason.partition('[')[0].partition('(')[0]}"] += 1
        return None
    return query


def _with_views(world: World, rng: random.Random, left_out: Counter[str]) -> World:
    """The world with some named queries."""
    for name in _VIEWS:
        if rng.randrange(100) >= 50:
            continue
        text, columns = Queries(rng, world).view(name)
        extended = replace(world, views=(*world.views, text), named={**world.named, name: columns})
        try:
            extended.session()
        except ContinuaError as error:
            left_out[f"named query refused: {error.condition}"] += 1
            continue
        world = extended
    return world
