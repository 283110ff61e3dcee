"""What is wrong with a machine, by name: its disk, its folders, Spark.

An error of the operating system is told with its path and what to do about it. Of a task on Spark only the text of its
error gets to the driver: what the operating system said is found in there.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from continua.errors import ContinuaError, Diagnostic, MachineError

STANDARD_OUTPUT = "standard output"
_GOES_ON = "with --checkpoint the same command goes on where it was"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR})
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.EEXIST})
_CONNECTION = frozenset({errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE})
_TOLD_BY_TASK = re.compile(r"^\w*Error: \[Errno (\d+)\] ([^\n]*?)(?:: '([^'\n]*)')?\s*$", re.MULTILINE)
_IN_JAVA = (("No space left on device", errno.ENOSPC), ("Disk quota exceeded", errno.EDQUOT))
_WORKER_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "OutOfMemoryError")
_LOST_CONNECTION = re.compile(
    r"java\.(?:net\.SocketException|io\.(?:IO|EOF)Exception|nio\.channels\.\w*Exception)\b[^\n]*\n"
    r"(?:\s+at (?!org\.apache\.spark\.api\.python\.)[^\n]*\n)*"
    r"\s+at org\.apache\.spark\.api\.python\.(?:BasePythonRunner|PythonWorker|PythonRunner)"
)
"""What the JVM says where it writes to a worker that has died, or reads from it before it knows that."""
_SPARK_LOST = ("Answer from Java side is empty", "SparkContext was shut down", "Cannot call methods on a stopped")
_NO_ANSWER = re.compile(r"An error occurred while calling \S+\s*")
"""What py4j says of a call to which no answer came; with what went wrong in the JVM it says more."""
_NOT_STARTED = ("JAVA_GATEWAY_EXITED", "Java gateway process exited", "All masters are unresponsive")
_MASTER = re.compile(
    r"local|local\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://\S+|k8s://\S+|yarn"
)


def is_of_machine(error: BaseException) -> bool:
    """Whether an error is neither of a query, nor of its data, nor of the program: trying again may help."""
    if isinstance(error, ContinuaError):
        return isinstance(error, MachineError)
    return isinstance(error, OSError | MemoryError)


def machine_error(error: BaseException, path: Path | str | None = None) -> MachineError | None:
    """What is wrong with the machine, if an error is of that kind; ``path``: of what, if it does not tell."""
    if isinstance(error, MachineError):
        return error
    if isinstance(error, MemoryError):
        return _failed("OUT_OF_MEMORY", "there is not enough memory", "use smaller epochs: --batch-rows N")
    if isinstance(error, ContinuaError) or not isinstance(error, OSError):
        return None
    return _of_system(error.errno, error.strerror or str(error), error.filename or path)


def spark_error(error: BaseException) -> MachineError | None:
    """The same while Spark is at work: connections that break are those to its JVM."""
    if isinstance(error, ConnectionError | EOFError):
        return _spark_lost()
    if isinstance(error, OSError | MemoryError | ContinuaError):
        return machine_error(error)
    if not type(error).__module__.startswith(("py4j", "pyspark", "continua.runtime.spark.jvm")):
        return None
    text = str(error)
    if told := list(_TOLD_BY_TASK.finditer(text)):
        number, what, path = told[-1].groups()
        return _of_system(int(number), what, path)
    for words, kind in _IN_JAVA:
        if words in text:
            return _of_system(kind, words, None)
    if any(words in text for words in _NOT_STARTED) or type(error).__module__ == "continua.runtime.spark.jvm":
        return _not_started()
    lost = type(error).__name__ == "Py4JNetworkError" or _NO_ANSWER.fullmatch(text) is not None
    if lost or any(words in text for words in _SPARK_LOST):
        return _spark_lost()
    if any(words in text for words in _WORKER_LOST) or _LOST_CONNECTION.search(text):
        hint = f"its memory or its disk may not have sufficed; {_GOES_ON}, perhaps with smaller epochs: --batch-rows N"
        return _failed("WORKER_LOST", "a worker of Spark has died", hint)
    return None


@contextmanager
def spark_at_work() -> Iterator[None]:
    """What is wrong with Spark, or the machines that it runs on, is told by name."""
    try:
        yield
    except Exception as error:
        found = spark_error(error)
        if found is None:
            raise
        raise found from error


@contextmanager
def spark_starting() -> Iterator[None]:
    """The same while it starts: it has not been lost then, but has never been there."""
    try:
        with spark_at_work():
            yield
    except MachineError as error:
        if error.condition == "SPARK_LOST":
            raise _not_started() from error
        raise


def _not_started() -> MachineError:
    hint = "is the master there? Spark needs Java 17 or newer, in JAVA_HOME or on the PATH; --master none works without"
    return _failed("SPARK_NOT_STARTED", "Spark has not started", hint)


@contextmanager
def writing_to(path: Path | str) -> Iterator[None]:
    """An error of the operating system that names no file is told of this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None and not isinstance(error, ContinuaError):
            error.filename = str(path)
        raise


def check_master(master: str) -> None:
    """Refuses a master that Spark would not understand."""
    if not _MASTER.fullmatch(master.strip()):
        hint = "local[*], local[4], spark://host:7077, yarn, k8s://..., or none to work without Spark"
        message = f"{master} is no Spark master"
        if master.strip().startswith("sc://"):
            message += ": it is a server of Spark Connect, which has no SparkContext to have tasks run by"
        parameters: dict[str, object] = {"master": master}
        raise MachineError(Diagnostic("BAD_MASTER", message, hint=hint, parameters=parameters))


def _of_system(number: int | None, what: str, path: Path | str | None) -> MachineError:
    """An error of the operating system, by its number."""
    place = "" if path is None else f"{path}: "
    if number in _FULL:
        hint = f"make room; {_GOES_ON}"
        return _failed("DISK_FULL", f"{place}the disk is full ({_plain(what)})", hint, path)
    if number == errno.EFBIG:
        hint = f"the limit may be that of the shell (ulimit -f); {_GOES_ON}"
        return _failed("FILE_TOO_LARGE", f"{place}a file may not become larger ({_plain(what)})", hint, path)
    if number in _REFUSED:
        hint = "it must be a folder that you may write to, or one that can be made"
        why = "there is no folder, but a file" if number in _NO_FOLDER else "it cannot be written"
        return _failed("NOT_WRITABLE", f"{place}{why} ({_plain(what)})", hint, path)
    if number in _CONNECTION:
        return _spark_lost()
    return _failed("MACHINE_FAILED", f"{place}{what}", _GOES_ON, path)


def _plain(what: str) -> str:
    """What the operating system says, in one line and without the words of libraries around it."""
    return what.strip().splitlines()[0].rpartition("[errno ")[2].rpartition("] ")[2].strip()


def _spark_lost() -> MachineError:
    return _failed("SPARK_LOST", "Spark has ended while it was at work", _GOES_ON)


def _failed(condition: str, message: str, hint: str, path: Path | str | None = None) -> MachineError:
    parameters: dict[str, object] = {} if path is None else {"path": str(path)}
    return MachineError(Diagnostic(condition, message, hint=hint, parameters=parameters))
