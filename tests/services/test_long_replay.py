"""The long replay in short: everything is killed, and what was written equals a run over files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.kafka_broker import KafkaBroker
from tests.services.long_replay import Plan, replayed
from tests.services.postgres_database import PostgresDatabase


def test_what_is_written_while_all_are_killed_equals_a_run_over_files(
    kafka: KafkaBroker, postgres: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG", postgres.url)
    told = replayed(Plan(minutes=5, speed=20, kills=3), kafka, postgres, tmp_path)
    assert told.startswith("600 bids")
