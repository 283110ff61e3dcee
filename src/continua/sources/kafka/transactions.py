"""Transactions of Kafka that are made once.

A writer has a name, by which brokers end what an earlier one of that name has begun. The last thing in each of its
transactions is a record in a topic of progress that tells the epoch. So whoever goes on under its name first has every
transaction of it decided, and then reads there up to which epoch its records are in the topic.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.sources.kafka.cluster import Cluster, admin, library, may_pass, patiently, told, with_reasons
from continua.sources.kafka.offsets import offsets_of
from continua.sources.kafka.records import Stretch, records_of

Header: TypeAlias = tuple[str, bytes | None]
Record: TypeAlias = tuple[bytes | None, bytes | None, list[Header]]
"""A key, a value and headers. Records are plain tuples, since there may be millions in a transaction."""
_LONGEST = 60
"""So many seconds a transaction may take: brokers end one that takes longer, as its writer seems to be gone."""
_ENDED = 30
"""So many seconds later at most they have."""
_ALL = 1 << 62
_FENCED = ("_FENCED", "_FATAL", "_STATE", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_TXN_STATE")
"""Another one goes on under the name of a writer, or has: what is true now is read anew."""
_PROGRESS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
_PAUSE = 0.1
_BY_KEY = -1
"""The client picks the partition of a record by its key."""
_TOLD = 1 << 10
"""After so many records the client is asked what has become of those before."""


@dataclass(frozen=True, slots=True)
class Target:
    """A topic that is written to."""

    topic: str
    cluster: Cluster
    progress: str
    """The topic with the progress of writers."""
    compression: str = "none"


@dataclass
class _Writer:
    """A producer under a name, the last epoch that it has written, and how many partitions its topic has."""

    producer: Any
    partitions: int
    done: int | None = None
    """None where that is not known yet."""


@dataclass
class _Progress:
    """How much of a topic of progress has been read, and what it says of writers."""

    read: int = 0
    epochs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By the name of a writer its last epoch, and how many records it has written in that."""


_lock = threading.Lock()
_writers: dict[tuple[int, Target, str], _Writer] = {}
"""By process, since one that was forked can not use the producers of its parent."""
_progress: dict[tuple[int, Cluster, str], _Progress] = {}


def is_empty(target: Target, what: str) -> bool:
    """Whether a topic has no records. Raises SourceError where it is not there."""
    kafka, asks = library(), admin(target.cluster)
    try:
        numbers = sorted(_partitions(target, asks, what))
        level = kafka.IsolationLevel.READ_UNCOMMITTED
        first, last = (
            offsets_of(asks, target.cluster, target.topic, numbers, latest=latest, level=level)
            for latest in (False, True)
        )
        return first == last
    except kafka.KafkaException as error:
        raise told(error.args[0], f"{what} cannot be looked at", target.cluster) from None


def _partitions(target: Target, asks: Any, what: str) -> list[int]:
    def ask() -> Any:
        found = asks.list_topics(target.topic, timeout=target.cluster.timeout).topics[target.topic]
        if found.error is not None and found.error.name() != "UNKNOWN_TOPIC_OR_PART":
            raise library().KafkaException(found.error)
        return found

    found = patiently(target.cluster, ask)
    if found.error is None:
        return list(found.partitions)
    message = f"{what}: there is no topic {target.topic} at {target.cluster.servers}"
    raise SourceError(Diagnostic("TOPIC_NOT_FOUND", message, parameters={"topic": target.topic}))


def prepare(target: Target, what: str, writers: Iterable[str]) -> None:
    """Has brokers decide all that earlier writers of some names have begun, so that none has to wait for another."""
    for writer in writers:
        try:
            _opened((os.getpid(), target, writer), what)
        except library().KafkaException as error:
            raise _refused(error.args[0], what, target) from None


def write_once(
    target: Target, what: str, writer: str, epoch: int, part: int, records: Callable[[int], Iterable[Record]]
) -> None:
    """Writes the records of an epoch in a transaction, unless a writer of that name has.

    ``records`` makes them, given which epoch was the last that the writer has written. Those without a key go to one
    partition of the topic, in their order; which, says ``part``.
    """
    kafka, end = library(), time.monotonic() + target.cluster.timeout
    place = os.getpid(), target, writer
    while True:
        try:
            mine = _opened(place, what)
            if mine.done is None:
                mine.done = _progress_of(target).get(writer, (0, 0))[0]
            if mine.done < epoch:
                _commit(mine, target, writer, epoch, part, records(mine.done))
                mine.done = epoch
            return
        except kafka.KafkaException as error:
            with _lock:
                _writers.pop(place, None)
            found = error.args[0]
            if not (may_pass(found) or found.name() in _FENCED) or time.monotonic() >= end:
                raise _refused(found, what, target) from None
        time.sleep(_PAUSE)


