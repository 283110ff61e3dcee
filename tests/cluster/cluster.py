"""A cluster without a common folder: a master, workers, a server for objects, and drivers, each on a machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import pyspark

from continua.objects.client import Bucket, bucket_at
from continua.objects.urls import BucketUrl, place_of
from tests.cluster.machines import DISK, Machine, Machines
from tests.services.processes import wait_until
from tests.services.s3_server import BUCKET, KEY, SECRET, gateway

WORKERS = ("worker1", "worker2", "worker3")
_NAMES = ("master", "store", *WORKERS, "worker4", "driver1", "driver2")
_SPARK = Path(pyspark.__file__).parent / "bin" / "spark-class"
_MASTER_PORT, _WEB_PORT, _STORE_PORT = 7077, 8080, 9000
_MAIN = "from continua.cli.main import main; main()"
PATIENCE = 600.0
"""So many seconds whatever is waited for may take: a machine may be busy with other things."""
_MOST_ROWS = 250
"""So few of each source are in an epoch that there are many, also where a driver comes later than the events."""
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""How all JVMs are started: there are five of them on the cores of one machine."""

_SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": str(len(WORKERS)),
    "spark.executor.extraJavaOptions": _QUICK,
}
"""One executor on each worker, unless a scenario says otherwise."""


class Cluster:
    """What runs where."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.machines = Machines(_NAMES)
        self._around = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_JAVA_OPTS": _QUICK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_SUBMIT_OPTS": _QUICK,
            "PYSPARK_PYTHON": sys.executable,
        }
        os.environ.update({name: self._around[name] for name in self._around if name.startswith("AWS_")})
        self._start_store()
        self._start_master()
        for name in WORKERS:
            self.start_worker(name)
        wait_until(lambda: self.workers == len(WORKERS), "the workers are there", patience=PATIENCE)

    @property
    def master(self) -> str:
        """The URL of the master."""
        return f"spark://{self.machines['master'].address}:{_MASTER_PORT}"

    @property
    def endpoint(self) -> str:
        """The URL of the server for objects."""
        return f"http://{self.machines['store'].address}:{_STORE_PORT}"

    def place(self, prefix: str, endpoint: str | None = None) -> str:
        """The URL of a prefix in the bucket, with options of the store."""
        return f"s3://{BUCKET}/{prefix}?endpoint={endpoint or self.endpoint}"

    def bucket(self, prefix: str) -> Bucket:
        """What is below a prefix, as everybody sees it."""
        url = place_of(self.place(prefix))
        assert isinstance(url, BucketUrl)
        return bucket_at(url)

    def _start_store(self) -> None:
        machine = self.machines.with_disk("store")
        around = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        serve = f"mkdir -p {DISK}/{BUCKET} && exec {gateway()} --port :{_STORE_PORT} --quiet --keep-alive posix {DISK}"
        process = machine.start(["sh", "-c", serve], self.logs / "store.log", around)
        wait_until(lambda: _answers(self.endpoint), "the server for objects listens", process)

    def _start_master(self) -> None:
        machine = self.machines["master"]
        options = ["--host", machine.address, "--port", str(_MASTER_PORT), "--webui-port", str(_WEB_PORT)]
        command = [str(_SPARK), "org.apache.spark.deploy.master.Master", *options]
        process = machine.start(command, self.logs / "master.log", self._around)
        wait_until(lambda: bool(self._told()), "Spark's master listens", process, PATIENCE)

    def start_worker(self, name: str) -> Machine:
        """Starts a worker on a machine, with room for the executors of two drivers."""
        machine = self.machines[name]
        command = [str(_SPARK), "org.apache.spark.deploy.worker.Worker", "--cores", "2", "--memory", "2g"]
        command += ["--host", machine.address, "--work-dir", "/tmp/work", self.master]
        machine.start(command, self.logs / f"{name}.log", self._around)
        return machine

    @property
    def workers(self) -> int:
        """How many workers the master knows to be there."""
        found = self._told().get("aliveworkers", 0)
        assert isinstance(found, int)
        return found

    def _told(self) -> dict[str, object]:
        with (
            suppress(OSError),
            urlopen(f"http://{self.machines['master'].address}:{_WEB_PORT}/json/", timeout=5) as told,
        ):
            found: dict[str, object] = json.load(told)
            return found
        return {}

    def drive(self, machine: str, script: str, checkpoint: str, *options: str, **settings: str) -> Driver:
        """Starts a driver: the command, on a machine, with its script on standard input."""
        given = {**_SETTINGS, **settings}
        told = " ".join(f"--conf '{name}={value}'" for name, value in given.items())
        around = {**self._around, "PYSPARK_SUBMIT_ARGS": f"{told} pyspark-shell"}
        command = [sys.executable, "-c", _MAIN, "run", "-", "--follow", "--master", self.master]
        command += [
            "--checkpoint",
            checkpoint,
            "--log-json",
            "--partitions",
            "3",
            "--max-rows-per-epoch",
            str(_MOST_ROWS),
            *options,
        ]
        log = self.logs / f"{machine}.log"
        log.write_bytes(b"")
        return Driver(self.machines[machine].start(command, log, around, script), log)

    def remove(self) -> None:
        """Ends it; nothing of it is left."""
        self.machines.remove()


class Driver:
    """A driver that runs, or has ended."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """What it has said."""
        return self.log.read_text(errors="replace")

    def ended(self, patience: float = PATIENCE) -> int:
        """Its exit status, once it has ended."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a driver did not end within {patience:.0f} s:\n{self.said[-2000:]}") from None


class Epochs:
    """The epochs of a checkpoint that are finished, and when each was."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.times: dict[int, float] = {}

    def look(self) -> int:
        """The number of the last epoch, as the store has it now."""
        numbers = [int(f.key.split("/")[1].split("-")[0].split(".")[0]) for f in self._bucket.found("epochs")]
        last = max(numbers, default=0)
        self.times.setdefault(last, time.monotonic())
        return last

    def wait_for(self, number: int, driver: Driver, patience: float = PATIENCE) -> None:
        """Waits until an epoch is finished."""
        end = time.monotonic() + patience
        while self.look() < number:
            assert driver.runs, f"the driver has ended before epoch {number}:\n{driver.said[-3000:]}"
            assert time.monotonic() < end, f"epoch {number} is not finished:\n{driver.said[-2000:]}"
            time.sleep(0.1)

    def pause_after(self, moment: float) -> float:
        """The longest time without a finished epoch that ended after a moment, in seconds."""
        known = sorted(self.times.values())
        return max((b - max(a, moment) for a, b in pairwise(known) if b > moment), default=0.0)


def _answers(url: str) -> bool:
    from urllib.error import HTTPError

    try:
        with urlopen(url, timeout=2):
            return True
    except HTTPError:
        return True
    except OSError:
        return False
