"""Damaged files: a run falls back to something older that is intact, or names the file. It never answers wrongly."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from continua.errors import CheckpointError
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint.seals import unsealed
from tests.crash.faults import KINDS, Fault, kind, stop, stop_after
from tests.crash.world import files_of, fresh_process, manifests_in, number_of, numbered, undisturbed, world

Damage = Callable[[Path], object]
EPOCHS = 7
"""How many epochs are finished when something is damaged."""


def options(folder: Path, snapshot_bytes: int = 9000) -> BoundedOptions:
    """Epochs of a few rows, snapshots every few epochs."""
    return BoundedOptions(3, folder, 2, snapshot_bytes)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that was stopped while an epoch was running.

    How much a snapshot is apart from the next is tried until one partition is as the tests below need it.
    """
    for size in range(3000, 20000, 1000):
        folder = tmp_path_factory.mktemp("stopped")
        stop_after(world(), options(folder, size), EPOCHS)
        if two_snapshots(folder):
            break
    assert stop(world(), options(folder), Fault(3, where=lambda what, path: what == "done" and kind(path) == "logs"))
    return folder


@pytest.fixture
def checkpoint(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(stopped, tmp_path / "checkpoint")


def empty(path: Path) -> None:
    """Nothing of the file is left."""
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    """Its end is not there."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def flip(path: Path) -> None:
    """One bit is another."""
    content = bytearray(path.read_bytes())
    rng = random.Random(path.name)
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(content))


def flip_last(path: Path) -> None:
    """The last byte is another: that of the checksum."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 0xFF]))


DAMAGES = (empty, truncate, flip, flip_last, Path.unlink)


def outcome(checkpoint: Path) -> CheckpointError | None:
    """Goes on to the end: the answers are right, or there is an error of the checkpoint."""
    try:
        found = world().answers(options(checkpoint))
    except CheckpointError as error:
        return error
    assert found == undisturbed(BoundedOptions(3))
    return None


def assert_named(error: CheckpointError | None, *paths: Path) -> None:
    """The error is about these files, and says so."""
    assert error is not None
    assert [d.parameters["path"] for d in error.diagnostics] == [str(p) for p in paths]
    assert all(str(p) in str(error) for p in paths)


def numbers(folder: Path) -> list[int]:
    """The numbers of the files in a folder."""
    return sorted(map(number_of, folder.iterdir()))


def partitions(checkpoint: Path) -> list[Path]:
    """The folders with the state of partitions."""
    return sorted((checkpoint / "state").glob("*/*"))


def finished_snapshots(folder: Path) -> list[int]:
    """The snapshots of a partition after finished epochs."""
    return [n for n in numbers(folder / "snapshots") if n <= EPOCHS] if (folder / "snapshots").exists() else []


def two_snapshots(checkpoint: Path) -> list[Path]:
    """The folders of partitions that have two snapshots, and a log since the newer one."""
    return [p for p in partitions(checkpoint) if len(finished_snapshots(p)) == 2 and finished_snapshots(p)[-1] < EPOCHS]


def recoverable(path: Path) -> bool:
    """Whether a run goes on without a file."""
    match kind(path):
        case "checkpoint" | "queries":
            return False
        case "epochs":
            return number_of(path) == EPOCHS or path not in manifests_in(path.parent.parent)
        case "results":
            return number_of(path) > EPOCHS
        case "logs":
            newest = max(finished_snapshots(path.parent.parent), default=0)
            return not newest < number_of(path) <= EPOCHS
        case _:
            return True


def test_every_file_can_be_damaged(stopped: Path, tmp_path: Path) -> None:
    """One file at a time: the answers are right, or the error names that file."""
    rng = random.Random(5)
    found: set[tuple[str, bool]] = set()
    for path in files_of(stopped):
        case = kind(path), recoverable(path)
        if case in found and rng.random() < 0.8:
            continue
        copy = shutil.copytree(stopped, tmp_path / "copy")
        damaged = copy / path.relative_to(stopped)
        rng.choice(DAMAGES)(damaged)
        if recoverable(path):
            assert outcome(copy) is None, damaged
        else:
            assert_named(outcome(copy), damaged)
        found.add(case)
        shutil.rmtree(copy)
    needed = {(k, False) for k in ("checkpoint", "epochs", "queries", "results", "logs")}
    assert found == {(k, True) for k in KINDS - {"checkpoint", "queries"}} | needed


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("part", ["snapshots", "segments"])
def test_a_damaged_newest_snapshot_falls_back_to_the_older(damage: Damage, part: str, checkpoint: Path) -> None:
    for folder in partitions(checkpoint):
        for number in finished_snapshots(folder)[-1:]:
            damage(numbered(folder / part, number))
    assert outcome(checkpoint) is None


def test_where_both_snapshots_are_damaged_both_are_named(checkpoint: Path) -> None:
    folder = two_snapshots(checkpoint)[0] / "snapshots"
    older, newer = numbers(folder)
    paths = [numbered(folder, number) for number in (newer, older)]
    for path in paths:
        truncate(path)
    assert_named(outcome(checkpoint), *paths)


def test_a_damaged_snapshot_is_not_relied_on_any_more(checkpoint: Path) -> None:
    folder = two_snapshots(checkpoint)[0] / "snapshots"
    damaged = numbers(folder)[-1]
    flip(numbered(folder, damaged))
    assert outcome(checkpoint) is None
    with fresh_process(), world().run(options(checkpoint)):
        """Removes what is not needed any more."""
    assert damaged not in numbers(folder)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_log_that_is_needed_is_named(damage: Damage, checkpoint: Path) -> None:
    log = numbered(two_snapshots(checkpoint)[0] / "logs", EPOCHS)
    damage(log)
    assert_named(outcome(checkpoint), log)


def test_a_damaged_log_before_the_newest_snapshot_is_needed_only_with_the_older(checkpoint: Path) -> None:
    folder = two_snapshots(checkpoint)[0]
    newer = numbers(folder / "snapshots")[-1]
    paths = [numbered(folder / name, newer) for name in ("snapshots", "logs")]
    flip(paths[1])
    copy = shutil.copytree(checkpoint, checkpoint.with_name("copy"))
    assert outcome(copy) is None
    flip(paths[0])
    assert_named(outcome(checkpoint), *paths)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("last", range(1, EPOCHS + 2))
def test_a_damaged_newest_manifest_falls_back_to_the_epoch_before(damage: Damage, last: int, tmp_path: Path) -> None:
    stop_after(world(), options(tmp_path), last)
    with fresh_process(), world().run(options(tmp_path)):
        """Tidies up after the epoch: what the one before needs must still be there."""
    damage(manifests_in(tmp_path)[last - 1])
    with fresh_process(), world().run(options(tmp_path)) as run:
        assert run.engine.epoch_number == last - 1
        assert run.engine.intent() is not None
    assert outcome(tmp_path) is None


def test_two_damaged_manifests_are_an_error(checkpoint: Path) -> None:
    paths = [manifests_in(checkpoint)[n - 1] for n in (EPOCHS, EPOCHS - 1)]
    for path in paths:
        flip(path)
    assert_named(outcome(checkpoint), *paths)


def test_a_damaged_manifest_and_its_intent_are_an_error(checkpoint: Path) -> None:
    """The results of the epoch may have been seen: it must be run again just as it was."""
    paths = [numbered(checkpoint / name, EPOCHS) for name in ("epochs", "intents")]
    for path in paths:
        flip(path)
    assert_named(outcome(checkpoint), *paths)


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_older_manifest_is_named(damage: Damage, checkpoint: Path) -> None:
    path = manifests_in(checkpoint)[1]
    damage(path)
    assert_named(outcome(checkpoint), path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_is_named(damage: Damage, checkpoint: Path) -> None:
    segment = sorted((checkpoint / "results").iterdir())[0]
    damage(segment)
    assert_named(outcome(checkpoint), segment)


def test_a_folder_in_place_of_a_file_is_named(checkpoint: Path) -> None:
    log = numbered(two_snapshots(checkpoint)[0] / "logs", EPOCHS)
    log.unlink()
    log.mkdir()
    error = outcome(checkpoint)
    assert_named(error, log)
    assert error is not None and error.condition == "FILE_UNREADABLE"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_intent_is_none(damage: Damage, checkpoint: Path) -> None:
    damage(numbered(checkpoint / "intents", EPOCHS + 1))
    with fresh_process(), world().run(options(checkpoint)) as run:
        assert run.engine.intent() is None
    assert outcome(checkpoint) is None


def test_every_byte_counts(stopped: Path, tmp_path: Path) -> None:
    """Whatever byte of whatever file is another, the file is not taken for what was written.

    All bytes behind the content are tried, and of the content some.
    """
    place, rng = tmp_path / "file", random.Random(7)
    for path in sorted(files_of(stopped), key=lambda p: p.stat().st_size)[::4]:
        content = path.read_bytes()
        known = unsealed(path.read_bytes(), path)
        size = len(known.content)
        for number in (*rng.sample(range(size), min(size, 20)), *range(size, len(content))):
            place.write_bytes(content[:number] + bytes([content[number] ^ (1 << number % 8)]) + content[number + 1 :])
            with pytest.raises(CheckpointError):
                assert unsealed(place.read_bytes(), place) == known
