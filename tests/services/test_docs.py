"""The examples of the page of connectors, with real servers behind them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.cli.helpers import continua, lines
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import answers
from tests.services.postgres_database import PostgresDatabase
from tests.services.schema_registry import SchemaRegistry
from tests.services.test_kafka_schemas import avro, record
from tests.test_docs import blocks

PAGE = blocks("docs/connectors.md", "sql")
NOON = "2026-05-01T12:00:00Z"
NOON_INSTANT = 1_777_636_800_000_000


@pytest.fixture(scope="module")
def topics(kafka: KafkaBroker) -> Iterator[KafkaBroker]:
    """The topics that the page speaks of."""
    names = ("bids", "visits", "payments", "tops", "offers", "shop.public.customer", "purchases")
    for name in names:
        kafka.make(name, retention_ms="-1")  # some records are old from the beginning
    yield kafka
    for name in names:
        kafka.delete(name)


def example(about: str, kafka: KafkaBroker) -> str:
    """The example of the page that has a text."""
    (block,) = (block for block in PAGE if about in block)
    return block.replace("localhost:9092", kafka.servers)


def test_the_example_of_a_topic_runs(topics: KafkaBroker) -> None:
    for price in (7.5, 9):
        topics.send("bids", json.dumps({"item_id": 1, "price": price, "ts": NOON}))
    assert answers(example("'bids'", topics))[0] == (NOON_INSTANT, "+", (1, 9.0))


def test_the_example_of_the_parts_of_records_runs(topics: KafkaBroker) -> None:
    topics.send("visits", "/", "/docs", "/", key="somebody", timestamp=NOON_INSTANT // 1000)
    found = answers(example("'visits'", topics))
    assert {row for instant, op, row in found if instant == NOON_INSTANT and op == "+"} == {("/", 2), ("/docs", 1)}


def test_the_example_of_states_of_keys_runs(topics: KafkaBroker) -> None:
    topics.send("offers", '{"price": 1.5}', None, key="7", timestamp=NOON_INSTANT // 1000)
    topics.send("offers", '{"price": 2}', key="8", timestamp=NOON_INSTANT // 1000)
    assert answers(example("'offers'", topics)) == [(NOON_INSTANT, "+", (8, 2.0))]


def test_the_example_of_changes_of_a_database_runs(topics: KafkaBroker) -> None:
    change = {"op": "c", "after": {"id": 1, "name": "Ada"}, "source": {"ts_ms": NOON_INSTANT // 1000}}
    topics.send("shop.public.customer", json.dumps(change))
    assert answers(example("customer", topics)) == [(NOON_INSTANT, "+", (1, "Ada"))]


def test_the_example_of_a_registry_runs(
    topics: KafkaBroker, registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "not asked for here")
    amount = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    schema = record("Purchase", item_id="int", amount=amount, ts={"type": "long", "logicalType": "timestamp-micros"})
    number = registry.register("purchases-value", json.dumps(schema))
    value = {"item_id": 7, "amount": Decimal("1.25"), "ts": datetime.fromisoformat(NOON)}
    topics.send("purchases", avro(schema, value, number))
    script = example("'purchases'", topics).replace("http://localhost:8081", registry.url)
    assert answers(script)[0] == (NOON_INSTANT, "+", (7, Decimal("1.25")))


def test_the_example_of_a_secret_runs(topics: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "not asked for here")
    topics.send("payments", json.dumps({"account": 7, "amount": 10000.01, "ts": NOON}))
    assert [op for _, op, _ in answers(example("'payments'", topics))] == [None]


def test_the_example_of_a_sink_runs(topics: KafkaBroker, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("item_id,price,ts\n7,1.5,2026-05-01T10:00:00Z\n")
    (tmp_path / "s.sql").write_text(example("'tops'", topics))
    assert continua("run", str(tmp_path / "s.sql")).exit_code == 0
    found = [(r.key(), r.value()) for r in topics.read("tops")]
    assert found == [(b'{"item_id": 7}', b'{"item_id": 7, "top": 1.5}'), (b'{"item_id": 7}', None)]


def test_the_example_of_a_table_runs(
    postgres: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deals.csv").write_text("item_id,price,ts\n7,1.5,2026-05-01T10:00:00Z\n7,2.5,2026-05-01T10:00:01Z\n")
    (script,) = (block for block in PAGE if "postgres('best'" in block)
    (tmp_path / "s.sql").write_text(script)
    monkeypatch.setenv("PG", postgres.url)
    assert continua("run", str(tmp_path / "s.sql")).exit_code == 0
    assert postgres.execute("SELECT * FROM best") == [(7, 2.5)]


def test_the_examples_of_tables_as_sources_run(
    postgres: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("CREATE TABLE product (id INT PRIMARY KEY, name TEXT, price NUMERIC(10, 2))")
    postgres.execute("INSERT INTO product VALUES (1, 'oak desk', 150), (2, 'lamp', 20)")
    postgres.execute("CREATE TABLE rates (currency TEXT, rate NUMERIC(10, 4), valid BOOLEAN)")
    postgres.execute("INSERT INTO rates VALUES ('EUR', 1.08, true), ('DEM', 0.5, false)")
    monkeypatch.setenv("PG", postgres.url)
    for about, wanted in (
        ("'product'", {"id": 1, "name": "oak desk"}),
        ("FROM rates", {"currency": "EUR", "rate": 1.08}),
    ):
        (script,) = (block for block in PAGE if about in block)
        (tmp_path / "s.sql").write_text(script)
        (line,) = lines(continua("run", str(tmp_path / "s.sql")))
        assert json.loads(line)["row"] == wanted
