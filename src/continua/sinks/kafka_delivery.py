"""The way of a query's answers to a topic of Kafka: each epoch once for readers of what is committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from continua.algebra.base import Kind
from continua.answers.answer_tables import answers_table, written_as
from continua.answers.plain_answers import plain_answers
from continua.answers.query import Query, deletion_key
from continua.instants import TimeDomain
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.result_segments import read_segment
from continua.runtime.checkpoint.store import Address, store_at
from continua.runtime.checkpoint.yielded import Yielded
from continua.sinks.kafka_records import changes, net_states
from continua.sinks.kafka_sink import KafkaSink
from continua.sinks.keyed_answers import check_key


@dataclass(frozen=True, slots=True)
class _Share:
    """What a partition of a level has yielded for a query in an epoch, as tasks find it and write it."""

    sink: KafkaSink
    store: Address
    writer: str
    query: str
    columns: tuple[str, ...]
    kind: Kind
    domain: TimeDomain
    epoch: int
    level: int
    partition: int
    segment: str
    """The name of the file with what was yielded, and its digest."""
    digest: str

    def write(self) -> None:
        """Writes it, in a transaction."""
        rows = read_segment(store_at(self.store), self.segment, self.query, self.digest)
        answers = plain_answers(rows, self.kind, self.domain, self.columns)
        part = f"{self.level}-{self.partition}"
        records = partial(changes, answers, self.columns, self.sink.key, (), self.epoch, part)
        self.sink.write_as(self.writer, self.epoch, self.partition, records)


class KafkaDelivery:
    """Gives the answers of a query to a topic.

    Tasks write them, each partition of a level under a name of its own. The states of keys, and what is tagged, are
    written here: the rows of one key may have been yielded by several partitions.
    """

    def __init__(self, query: Query, sink: KafkaSink) -> None:
        check_key(query, sink.key, str(sink))
        self._query = query
        self._sink = sink
        self._columns = tuple(query.columns)
        self._by_key = bool(sink.key) and query.kind is not Kind.STREAM
        self._reached: tuple[int, int] | None = None
        """The last epoch that was written before this process, and how many records it has there."""

    def give(self, yielded: Yielded, epoch: int) -> None:
        """Has an epoch's answers written, unless they are."""
        if self._by_key or self._query.kind is Kind.TAGGED:
            self._write(yielded, epoch)
            return
        if not yielded.is_apart(epoch):
            self._write_whole(yielded, epoch)
            return
        shares = self._shares(yielded, epoch)
        spark = yielded.spark
        if spark is None:
            self._sink.prepare(share.writer for share in shares)
            for share in shares:
                share.write()
        elif shares:
            spark.sparkContext.parallelize(shares, len(shares)).foreach(_Share.write)

    def _write_whole(self, yielded: Yielded, epoch: int) -> None:
        """Writes an epoch whose shares are not told any more, unless it is there.

        One epoch is written after the other, so that what is in doubt can be the last one alone.
        """
        if self._reached is None:
            self._reached = self._sink.furthest(self._writer(yielded, ""))
        last, there = self._reached
        if epoch < last:
            return
        results = yielded.of(self._query.name, epoch, epoch)
        wanted = 0 if results is None else answers_table(self._query, results).num_rows
        if epoch > last:
            self._write(yielded, epoch)
        elif there != wanted:
            raise self._sink.doubtful(epoch, there, wanted)

    def _write(self, yielded: Yielded, epoch: int) -> None:
        results = yielded.of(self._query.name, epoch, epoch)
        if results is None:
            return
        answers = answers_table(self._query, results)
        key = self._sink.key
        if self._by_key:
            records = partial(net_states, answers, self._columns, key, epoch, "all")
        else:
            records = partial(changes, answers, self._columns, key, deletion_key(self._query), epoch, "all")
        self._sink.write_as(self._writer(yielded, "all"), epoch, 0, records)

    def _shares(self, yielded: Yielded, epoch: int) -> Sequence[_Share]:
        query, store = self._query, yielded.store.address
        places = yielded.places(query.name, epoch)
        segments = yielded.segments(query.name, epoch)
        return [
            _Share(
                self._sink,
                store,
                self._writer(yielded, f"{level}-{part}"),
                query.name,
                self._columns,
                written_as(query),
                query.domain,
                epoch,
                level,
                part,
                segment,
                digest,
            )
            for (level, part), (segment, digest) in zip(places, segments, strict=True)
        ]

    def _writer(self, yielded: Yielded, part: str) -> str:
        """The name under which a share is written: the same for every process that goes on with the run."""
        store = yielded.store.address
        return f"continua/{store.run or store.url}/{safe_name(self._query.name)}/{part}"
