"""Partitions that run on one machine and then on another: they load what is not there, and nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from continua.runs.bounded import BoundedOptions
from continua.runtime.checkpoint import partition_state
from continua.runtime.checkpoint.store import SealedStore
from continua.runtime.executors.executor import InProcess, Tables
from continua.runtime.jobs import Job
from continua.runtime.row_blocks import Block
from tests.crash.world import fresh_process, undisturbed, world


class Wandering(InProcess):
    """Every epoch is on some machine, with folders of its own."""

    def __init__(self, machines: Sequence[str]) -> None:
        super().__init__()
        self._machines = machines

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels on the machine of the epoch; after the last one it is the first one's turn again."""
        machine = self._machines[(job.epoch.number - 1) % len(self._machines)]
        return super().run(replace(job, scratch=f"{job.scratch}/{machine}"), fed, levels, partitions, arrivals)


@pytest.mark.parametrize(("snapshot_bytes", "least"), [(None, 1 << 20), (None, 500), (0, 500)])
def test_state_that_wanders_is_the_same(
    snapshot_bytes: int | None, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_state, "_LEAST", least)
    seed = 1
    rng = random.Random(seed)
    executor = Wandering([rng.choice("abc") for _ in range(11)])
    options = BoundedOptions(3, tmp_path, 2, snapshot_bytes)
    with fresh_process(), world(seed).run(options, executor) as run:
        run.to_the_end()
        assert run.answers() == undisturbed(BoundedOptions(3), seed)
        snapped = any(kept.snapshots for kept in run.engine._kept.values())
        assert snapped == (snapshot_bytes == 0 or least < 1 << 20)
        assert 0 < sum(p.loads for p in run.engine.progress) < sum(p.openings for p in run.engine.progress)


@pytest.mark.parametrize(("snapshot_bytes", "read"), [(None, {"logs"}), (0, {"logs", "segments", "snapshots"})])
def test_what_is_there_is_not_read(
    snapshot_bytes: int | None, read: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the state of an earlier epoch reads what came since, or what has changed."""
    found: list[tuple[int, str]] = []
    reading, epochs = SealedStore.get, [0]

    def get(store: SealedStore, name: str, digest: str | None = None) -> bytes:
        content = reading(store, name, digest)
        if name.startswith("state/level-1/partition-0"):
            found.append((epochs[0], name))
        return content

    class Told(Wandering):
        def run(self, job: Job, *others: object) -> list[Block]:
            epochs[0] = job.epoch.number
            return super().run(job, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(SealedStore, "get", get)
    options = BoundedOptions(2, tmp_path, 1, snapshot_bytes)
    with fresh_process(), world().run(options, Told("aaaabba")) as run:
        run.to_the_end()
    back = [name for epoch, name in found if epoch == 7]
    """In epoch 7 the partition is back on the first machine, which has its state of epoch 4."""
    assert {name.split("/")[3] for name in back} <= read
    if snapshot_bytes is None:
        assert sorted(int(name.split("/")[-1].split("-")[0]) for name in back) == [5, 6]
    else:
        tables = [name for name in back if "/snapshots/" in name]
        assert len(tables) >= 1
