"""How live sessions are measured: batches, what their epochs tell, and what a run holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.live import ROWS, LiveBids
from benchmarks.sides import IN_PROCESS

from benchmarks import epochs, sharing

COUNTS = "SELECT auction, COUNT(*) AS bids FROM bid [RANGE 500] GROUP BY auction"


def test_a_batch_tells_of_its_own_epochs() -> None:
    queries = LiveBids([COUNTS], IN_PROCESS)
    queries.fill(700)
    first, second = queries.batches(2)
    queries.stop()
    for batch in (first, second):
        assert sum(p["numInputRows"] for p in batch.progress) == ROWS
        assert 0 < batch.engine < batch.seconds
        assert batch.answers > ROWS
        assert batch.state_rows >= 500
    assert first.progress[-1]["epoch"] + 1 == second.progress[0]["epoch"]


def test_growth(capsys: pytest.CaptureFixture[str]) -> None:
    epochs.growth(2, [epochs.Way(IN_PROCESS)], small=1_000, large=5_000)
    *_, less, more = capsys.readouterr().out.splitlines()
    assert less.startswith("none, inserted")
    assert " x" in more


def test_soak(capsys: pytest.CaptureFixture[str]) -> None:
    epochs.soak(4, IN_PROCESS)
    *marks, verdict = capsys.readouterr().out.splitlines()
    assert len(marks) == 4
    assert "grow" in verdict


def test_durable(capsys: pytest.CaptureFixture[str]) -> None:
    epochs.durable(2, IN_PROCESS)
    assert "times (target: under 1.1)" in capsys.readouterr().out


def test_what_is_held_is_all_that_is_on_disk(tmp_path: Path) -> None:
    for name, size in (("results/1/a", 5), ("state/0/b", 7), ("queries", 2)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    held = epochs.Held.now(tmp_path, 0.002, 0.05)
    assert (held.files, held.size, held.epoch, held.snapshot) == (3, 14, 2, 50)
    assert held.session > 2**20


def test_many_queries_against_one() -> None:
    one, few = sharing.lines("keys", [1, 3], 2, IN_PROCESS)
    assert one[0] == "1 keys"
    assert one[4] == "1.0 x"
    assert few[0] == "3 keys"
    assert few[6].endswith(" s")
