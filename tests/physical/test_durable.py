"""What the operators remember is in their state: a run that is begun anew for every epoch gives the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.answers.query import answers_of
from continua.physical.ordered_operators import FINAL
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.plans import column_types
from continua.runtime.executors.executor import InProcess
from continua.runtime.feed import Feed
from tests.acceptance.on_engine import difference, lines
from tests.physical.comparing import STREAMS, asked
from tests.physical.test_views import VIEWS

QUERIES = [
    "SELECT a, k FROM S [PARTITION BY k ROWS 2 SLIDE 2]",
    "SELECT a, k FROM S [FROM j TO j + 3 EVERY 1 ROW]",
    "SELECT RSTREAM a FROM S [FROM j ROWS TO j + 1 ROWS EVERY 2]",
    "SELECT RSTREAM k FROM (SELECT k FROM S [ROWS 2 SLIDE 2] UNION ALL SELECT k FROM U [RANGE 6 SLIDE 3]) Z",
    "SELECT * FROM I [ROWS 2]",
    "SELECT a, NOW FROM S [RANGE 3]",
    "SELECT a, k FROM S [RANGE 6] WHERE NOW > ts + 3 OR a = 3",
    "SELECT STREAMED k, TS FROM ℜ(N)",
    "SELECT STREAMED * FROM ℜ(V)",
    "SELECT STREAMED k, n, TS FROM ℜ(Counted)",
    "SELECT STREAMED a, k, TS FROM ℜ_Hot(K)",
    "SELECT RSTREAM COUNT(*) FROM ℜ_Sync2(K) X, ℜ_Sync3(M) Y",
    "SELECT STREAMED MAX(Timepoint) AS now FROM ℜ(clockStr), ℜ(K)",
]


@pytest.mark.parametrize("text", QUERIES)
def test_a_run_that_is_begun_anew_for_every_epoch(text: str, tmp_path: Path) -> None:
    session, query = asked(text, STREAMS + VIEWS, dialect="sync")
    inputs = session.inputs.read(query.sources)
    feed = Feed.of_inputs(inputs, column_types([query]))
    options = BoundedOptions(batch_rows=2, partitions=2, checkpoint=tmp_path)
    reached = -FINAL
    while reached < FINAL:
        with BoundedRun([query], inputs, session.functions, InProcess(), options) as run:
            fed = feed.next(options.batch_rows, feed.places(run.engine.offsets.rows), FINAL)
            reached = run.engine.epoch(fed).until
            found = lines(run.answers())
    expected = lines(answers_of(query, session.reference([query])[query.name]))
    assert found == expected, difference(query, options, found, expected)
