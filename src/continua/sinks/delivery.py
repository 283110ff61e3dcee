"""The way of a query's answers to a sink: what tasks have written gets its name, all else is written here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa

from continua.algebra.base import Kind
from continua.answers.answer_tables import answers_table, written_as
from continua.answers.query import Query
from continua.runtime.checkpoint.yielded import Yielded
from continua.runtime.jobs import ResultWriter
from continua.sinks.bucket_sink import BucketSink, Upload, upload
from continua.sinks.by_spark import SparkSink
from continua.sinks.folder_sink import FolderSink
from continua.sinks.kafka_delivery import KafkaDelivery
from continua.sinks.kafka_sink import KafkaSink
from continua.sinks.named import writer_for
from continua.sinks.postgres_delivery import PostgresDelivery
from continua.sinks.postgres_sink import PostgresSink
from continua.sinks.sink import Sink
from continua.sinks.spark_delivery import SparkDelivery


@dataclass
class Delivered:
    """What was written to a sink."""

    rows: int = 0
    files: list[Path] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    """The names of those in a bucket."""


class Delivery:
    """A sink of a query, which gets the answers of finished epochs."""

    def __init__(self, query: Query, sink: Sink, by_tasks: bool) -> None:
        """``by_tasks``: whether tasks write the answers, where they can."""
        self.query = query
        self.sink = sink
        self.written = Delivered()
        self.writer: ResultWriter | None = writer_for(query, sink) if by_tasks else None
        """How tasks write the answers; None where they do not."""
        self._by_spark = SparkDelivery(query, sink) if isinstance(sink, SparkSink) else None
        self._to_kafka = KafkaDelivery(query, sink) if isinstance(sink, KafkaSink) else None
        self._to_postgres = PostgresDelivery(query, sink) if isinstance(sink, PostgresSink) else None
        self._there: set[str] | None = None
        """The names of what is in a bucket, once that has been seen."""

    @property
    def is_counted(self) -> bool:
        """Whether the rows that are written are counted by the tasks that yield them."""
        return any(way is not None for way in (self.writer, self._by_spark, self._to_kafka, self._to_postgres))

    def give(self, yielded: Yielded, epoch: int, checked: bool = False) -> None:
        """Gives an epoch's answers to the sink, unless it has them.

        If ``checked``, what it has is compared with what it should be. What an epoch yielded is put together with
        others' when all sinks have it. So of such an epoch nothing is missing, unless somebody has removed its files:
        then it is written anew as one, since it is not told by level and partition any more.
        """
        if isinstance(self.sink, FolderSink):
            if not yielded.is_apart(epoch):
                if not self.sink.is_whole(epoch, yielded.staged(self.query.name, epoch) if checked else {}):
                    self.sink.remove(epoch)
                    self._write_file(self.sink, yielded, epoch)
            elif self.writer is not None:
                self._publish(self.sink, yielded, epoch, checked)
            else:
                self._write_file(self.sink, yielded, epoch, checked)
        elif isinstance(self.sink, BucketSink):
            self._upload(self.sink, yielded, epoch)
        elif self._by_spark is not None:
            self._by_spark.give(yielded, epoch, checked)
        elif self._to_kafka is not None:
            self._to_kafka.give(yielded, epoch)
        elif self._to_postgres is not None:
            self._to_postgres.give(yielded, epoch)
        elif (answers := self._answers(yielded, epoch)) is not None:
            self.sink.write(epoch, answers)
            self.written.rows += answers.num_rows

    def _upload(self, sink: BucketSink, yielded: Yielded, epoch: int) -> None:
        """Has tasks put into a bucket what an epoch has yielded, as far as it is not there."""
        if self._there is None:
            self._there = set(sink.names())
        whole, query = sink.whole_name(epoch), self.query
        if query.kind is Kind.TAGGED or not yielded.is_apart(epoch):
            of_epoch = whole.removesuffix(f".{sink.format}")
            answers = None if any(n.startswith(of_epoch) for n in self._there) else self._answers(yielded, epoch)
            if answers is not None:
                self.written.objects.append(whole)
                sink.write(epoch, answers)
                self._there.add(whole)
                self.written.rows += answers.num_rows
            return
        address, kind, columns = yielded.store.address, written_as(query), tuple(query.columns)
        wanted = [
            Upload(address, segment, digest, query.name, sink, name, kind, query.domain, columns)
            for (level, part), (segment, digest) in zip(
                yielded.places(query.name, epoch), yielded.segments(query.name, epoch), strict=True
            )
            if (name := sink.part_name(epoch, level, part)) not in self._there
        ]
        # they are of this run, and to be taken back, however far putting them there comes
        self.written.objects += [each.name for each in wanted]
        if wanted:
            self.written.rows += sum(yielded.in_tasks(upload, wanted))
        self._there.update(each.name for each in wanted)

    def _answers(self, yielded: Yielded, epoch: int) -> pa.Table | None:
        results = yielded.of(self.query.name, epoch, epoch)
        return None if results is None else answers_table(self.query, results)

    def _write_file(self, sink: FolderSink, yielded: Yielded, epoch: int, checked: bool = False) -> None:
        path = sink.file(epoch)
        there = path.exists()
        if there and not checked:
            return
        answers = self._answers(yielded, epoch)
        if answers is None:
            return
        if not there:
            # it is of this run, and to be taken back, however far writing it comes
            self.written.files.append(path)
            self.written.rows += answers.num_rows
        if checked:
            sink.repair(epoch, answers)
        else:
            sink.write(epoch, answers)

    def _publish(self, sink: FolderSink, yielded: Yielded, epoch: int, checked: bool) -> None:
        """What tasks have written for an epoch is there for readers from now on."""
        name = self.query.name

        def again(level: int, part: int) -> pa.Table:
            return answers_table(self.query, yielded.segment(name, epoch, level, part))

        digests = yielded.staged(name, epoch) if checked else {}
        places = yielded.places(name, epoch)
        for level, part in places:
            made = sink.publish(yielded.named(epoch), level, part, partial(again, level, part), digests)
            if made is not None:
                self.written.files.append(made)
        if places:
            sink.published()
