"""A cluster whose machines share no folder: with its checkpoint in an object store a run is like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.helpers import BIDS, write_files, write_script
from tests.services.s3_server import KEY, SECRET, S3Server
from tests.services.spark_cluster import SparkCluster

QUERY = BIDS + "REGISTER QUERY q AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id;"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
_MAIN = "from continua.cli.main import main; main()"


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of which the worker sees nothing that others put there."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def cluster(hidden: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """The cluster; its worker may use the server for S3."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        started = SparkCluster(hidden, tmp_path_factory.mktemp("log") / "cluster.log")
    yield started
    started.remove()


def run(folder: Path, hidden: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command, whose own files are in the folder that the worker does not see."""
    script = write_script(folder, QUERY)
    command = [sys.executable, "-c", _MAIN, "run", script, "--batch-rows", "1", *options]
    around = {**os.environ, **CREDENTIALS, "TMPDIR": str(hidden), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)


def test_state_is_in_the_store_and_nowhere_else(cluster: SparkCluster, hidden: Path, tmp_path: Path) -> None:
    write_files(tmp_path)
    server = S3Server(tmp_path / "objects")
    expected = run(tmp_path, hidden, "--master", "none")
    assert expected.stdout
    for _ in range(2):
        found = run(tmp_path, hidden, "--master", cluster.master, "--checkpoint", server.url("ck"))
        assert (found.returncode, found.stdout) == (0, expected.stdout), found.stderr
    server.remove()


def test_executors_that_do_not_come_are_told(cluster: SparkCluster, hidden: Path, tmp_path: Path) -> None:
    """The run waits for them: a cluster may be busy."""
    write_files(tmp_path)
    command = [sys.executable, "-c", _MAIN, "run", write_script(tmp_path, QUERY), "--master", cluster.master]
    asked = {"PYSPARK_SUBMIT_ARGS": "--conf spark.executor.memory=900g pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    around = {**os.environ, **CREDENTIALS, **asked, "TMPDIR": str(hidden)}
    process = subprocess.Popen(command, cwd=tmp_path, env=around, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = next(line for line in process.stderr if "warning[" in line)
    assert told.startswith(f"warning[NO_EXECUTORS]: {cluster.master} has given no executor for 20 seconds")
    assert process.poll() is None
    process.kill()
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize("options", [["--checkpoint", "{hidden}/ck"], []], ids=["a folder", "no checkpoint"])
def test_what_only_this_machine_sees_is_refused(
    cluster: SparkCluster, hidden: Path, tmp_path: Path, options: list[str]
) -> None:
    write_files(tmp_path)
    given = [option.format(hidden=hidden) for option in options]
    refused = run(tmp_path, hidden, "--master", cluster.master, *given)
    assert refused.returncode == 3
    assert "error[CHECKPOINT_NOT_SHARED]" in refused.stderr
