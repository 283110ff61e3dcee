"""Files in the wrong place: swapped, old, of another run, or written by hand. A run answers rightly or says which."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pytest

from continua.errors import CheckpointError
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint.seals import Identity, seal, unsealed
from tests.crash.faults import KINDS, Fault, kind, stop, stop_after
from tests.crash.world import files_of, fresh_process, undisturbed, world

EPOCHS = 5
REFUSED = {"FILE_MISPLACED", "FILE_STALE", "FILE_CORRUPT", "FILE_MISSING", "CHECKPOINT_FORMAT"}


def options(folder: Path, rows: int = 3) -> BoundedOptions:
    """Epochs of a few rows, snapshots every few epochs."""
    return BoundedOptions(rows, folder, 2, 4000)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that was stopped while an epoch was running."""
    folder = tmp_path_factory.mktemp("stopped")
    stop_after(world(), options(folder), EPOCHS)
    assert stop(world(), options(folder), Fault(3, where=lambda what, path: what == "done" and kind(path) == "logs"))
    return folder


def assert_right_or_refused(checkpoint: Path, told: object) -> bool:
    """Goes on to the end; whether it was refused, by a name that tells why."""
    with fresh_process():
        try:
            found = world().answers(options(checkpoint))
        except CheckpointError as error:
            assert {d.condition for d in error.diagnostics} <= REFUSED, told
            return True
    assert found == undisturbed(BoundedOptions(3)), told
    return False


def test_files_of_one_kind_are_swapped(stopped: Path, tmp_path: Path) -> None:
    by_kind: dict[str, list[Path]] = {}
    for path in files_of(stopped):
        by_kind.setdefault(kind(path), []).append(path)
    refused: set[str] = set()
    for name, paths in by_kind.items():
        pairs = list(combinations(paths, 2))
        for one, other in pairs[:: max(1, len(pairs) // 6)]:
            copy = shutil.copytree(stopped, tmp_path / "copy")
            first, second = copy / one.relative_to(stopped), copy / other.relative_to(stopped)
            shutil.copy(one, second)
            shutil.copy(other, first)
            if assert_right_or_refused(copy, (one, other)):
                refused.add(name)
            shutil.rmtree(copy)
    assert {"epochs", "results", "logs"} <= refused


def test_files_of_two_kinds_are_swapped(stopped: Path, tmp_path: Path) -> None:
    firsts = {kind(path): path for path in files_of(stopped)}
    for one, other in combinations(firsts.values(), 2):
        copy = shutil.copytree(stopped, tmp_path / "copy")
        shutil.copy(one, copy / other.relative_to(stopped))
        shutil.copy(other, copy / one.relative_to(stopped))
        assert_right_or_refused(copy, (one, other))
        shutil.rmtree(copy)


def test_files_of_another_run_of_the_same_queries_are_refused(stopped: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    stop_after(world(), options(other), EPOCHS)
    seen: set[str] = set()
    for path in files_of(stopped):
        place = path.relative_to(stopped)
        if not (other / place).exists() or kind(path) in seen:
            continue
        copy = shutil.copytree(stopped, tmp_path / "copy")
        shutil.copy(other / place, copy / place)
        refused = assert_right_or_refused(copy, place)
        if refused:
            seen.add(kind(path))
        shutil.rmtree(copy)
    assert seen >= {"checkpoint", "epochs", "results"}


def versions(folder: Path) -> Iterator[Path]:
    """Copies of a checkpoint that was gone on with several times, by epochs of other sizes."""
    for number, rows in enumerate((3, 2, 4)):
        stop(
            world(), options(folder, rows), Fault(25, where=lambda what, path: what == "done" and kind(path) != "terms")
        )
        copy = folder.with_name(f"version-{number}")
        yield Path(shutil.copytree(folder, copy))


def test_no_file_is_ever_replaced_by_another_version(tmp_path: Path) -> None:
    """So that what a driver which was overtaken writes late can be in the place of nothing."""
    older = list(versions(tmp_path / "checkpoint"))
    newest = older.pop()
    seen = 0
    for path in files_of(newest):
        for version in older:
            before = version / path.relative_to(newest)
            if before.exists():
                assert before.read_bytes() == path.read_bytes(), before
                seen += 1
    assert seen


def test_a_list_of_queries_of_an_older_version_counts_for_nothing(tmp_path: Path) -> None:
    older = list(versions(tmp_path / "checkpoint"))
    newest = older.pop()
    for path in [p for version in older for p in files_of(version) if kind(p) == "queries"]:
        if not (newest / "queries" / path.name).exists():
            shutil.copy(path, newest / "queries" / path.name)
    assert not assert_right_or_refused(newest, "queries")


def forge(path: Path, content: bytes, identity: Identity) -> None:
    """Writes a file as somebody would who knows how they are sealed."""
    path.write_bytes(content + seal(content, identity)[0])


class Hostile:
    """Runs code where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_that_is_read_is_executed(stopped: Path, tmp_path: Path, sealed: bool) -> None:
    """Also where somebody who knows how files are sealed has written them."""
    for name in sorted(KINDS):
        copy = shutil.copytree(stopped, tmp_path / "copy")
        trap = tmp_path / "executed"
        content = pickle.dumps(Hostile(trap))
        for path in [p for p in files_of(copy) if kind(p) == name]:
            if sealed:
                forge(path, content, unsealed(path.read_bytes(), path).identity)
            else:
                path.write_bytes(content)
        with fresh_process(), suppress(CheckpointError):
            world().answers(options(copy))
        assert not trap.exists()
        shutil.rmtree(copy)


def test_a_file_that_was_written_by_hand_is_not_the_one_that_the_manifest_speaks_of(
    stopped: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(stopped, tmp_path / "copy"))
    segment = next(p for p in files_of(copy) if kind(p) == "results")
    known = unsealed(segment.read_bytes(), segment)
    forge(segment, known.content, Identity(known.identity.name, known.identity.run, 99))
    assert assert_right_or_refused(copy, segment)
