"""The progress of live queries tells which of them takes the time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from continua.answers.relation_behind import behind_name
from continua.runs.metrics import metrics_text
from continua.session import Session
from tests.cli.helpers import continua
from tests.runtime.test_metrics import figures

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;
CREATE FUNCTION weighed (x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.runtime.test_query_times:weighed';
"""
COUNTED = "SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k"


def weighed(value: int | None) -> int:
    """A function that keeps a processor busy for a while."""
    return sum(number & 1 for number in range(20_000)) + (value or 0)


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session(master="none")
    session.execute(DEFINITIONS)
    yield session
    session.stop()


def progress_of(session: Session) -> dict[str, Any]:
    """What the epoch did in which rows were read."""
    handles = session.start()
    session.insert("S", [(n % 7, n) for n in range(200)])
    handles[0].processAllAvailable()
    found = [p for p in handles[0].recentProgress if p["numInputRows"]]
    assert len(found) == 1
    return found[0]


def test_the_query_with_the_slow_function_is_told(session: Session) -> None:
    session.execute(
        "REGISTER QUERY quick AS SELECT k FROM S [NOW]; REGISTER QUERY heavy AS SELECT weighed(k) AS w FROM S [NOW];"
    )
    took = progress_of(session)["queryDurationMs"]
    assert took.keys() == {"quick", "heavy"}
    assert took["heavy"] > 5 * took["quick"] > 0


def test_what_operators_take_is_divided_among_the_queries_that_use_them(session: Session) -> None:
    session.execute("".join(f"REGISTER QUERY {name} AS {COUNTED};" for name in ("one", "two")))
    session.execute("REGISTER QUERY other AS SELECT k FROM S [NOW];")
    done = progress_of(session)
    took = done["queryDurationMs"]
    assert took["one"] == pytest.approx(took["two"], rel=0.5), "all but the last of their operators are shared"
    assert sum(took.values()) == pytest.approx(sum(o["durationMs"] for o in done["operators"]), abs=1)
    assert sum(took.values()) <= done["durationMs"]["run"]


def test_the_relation_behind_a_stream_counts_to_the_query(session: Session) -> None:
    session.execute(f"REGISTER QUERY q AS SELECT DSTREAM * FROM ({COUNTED});")
    done = progress_of(session)
    assert session.live is not None
    assert behind_name("q") in session.live.engine.placement.by_query(
        dict.fromkeys(session.live.engine.placement.users, 1.0)
    )
    assert done["queryDurationMs"].keys() == {"q"}


def test_all_epochs_are_counted_for_prometheus(session: Session) -> None:
    session.execute("REGISTER QUERY quick AS SELECT k FROM S [NOW];")
    took = progress_of(session)["queryDurationMs"]["quick"]
    assert session.live is not None
    assert (
        figures(metrics_text(session.live.runs.values()))['continua_query_seconds_total{query="quick"}']
        >= took / 1000 - 1e-5
    )


def test_lines_about_epochs_tell_it(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("k,ts\n1,1\n2,2\n")
    script = tmp_path / "script.sql"
    stream = "CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;"
    script.write_text(f"{stream} REGISTER QUERY q AS SELECT k FROM S [NOW];")
    done = continua("run", str(script), "--follow", "--for", "100ms", "--log-json", "--master", "none")
    epochs = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("q" in e.get("queryDurationMs", {}) for e in epochs)
