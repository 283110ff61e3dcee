"""Reading the records of a stretch of offsets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from continua.sources.kafka.cluster import Cluster, consumer, library, may_pass, told
from continua.sources.kafka.offsets import lost
from continua.sources.kafka.topic import Topic

_AT_ONCE = 1 << 14
"""So many records are asked for at once."""
_LOOK = 0.1
"""So many seconds are waited for them at once."""


class LostError(Exception):
    """A partition has no record any more where one was to be read."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of a partition, from one to below another."""

    topic: str
    partition: int
    begin: int
    end: int


def records_between(topic: Topic, source: str, shown: str, begin: int, end: int, most: int) -> tuple[list[Any], int]:
    """The records with offsets from one to below another, at most so many, and the offset behind them."""
    stretch = Stretch(topic.name, topic.partition(shown), begin, end)
    try:
        return records_of(topic.cluster, topic.committed, stretch, most)
    except LostError:
        raise lost(source, shown, begin) from None
    except library().KafkaException as error:
        raise told(error.args[0], f"{source} cannot read {shown}", topic.cluster) from None


def records_of(cluster: Cluster, committed: bool, stretch: Stretch, most: int) -> tuple[list[Any], int]:
    """The records of a stretch, at most so many, and the offset behind them.

    Not every offset has a record: what ends a transaction has none, and what was taken back of one is not seen.
    """
    found: list[Any] = []
    place, end = stretch.begin, stretch.end
    if place >= end or not most:
        return found, place
    kafka, heard = library(), time.monotonic()
    with consumer(cluster, committed) as reads:
        reads.assign([kafka.TopicPartition(stretch.topic, stretch.partition, place)])
        while place < end and len(found) < most:
            some = reads.consume(min(end - place, most - len(found), _AT_ONCE), _LOOK)
            if some:
                heard = time.monotonic()
            elif time.monotonic() > heard + cluster.timeout:
                raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TRANSPORT))
            fine = [record for record in some if record.error() is None]
            if fine:
                place = int(fine[-1].offset()) + 1
                # where offsets have no records, more may come than were asked for
                found += fine if place <= end else (record for record in fine if record.offset() < end)
            if len(fine) < len(some):
                place = max(place, *(_reached(record, kafka) for record in some if record.error() is not None))
    return found, min(place, end)


def _reached(told: Any, kafka: Any) -> int:
    """Up to where a partition has been read, by what the client tells in place of a record; 0 where it does not say."""
    error = told.error()
    if error.code() == kafka.KafkaError._PARTITION_EOF:
        return int(told.offset())
    if error.code() == kafka.KafkaError._AUTO_OFFSET_RESET:
        raise LostError
    if may_pass(error):
        return 0
    raise kafka.KafkaException(error)
