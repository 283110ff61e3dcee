"""A standalone cluster of Spark: a master, and workers that have a folder of their own where others have another."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark

from tests.services.processes import end, free_port, listens, wait_until

_HOME = Path(pyspark.__file__).parent
_MOUNT = 'mount -t tmpfs none "$0" && exec "$@"'


class SparkCluster:
    """One master, and workers."""

    def __init__(self, hidden: Path, log: Path, workers: int = 1, cores: int = 2) -> None:
        """``hidden``: the folder of which a worker sees nothing that others put there; ``cores``: of each worker."""
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        known = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1", "TMPDIR": str(hidden)}
        known["SPARK_LOCAL_DIRS"] = str(hidden)
        self._environment = {**os.environ, **known}
        self._log = log.open("wb")
        one = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        self._processes = [self._start([str(_HOME / "bin/spark-class"), "org.apache.spark.deploy.master.Master", *one])]
        self._hidden, self._cores = hidden, cores
        try:
            wait_until(lambda: listens(port), "Spark's master listens", self._processes[0])
            self.workers = [self.add_worker() for _ in range(workers)]
        except BaseException:
            self.remove()
            raise

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One more worker, on a machine of its own as far as its folder goes."""
        worker = [str(_HOME / "bin/spark-class"), "org.apache.spark.deploy.worker.Worker", "--cores", str(self._cores)]
        worker += ["--memory", "1g", "--host", "127.0.0.1", "--webui-port", str(free_port())]
        worker += ["--work-dir", str(self._hidden), self.master]
        process = self._start(["unshare", "-m", "sh", "-c", _MOUNT, str(self._hidden), *worker])
        self._processes.append(process)
        return process

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=self._environment, stdout=self._log, stderr=subprocess.STDOUT)

    def remove(self) -> None:
        """Ends it."""
        for process in reversed(self._processes):
            end(process)
        self._log.close()
