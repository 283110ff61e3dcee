"""The Spark session of the engine, when the user brings none.

``start_spark`` returns a session. ``start_in_background`` returns at once, with a ``StartingSpark`` that is asked for
the session when it is needed: the JVM and Python's workers start while the caller reads its script.

This module is imported before it is known whether Spark is needed, so it imports PySpark only where it starts it.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import threading
import warnings
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from continua.runtime.machines import spark_error
from continua.runtime.spark.jvm import Gateway, Jvm, JvmError, can_launch, launch, options_for
from continua.runtime.spark.jvm_archive import Archive, discard, find_archive, make_archive_at_exit
from continua.runtime.spark.warming import warm_frames, warm_workers

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SETTINGS = {
    _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.python.daemon.module": "continua.runtime.spark.daemon",
    # Spark sets this variable for tasks of frames. Set for all tasks, it lets them share one process that workers are
    # forked from: by a difference in their variables there would be two, each loading the kernels.
    "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1",
}
_CLUSTER_SETTINGS = {"spark.locality.wait": "500ms"}
"""A task waits less for the executor that has its state than it takes to load some."""
_LOCAL_SETTINGS = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_SMALL = "-XX:TieredStopAtLevel=1"
"""For small runs the JVM compiles quickly rather than well: a run of seconds ends before good code pays for itself."""


def is_local(master: str) -> bool:
    """Whether a master is this machine alone, where driver and executor are one JVM."""
    return master == "local" or master.startswith("local[")


def settings_for(master: str, name: str, small: bool, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """All settings of a session. Further options of the JVM are added to those that are needed."""
    given = dict(more or {})
    options = [_SETTINGS[_JAVA_OPTIONS]]
    if small and is_local(master):
        options.append(_SMALL)
    if own := given.pop(_JAVA_OPTIONS, None):
        options.append(own)
    local = _LOCAL_SETTINGS if is_local(master) else _CLUSTER_SETTINGS
    named = {"spark.master": master, "spark.app.name": name}
    return {**named, **_SETTINGS, **local, **given, _JAVA_OPTIONS: " ".join(options)}


@overload
def start_spark(master: str | None = None, name: str = "continua", **more: str) -> SparkSession: ...


@overload
def start_spark(
    master: str | None = None, name: str = "continua", *, small: bool, settings: Mapping[str, str] | None = None
) -> SparkSession: ...


def start_spark(
    master: str | None = None,
    name: str = "continua",
    *,
    small: Any = False,
    settings: Any = None,
    **more: str,
) -> SparkSession:
    """A session on a master (by default this machine's cores), quiet and set up for small, frequent jobs.

    With ``small`` a local JVM starts and works faster at first and slower in the long run. If there is a session
    already, that one is returned as it is.
    """
    given = {**(settings or {}), **more}
    return StartingSpark(master, name, small=small, warm=False, background=False, settings=given).session()


def start_in_background(
    master: str | None = None,
    name: str = "continua",
    *,
    small: bool = False,
    warm: bool = True,
    frames: bool = False,
    archive: bool = True,
    settings: Mapping[str, str] | None = None,
) -> StartingSpark:
    """Starts Spark and returns at once.

    With ``warm`` a local Spark's Python workers are started too, with ``frames`` besides a first job of frames is run;
    neither is waited for. With ``archive`` the archive of the JVM's classes is made after this process's end, at the
    lowest priority, if there is none yet.
    """
    return StartingSpark(master, name, small=small, warm=warm, frames=frames, archive=archive, settings=settings)


class StartingSpark:
    """A Spark that starts while its caller does other things."""

    def __init__(
        self,
        master: str | None,
        name: str,
        *,
        small: bool = False,
        warm: bool = True,
        frames: bool = False,
        archive: bool = False,
        background: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        master = master or f"local[{os.cpu_count() or 2}]"
        self._settings = settings_for(master, name, small, settings)
        self._warm, self._frames = warm and is_local(master), frames and is_local(master)
        self._found: Future[tuple[SparkSession, bool]] = Future()
        self._warming: threading.Thread | None = None
        self._warmed, self._unwanted = threading.Event(), threading.Event()
        self._archive, self._jvm = self._launched() if is_local(master) else (None, None)
        if archive and is_local(master) and self._archive is None:
            make_archive_at_exit()
        if background:
            threading.Thread(target=self._run, name="start-spark", daemon=True).start()
        else:
            self._run()

    def session(self) -> SparkSession:
        """Waits for the session; if Spark did not start, its error is raised here."""
        return self._found.result()[0]

    @property
    def ready(self) -> bool:
        """Whether the session can be had without waiting."""
        return self._found.done()

    @property
    def launched(self) -> bool:
        """Whether the JVM was started here, with an archive, and not by Spark's scripts."""
        return self._jvm is not None

    def wait_until_warm(self, seconds: float | None = None) -> bool:
        """Waits for the jobs that warm Spark up. A run need not: its own jobs do the same."""
        return self._warmed.wait(seconds)

    def stop(self) -> None:
        """Stops the session if it was started here; one that is still starting is stopped as soon as it can be."""
        self._unwanted.set()
        if not self._found.done() or self._found.exception() is not None:
            return
        session, own = self._found.result()
        if own:
            # what warms Spark up, or was interrupted, may be at work still: that it fails then concerns nobody
            with suppress(Exception):
                session.sparkContext.setLogLevel("OFF")
            with warnings.catch_warnings():
                # that the JVM is gone is told by whoever waited for it
                warnings.simplefilter("ignore", RuntimeWarning)
                session.stop()

    def __enter__(self) -> StartingSpark:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception as other:
            # a JVM that is gone need not be stopped, and whoever waited for it has told so
            if spark_error(other) is None:
                raise

    def _launched(self) -> tuple[Archive | None, Jvm | None]:
        """A JVM that starts with an archive, if there is one and no JVM is there yet."""
        if _has_jvm():
            return None, None
        archive = find_archive()
        if archive is None:
            return None, None
        if not can_launch(archive.installation.spark, self._settings):
            # Spark's own way of starting can use an archive too, though it saves less.
            self._settings[_JAVA_OPTIONS] += " " + shlex.join(options_for(archive))
            return archive, None
        try:
            return archive, launch(archive, self._settings)
        except OSError:
            return archive, None

    def _run(self) -> None:
        """In the background: the session, then what warms it up."""
        try:
            session, own = self._started()
        except BaseException as error:
            self._found.set_exception(error)
            self._warmed.set()
            return
        self._found.set_result((session, own))
        if self._unwanted.is_set():
            self.stop()
        elif own and self._frames:
            # A session that is stopped meanwhile ends its jobs with errors, which concern nobody.
            with suppress(Exception):
                warm_frames(session)
        if self._warming is not None:
            self._warming.join()
        self._warmed.set()

    def _started(self) -> tuple[SparkSession, bool]:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            self._abandon()
            return SparkSession.builder.getOrCreate(), False
        context = context_of(self._settings, self._connected())
        if self._warm and not self._unwanted.is_set():
            # The workers start while the session is made: one is Python's work, the other the JVM's.
            self._warming = threading.Thread(target=_warm_quietly, args=(context,), name="warm-spark", daemon=True)
            self._warming.start()
        return SparkSession.builder.getOrCreate(), True

    def _connected(self) -> Gateway | None:
        """The connection to the JVM that was launched, None if Spark is to start one."""
        if self._jvm is None:
            return None
        if self._warm:
            # Sending tasks for frames needs pandas, which takes its time; the JVM is not ready yet.
            with suppress(ImportError):
                import_module("pandas")
        if self._unwanted.is_set():
            self._abandon()
            raise JvmError("Spark was stopped before it was started")
        try:
            return self._jvm.connect()
        except JvmError:
            # It starts without an archive if it can start at all.
            assert self._archive is not None
            discard(self._archive)
            self._jvm = None
            return None

    def _abandon(self) -> None:
        if self._jvm is not None:
            self._jvm.end()


def context_of(settings: Mapping[str, str], gateway: Gateway | None = None) -> SparkContext:
    """The Spark context with settings, in the JVM of a gateway or in one that Spark starts."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setAll(list(settings.items()))
    quieten_py4j()
    context = SparkContext(conf=conf, gateway=gateway)
    context.setLogLevel("ERROR")
    if (server := getattr(context, "_accumulatorServer", None)) is not None:
        # a JVM that is gone is told by whoever waits for it, not by a traceback of this thread
        server.handle_error = _say_nothing
    return context


def quieten_py4j() -> None:
    """Has nothing logged of connections that break: whoever needs them is told."""
    for name in (None, "py4j.java_gateway", "py4j.clientserver"):
        logging.getLogger(name).addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Not the traceback that py4j logs besides the error that it raises when the JVM is gone."""
    return Path(record.pathname).parent.name != "py4j"


def _say_nothing(*_: object) -> None:
    pass


def _warm_quietly(context: SparkContext) -> None:
    with suppress(Exception):
        warm_workers(context)


def _has_jvm() -> bool:
    """Whether this process talks to a JVM already, which it then keeps."""
    core = sys.modules.get("pyspark.core.context")
    return core is not None and core.SparkContext._gateway is not None
