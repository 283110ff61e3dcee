"""The partitions of a topic as splits: from which offset to which records are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from continua.errors import CheckpointError, Diagnostic, SourceError
from continua.sources.kafka.cluster import Cluster, admin, library, patiently, told
from continua.sources.kafka.topic import Topic, topic_of
from continua.sources.positions import FilePosition, changed
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Split

WIDTH = 200
"""A record has about so many bytes."""
_POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The records of a partition that are there: from an offset to below another."""

    partition: int
    begin: int
    end: int


def kafka_splits(spec: SourceSpec, size: int) -> list[Split]:
    """What is there of a topic now, in splits of about so many bytes: of each partition at least one.

    Records of transactions that are not decided, and those behind them, are not there yet.
    """
    topic = topic_of(spec)
    kafka = library()
    try:
        identity, stretches = _looked_at(topic, spec)
    except kafka.KafkaException as error:
        raise told(error.args[0], f"{spec.name} cannot look at the topic {topic.name}", topic.cluster) from None
    step = max(size // WIDTH, 1)
    found: list[Split] = []
    for stretch in stretches:
        shown = topic.shown(stretch.partition)
        # lines are counted from 1 in files: here they are the offsets
        whole = Split(shown, shown, 0, 0, stretch.end, line=stretch.begin - 1, width=WIDTH, identity=identity)
        bounds = [*range(stretch.begin, max(stretch.end, stretch.begin + 1), step), stretch.end]
        found += [replace(whole, begin=a, end=b) for a, b in pairwise(bounds)]
    return found


def _looked_at(topic: Topic, spec: SourceSpec) -> tuple[str, list[_Stretch]]:
    kafka, cluster, asks = library(), topic.cluster, admin(topic.cluster)
    numbers, identity = _described(topic, spec, asks)
    if not topic.compacted:
        _refuse_compacted(topic, spec, asks)
    level = kafka.IsolationLevel.READ_COMMITTED if topic.committed else kafka.IsolationLevel.READ_UNCOMMITTED
    first = offsets_of(asks, cluster, topic.name, numbers, latest=False, level=level)
    last = offsets_of(asks, cluster, topic.name, numbers, latest=True, level=level)
    return identity, [_Stretch(n, first[n], max(last[n], first[n])) for n in numbers]


def _described(topic: Topic, spec: SourceSpec, asks: Any) -> tuple[list[int], str]:
    """The numbers of the partitions of a topic, and what tells it from others of its name."""
    kafka = library()

    def ask() -> Any:
        wanted = kafka.TopicCollection([topic.name])
        return asks.describe_topics(wanted, request_timeout=topic.cluster.timeout)[topic.name].result()

    try:
        found = patiently(topic.cluster, ask)
    except kafka.KafkaException as error:
        if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":
            raise
        parameters: dict[str, object] = {"source": spec.name, "topic": topic.name}
        message = f"there is no topic {topic.name} at {topic.cluster.servers}"
        raise SourceError(Diagnostic("TOPIC_NOT_FOUND", message, parameters=parameters)) from None
    return sorted(p.id for p in found.partitions), str(found.topic_id)


def _refuse_compacted(topic: Topic, spec: SourceSpec, asks: Any) -> None:
    """Refuses a topic of which records go from between others: what was read of it could not be read again."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    def ask() -> Any:
        wanted = ConfigResource(ResourceType.TOPIC, topic.name)
        return asks.describe_configs([wanted], request_timeout=topic.cluster.timeout)[wanted].result()

    policy = patiently(topic.cluster, ask)[_POLICY].value
    if "compact" in policy.split(","):
        raise SourceError(
            Diagnostic(
                "TOPIC_COMPACTED",
                f"the topic {topic.name} is compacted: Kafka removes records of it that have successors",
                hint="compacted => true reads what is left of it, whatever has been there before",
                parameters={"source": spec.name, "topic": topic.name, "policy": policy},
            )
        )


def offsets_of(
    asks: Any, cluster: Cluster, topic: str, partitions: Iterable[int], *, latest: bool, level: Any
) -> dict[int, int]:
    """Of each partition of a topic that is there the offset of the first record, or that behind the last one."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    def ask() -> dict[int, int]:
        wanted = {
            TopicPartition(topic, number): OffsetSpec.latest() if latest else OffsetSpec.earliest()
            for number in partitions
        }
        found = asks.list_offsets(wanted, isolation_level=level, request_timeout=cluster.timeout)
        try:
            return {place.partition: future.result().offset for place, future in found.items()}
        except library().KafkaException:
            # the client would remember for ever that a topic had no leader when it was made
            asks.list_topics(topic, timeout=cluster.timeout)
            raise

    return patiently(cluster, ask, ("UNKNOWN_TOPIC_OR_PART",))


class EndsEarlierError(CheckpointError):
    """A partition ends before what was read of it.

    For a moment that is so of one whose broker was started again after it had crashed: it knows its own end later.
    """


def check_offsets(source: str, known: Mapping[str, FilePosition], splits: Iterable[Split]) -> None:
    """Refuses a topic that is another one than was read, or has lost records that were not read."""
    there = {shown: list(mine) for shown, mine in groupby(splits, key=lambda s: s.shown)}
    for shown, position in known.items():
        mine = there.get(shown)
        if not mine:
            raise changed(source, shown, "is not there any more")
        if position.identity != mine[0].identity:
            raise changed(source, shown, "is of another topic of this name now")
        if mine[0].size < position.offset:
            what = f"had records up to offset {position.offset}, and ends at {mine[0].size} now"
            raise EndsEarlierError(*changed(source, shown, what).diagnostics)
        if mine[0].begin > position.offset:
            raise lost(source, shown, position.offset, mine[0].begin)


def lost(source: str, shown: str, begin: int, end: int | None = None) -> CheckpointError:
    """Records are gone that have not been read."""
    upto = "" if end is None else f" up to {end}"
    return CheckpointError(
        Diagnostic(
            "OFFSETS_LOST",
            f"{shown} has lost the records from offset {begin}{upto}, which {source} has not read",
            hint="how long a topic keeps records is a matter of its retention; start anew to go on with what is left",
            parameters={"source": source, "partition": shown, "offset": begin, "first": end},
        )
    )
