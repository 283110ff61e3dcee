"""A Kafka broker in KRaft mode on loopback, from its jars."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

from tests.services.certificates import Certificates
from tests.services.ivy import fetched
from tests.services.processes import end, free_port, wait_until

VERSION = "4.3.1"
USER, PASSWORD = "tester", "open-sesame-4711"
"""Who may use the listener that asks."""
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT,SECURE:SASL_SSL,CERTIFIED:SSL"
    ),
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.guarded.plain.sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    ),
    "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.secure.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "listener.name.certified.ssl.client.auth": "required",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.backoff.ms": 100,
    "log.initial.task.delay.ms": 100,
    "log.retention.check.interval.ms": 200,
}


def jars() -> Path:
    """The folder with the jars of Kafka."""
    return fetched(f"kafka-{VERSION}", "org.apache.kafka", "kafka_2.13", VERSION)


class KafkaBroker:
    """A broker that can be stopped and started again with all that it has."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._controller = free_port()
        self.servers = f"127.0.0.1:{free_port()}"
        self.guarded = f"127.0.0.1:{free_port()}"
        """Where one has to say who one is."""
        self.secure = f"127.0.0.1:{free_port()}"
        """The same behind TLS."""
        self.certified = f"127.0.0.1:{free_port()}"
        """Where a certificate says it."""
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        (folder / "server.properties").write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
        self.certificates = Certificates(folder)
        who = ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]
        self._java("kafka.tools.StorageTool", "format", "-t", _cluster(), "-c", "server.properties", *who).wait()
        self.start()
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def _properties(self) -> dict[str, object]:
        where = {"PLAINTEXT": self.servers, "GUARDED": self.guarded, "SECURE": self.secure, "CERTIFIED": self.certified}
        advertised = ",".join(f"{name}://{address}" for name, address in where.items())
        here = {
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": advertised,
            "ssl.keystore.location": self._folder / "server.pem",
            "ssl.truststore.location": self._folder / "authority.crt",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "log.dirs": self._folder / "data",
        }
        return _SETTINGS | here

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            memory = ["-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
            command = ["java", *memory, "-cp", f"{jars()}/*", name, *arguments]
            return subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        self._process = self._java("kafka.Kafka", "server.properties")
        wait_until(self._answers, "the broker answers", self._process)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Ends it; what it has stays."""
        assert self._process is not None
        end(self._process, number)

    def remove(self) -> None:
        """Ends it for ever."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(timeout=1.0)
        except KafkaException:
            return False
        return True

    # What tests do with topics.

    def topic(self, partitions: int = 1, **settings: str) -> str:
        """A new topic."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.make(name, partitions, **settings)
        return name

    def make(self, name: str, partitions: int = 1, **settings: str) -> None:
        """A new topic of a name."""
        config = {key.replace("_", "."): value for key, value in settings.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
        for partition in range(partitions):
            self.first_offset(name, partition)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Has a topic have so many partitions."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def wait_for_partitions(self, topic: str, partitions: int) -> None:
        """Waits until everybody sees so many partitions."""
        wait_until(
            lambda: len(self.admin.list_topics(topic, timeout=10).topics[topic].partitions) == partitions,
            "a topic has its partitions",
        )

    def delete_records(self, topic: str, partition: int, below: int) -> None:
        """Removes the records of a partition below an offset."""
        for future in self.admin.delete_records([TopicPartition(topic, partition, below)]).values():
            future.result(30)

    def delete(self, topic: str) -> None:
        """Removes a topic."""
        self.admin.delete_topics([topic])[topic].result(30)

    def make_anew(self, topic: str) -> None:
        """Removes a topic, and makes another one of its name."""
        self.delete(topic)
        wait_until(lambda: topic not in self.admin.list_topics(timeout=10).topics, "the topic is gone")
        self.make(topic)

    def first_offset(self, topic: str, partition: int = 0) -> int:
        """The offset of the first record that is there."""
        place, found = TopicPartition(topic, partition), list[int]()

        def is_known() -> bool:
            try:
                found.append(self.admin.list_offsets({place: OffsetSpec.earliest()})[place].result(30).offset)
            except KafkaException:
                # the client remembers a partition without a leader until it hears otherwise
                with suppress(KafkaException):
                    self.admin.list_topics(topic, timeout=30)
            return bool(found)

        wait_until(is_known, "a partition has a leader")
        return found[0]

    def wait_until_compacted(self, topic: str, records: int) -> None:
        """Writes on to a topic until so many of its first records are gone, which have successors."""

        def is_done() -> bool:
            self.send(topic, "{}", key="other")
            return bool(self.read(topic)[0].offset() >= records)

        wait_until(is_done, "the topic is compacted")

    def read(self, topic: str, partitions: int = 1) -> list[Message]:
        """All records of committed transactions, partition by partition."""
        settings = {"bootstrap.servers": self.servers, "group.id": "tests", "auto.offset.reset": "error"}
        consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False, "log_level": 0})
        found: list[Message] = []
        for partition in range(partitions):
            consumer.assign([TopicPartition(topic, partition, self.first_offset(topic, partition))])
            while True:
                record = consumer.poll(60)
                assert record is not None, "the broker says nothing"
                if record.error() is not None:
                    assert record.error().code() == KafkaError._PARTITION_EOF, record.error()
                    break
                found.append(record)
        consumer.close()
        return found

    def producer(self, **settings: object) -> Producer:
        """A producer of records."""
        config = {key.replace("_", "."): value for key, value in settings.items()}
        return Producer({"bootstrap.servers": self.servers, "linger.ms": 0, "log_level": 0, **config})

    def send(self, topic: str, *values: str | bytes | None, partition: int = 0, **fields: object) -> None:
        """Writes records, and waits until they are there."""
        producer = self.producer()
        for value in values:
            producer.produce(topic, value=value, partition=partition, **fields)
        assert producer.flush(60) == 0


def _cluster() -> str:
    """An id of a cluster as Kafka spells it."""
    import base64

    return base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=").replace("-", "A")