def _refused(error: Any, what: str, target: Target) -> ContinuaError:
    return told(error, f"{what} cannot be written", target.cluster)


def _opened(place: tuple[int, Target, str], what: str) -> _Writer:
    """A writer under a name: what an earlier one has begun is decided from now on."""
    _, target, writer = place
    with _lock:
        found = _writers.get(place)
    if found is not None:
        return found
    kafka, cluster = library(), target.cluster
    settings = cluster.settings() | {
        "transactional.id": writer,
        "transaction.timeout.ms": _LONGEST * 1000,
        "compression.type": target.compression,
        "partitioner": "murmur2_random",
        "linger.ms": 5,
        "batch.size": 1 << 19,
        "queue.buffering.max.messages": 1 << 20,
    }
    producer = kafka.Producer(with_reasons(cluster, settings))
    producer.init_transactions(cluster.timeout)
    partitions = len(_partitions(target, producer, what))
    found = _Writer(producer, partitions)
    with _lock:
        _writers[place] = found
    return found


def _commit(mine: _Writer, target: Target, writer: str, epoch: int, part: int, records: Iterable[Record]) -> None:
    producer, own, number = mine.producer, part % mine.partitions, 0
    producer.begin_transaction()
    produce, topic = producer.produce, target.topic
    for number, (key, value, headers) in enumerate(records, 1):
        partition = own if key is None else _BY_KEY
        try:
            produce(topic, value, key, partition, headers=headers)
        except BufferError:
            _produce_later(producer, topic, (key, value, headers), partition)
        if not number % _TOLD:
            producer.poll(0)
    done = json.dumps({"epoch": epoch, "records": number}).encode()
    _produce_later(producer, target.progress, (writer.encode(), done, []), 0)
    producer.commit_transaction(_LONGEST)


def _produce_later(producer: Any, topic: str, record: Record, partition: int) -> None:
    """Gives a record to a client that may have as much as it takes: it goes on once brokers have taken some."""
    key, value, headers = record
    for tries in count(1):
        try:
            producer.produce(topic, value, key, partition, headers=headers)
            return
        except BufferError:
            producer.poll(_PAUSE * min(tries, 10))


def furthest(target: Target, what: str, writers: str) -> tuple[int, int]:
    """The last epoch of all writers whose names begin so, and how many records they have written in it together."""
    try:
        known = [found for name, found in _progress_of(target).items() if name.startswith(writers)]
    except library().KafkaException as error:
        raise _refused(error.args[0], what, target) from None
    last = max((epoch for epoch, _ in known), default=0)
    return last, sum(count for epoch, count in known if epoch == last)


def _progress_of(target: Target) -> dict[str, tuple[int, int]]:
    """What writers have done: their transactions, and all that were begun before now, are decided.

    Those of others may be open, behind which nothing is seen: they are waited for.
    """
    cluster = target.cluster
    asks = admin(cluster)
    _make_progress(target, asks)
    with _lock:
        known = _progress.setdefault((os.getpid(), cluster, target.progress), _Progress())
        level = library().IsolationLevel.READ_UNCOMMITTED
        first, last = (
            offsets_of(asks, cluster, target.progress, [0], latest=latest, level=level)[0] for latest in (False, True)
        )
        if not first <= known.read <= last:
            known.read, known.epochs = first, {}
        patient = replace(cluster, timeout=max(cluster.timeout, _LONGEST + _ENDED))
        found, known.read = records_of(patient, True, Stretch(target.progress, 0, known.read, last), _ALL)
        for record in found:
            done = json.loads(record.value())
            known.epochs[record.key().decode()] = int(done["epoch"]), int(done["records"])
        return dict(known.epochs)


def _make_progress(target: Target, asks: Any) -> None:
    """Makes the topic of progress, unless it is there; one partition has all of it."""
    from confluent_kafka.admin import NewTopic

    name, kafka = target.progress, library()
    found = asks.list_topics(name, timeout=target.cluster.timeout).topics[name]
    if found.error is None:
        return
    try:
        asks.create_topics([NewTopic(name, 1, config=_PROGRESS)])[name].result(target.cluster.timeout)
    except kafka.KafkaException as error:
        if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
            raise
