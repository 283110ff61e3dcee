"""The archive of Spark's loaded classes: made once per installation, it saves most of what a JVM takes to start.

An archive is a folder in the user's cache, named after everything that it depends on, so that another Java or another
Spark never sees it. It is made under another name and renamed when it is whole. With the classes it holds the options
with which Spark starts its JVM: whoever has them need not ask Spark's launcher, which is a JVM of its own.

Nothing here ever fails a run: without an archive Spark starts as it always does.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

FORMAT = 2
SWITCH = "CONTINUA_JVM_ARCHIVE"
"""The environment variable that switches archives off with the value 0."""

_CLASSES, _RECORD = "classes.jsa", "record.json"
_HEAD = 1 << 16
_KEPT = 3
_RETRY = 24 * 3600.0
_LAUNCHER, _SUBMIT = "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"


@dataclass(frozen=True, slots=True)
class Installation:
    """The Java and the Spark that are started."""

    java: Path
    spark: Path

    @property
    def key(self) -> str:
        """A name that is another one when anything is that an archive depends on."""
        parts: list[object] = [FORMAT, str(self.java), str(self.spark)]
        home = self.java.parent.parent
        with suppress(OSError):
            parts.append((home / "release").read_text(errors="replace"))
        for path in (self.java, home / "lib" / "modules", home / "lib" / "server" / "libjvm.so"):
            with suppress(OSError):
                parts.append(_identity(path.stat()))
        with suppress(OSError):
            parts.append((self.spark / "version.py").read_text(errors="replace"))
        with os.scandir(self.spark / "jars") as jars:
            parts += sorted((jar.name, *_identity(jar.stat())) for jar in jars if jar.name.endswith(".jar"))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that can be used."""

    installation: Installation
    folder: Path
    options: tuple[str, ...]

    @property
    def classes(self) -> Path:
        """The file for the JVM."""
        return self.folder / _CLASSES


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def installation() -> Installation | None:
    """What would be started; None where it is not known without asking Spark, or where archives are switched off."""
    if os.name != "posix" or os.environ.get(SWITCH) == "0":
        return None
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    spec = find_spec("pyspark")
    if java is None or spec is None or spec.origin is None:
        return None
    spark = Path(spec.origin).resolve().parent
    named = os.environ.get("SPARK_HOME")
    if named is not None and Path(named).resolve() != spark:
        return None
    if not Path(java).is_file() or not (spark / "jars").is_dir():
        return None
    return Installation(Path(java).resolve(), spark)


def cache_folder() -> Path | None:
    """Where archives are kept."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named, "continua", "jvm")
    try:
        return Path.home() / ".cache" / "continua" / "jvm"
    except RuntimeError:
        return None


def find_archive() -> Archive | None:
    """The archive of this installation, if there is one that is whole and that only this user can have written."""
    with suppress(OSError):
        mine, cache = installation(), cache_folder()
        if mine is not None and cache is not None and _is_private(cache):
            return _read(mine, cache / mine.key)
    return None


def discard(archive: Archive) -> None:
    """Puts an archive with which the JVM does not start out of the way."""
    _remove(archive.folder)


def make_archive(again: bool = False) -> Path | None:
    """Makes the archive of this installation, unless it is there, and returns its folder.

    It starts a Spark of its own, which takes some twenty seconds. None is returned when no archive can be made here, or
    when another process is making it.
    """
    try:
        mine, cache = installation(), cache_folder()
        if mine is None or cache is None:
            return None
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(cache):
            return None
        with _alone(cache / f"{mine.key}.lock") as alone:
            if not alone:
                return None
            found = None if again else _read(mine, cache / mine.key)
            return found.folder if found is not None else _make(mine, cache)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def make_archive_at_exit() -> None:
    """Has the archive made by a process of its own when this one ends, at the lowest priority, if there is none.

    It is done then and not now so that it takes nothing from this run.
    """
    if not _waiting:
        _waiting.append(True)
        atexit.register(_start_making)


_waiting: list[bool] = []


def _start_making() -> None:
    with suppress(OSError):
        mine, cache = installation(), cache_folder()
        if mine is None or cache is None or find_archive() is not None:
            return
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(cache) or not os.access(cache, os.W_OK) or _failed_lately(cache, mine.key):
            return
        null = subprocess.DEVNULL
        command = [sys.executable, "-m", "continua.runtime.spark.jvm_archive"]
        subprocess.Popen(
            command, cwd=cache, env=_environment(), stdin=null, stdout=null, stderr=null, start_new_session=True
        )


def _make(mine: Installation, cache: Path) -> Path | None:
    """Makes an archive under another name, and renames it."""
    failed = cache / f"{mine.key}.failed"
    failed.touch(mode=0o600)
    _clear_partial(cache)
    partial = Path(tempfile.mkdtemp(prefix=".making-", dir=cache))
    try:
        options = _asked_options(mine)
        scratch = partial / "scratch"
        scratch.mkdir()
        order = {"java": str(mine.java), "spark": str(mine.spark), "options": options}
        (partial / "order.json").write_text(json.dumps({**order, "classes": str(partial / _CLASSES)}))
        subprocess.run(
            [sys.executable, "-m", "continua.runtime.spark.jvm_training", str(partial / "order.json")],
            cwd=scratch,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=600,
            check=True,
        )
        shutil.rmtree(scratch)
        (partial / "order.json").unlink()
        classes = partial / _CLASSES
        classes.chmod(0o600)
        record = {"format": FORMAT, "options": options, **_described(classes)}
        (partial / _RECORD).write_text(json.dumps(record))
        target = cache / mine.key
        _remove(target)
        partial.rename(target)
        failed.unlink()
    finally:
        _remove(partial)
    _keep_few(cache, target)
    return target


def _asked_options(mine: Installation) -> list[str]:
    """The options of the JVM as Spark's launcher writes them: the class path, the heap, the modules that are opened."""
    cores = (re.match(r"spark-core_([\d.]+)-", path.name) for path in (mine.spark / "jars").iterdir())
    scala = next((core[1] for core in cores if core), "")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"SPARK_HOME": str(mine.spark), "SPARK_SCALA_VERSION": scala}
    command = [str(mine.java), "-cp", f"{mine.spark}/jars/*", _LAUNCHER, _SUBMIT, "pyspark-shell"]
    null = subprocess.DEVNULL
    ran = subprocess.run(command, env=environment, stdin=null, capture_output=True, timeout=60, check=True)
    written = [part.strip("\n") for part in ran.stdout.decode().split("\0")]
    words = [word for word in written if word]
    # The vector module is for Spark's machine learning: without it the JVM starts faster and gives no warning.
    return [word for word in words[1 : words.index(_SUBMIT)] if word != "--add-modules=jdk.incubator.vector"]


