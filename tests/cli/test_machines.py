"""What is wrong with a machine is told by name, with exit status 3; afterwards the same command goes on."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result

from continua.cli.report import Report
from continua.kernels.store import arena
from continua.runtime.checkpoint import files
from continua.runtime.machines import check_master, spark_error
from continua.runtime.spark.starting import quieten_py4j
from tests.cli.helpers import BIDS, continua, lines, write_script

INTO = BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2] INTO json('out');"
PLAIN = BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2];"


def run(folder: Path, script: str, *options: str) -> Result:
    return continua("run", write_script(folder, script), *options)


def told(result: Result, condition: str, path: object = "") -> None:
    assert (result.exit_code, result.stdout) == (3, ""), result.stderr
    assert f"error[{condition}]: " in result.stderr
    assert str(path) in result.stderr
    assert "  hint: " in result.stderr


@contextmanager
def failing_writes(number: int, first: int) -> Iterator[None]:
    """All writes of checkpoints fail from one on."""
    steps = 0

    def hook(what: str, path: Path) -> None:
        nonlocal steps
        steps += what == "write"
        if what == "write" and steps >= first:
            raise OSError(number, os.strerror(number), str(path))

    files.hook = hook
    try:
        yield
    finally:
        files.hook = None


@pytest.mark.parametrize("first", [1, 3, 5, 8, 12])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(folder: Path, number: int, first: int) -> None:
    options = ("--batch-rows", "1", "--checkpoint", "ck")
    with failing_writes(number, first):
        told(run(folder, INTO, *options), "DISK_FULL", "ck/")
    assert run(folder, INTO, *options).exit_code == 0
    found = [line for f in sorted((folder / "out").iterdir()) for line in f.read_text().splitlines()]
    assert len(found) == len(lines(run(folder, PLAIN)))


def test_a_file_in_place_of_a_folder_is_told(folder: Path) -> None:
    told(run(folder, PLAIN, "--checkpoint", "bids.csv/ck"), "NOT_WRITABLE", "bids.csv")
    (folder / "out").write_text("", encoding="utf-8")
    told(run(folder, INTO), "NOT_WRITABLE", folder / "out")
    told(run(folder, INTO, "--checkpoint", "ck"), "NOT_WRITABLE", folder / "out")
    (folder / "out").unlink()
    assert run(folder, INTO, "--checkpoint", "ck").exit_code == 0


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_checkpoint_that_cannot_be_written_is_told(folder: Path, number: int) -> None:
    with failing_writes(number, 1):
        told(run(folder, PLAIN, "--checkpoint", "ck"), "NOT_WRITABLE", "ck/")


def test_a_sink_that_cannot_be_written_in_the_middle_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--batch-rows", "1", "--checkpoint", "ck")
    rename = Path.rename

    def full(path: Path, target: Path) -> Path:
        if path.parent.name == "_staged" and "0000000003" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", full)
        told(run(folder, INTO, *options), "DISK_FULL", folder / "out")
    assert run(folder, INTO, *options).exit_code == 0
    found = [line for f in sorted((folder / "out").iterdir()) for line in f.read_text().splitlines()]
    assert len(found) == len(lines(run(folder, PLAIN)))


def test_a_disk_that_fails_once_all_is_written_is_told_with_the_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def failing(opened: int) -> None:
        if os.path.samestat(os.fstat(opened), (folder / "out").stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(opened)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        told(run(folder, INTO, "--checkpoint", "ck"), "MACHINE_FAILED", folder / "out")
    assert run(folder, INTO, "--checkpoint", "ck").exit_code == 0


def test_a_lock_that_cannot_be_written_is_told_and_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        told(run(folder, PLAIN, "--checkpoint", "ck"), "DISK_FULL", "ck/lock")
    assert run(folder, PLAIN, "--checkpoint", "ck").exit_code == 0


def test_state_for_which_there_is_no_room_is_told_with_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(arena, "_reserve", full)
        told(run(folder, PLAIN, "--checkpoint", "ck"), "DISK_FULL", f"/continua-{os.getuid()}/")
    assert run(folder, PLAIN, "--checkpoint", "ck").exit_code == 0


def in_process(
    folder: Path, *arguments: str, limit: int | None = None, stdout: Path | None = None, stderr: Path | None = None
) -> tuple[int, str]:
    """A run in a process of its own, perhaps with a limit on the size of files: its status, and what it says here."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-c", "from continua.cli.main import main; main()", *arguments]
    said = stderr or folder / "said"
    with (stdout or Path(os.devnull)).open("w") as out, said.open("w") as err:
        done = subprocess.run(command, cwd=folder, stdout=out, stderr=err, preexec_fn=limited, check=False)
    return done.returncode, "" if stderr else said.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "orc"])
def test_a_file_that_may_not_become_larger_is_told_with_its_name(folder: Path, form: str) -> None:
    (folder / "bids.csv").write_text("".join(f"{i},{i}.25,{i}\n" for i in range(20000)), encoding="utf-8")
    script = write_script(folder, BIDS + f"REGISTER QUERY q AS SELECT ISTREAM price FROM Bid [NOW] INTO {form}('out');")
    status, errors = in_process(folder, "run", script, limit=30000)
    assert status == 3, errors
    assert re.search(r"error\[FILE_TOO_LARGE\]: \S*out/_staged/epoch-\S+: ", errors)
    assert not (folder / "out").exists()
    assert in_process(folder, "run", script) == (0, "")


