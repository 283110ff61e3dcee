"""A live session on Spark is killed while it reads a folder of files; another process goes on from the checkpoint.

Time is bounded: there are two lives with a Spark session each (some ten seconds until their first epoch), the first is
killed at most ``LONGEST`` seconds after its first epoch, and there are five files, an epoch each. What should be
written is found out without Spark.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.killing import live
from tests.crash.streaming_child import SCRIPT, Bids, batches, write_bids
from tests.crash.world import forget_memory

SEED = int(os.environ.get("CONTINUA_CRASH_SEED", "2024"))
MODULE = "tests.crash.streaming_child"
LONGEST = 3.0


def undisturbed(folder: Path, given: list[Bids]) -> None:
    """The same queries in this process, with nothing in the way."""
    session = Session(data=folder)
    session.execute(SCRIPT)
    session.start(options=LiveOptions(checkpoint=folder / "checkpoint"))
    assert session.live is not None
    for rows in given:
        session.insert("Bid", rows)
        session.live.process()
    session.live.finish()
    session.stop()
    forget_memory()


def written(folder: Path) -> list[str]:
    """What a sink holds, in the order of time; at one instant in any order."""
    lines = [line for path in sorted((folder / "tops").glob("epoch-*.json")) for line in path.read_text().splitlines()]
    return sorted(lines, key=lambda line: (json.loads(line)["t"], line))


def test_a_live_session_that_is_killed_writes_everything_once(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    given = batches(SEED)
    write_bids(tmp_path / "bids", given)
    undisturbed(tmp_path / "undisturbed", given)
    life = live(tmp_path, LONGEST, rng, ["--pause", "1.5"], MODULE)
    assert not life.finished, "the process was too quick to be killed"
    assert live(tmp_path, None, rng, [], MODULE).finished
    expected = written(tmp_path / "undisturbed")
    assert len(expected) > 20
    assert written(tmp_path / "sinks") == expected