def _described(classes: Path) -> dict[str, int]:
    """What tells whether a file is as it was written, without reading all of it."""
    with classes.open("rb") as file:
        return {"size": classes.stat().st_size, "head": zlib.crc32(file.read(_HEAD))}


def _read(mine: Installation, folder: Path) -> Archive | None:
    """The archive in a folder, if it is whole."""
    try:
        if not all(_is_private(path) for path in (folder, folder / _RECORD, folder / _CLASSES)):
            return None
        record = json.loads((folder / _RECORD).read_text())
        options = tuple(record["options"])
        if record["format"] != FORMAT or any(record[k] != v for k, v in _described(folder / _CLASSES).items()):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    with suppress(OSError):
        os.utime(folder)
    return Archive(mine, folder, options)


def _is_private(path: Path) -> bool:
    """Whether something is this user's, is no link, and can be written by nobody else."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode) and not found.st_mode & 0o022


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether no other process is at the same work."""
    import fcntl

    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def _failed_lately(cache: Path, key: str) -> bool:
    """Whether making it was begun and not finished: it is not tried again in every run."""
    try:
        return time.time() - (cache / f"{key}.failed").stat().st_mtime < _RETRY
    except OSError:
        return False


def _environment() -> dict[str, str]:
    """This process's environment, for a process in another folder that is to find the same modules."""
    paths = [str(Path(p).absolute()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    found = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {**found, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}


def _clear_partial(cache: Path) -> None:
    """Removes what killed processes left; what is young may be in the making, for another installation."""
    for path in cache.glob(".making-*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 3600:
                _remove(path)


def _keep_few(cache: Path, newest: Path) -> None:
    """Removes the archives of installations that were not used for longest: they are large."""
    found: list[tuple[float, Path]] = []
    for record in cache.glob(f"*/{_RECORD}"):
        with suppress(OSError):
            found.append((record.parent.stat().st_mtime, record.parent))
    for _, folder in sorted(found, reverse=True)[_KEPT:]:
        if folder != newest:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Removes a folder: renamed first, so that nobody finds half of it."""
    if not folder.is_dir() or folder.is_symlink():
        with suppress(OSError):
            folder.unlink(missing_ok=True)
        return
    with suppress(OSError):
        aside = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
        folder.rename(aside)
        folder = aside
    shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str] = ()) -> int:
    """Makes the archive at the lowest priority."""
    with suppress(OSError):
        os.nice(19)
    return 0 if make_archive("--again" in arguments) is not None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
