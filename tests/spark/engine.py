"""The engine on Spark over files, as the square runs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

from continua.answers.query import Query
from continua.physical import nodes
from continua.physical.placement import Placement
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.on_spark import OnSpark
from continua.runtime.progress import Progress
from continua.session import Session
from tests.spark.in_files import Files, Way, cut
from tests.square.checking import Lines, lines
from tests.square.graphs import Cut


class OnFiles:
    """Answers queries on Spark, in one way, over files; notes which physical operators have yielded rows."""

    def __init__(self, spark: SparkSession, folder: Path, way: Way) -> None:
        self._spark = spark
        self._folder = folder
        self._numbers = count()
        self.way = way
        self.operators: set[type[nodes.Node]] = set()

    def __call__(self, session: Session, queries: Sequence[Query], _: Cut) -> dict[str, Lines]:
        """The answers of queries that run as one graph; how it is cut is a matter of the way."""
        way = self.way
        folder = self._folder / f"{next(self._numbers)}"
        done: list[Progress] = []
        options = BoundedOptions(way.batch, folder / "checkpoint" if way.durable else None, way.partitions)
        with cut(way):
            given = Files(folder / "rows", way.delay).given(session, {s for q in queries for s in q.sources})
            with BoundedRun(queries, given, session.functions, OnSpark(self._spark), options) as run:
                run.to_the_end(done.append)
                answers = run.answers()
                self.operators |= set(at_work(run.engine.placement, done))
        return {q.name: lines([a for a in answers if a.query == q.name]) for q in queries}


def at_work(placement: Placement, done: Sequence[Progress]) -> Iterator[type[nodes.Node]]:
    """The physical operators that have yielded rows; where rows are read, those of sources that have some."""
    yielded = {node for progress in done for node, rows in progress.rows.items() if rows}
    read = {source for progress in done for source, rows in progress.rows_in.items() if rows}
    for number, level in enumerate(placement.levels):
        for node in level.nodes:
            fed = number == 0 and bool(read & set(_sources([node])))
            told = isinstance(node, nodes.QueryResult) and any(p.rows_out.get(node.query) for p in done)
            if node.id in yielded or fed or told:
                yield type(node)


def _sources(some: Iterable[nodes.Node]) -> Iterator[str]:
    for node in some:
        if isinstance(node, nodes.Source):
            yield node.name
        yield from _sources(node.inputs)


def operators(kind: type[nodes.Node] = nodes.Node) -> set[type[nodes.Node]]:
    """All kinds of physical operators; what several have in common is none itself."""
    return {found for below in kind.__subclasses__() for found in operators(below) or {below}}
