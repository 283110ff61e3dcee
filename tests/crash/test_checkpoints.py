"""Which checkpoints are taken up, what of an unfinished epoch is honoured, and what remains of what was written."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from continua.errors import CheckpointError
from continua.reference.elements import Inputs
from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.checkpoint.seals import Stored
from continua.runtime.scratch import new_scratch
from tests.crash.faults import Fault, kind, stop, stop_after
from tests.crash.world import World, files_of, fresh_process, manifests_in, number_of, numbered, undisturbed, world

OPTIONS = BoundedOptions(3, None, 2)


def at(folder: Path, **changes: int | None) -> BoundedOptions:
    """The options with that checkpoint."""
    return replace(OPTIONS, checkpoint=folder, **changes)  # type: ignore[arg-type]


# What fits.


def test_a_checkpoint_of_other_queries_is_refused(tmp_path: Path) -> None:
    stop_after(world(), at(tmp_path), 2)
    before = files_of(tmp_path)
    others = replace(world(), queries=world().queries[:3])
    with pytest.raises(CheckpointError) as caught:
        others.answers(at(tmp_path))
    assert caught.value.condition == "OTHER_QUERIES"
    gone = sorted(q.name for q in world().queries[3:])
    assert caught.value.parameters == {"checkpoint": str(tmp_path), "missing": gone, "changed": [], "added": []}
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("slots", [None, 5])
def test_a_checkpoint_goes_on_with_any_number_of_partitions(tmp_path: Path, slots: int | None) -> None:
    stop_after(world(), at(tmp_path, slots=slots), 2)
    stop_after(world(), at(tmp_path, partitions=3), 3)
    with fresh_process(), world().run(at(tmp_path, partitions=1)) as run:
        assert run.engine.partitions == (slots or 2)
        run.to_the_end()
        assert run.answers() == undisturbed(OPTIONS)


def test_a_checkpoint_of_more_rows_than_there_are_is_refused(tmp_path: Path) -> None:
    stop_after(world(), at(tmp_path), 3)
    inputs = world().inputs
    shorter = Inputs({**inputs.streams, "s": inputs.streams["s"][:5]}, inputs.relations, inputs.tagged)
    with pytest.raises(CheckpointError) as caught:
        replace(world(), inputs=shorter).answers(at(tmp_path))
    assert caught.value.condition == "ROWS_MISSING"
    assert caught.value.parameters == {"source": "s", "read": 9, "rows": 5}


def test_a_checkpoint_that_is_finished_is_only_read(tmp_path: Path) -> None:
    world().answers(at(tmp_path))
    with fresh_process(), world().run(at(tmp_path)) as run:
        epochs = run.engine.epoch_number
        run.to_the_end()
        assert run.engine.epoch_number == epochs
        assert run.answers() == undisturbed(OPTIONS)


# Intents.


@pytest.mark.parametrize("batch_rows", [None, 1, 2, 5])
@pytest.mark.parametrize("written", [1, 3])
def test_an_epoch_that_was_begun_reads_the_same_again(written: int, batch_rows: int | None, tmp_path: Path) -> None:
    """Even if epochs are of another size now."""
    stop_after(world(), at(tmp_path), 3)
    logs = Fault(written, where=lambda what, path: what == "done" and kind(path) == "logs")
    assert stop(world(), at(tmp_path), logs)
    with fresh_process(), world().run(at(tmp_path, batch_rows=batch_rows)) as run:
        assert run.engine.epoch_number == 3
        intent = run.engine.intent()
        assert intent is not None and intent.offsets.rows["s"] == 12
        run.to_the_end()
        manifest = run.engine._manifests.read(4)
        assert (manifest.until, manifest.offsets) == (intent.until, intent.offsets)
        assert run.answers() == undisturbed(OPTIONS)


def test_an_intent_for_another_beginning_is_none(tmp_path: Path) -> None:
    """The epoch before it was read again, and differently: then what was decided after it does not hold."""
    stop_after(world(), at(tmp_path), 3)
    assert stop(world(), at(tmp_path), Fault(1, where=lambda what, path: what == "done" and kind(path) == "intents"))
    numbered(tmp_path / "epochs", 4).unlink()
    numbered(tmp_path / "terms", 4).unlink()
    numbered(tmp_path / "epochs", 3).unlink()
    numbered(tmp_path / "intents", 3).unlink()
    stop_after(world(), at(tmp_path, batch_rows=5), 1)
    with fresh_process(), world().run(at(tmp_path)) as run:
        assert (run.engine.epoch_number, run.engine.offsets.rows["s"]) == (3, 11)
        assert any((tmp_path / "intents").glob("4-*"))
        assert run.engine.intent() is None
        run.to_the_end()
        assert run.answers() == undisturbed(OPTIONS)


# What remains.


def many_epochs(seed: int, folder: Path, snapshot_bytes: int | None) -> World:
    """A run of many small epochs."""
    chosen = world(seed, 120)
    chosen.answers(at(folder, batch_rows=1, snapshot_bytes=snapshot_bytes))
    return chosen


def test_files_do_not_pile_up(tmp_path: Path) -> None:
    chosen = many_epochs(3, tmp_path, 3000)
    with fresh_process(), chosen.run(at(tmp_path, snapshot_bytes=3000)) as run:
        last = run.engine.epoch_number
        kept = run.engine._kept
    assert last > 60
    assert [number_of(p) for p in (tmp_path / "intents").iterdir()] == [last]
    for (level, part), files in kept.items():
        folder = tmp_path / "state" / f"level-{level}" / f"partition-{part}"
        assert len(files.snapshots) == 2
        assert {number_of(p) for p in (folder / "snapshots").iterdir()} == set(files.snapshots)
        segments = {number for some in files.segments for number in some}
        assert {number_of(p) for p in (folder / "segments").iterdir()} == segments
        assert len(segments) == sum(map(len, files.segments)), "the two snapshots have none in common"
        assert {number_of(p) for p in (folder / "logs").iterdir()} == set(range(files.snapshots[0] + 1, last + 1))
        assert len(list((folder / "logs").iterdir())) < 40


def test_a_manifest_does_not_grow_with_the_epochs_before(tmp_path: Path) -> None:
    many_epochs(3, tmp_path, None)
    sizes = [p.stat().st_size for p in manifests_in(tmp_path)]
    assert max(sizes) < 2 * min(sizes)


def test_what_a_crash_leaves_half_done_is_removed(tmp_path: Path) -> None:
    for what, number in (("remove", 6), ("rename", 3)):
        fault = Fault(number, where=lambda w, path, what=what: w == what and kind(path) == "logs")  # type: ignore[misc]
        assert stop(world(), at(tmp_path, snapshot_bytes=0), fault)
    spark = tmp_path / "spark" / "commits" / ".0.crc"
    spark.parent.mkdir(parents=True)
    spark.touch()
    assert any(p.name.startswith(".") for p in files_of(tmp_path / "state"))
    with fresh_process(), world().run(at(tmp_path, snapshot_bytes=0)) as run:
        kept = run.engine._kept
    assert [p for p in files_of(tmp_path) if p.name.startswith(".")] == [spark]
    for (level, part), files in kept.items():
        logs = tmp_path / "state" / f"level-{level}" / f"partition-{part}" / "logs"
        assert {number_of(p) for p in logs.iterdir()} == set(range(files.first, files.last + 1))


def test_scratch_folders_of_processes_that_are_gone_are_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    command = "from continua.runtime.scratch import new_scratch; new_scratch().joinpath('level-1').mkdir(parents=True)"
    subprocess.run([sys.executable, "-c", command], check=True)
    root = new_scratch().parent
    (gone,) = root.iterdir()
    ours, other = new_scratch(), root / f"elsewhere-{gone.name.rsplit('-', 2)[1]}-0"
    ours.mkdir()
    other.mkdir()
    with world().run(replace(OPTIONS, checkpoint=tmp_path / "checkpoint")) as run:
        run.to_the_end()
        assert any(str(os.getpid()) in folder.name for folder in root.iterdir())
        assert not gone.exists()
    assert sorted(root.iterdir()) == sorted([ours, other])


# What is kept.


def test_two_snapshots_are_kept_and_the_logs_since_the_older() -> None:
    kept = DurableState().logged(1, Stored(10, "a")).logged(2, Stored(5, "b"))
    assert kept == DurableState((), 1, 2, 15, "b")
    kept = kept.snapped(Stored(100, "B"), [2])
    assert kept == DurableState((2,), 1, 2, 0, "b", ("B",), ((2,),))
    kept = kept.logged(3, Stored(7, "c")).logged(4, Stored(7, "d")).snapped(Stored(100, "D"), [4])
    assert kept == DurableState((2, 4), 3, 4, 0, "d", ("B", "D"), ((2,), (4,)))
    kept = kept.logged(5, Stored(1, "e"))
    assert (list(kept.since(4)), list(kept.since(2)), kept.weight) == ([5], [3, 4, 5], 1)
    kept = kept.snapped(Stored(100, "E"), [2, 5])
    assert kept == DurableState((4, 5), 5, 5, 0, "e", ("D", "E"), ((4,), (2, 5)))
    assert kept.oldest == 2, "a snapshot needs what an earlier one has written"
    assert kept.only(1) == DurableState((4,), 5, 5, 0, "e", ("D",), ((4,),))
