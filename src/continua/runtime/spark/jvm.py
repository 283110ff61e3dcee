"""The JVM of a local Spark, started without Spark's scripts when an archive of its classes is there.

Spark's own way is a shell script, a JVM that writes the command of another JVM, and in that one the program that
prepares an application for any cluster. A local Spark needs nothing of it but the server that Python talks to.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from continua.runtime.spark.jvm_archive import Archive, Installation

Gateway = Any
"""PySpark's connection to a JVM, of a library without types."""

_SERVER = "org.apache.spark.api.python.PythonGatewayServer"
QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")
"""An archive that does not fit is passed over without a word on the standard output."""

_HARMLESS = {"SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_USER", "SPARK_ENV_LOADED"}
_OTHERS = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
_SUBMITTED = (
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.submit.",
    "spark.pyspark.",
    "spark.kerberos.",
    "spark.remote",
    "spark.api.mode",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.userClassPathFirst",
)
_OPTIONS, _MEMORY = "spark.driver.extraJavaOptions", "spark.driver.memory"
_environment = threading.Lock()


class JvmError(Exception):
    """The JVM ended before Python could talk to it."""


def can_launch(spark: Path, settings: Mapping[str, str]) -> bool:
    """Whether nothing is set that only Spark's own way of starting knows how to treat."""
    if any(name in os.environ for name in _OTHERS) or (spark / "conf").exists():
        return False
    if any(name.startswith("SPARK_") and name not in _HARMLESS for name in os.environ):
        return False
    return not any(name.startswith(_SUBMITTED) for name in settings)


class Jvm:
    """A JVM that starts."""

    def __init__(self, installation: Installation, options: Sequence[str], settings: Mapping[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="continua-jvm-"))
        given = list(options)
        if memory := settings.get(_MEMORY):
            given = [*(o for o in given if not o.startswith("-Xmx")), f"-Xmx{memory}"]
        given += shlex.split(settings.get(_OPTIONS, ""))
        # Spark's static parts read their settings from the properties of the JVM.
        properties = [f"-D{name}={value}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [str(installation.java), *given, *properties, _SERVER],
            # The server ends when this pipe is closed, hence with this process.
            stdin=subprocess.PIPE,
            env=self._environment(installation),
            # An interrupt from the terminal is for Python, which decides what becomes of the jobs.
            process_group=0,
        )

    def _environment(self, installation: Installation) -> dict[str, str]:
        own = {
            "SPARK_HOME": str(installation.spark),
            "SPARK_CONNECT_MODE": "0",
            "PYTHONHASHSEED": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told),
        }
        return {**os.environ, **own}

    @property
    def _told(self) -> Path:
        """The file in which the server tells its port."""
        return self._folder / "connection"

    def connect(self) -> Gateway:
        """Waits until the server listens, and connects."""
        from pyspark.java_gateway import launch_gateway

        try:
            while not self._told.is_file():
                if self.process.poll() is not None:
                    raise JvmError
                time.sleep(0.01)
            told = self._told.read_bytes()
            port, length = struct.unpack_from("!ii", told)
            secret = told[8 : 8 + length].decode()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        with _environment:
            os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
            try:
                gateway: Gateway = launch_gateway()  # type: ignore[no-untyped-call]
            finally:
                del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
        gateway.proc = self.process
        return gateway

    def end(self, patience: float = 5.0) -> None:
        """Ends the JVM."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def options_for(archive: Archive) -> list[str]:
    """What the JVM is told to use an archive."""
    return [f"-XX:SharedArchiveFile={archive.classes}", *QUIET]


def launch(archive: Archive, settings: Mapping[str, str]) -> Jvm:
    """Starts a JVM with an archive."""
    return Jvm(archive.installation, [*archive.options, *options_for(archive)], settings)
