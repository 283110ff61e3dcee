"""Kafka Connect with Debezium's connector: it tells a broker how tables of a PostgreSQL database change."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from tests.services.ivy import fetched
from tests.services.kafka_broker import VERSION, KafkaBroker
from tests.services.postgres_database import PostgresDatabase
from tests.services.processes import end, free_port, wait_until

DEBEZIUM = "3.7.0.Final"


def _class_path() -> str:
    connect = fetched(f"connect-{VERSION}", "org.apache.kafka", "connect-runtime", VERSION)
    name = "debezium-connector-postgres"
    return f"{connect}/*:{fetched(f'{name}-{DEBEZIUM}', 'io.debezium', name, DEBEZIUM)}/*"


class Debezium:
    """A connector for some tables, which can be stopped and started again; its topics are ``PREFIX.public.TABLE``."""

    def __init__(
        self, folder: Path, kafka: KafkaBroker, postgres: PostgresDatabase, prefix: str, tables: str, **settings: str
    ) -> None:
        """``settings``: of the connector, with underscores in place of points."""
        self._folder = folder
        database = conninfo_to_dict(postgres.url)
        _write(
            folder / "worker.properties",
            {
                "bootstrap.servers": kafka.servers,
                "listeners": f"http://127.0.0.1:{free_port()}",
                "offset.storage.file.filename": folder / "offsets",
                "offset.flush.interval.ms": 500,
                "key.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            },
        )
        _write(
            folder / "connector.properties",
            {
                "name": prefix,
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "topic.prefix": prefix,
                "database.hostname": database["host"],
                "database.port": database["port"],
                "database.user": database["user"],
                "database.password": "unused",
                "database.dbname": database["dbname"],
                "plugin.name": "pgoutput",
                "slot.name": prefix,
                "slot.drop.on.stop": "false",
                "publication.name": prefix,
                "publication.autocreate.mode": "filtered",
                "table.include.list": ",".join(f"public.{table}" for table in tables.split(",")),
                **{name.replace("_", "."): value for name, value in settings.items()},
            },
        )
        self.start()

    def start(self) -> None:
        """Starts it; what it tells comes later."""
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command = ["java", *memory, "-cp", _class_path(), "org.apache.kafka.connect.cli.ConnectStandalone"]
        with (self._folder / "log").open("ab") as log:
            files = ["worker.properties", "connector.properties"]
            self._process = subprocess.Popen([*command, *files], cwd=self._folder, stdout=log, stderr=log)

    def stop(self) -> None:
        """Ends it; where it was, it knows when it is started again."""
        end(self._process)

    def wait_for(self, kafka: KafkaBroker, topic: str, records: int) -> None:
        """Waits until a topic has so many records."""

        def are_there() -> bool:
            return topic in kafka.admin.list_topics(timeout=10).topics and len(kafka.read(topic)) >= records

        wait_until(are_there, f"{topic} has {records} records", self._process)

    def remove(self, postgres: PostgresDatabase) -> None:
        """Ends it for ever."""
        self.stop()
        postgres.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active")
        shutil.rmtree(self._folder, ignore_errors=True)


def _write(path: Path, properties: dict[str, object]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
