"""Servers that are started once for all tests that need them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.kafka_broker import KafkaBroker
from tests.services.postgres_database import PostgresDatabase
from tests.services.schema_registry import SchemaRegistry


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka broker."""
    broker = KafkaBroker(Path(tmp_path_factory.mktemp("kafka")) / "broker")
    yield broker
    broker.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresDatabase]:
    """A PostgreSQL server."""
    database = PostgresDatabase()
    yield database
    database.remove()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """A registry of schemas."""
    found = SchemaRegistry(Path(tmp_path_factory.mktemp("registry")))
    yield found
    found.remove()
