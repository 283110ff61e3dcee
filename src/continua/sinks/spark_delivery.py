"""The way of a query's answers to what Spark writes: each epoch once, also if a run is interrupted meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.algebra.base import Kind
from continua.answers.answer_tables import answers_table, empty_answers, written_as
from continua.answers.plain_answers import plain_answers
from continua.answers.query import Query
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.result_segments import read_segment
from continua.runtime.checkpoint.seals import understood
from continua.runtime.checkpoint.store import Address, Numbered, Store, store_at
from continua.runtime.checkpoint.yielded import Yielded
from continua.sinks.by_spark import SparkSink, with_epoch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SINKS = "sinks"
"""The folder of a store with what is known of what Spark has written."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The last epoch that is certainly written, and the last that was begun."""

    done: int = 0
    begun: int = 0


class SparkDelivery:
    """Gives the answers of a query to Spark."""

    def __init__(self, query: Query, sink: SparkSink) -> None:
        self._query = query
        self._sink = sink
        self._record = f"{SINKS}/{safe_name(query.name)}"
        self._known: _Known | None = None
        self._note: Numbered | None = None
        """The name of what is known."""

    def give(self, yielded: Yielded, epoch: int, checked: bool) -> None:
        """Has Spark write an epoch's answers, unless it has; ``checked``: it may have, whatever is known of it."""
        spark, store = yielded.spark, yielded.store
        if spark is None:
            raise self._sink.needs_spark()
        if self._known is None:
            self._note, self._known = _recorded(store, self._record)
            if self._known.done:
                self._sink.check_there(spark, self._known.done)
        known = self._known
        if epoch <= known.done:
            return
        rows = self._rows(spark, yielded, epoch)
        if rows is None:
            return
        if not ((checked or epoch <= known.begun) and self._has(spark, epoch, rows)):
            self._write_down(yielded, _Known(known.done, epoch))
            self._sink.append(rows)
        self._write_down(yielded, _Known(epoch, epoch))

    def _write_down(self, yielded: Yielded, known: _Known) -> None:
        store, before = yielded.store, self._note
        self._note = Numbered(1 if before is None else before.number + 1, store.address.term)
        store.put(f"{self._record}/{self._note}", json.dumps(asdict(known)).encode(), yielded.durable)
        if before is not None:
            store.delete(f"{self._record}/{before}")
        self._known = known

    def _has(self, spark: SparkSession, epoch: int, rows: DataFrame) -> bool:
        """Whether an epoch is there; one of which that can not be seen is written again."""
        column = with_epoch(empty_answers(self._query), epoch).column_names[-1]
        found = self._sink.count(spark, column, epoch)
        if not found:
            return False
        wanted = rows.count()
        if found != wanted:
            raise self._sink.doubtful(epoch, found, wanted)
        return True

    def _rows(self, spark: SparkSession, yielded: Yielded, epoch: int) -> DataFrame | None:
        """The answers of an epoch as Spark has them; None if there are none.

        Tasks read what tasks have yielded, but where the answers of an instant can be in several partitions.
        """
        query = self._query
        if query.kind is Kind.TAGGED or not yielded.is_apart(epoch):
            results = yielded.of(query.name, epoch, epoch)
            return None if results is None else spark.createDataFrame(with_epoch(answers_table(query, results), epoch))
        segments = yielded.segments(query.name, epoch)
        if not segments:
            return None
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        schema = from_arrow_schema(with_epoch(empty_answers(query), epoch).schema)
        columns, kind = tuple(query.columns), written_as(query)
        answers = partial(plain_answers, kind=kind, domain=query.domain, names=columns)
        task = partial(
            _read, yielded.store.address, query.name, epoch, answers, to_arrow_schema(schema, timezone="UTC")
        )
        places = spark.createDataFrame(segments, "name string, digest string").repartition(len(segments))
        return places.mapInArrow(task, schema)


def _read(
    address: Address,
    query: str,
    epoch: int,
    answers: Callable[[pa.Table], pa.Table],
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """In a task: the answers in some segments."""
    store = store_at(address)
    for batch in batches:
        for place in batch.to_pylist():
            rows = read_segment(store, place["name"], query, place["digest"])
            yield from with_epoch(answers(rows), epoch).cast(schema).to_batches()


def _recorded(store: Store, folder: str) -> tuple[Numbered | None, _Known]:
    last = max(store.numbers(folder), key=lambda note: (note.term, note.number), default=None)
    if last is None:
        return None, _Known()
    name = f"{folder}/{last}"
    found = store.get(name)
    with understood(f"{store.url}/{name}"):
        return last, _Known(**json.loads(found))