def test_standard_output_on_a_full_disk_is_told(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    status, errors = in_process(folder, "run", write_script(folder, PLAIN), stdout=Path("/dev/full"))
    assert status == 3
    assert errors.startswith("error[DISK_FULL]: standard output: ")
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


@pytest.mark.parametrize("wrong", ["the query", "the machine"])
def test_a_standard_error_that_cannot_be_written_is_of_the_machine(folder: Path, wrong: str) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    script = write_script(folder, PLAIN if wrong == "the machine" else "SELECT nothing FROM nowhere;")
    assert in_process(folder, "run", script, stdout=full, stderr=full)[0] == 3


@pytest.mark.parametrize("master", ["foo", "local[x]", "local[0]", "local[", "spark", "http://host"])
def test_a_wrong_master_is_told(folder: Path, master: str) -> None:
    told(run(folder, PLAIN, "--master", master), "BAD_MASTER", master)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[4]", "local[4,2]", "local-cluster[2,1,1024]", "yarn"])
def test_masters_of_spark_are_let_through(master: str) -> None:
    check_master(master)
    check_master("spark://host:7077")
    check_master("k8s://https://host:443")


class Py4JNetworkError(Exception):
    """As py4j names it."""

    __module__ = "py4j.protocol"


def test_what_spark_tells_of_its_machines_is_told_by_name() -> None:
    def name(text: str) -> str | None:
        class Py4JJavaError(Exception):
            __module__ = "py4j.protocol"

        found = spark_error(Py4JJavaError(text))
        return None if found is None else f"{found.condition} {found.parameters.get('path', '')}".strip()

    trace = 'Traceback (most recent call last):\n  File "x.py", line 1\n'
    assert name(f"{trace}OSError: [Errno 28] No space left on device: '/d/f'\n\n\tat org.apache") == "DISK_FULL /d/f"
    assert name(f"{trace}PermissionError: [Errno 13] Permission denied: '/d'\n") == "NOT_WRITABLE /d"
    assert name("java.io.IOException: No space left on device\n\tat java") == "DISK_FULL"
    assert name("Python worker exited unexpectedly (crashed)") == "WORKER_LOST"
    broken = "driver): java.net.SocketException: Connection reset\n\tat java.base/sun.nio.ch.Net.poll(Net.java:1)\n"
    reading = "\tat org.apache.spark.api.python.BasePythonRunner$ReaderInputStream.read(PythonRunner.scala:1)\n"
    assert name(f"{broken}\tat java.base/java.io.DataInputStream.readInt(D.java)\n{reading}") == "WORKER_LOST"
    assert name(f"{broken}\tat org.postgresql.core.VisibleBufferedInputStream.read(V.java)\n") is None
    assert name("An error occurred while calling o40.sc") == "SPARK_LOST"
    assert name("An error occurred while calling o40.sc. Trace:\njava.lang.NullPointerException") is None
    assert name("ValueError: of ours") is None
    assert spark_error(ValueError("of ours")) is None
    for lost in (ConnectionRefusedError(), BrokenPipeError(), EOFError(), Py4JNetworkError()):
        found = spark_error(lost)
        assert found is not None
        assert found.condition == "SPARK_LOST"


@pytest.mark.parametrize("name", [None, "py4j.clientserver", "py4j.java_gateway"])
def test_what_py4j_logs_of_a_jvm_that_is_gone_is_not_shown(name: str | None, caplog: pytest.LogCaptureFixture) -> None:
    quieten_py4j()
    logger = logging.getLogger(name)
    for path in ("/site-packages/py4j/java_gateway.py", "/home/user/functions.py"):
        logger.handle(logger.makeRecord("root", logging.ERROR, path, 1, "gone", (), None))
    assert [record.pathname for record in caplog.records] == ["/home/user/functions.py"]


def test_a_folder_has_one_writer_at_a_time(folder: Path) -> None:
    (folder / "out").mkdir()
    opened = os.open(folder / "out", os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    result = run(folder, INTO)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[SINK_IN_USE]: " in result.stderr
    os.close(opened)
    assert run(folder, INTO).exit_code == 0


def test_a_query_without_answers_leaves_no_folder(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [NOW] WHERE price < 0 INTO json('out');"
    assert run(folder, script).exit_code == 0
    assert not (folder / "out").exists()


def test_a_terminal_is_told_what_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def closing(_: Report, told: Iterator[str | None]) -> None:
        shown.extend(line for line in told if line)

    assert "->" not in run(folder, INTO).stderr
    monkeypatch.setattr(Report, "closing", closing)
    script = INTO.replace("'out'", "'other'") + "\nREGISTER QUERY p AS SELECT price FROM Bid [RANGE 2];"
    result = run(folder, script, "--batch-rows", "1")
    assert result.exit_code == 0
    rows = len(lines(run(folder, PLAIN)))
    count = len(list((folder / "other").iterdir()))
    assert re.fullmatch(rf"q -> json\('other'\): {rows} rows in {count} files, \d+\.\d s", shown[0])
    assert len(shown) == 1
