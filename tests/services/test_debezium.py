"""Tables of a real PostgreSQL server as Debezium tells them: what a query holds is what the table has."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.services.debezium import Debezium
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import answers
from tests.services.postgres_database import PostgresDatabase
from tests.services.processes import wait_until

TABLES = """
CREATE TABLE item (id INT PRIMARY KEY, name TEXT NOT NULL, price NUMERIC(8, 2), made TIMESTAMP, seen TIMESTAMPTZ,
  day DATE, raw BYTEA, tags TEXT[], n BIGINT NOT NULL);
CREATE TABLE bag (a INT, b TEXT);
ALTER TABLE bag REPLICA IDENTITY FULL;
INSERT INTO item SELECT n, 'first ' || n, n / 4.0, '2026-05-01 10:00:00.000001', '2026-05-01 10:00:00+02',
  '2026-05-01', '\\x00ff', ARRAY['a', 'b'], n FROM generate_series(1, 5) n;
INSERT INTO bag VALUES (1, 'x'), (1, 'x'), (2, NULL);
"""
ITEM = (
    "id INT, name STRING NOT NULL, price DECIMAL(8, 2), made TIMESTAMP, seen TIMESTAMP, `day` DATE, raw BINARY,"
    " tags ARRAY<STRING>, n BIGINT NOT NULL"
)


def statement(chance: random.Random) -> str:
    """A change of the tables."""
    n = chance.randrange(1, 12)
    match chance.randrange(8):
        case 0 | 1:
            return (
                f"INSERT INTO item (id, name, price, n) VALUES ({n}, 'new', {n}.25, 1) ON CONFLICT (id) DO UPDATE"
                " SET price = excluded.price"
            )
        case 2:
            return f"UPDATE item SET n = n + 1, day = day + 1 WHERE id > {n}"
        case 3:
            return f"DELETE FROM item WHERE id = {n}"
        case 4:
            return (
                f"UPDATE item SET id = id + 100 WHERE id = {n} AND NOT EXISTS (SELECT 1 FROM item WHERE id = {n} + 100)"
            )
        case 5:
            return f"INSERT INTO bag VALUES ({n}, 'y'), ({n}, 'y')"
        case 6:
            return f"UPDATE bag SET b = 'z' WHERE a = {n}"
        case _:
            return f"DELETE FROM bag WHERE a = {n}"


@pytest.fixture(scope="module", params=["true", "false"], ids=["with schemas", "without schemas"])
def told(
    request: pytest.FixtureRequest,
    kafka: KafkaBroker,
    postgres: PostgresDatabase,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """What the topics of tables begin with that were changed while the connector was at work, and while it was away."""
    chance, wraps = random.Random(7), str(request.param)
    prefix = f"p{wraps}"
    postgres.execute(TABLES)
    for table in ("item", "bag"):
        kafka.make(f"{prefix}.public.{table}")
    settings = {"value_converter_schemas_enable": wraps, "key_converter_schemas_enable": wraps}
    settings |= {"decimal_handling_mode": "precise" if wraps == "true" else "string"}
    settings |= {"value_converter": "org.apache.kafka.connect.json.JsonConverter"}
    settings |= {"key_converter": "org.apache.kafka.connect.json.JsonConverter"}
    folder = Path(tmp_path_factory.mktemp("debezium"))
    debezium = Debezium(folder, kafka, postgres, prefix, "item,bag", **settings)
    debezium.wait_for(kafka, f"{prefix}.public.item", 5)
    debezium.wait_for(kafka, f"{prefix}.public.bag", 3)
    for _ in range(30):
        postgres.execute(statement(chance))
    debezium.stop()
    for _ in range(10):
        postgres.execute(statement(chance))
    debezium.start()
    postgres.execute("INSERT INTO item (id, name, n) VALUES (999, 'last', 0)")
    postgres.execute("INSERT INTO bag VALUES (999, 'last')")
    for table in ("item", "bag"):
        wait_for_last(kafka, f"{prefix}.public.{table}")
    yield prefix
    debezium.remove(postgres)
    postgres.execute(f"DROP TABLE item; DROP TABLE bag; DROP PUBLICATION {prefix}")


def wait_for_last(kafka: KafkaBroker, topic: str) -> None:
    """Waits until the last change of a table has been told."""
    wait_until(lambda: any(b"999" in (r.value() or b"") for r in kafka.read(topic)), "the last change is told")


def held(kafka: KafkaBroker, topic: str, columns: str, clauses: str, names: str, **options: str) -> Counter[object]:
    """What a relation over a topic holds in the end, by its changes."""
    given = {"servers": f"'{kafka.servers}'", "format": "'debezium'", "tag": "op", "source_time": "ts"} | options
    written = ", ".join(f"{name} => {value}" for name, value in given.items())
    script = (
        f"CREATE RELATION T ({columns}, op STRING, ts TIMESTAMP) SOURCE kafka('{topic}', {written})"
        f" ORDERED BY ts SLACK 10 SECONDS TAGGED BY op {clauses};\n"
        f"REGISTER QUERY q AS SELECT {names} FROM T;\n"
    )
    found = Counter[object]()
    for _, op, row in answers(script):
        found[row] += 1 if op == "+" else -1
    assert all(count >= 0 for count in found.values())
    return +found


def plain(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)


@pytest.mark.parametrize("policy", ["STRICT", "UPSERT"])
def test_a_table_with_a_key_is_told_as_it_is(
    told: str, kafka: KafkaBroker, postgres: PostgresDatabase, policy: str
) -> None:
    unit = {} if told == "ptrue" else {"time_unit": "'microseconds'"}
    # bytes are in Base64, which only a schema tells
    columns = ITEM if told == "ptrue" else ITEM.replace("raw BINARY", "raw STRING")
    names = "id, name, price, made, seen, `day`, tags, n"
    found = held(kafka, f"{told}.public.item", columns, f"{policy} KEY id", names, **unit)
    wanted = postgres.execute("SELECT id, name, price, made, seen AT TIME ZONE 'UTC', day, tags, n FROM item")
    assert found == Counter(map(plain, wanted))
    assert len(found) > 3
    assert any(isinstance(row, tuple) and isinstance(row[2], Decimal) for row in found)


def test_a_table_without_a_key_is_told_by_its_rows(told: str, kafka: KafkaBroker, postgres: PostgresDatabase) -> None:
    found = held(kafka, f"{told}.public.bag", "a INT, b STRING", "", "a, b")
    assert found == Counter(postgres.execute("SELECT a, b FROM bag"))
