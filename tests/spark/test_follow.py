"""``continua run --follow`` on Spark: its streams, files that grow, signals, and going on from a checkpoint."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.following import Followed, at_least, end_all
from tests.cli.helpers import continua, write_script


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    yield
    end_all()


MASTER = "local[2]"
RATE = """
CREATE STREAM R (timestamp TIMESTAMP, value BIGINT) SOURCE spark('rate', rowsPerSecond => 50) ORDERED BY timestamp;
SELECT COUNT(*) AS n FROM R [RANGE UNBOUNDED SLIDE 1 SECOND];
"""
FILES = """
CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('{path}') ORDERED BY ts;
REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 6] GROUP BY k;
"""


def test_a_stream_of_spark_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    run = Followed(tmp_path, write_script(tmp_path, RATE), master=MASTER)
    run.wait_until(lambda answers: any(a["row"]["n"] > 50 for a in answers))
    assert run.end(signal.SIGINT) == 0
    assert not [line for line in run.told if "Traceback" in line or "Exception" in line or "leaked" in line]


def test_a_run_on_spark_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = [(i % 3, i) for i in range(40)]
    text = [f"{k},{ts}\n" for k, ts in rows]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("".join(text[:20]))
    script = write_script(tmp_path, FILES.format(path="in"))
    arguments = [script, "--follow", "--checkpoint", "checkpoint", "--trigger", "50ms"]
    first = Followed(tmp_path, *arguments, master=MASTER)
    first.wait_until(at_least(10))
    assert first.end(signal.SIGTERM) == 0, first.told
    (tmp_path / "in" / "b.csv").write_text("".join(text[20:]))
    second = Followed(tmp_path, *arguments, "--until", "38", master=MASTER)
    assert second.end() == 0, second.told
    (tmp_path / "all.csv").write_text("".join(text))
    whole = continua("run", write_script(tmp_path, FILES.format(path="all.csv"), "all.sql"), "--master", "none")
    assert first.lines + second.lines == [x for x in whole.stdout.splitlines() if json.loads(x)["t"] <= 38]
