"""Processes are killed at random times, and others go on: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from continua.runs.bounded import BoundedOptions
from tests.crash.killing import live
from tests.crash.world import manifests_in, undisturbed, world

SEED = int(os.environ.get("CONTINUA_CRASH_SEED", "2024"))


@pytest.mark.parametrize(
    ("kills", "longest", "arguments"),
    [
        (2, 0.9, ["--snapshot-bytes", "0", "--pause", "0.25"]),
        (2, 0.9, ["--snapshot-bytes", "6000", "--pause", "0.25"]),
        (1, 2.5, ["--spark", "--snapshot-bytes", "6000", "--pause", "0.3"]),
    ],
    ids=["snapshots always", "snapshots and logs", "on Spark"],
)
def test_a_process_that_is_killed_is_gone_on_from(
    kills: int, longest: float, arguments: list[str], tmp_path: Path
) -> None:
    rng = random.Random(f"{SEED} {arguments}")
    killed = 0
    while killed < kills:
        life = live(tmp_path, longest, rng, arguments)
        assert not life.finished, "the process was too quick to be killed"
        killed += 1
    assert live(tmp_path, None, rng, arguments).finished
    options = BoundedOptions(3, tmp_path, 2)
    with world().run(options) as run:
        assert run.engine.intent() is None
        epochs = run.engine.epoch_number
        found = run.answers()
    assert epochs == len(manifests_in(tmp_path))
    expected = undisturbed(options)
    assert Counter(found) - Counter(expected) == Counter(), "something is there twice"
    assert Counter(expected) - Counter(found) == Counter(), "something is lost"
    assert found == expected
