"""A run is stopped at any step of any write, and another goes on: the answers are the same."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from continua.errors import EvaluationError
from continua.runs.bounded import BoundedOptions
from continua.runtime import tasks
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.executors.executor import InProcess, Tables
from continua.runtime.jobs import Job
from continua.runtime.row_blocks import Block
from tests.crash.faults import KINDS, FailedError, Fault, Step, Stopped, hooked, kind, stop, stop_after
from tests.crash.world import fresh_process, undisturbed, world

SECONDS = float(os.environ.get("CONTINUA_CRASH_SECONDS", "5"))
"""How much processor time each way of taking snapshots gets."""
WAYS = {"never": None, "every few epochs": 7000, "every epoch": 0}


def options(folder: Path, snapshot_bytes: int | None = None, batch_rows: int = 3) -> BoundedOptions:
    """Epochs of a few rows."""
    return BoundedOptions(batch_rows, folder, 2, snapshot_bytes)


def all_steps(folder: Path, snapshot_bytes: int | None) -> list[Step]:
    """The steps of a run that nothing disturbs."""
    fault = Fault()
    assert not stop(world(), options(folder, snapshot_bytes), fault)
    return fault.steps


def in_turn(steps: list[Step]) -> Iterator[int]:
    """The numbers of all steps: first one for each kind of file and step, then with an ever smaller stride."""
    numbers: dict[tuple[str, str], int] = {}
    for number, (what, path) in enumerate(steps, 1):
        if (kind(path), what) not in numbers or number < len(steps) * 0.6:
            numbers[kind(path), what] = number
    given = set(numbers.values())
    yield from sorted(given)
    stride = 64
    while stride:
        for number in range(stride, len(steps) + 1, stride):
            if number not in given:
                given.add(number)
                yield number
        stride //= 2


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_stopped_anywhere_goes_on(way: str, tmp_path: Path) -> None:
    expected = undisturbed(BoundedOptions(3))
    steps = all_steps(tmp_path / "all", WAYS[way])
    kinds = {(what, kind(path)) for what, path in steps}
    written = {k for k in KINDS if ("write", k) in kinds and ("rename", k) in kinds and ("done", k) in kinds}
    assert written == (KINDS if WAYS[way] is not None else KINDS - {"segments", "snapshots"})
    end = time.process_time() + SECONDS
    for tried, number in enumerate(in_turn(steps)):
        if tried >= len(kinds) and time.process_time() > end:
            break
        folder = tmp_path / str(number)
        fault = Fault(number, FailedError if number % 3 == 0 else Stopped)
        assert stop(world(), options(folder, WAYS[way]), fault)
        assert [(w, p.relative_to(folder)) for w, p in fault.steps[:number]] == [
            (w, p.relative_to(tmp_path / "all")) for w, p in steps[:number]
        ]
        assert world().answers(options(folder, WAYS[way])) == expected, (number, steps[number - 1])
        shutil.rmtree(folder)


def test_all_steps_are_tried_when_there_is_time() -> None:
    steps = [("write", Path("epochs") / str(n)) for n in range(1000)]
    assert sorted(in_turn(steps)) == list(range(1, 1001))


@pytest.mark.parametrize("first", [2, 40, 170])
@pytest.mark.parametrize("second", [1, 5, 33])
def test_a_run_that_is_stopped_while_it_recovers_goes_on(first: int, second: int, tmp_path: Path) -> None:
    chosen = options(tmp_path, 0)
    assert stop(world(), chosen, Fault(first))
    assert stop(world(), chosen, Fault(second))
    assert world().answers(chosen) == undisturbed(BoundedOptions(3))


@pytest.mark.parametrize("number", [30, 100, 101, 102, 150, 151, 152])
def test_the_same_run_goes_on_after_a_failed_write(number: int, tmp_path: Path) -> None:
    with fresh_process(), world().run(options(tmp_path, 4000)) as run:
        with hooked(Fault(number, FailedError)), pytest.raises((FailedError, EvaluationError)):
            run.to_the_end()
        run.to_the_end()
        assert run.answers() == undisturbed(BoundedOptions(3))


def test_a_failed_manifest_leaves_the_engine_where_it_was(tmp_path: Path) -> None:
    fault = Fault(4, FailedError, lambda what, path: what == "write" and kind(path) == "epochs")
    with fresh_process(), world().run(options(tmp_path)) as run:
        with hooked(fault), pytest.raises(FailedError):
            run.to_the_end()
        assert run.engine.epoch_number == 3
        run.to_the_end()
        assert run.answers() == undisturbed(BoundedOptions(3))


class Twice(InProcess):
    """Runs every third epoch twice, as two workers would; then the first goes on, and then one with nothing open."""

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels."""
        blocks = super().run(job, fed, levels, partitions, arrivals)
        first = dict(tasks._open)
        tasks._open.clear()
        if job.epoch.number % 3 == 1:
            blocks = super().run(job, fed, levels, partitions, arrivals)
            tasks._open.clear()
            tasks._open.update(first)
        return blocks


@pytest.mark.parametrize("way", WAYS)
def test_an_epoch_that_two_workers_run_happens_once(way: str, tmp_path: Path) -> None:
    with fresh_process(), world().run(options(tmp_path, WAYS[way]), Twice()) as run:
        run.to_the_end()
        assert run.answers() == undisturbed(BoundedOptions(3))


def test_a_run_that_is_closed_has_nothing_open(tmp_path: Path) -> None:
    with fresh_process():
        with world().run(BoundedOptions(3, checkpoint=tmp_path)) as run:
            run.to_the_end()
            assert tasks._open
        assert not tasks._open


def test_snapshots_and_logs_are_both_needed(tmp_path: Path) -> None:
    """What the tests above rely on: a run that goes on reads a snapshot, and logs since."""
    found: list[DurableState] = []
    for epoch in range(3, 8):
        chosen = options(tmp_path / str(epoch), WAYS["every few epochs"])
        stop_after(world(), chosen, epoch)
        with fresh_process(), world().run(chosen) as run:
            found += run.engine._kept.values()
    assert any(len(k.snapshots) == 2 and list(k.since(k.snapshots[-1])) for k in found)
