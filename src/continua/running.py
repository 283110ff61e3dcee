"""Queries on the engine: their graph, their rows, their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from continua.algebra.plan import BaseRelation, Source, TaggedSource
from continua.algebra.traverse import nodes_of
from continua.answers import Answer, Query, floored
from continua.catalog import AggregateInfo, FunctionInfo
from continua.physical.nodes import Sink
from continua.physical.planner import Planner
from continua.reference.elements import Inputs
from continua.results import answers_from
from continua.runtime.engine import Engine
from continua.runtime.executors import Executor
from continua.runtime.feed import Feed
from continua.types import DataType


@dataclass(frozen=True, slots=True)
class Options:
    """How the engine is run."""

    batch_rows: int | None = None
    checkpoint: Path | None = None
    partitions: int = 2


def sink_of(query: Query, functions: Iterable[FunctionInfo | AggregateInfo]) -> Sink:
    """The physical graph of a query."""
    aggregates = {f.name: f for f in functions if isinstance(f, AggregateInfo)}
    planner = Planner(query.start, query.chronon, query.domain, aggregates)
    return planner.query(query.name, query.bound.logical)


def column_types(queries: Iterable[Query]) -> dict[str, Sequence[DataType]]:
    """The column types of all sources of queries, by name."""
    found: dict[str, Sequence[DataType]] = {}
    for query in queries:
        for node in nodes_of(query.bound.logical):
            if isinstance(node, Source | BaseRelation | TaggedSource):
                found[node.name.casefold()] = node.schema.types
    return found


def run_queries(
    queries: Sequence[Query],
    inputs: Inputs,
    functions: Sequence[FunctionInfo | AggregateInfo],
    executor: Executor,
    options: Options,
) -> list[Answer]:
    """The answers of queries over bounded inputs, in time order; at one instant in the order of the queries."""
    engine = Engine(
        [sink_of(q, functions) for q in queries],
        executor,
        functions=functions,
        checkpoint=options.checkpoint,
        partitions=options.partitions,
    )
    try:
        feed = Feed.of_inputs(inputs, column_types(queries))
        for fed in feed.epochs(options.batch_rows):
            engine.epoch(fed.tables, fed.until, fed.offsets)
        found = [a for q in queries for a in answers_from(q, engine.results(q.name))]
        return sorted(found, key=lambda a: a.instant)
    finally:
        engine.close()


__all__ = ["Options", "column_types", "floored", "run_queries", "sink_of"]
