"""The servers themselves, so that a test of a connector that fails says something about the connector."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from tests.services.kafka_broker import KafkaBroker
from tests.services.postgres_database import PostgresDatabase


def test_a_broker_has_after_a_restart_what_it_was_given(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, "a", "b")
    kafka.stop()
    kafka.start()
    consumer = Consumer({"bootstrap.servers": kafka.servers, "group.id": "continua", "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [m.value() for m in consumer.consume(2, 60)] == [b"a", b"b"]
    consumer.close()


def test_a_database_tells_its_changes_and_has_them_after_a_restart(postgres: PostgresDatabase) -> None:
    assert postgres.execute("SHOW wal_level") == [("logical",)]
    postgres.execute("CREATE TABLE kept (a INT)")
    postgres.execute("INSERT INTO kept VALUES (1)")
    postgres.stop()
    postgres.start()
    assert postgres.execute("SELECT a FROM kept") == [(1,)]
    postgres.execute("DROP TABLE kept")
