"""A session of Spark Connect, with a server of its own: it is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.helpers import continua, write_script

_ASKED = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert spark.range(3).count() == 3
from continua import Session
from continua.errors import ContinuaError
for given in ({"spark": spark}, {}):
    try:
        Session(**given).spark
    except ContinuaError as error:
        print(error.condition, error.parameters["feature"])
spark.stop()
"""


def test_a_session_without_a_context_is_refused() -> None:
    around = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "CONTINUA_"))}
    found = subprocess.run([sys.executable, "-c", _ASKED], env=around, capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == ["NOT_SUPPORTED Spark Connect"] * 2, found.stderr


def test_a_server_of_spark_connect_is_no_master(tmp_path: Path) -> None:
    result = continua("run", write_script(tmp_path, "SHOW STREAMS;"), "--master", "sc://localhost:15002")
    assert result.exit_code == 3
    assert "error[BAD_MASTER]" in result.stderr and "Spark Connect" in result.stderr
