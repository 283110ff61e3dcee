"""Every byte of a small checkpoint: whatever is changed in its files, a run answers rightly or names a file.

    python -m tests.crash.every_byte [--rows N] [--whole N]

Four things are done to the files of a run that was stopped in the middle of an epoch:

- every byte of every file is another;
- every two files of one kind change places;
- every file is replaced by each of its older versions, and those that are gone come back;
- every file is replaced by that of another run of the same queries.

What is refused where files are read is refused whoever reads it, so that the engine runs only once for each file of
which all bytes are refused, and for one in ``--whole`` pairs of which both are; and for all that is not refused.
Nothing that is read may be executed: the process is watched for what it does not do undisturbed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from continua.errors import CheckpointError
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.seals import unsealed
from tests.crash.faults import Fault, finishing, kind, stop, stop_after
from tests.crash.world import World, files_of, fresh_process, world

EPOCHS = 5
REFUSED = {"FILE_MISPLACED", "FILE_STALE", "FILE_CORRUPT", "FILE_MISSING", "CHECKPOINT_FORMAT"}
SNAPSHOT_BYTES = 2000
_WATCHED = ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn")
"""What a run that reads damaged files does only as far as one that nothing disturbs does it too."""


def small_world(rows: int) -> World:
    """Two queries, with windows and aggregates on two levels."""
    whole = world(7, rows)
    queries = tuple(q for q in whole.queries if q.name in ("latest", "busiest"))
    return replace(whole, queries=queries, inputs=whole.session.inputs.read({s for q in queries for s in q.sources}))


class EveryByte:
    """A checkpoint, and what is done to it."""

    def __init__(self, folder: Path, rows: int, whole: int) -> None:
        self._folder = folder
        self._world = small_world(rows)
        self._whole = whole
        self._expected = self._world.answers(BoundedOptions(3))
        self._stopped = folder / "stopped"
        self._start = time.monotonic()
        self.found: Counter[str] = Counter()
        self.wrong: list[str] = []

    def _options(self, folder: Path, rows: int = 3) -> BoundedOptions:
        return BoundedOptions(rows, folder, 2, SNAPSHOT_BYTES)

    def prepare(self) -> None:
        """A run is stopped while an epoch is running."""
        stop_after(self._world, self._options(self._stopped), EPOCHS)
        fault = Fault(3, where=lambda what, path: what == "done" and kind(path) == "logs")
        assert stop(self._world, self._options(self._stopped), fault)
        self._try("nothing", {})
        files = files_of(self._stopped)
        self._say(f"{len(files)} files, {sum(p.stat().st_size for p in files):,} bytes")

    def flip_bytes(self) -> None:
        """Every byte of every file is another."""
        place = self._folder / "file"
        for path in files_of(self._stopped):
            content = path.read_bytes()
            place.write_bytes(content)
            with place.open("r+b", buffering=0) as file:
                for number, byte in enumerate(content):
                    other = bytes([byte ^ (1 << number % 8)])
                    os.pwrite(file.fileno(), other, number)
                    self.found["bytes"] += 1
                    if not self._is_refused(place):
                        self.found["bytes that are not refused by themselves"] += 1
                        self._try(f"byte {number}", {path: content[:number] + other + content[number + 1 :]})
                    os.pwrite(file.fileno(), content[number : number + 1], number)
            middle = len(content) // 2
            changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
            self._try("a byte", {path: changed})
            self._say(str(path.relative_to(self._stopped)))

    @staticmethod
    def _is_refused(path: Path) -> bool:
        """Whether whoever reads a file is told that it is damaged, and which it is."""
        try:
            unsealed(path.read_bytes(), path)
        except CheckpointError as error:
            return str(path) in str(error)
        return False

    def swap(self) -> None:
        """Every two files of one kind change places."""
        by_kind: dict[str, list[Path]] = {}
        for path in files_of(self._stopped):
            by_kind.setdefault(kind(path), []).append(path)
        for name, paths in by_kind.items():
            for number, (one, other) in enumerate(combinations(paths, 2)):
                changed = {one: other.read_bytes(), other: one.read_bytes()}
                self.found["pairs"] += 1
                if number % self._whole == 0 or not self._refused(changed):
                    self._try("swapped", changed)
            self._say(f"all pairs of {name}")

    def _refused(self, changed: dict[Path, bytes]) -> bool:
        """Whether files are refused by themselves, by whoever reads them."""
        copy = self._copy(changed)
        try:
            store = reader_store(copy)
            assert store is not None
            for path in changed:
                try:
                    store.get(str(path.relative_to(self._stopped)))
                    return False
                except CheckpointError:
                    continue
            return True
        finally:
            shutil.rmtree(copy)

    def older(self) -> None:
        """Every file is replaced by each of its older versions, those after every epoch of several lives."""
        versions = list(self._versions())
        newest = versions.pop()
        self._stopped = newest
        for version in versions:
            for before in files_of(version):
                path = newest / before.relative_to(version)
                content = before.read_bytes()
                if not path.exists() or path.read_bytes() != content:
                    self.found["older versions"] += 1
                    self._try(f"as in {version.name}", {path: content})
        self._say("all older versions")

    def _versions(self) -> Iterator[Path]:
        folder = self._folder / "lives"
        number = 0
        for rows in (3, 2, 4, 1):
            for _ in range(3):
                fault = Fault(finishing(2), where=lambda what, path: what == "done" and kind(path) == "epochs")
                if not stop(self._world, self._options(folder, rows), fault):
                    return
                number += 1
                yield Path(shutil.copytree(folder, self._folder / f"version-{number}"))

    def mix(self) -> None:
        """Every file is replaced by that of another run."""
        other = self._folder / "other"
        stop_after(self._world, self._options(other), EPOCHS)
        for path in files_of(self._stopped):
            of_other = other / path.relative_to(self._stopped)
            if of_other.exists():
                self.found["files of another run"] += 1
                self._try("of another run", {path: of_other.read_bytes()})
        self._say("all files of another run")

    def _try(self, what: str, changed: dict[Path, bytes]) -> None:
        """Goes on from a copy in which files are others: the answers are right, or an error names a file."""
        copy = self._copy(changed)
        told = f"{what}: {[str(p.relative_to(self._stopped)) for p in changed]}"
        self.found["runs"] += 1
        try:
            with fresh_process():
                if self._world.answers(self._options(copy)) != self._expected:
                    self.wrong.append(f"{told}: other answers")
                self.found["runs that answered rightly"] += 1
        except CheckpointError as error:
            conditions = {d.condition for d in error.diagnostics}
            named = all(str(d.parameters.get("path", "")).startswith(str(copy)) for d in error.diagnostics)
            if not conditions <= REFUSED or not named:
                self.wrong.append(f"{told}: {error}")
        except Exception as error:
            self.wrong.append(f"{told}: {type(error).__name__}: {error}")
        finally:
            shutil.rmtree(copy)

    def _copy(self, changed: dict[Path, bytes]) -> Path:
        copy = Path(shutil.copytree(self._stopped, self._folder / "copy"))
        for path, content in changed.items():
            place = copy / path.relative_to(self._stopped)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return copy

    def _say(self, what: str) -> None:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.found.items())
        print(f"{time.monotonic() - self._start:.0f} s, {what}: {counts}; {len(self.wrong)} wrong", flush=True)


executed: set[str] = set()


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Notes what this process executes, or loads to be executed, but the errors that tasks give to the driver."""
    if event in _WATCHED and arguments[0] != "continua.errors":
        executed.add(f"{event} {arguments[:2]}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40, help="how many rows the sources have")
    parser.add_argument("--whole", type=int, default=20, help="the engine runs for one in so many pairs of files")
    options = parser.parse_args()
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="continua-every-byte-", dir=base) as folder:
        sys.addaudithook(watch)
        tried = EveryByte(Path(folder), options.rows, options.whole)
        tried.prepare()
        usual = set(executed)
        tried.flip_bytes()
        tried.swap()
        tried.mix()
        tried.older()
    wrong = [*tried.wrong, *(f"executed: {what}" for what in sorted(executed - usual))]
    print("\n".join(wrong) if wrong else "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
