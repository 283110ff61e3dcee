"""Handles of live queries, with the names of Spark's StreamingQuery."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, cast

import pyarrow as pa

from continua.answers.answer_tables import answers_table, content_table, empty_answers
from continua.answers.query import Answer, Query
from continua.answers.shown_content import ShownContent
from continua.errors import BindError, Diagnostic, EvaluationError
from continua.runs.following import Follower
from continua.runs.live_run import LiveRun
from continua.sinks.sink import FunctionSink, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Function: TypeAlias = Callable[[int, pa.Table], object]
"""What is called with the number of an epoch and its answers."""


class QueryHandle(ShownContent):
    """One live query, under the names of Spark's StreamingQuery."""

    def __init__(self, run: LiveRun, name: str) -> None:
        self._run = run
        self.name = name
        self.id = str(uuid.uuid4())

    @property
    def query(self) -> Query:
        """The query itself."""
        return self._run.running(self.name)

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it is in the graph, and rows may come."""
        stream = self._run.stream
        return self.name in self._run.queries and (stream is None or stream.isActive)

    @property
    def recentProgress(self) -> list[dict[str, object]]:  # noqa: N802
        """What the last epochs did."""
        return list(self._run.recent)

    @property
    def lastProgress(self) -> dict[str, object] | None:  # noqa: N802
        """What the last epoch did."""
        return self._run.recent[-1] if self._run.recent else None

    def processAllAvailable(self) -> None:  # noqa: N802
        """Waits until all rows that have arrived are worked on."""
        self._run.process()

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Waits until the sources have ended, or so many seconds; whether they have.

        Without streams of Spark it works meanwhile on what comes.
        """
        if self._run.stream is not None:
            ended = self._run.stream.awaitTermination(timeout)  # type: ignore[arg-type]
            return ended is None or bool(ended)
        Follower(self._run, threading.Event(), duration=timeout).follow()
        return self._run.has_ended

    def stop(self) -> None:
        """Takes the query out of the graph."""
        self._run.drop(self.name)

    def exception(self) -> BaseException | None:
        """Why the run ended, if it failed."""
        failure = self._run.live.failure
        if failure is not None:
            return self._run.named(failure) if isinstance(failure, EvaluationError) else failure
        return self._run.stream.exception() if self._run.stream is not None else None

    def explain(self) -> str:
        """Its logical plan."""
        return self.query.explain()

    def foreach(self, sink: Sink | Function) -> None:
        """Gives the answers of every epoch to a sink, or to a function: the number of the epoch and their table."""
        is_sink = isinstance(sink, Sink) or hasattr(sink, "write")
        self._run.add_sink(self.name, cast("Sink", sink) if is_sink else FunctionSink(cast("Function", sink)))

    def answers(self, since: int | datetime | None = None) -> list[Answer]:
        """All answers up to the heartbeat, or those after an instant; an error where history is not kept so long."""
        return self._run.answers(self.name, since)

    def snapshot(self, instant: int | datetime | None = None) -> DataFrame | pa.Table:
        """Its content at an instant that is closed: a DataFrame, or an Arrow table where there is no Spark.

        The content of a stream is that of the relation behind it.
        """
        return self._frame(self._content(instant))

    def toArrow(self) -> pa.Table:  # noqa: N802
        """Its content at the latest instant that is closed."""
        return self._content()

    def _content(self, instant: int | datetime | None = None) -> pa.Table:
        query = self.query
        return content_table(query, self._run.content(self.name, instant))

    def changes(self, since: int | datetime | None = None) -> DataFrame | pa.Table:
        """Its changes up to the heartbeat, or those after an instant: a DataFrame, or an Arrow table without Spark.

        It is an error where history is not kept so long.
        """
        query, results = self.query, self._run.results(self.name, since)
        return self._frame(empty_answers(query) if results is None else answers_table(query, results))

    def toDF(self) -> DataFrame:  # noqa: N802
        """Its changes as a streaming DataFrame, from the first that are kept on: Spark reads them as epochs finish."""
        spark = self._run.spark
        if spark is None:
            message = "a streaming DataFrame is read by Spark, and this run works without it"
            hint = "name a Spark master instead of none"
            raise BindError(Diagnostic("NEEDS_SPARK", message, hint=hint, parameters={"query": self.name}))
        from continua.runs.changes_stream import changes_frame

        return changes_frame(spark, self._run.engine.store.address, self.query, self._run.since(self.name))

    def late(self, source: str, since: int | datetime | None = None) -> DataFrame | pa.Table:
        """The rows of a source that came too late, since the beginning, or those with times after an instant."""
        return self._frame(self._run.late(source, since))

    def _frame(self, table: pa.Table) -> DataFrame | pa.Table:
        return table if self._run.spark is None else self._run.spark.createDataFrame(table)
