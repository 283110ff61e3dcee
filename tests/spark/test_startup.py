"""How Spark is started: its settings, the archive of the JVM's classes, and the start in the background."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from continua.runtime.spark import jvm_archive
from continua.runtime.spark.jvm import Jvm, JvmError, can_launch
from continua.runtime.spark.jvm_archive import find_archive, make_archive
from continua.runtime.spark.starting import settings_for, start_in_background, start_spark

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CONTENT = b"classes" * 1000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(jvm_archive.SWITCH, raising=False)
    if jvm_archive.installation() is None:
        pytest.skip("Java and Spark are not where they are expected")
    return tmp_path / "continua" / "jvm"


def written(cache: Path, options: list[str] | None = None) -> Path:
    """A folder with what looks like an archive."""
    mine = jvm_archive.installation()
    assert mine is not None
    folder = cache / mine.key
    cache.mkdir(mode=0o700, parents=True)
    folder.mkdir(mode=0o700)
    classes = folder / "classes.jsa"
    classes.write_bytes(CONTENT)
    record = {"format": jvm_archive.FORMAT, "options": options or [], **jvm_archive._described(classes)}
    (folder / "record.json").write_text(json.dumps(record))
    return folder


def test_settings_fit_the_master_and_the_size() -> None:
    small, large = settings_for("local[2]", "n", small=True), settings_for("local[2]", "n", small=False)
    cluster = settings_for(
        "spark://host:7077", "n", small=True, more={JAVA_OPTIONS: "-Dx=y", "spark.ui.enabled": "true"}
    )
    assert "TieredStopAtLevel=1" in small[JAVA_OPTIONS]
    assert "TieredStopAtLevel" not in large[JAVA_OPTIONS] + cluster[JAVA_OPTIONS]
    assert small["spark.driver.host"] == small["spark.driver.bindAddress"] == "127.0.0.1"
    assert not {"spark.driver.host", "spark.driver.bindAddress"} & set(cluster)
    assert "log4j2" in cluster[JAVA_OPTIONS] and cluster[JAVA_OPTIONS].endswith("-Dx=y")
    assert cluster["spark.ui.enabled"] == "true" and small["spark.ui.enabled"] == "false"
    assert not any(name.startswith("spark.executor.") for name in {**small, **cluster})


def test_spark_starts_its_own_way_when_something_is_set_that_it_treats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in os.environ if n.startswith(("SPARK_", "PYSPARK_SUBMIT", "HADOOP_"))]:
        monkeypatch.delenv(name)
    assert can_launch(tmp_path, settings_for("local[2]", "n", small=True))
    assert not can_launch(tmp_path, {"spark.jars.packages": "a:b:1"})
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not can_launch(tmp_path, {})
    monkeypatch.delenv("SPARK_CONF_DIR")
    (tmp_path / "conf").mkdir()
    assert not can_launch(tmp_path, {})


def test_an_archive_is_used_only_if_it_is_whole_and_the_users_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_archive() is None
    folder = written(cache, ["-Xmx1g"])
    found = find_archive()
    assert found is not None and found.options == ("-Xmx1g",)
    monkeypatch.setenv(jvm_archive.SWITCH, "0")
    assert find_archive() is None
    monkeypatch.delenv(jvm_archive.SWITCH)
    classes, record = folder / "classes.jsa", folder / "record.json"
    for path in (cache, folder, classes, record):
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o020)
        assert find_archive() is None, path
        path.chmod(mode)
    user = os.geteuid()
    with monkeypatch.context() as other:
        other.setattr(os, "geteuid", lambda: user + 1)
        assert find_archive() is None
    for broken in (CONTENT[:-1], b"x" + CONTENT[1:]):
        classes.write_bytes(broken)
        assert find_archive() is None
    classes.write_bytes(CONTENT)
    assert find_archive() is not None
    record.write_text("{")
    assert find_archive() is None


def test_an_archive_is_made_whole_by_one_process_at_a_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        runs.append(command[2])
        order = json.loads(Path(command[-1]).read_text())
        Path(order["classes"]).write_bytes(CONTENT)
        assert find_archive() is None
        return SimpleNamespace()

    monkeypatch.setattr(jvm_archive, "_asked_options", lambda _: ["-Xmx1g"])
    monkeypatch.setattr(subprocess, "run", run)
    folder = written(cache)
    (folder / "classes.jsa").write_bytes(b"broken")
    with (cache / f"{folder.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert make_archive() is None and not runs
    assert make_archive() == folder
    found = find_archive()
    assert found is not None and found.options == ("-Xmx1g",)
    assert make_archive() == folder and len(runs) == 1
    assert sorted(p.name for p in cache.iterdir()) == sorted([folder.name, f"{folder.name}.lock"])
    assert cache.stat().st_mode & 0o777 == folder.stat().st_mode & 0o777 == 0o700


def test_without_a_place_for_it_no_archive_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "continua").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert make_archive() is None and find_archive() is None
    jvm_archive._start_making()


def test_a_jvm_that_ends_at_once_is_told(cache: Path) -> None:
    mine = jvm_archive.installation()
    assert mine is not None and not cache.exists()
    jvm = Jvm(mine, ["-Xshare:auto", "-version"], {})
    with pytest.raises(JvmError):
        jvm.connect()
    jvm.end()


def test_a_session_that_is_there_is_neither_changed_nor_stopped(spark: SparkSession) -> None:
    def settings() -> dict[str, str]:
        return {**dict(spark.sparkContext.getConf().getAll()), **spark.conf.getAll}

    before = settings()
    with start_in_background("local[1]", archive=False, settings={"spark.sql.shuffle.partitions": "7"}) as pending:
        assert pending.session() is spark
        assert pending.wait_until_warm(60)
    assert start_spark("local[1]", small=True) is spark
    assert settings() == before
    assert spark.range(3).count() == 3


def test_tasks_of_both_kinds_are_forked_from_one_process(spark: SparkSession) -> None:
    def parent(_: Any) -> list[int]:
        return [os.getppid()]

    def parents(_: Any) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"parent": pa.array([os.getppid()], pa.int64())})

    frames = spark.range(1, numPartitions=1).mapInArrow(parents, "parent long").collect()
    assert spark.sparkContext.parallelize([0], 1).mapPartitions(parent).collect() == [frames[0][0]]


PROGRAM = """
from continua.runtime.spark.starting import start_in_background
with start_in_background("local[1]", small=True, archive=False) as pending:
    session = pending.session()
    assert pending.wait_until_warm(120)
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    options = session.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    assert any("TieredStopAtLevel=1" in option for option in options)
    print(pending.launched, session.range(5).mapInArrow(lambda batches: batches, "id long").count())
"""


@pytest.mark.parametrize("usable", [True, False])
def test_spark_starts_whatever_the_archive_is(cache: Path, usable: bool) -> None:
    """A file that is no archive is passed over by the JVM; if the JVM does not start, Spark starts its own way."""
    mine = jvm_archive.installation()
    assert mine is not None
    folder = written(cache, jvm_archive._asked_options(mine) if usable else ["-version"])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_SUBMIT"))}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [str(usable), "5"]
    assert folder.exists() == usable


STOPPED_AT_ONCE = """
from continua.runtime.spark.starting import start_in_background
with start_in_background("local[1]", small=True, archive=False) as pending:
    pending.session()
"""


def test_spark_that_is_stopped_while_it_warms_up_says_nothing() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_SUBMIT"))}
    command = [sys.executable, "-c", STOPPED_AT_ONCE]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert not [line for line in ran.stderr.splitlines() if not line.startswith("WARNING: Using incubator modules")]
