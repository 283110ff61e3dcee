"""Databases that Spark reads and writes by JDBC, with a driver from Maven Central."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.following import COMMAND
from tests.services.postgres_database import PostgresDatabase
from tests.services.processes import cache
from tests.services.test_docs import PAGE

_DRIVER = "org.postgresql:postgresql:42.7.14"


def driver() -> Path:
    """The jar of the driver, fetched where it is missing."""
    folder = cache() / "jars"
    _, name, version = _DRIVER.split(":")
    jar = folder / f"{name}-{version}.jar"
    if not jar.exists():
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={_DRIVER}", f"-DoutputDirectory={folder}"]
        subprocess.run(command, check=True)
    return jar


def test_the_example_of_jdbc_runs(postgres: PostgresDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute("CREATE TABLE sellers (id INT, name TEXT)")
    postgres.execute("INSERT INTO sellers VALUES (1, 'Ada'), (2, 'Bob')")
    user, _, place = postgres.url.removeprefix("postgresql://").partition("@")
    monkeypatch.setenv("JDBC", f"jdbc:postgresql://{place}?user={user}")
    (tmp_path / "conf").mkdir()
    settings = f"spark.jars {driver()}\nspark.driver.memory 600m\nspark.ui.enabled false\n"
    (tmp_path / "conf" / "spark-defaults.conf").write_text(settings)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    (script,) = (block for block in PAGE if "spark('jdbc'" in block)
    (tmp_path / "s.sql").write_text(script)
    (tmp_path / "offers.csv").write_text("seller,price,ts\n1,2.5,2026-05-01T10:00:00Z\n3,1,2026-05-01T10:00:01Z\n")
    command = [*COMMAND, "run", "s.sql", "--master", "local[1]"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert postgres.execute("SELECT name, price FROM named") == [("Ada", 2.5)], json.dumps(ended.stderr)
