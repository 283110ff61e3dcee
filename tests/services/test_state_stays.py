"""On a cluster state stays where it is; where it cannot, it is loaded once, and nobody can tell by the answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.services.processes import wait_until
from tests.services.spark_cluster import SparkCluster


class Told:
    """The process of a session, which is told what to do."""

    def __init__(self, master: str, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "tests.services.state_child", master, *options]
        # the workers have one address and no common folder: what others have written is asked for, and not looked for
        asked = "--conf spark.shuffle.readHostLocalDisk=false pyspark-shell"
        around = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": asked}
        self._log = (folder / "child.log").open("ab")
        self._process = subprocess.Popen(
            command, env=around, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )

    def __call__(self, line: str) -> Any:
        """What it answers to a line."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, Path(self._log.name).read_text()[-3000:]
        return json.loads(answer)

    def kill(self) -> None:
        """It is no more."""
        self._process.kill()
        self._process.wait()
        self._log.close()


@contextmanager
def told(master: str, folder: Path, *options: str) -> Iterator[Told]:
    child = Told(master, folder, *options)
    try:
        yield child
    finally:
        child.kill()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    """Three workers, each with folders that no other sees."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    started = SparkCluster(hidden, tmp_path / "cluster.log", workers=3, cores=1)
    yield started
    started.remove()


def expected(folder: Path, instants: int) -> Any:
    """What a run of one process holds after so many instants."""
    with told("none", folder) as child:
        child(f"epochs {instants}")
        return child("content")


def executors(worker: subprocess.Popen[bytes]) -> list[int]:
    """The processes of executors that a worker has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == worker.pid and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(path.name))
    return found


def scratch(cluster: SparkCluster, hidden: Path) -> list[Path]:
    """What runs have in the folders of workers, seen from there."""
    roots = [Path(f"/proc/{worker.pid}/root{hidden}") for worker in cluster.workers if worker.poll() is None]
    return [path for root in roots for path in root.glob("**/continua/*")]


def settled(child: Told) -> int:
    """After so many epochs nothing is loaded any more: executors that were on their way have come."""
    for tens in range(1, 13):
        if child("epochs 10")["loads"] == 0:
            return 10 * tens
    raise AssertionError("state is loaded again and again")


def test_state_is_loaded_only_where_it_must_be(cluster: SparkCluster, tmp_path: Path) -> None:
    hidden, options = tmp_path / "hidden", ["--checkpoint", str(tmp_path / "checkpoint")]
    with told(cluster.master, tmp_path, *options) as child:
        child("epochs 5")
        quiet = child("epochs 60")
        assert quiet["openings"] >= 60 * 3 * 4
        assert quiet["loads"] < 0.02 * quiet["openings"]
        (executor,) = executors(cluster.workers[0])
        os.kill(executor, signal.SIGKILL)
        lost = child("epochs 10")
        assert 0 < lost["loads"] <= lost["openings"] / 5, "it is loaded once, and not in every epoch"
        cluster.workers[1].send_signal(signal.SIGTERM)
        cluster.add_worker()
        instants = 75 + settled(child)
        assert scratch(cluster, hidden)
        assert child("content") == expected(tmp_path, instants)
        child("stop")
    with told(cluster.master, tmp_path, *options, "--partitions", "5") as child:
        child("epochs 5")
        instants += 5
        assert child("content") == expected(tmp_path, instants)
        child("end")
    with told(cluster.master, tmp_path, *options, "--exchange") as child:
        instants += settled(child)
        assert child("content") == expected(tmp_path, instants)
        child("end")
    wait_until(lambda: not scratch(cluster, hidden), "workers have removed what runs had there")
