"""A checkpoint is gone on from with another number of tasks, in one process and on Spark: nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sinks.named import sink_for
from tests.crash.world import forget_memory, fresh_process, undisturbed, world

SINKS = """
CREATE STREAM S (k INT, name STRING, ts BIGINT) ORDERED BY ts SLACK 3;
REGISTER QUERY counted AS SELECT k, COUNT(*) AS n, MAX(name) AS last FROM S [RANGE 5] GROUP BY k
  INTO csv('{folder}/counted');
REGISTER QUERY latest AS SELECT k, name FROM S [PARTITION BY k ROWS 2] INTO parquet('{folder}/latest');
REGISTER QUERY top AS SELECT k, name FROM S [RANGE 6] ORDER BY name, k LIMIT 3 INTO json('{folder}/top');
"""


class EnoughError(Exception):
    """The run ends here."""


def after(epochs: int) -> Callable[[object], None]:
    """Ends a run when it has finished some more epochs."""
    left = epochs

    def told(_: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise EnoughError

    return told


def go_on(
    open_run: Callable[[Executor, BoundedOptions], BoundedRun],
    options: BoundedOptions,
    rng: random.Random,
    spark: SparkSession,
) -> int:
    """Some epochs, here or on Spark, by some tasks; how many there were, 0 once all are done."""
    executor: Executor = rng.choice((InProcess(), OnSpark(spark)))
    with fresh_process(), open_run(executor, replace(options, partitions=rng.randrange(1, 8))) as run:
        epochs = rng.randrange(1, 4)
        try:
            run.to_the_end(after(epochs))
        except EnoughError:
            return epochs
        return 0


@pytest.mark.parametrize("seed", range(2))
def test_every_kind_of_state_goes_on_with_any_number_of_tasks(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    chosen = world(seed)
    options = BoundedOptions(
        3, tmp_path, rng.randrange(1, 4), slots=rng.choice((None, 5)), snapshot_bytes=rng.choice((None, 0))
    )

    def opened(executor: Executor, now: BoundedOptions) -> BoundedRun:
        return chosen.run(now, executor)

    while go_on(opened, options, rng, spark):
        pass
    with fresh_process(), chosen.run(options) as run:
        assert run.answers() == undisturbed(BoundedOptions(3), seed)


def rows(seed: int) -> list[tuple[int, str, int]]:
    rng = random.Random(seed)
    return [(rng.randrange(6), rng.choice(("a", "b", "zoë", "")), at + rng.randrange(3)) for at in range(40)]


def files(folder: Path) -> dict[str, list[bytes]]:
    """What is in the files of sinks, in the order of their names."""
    found = {name: sorted((folder / name).glob("[!._]*")) for name in ("counted", "latest", "top")}
    return {name: [path.read_bytes() for path in paths] for name, paths in found.items()}


def sinks_run(folder: Path, executor: Executor, options: BoundedOptions) -> BoundedRun:
    session = Session()
    session.execute(SINKS.format(folder=folder))
    session.insert("S", rows(5))
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    sinks = {q.name: sink for q in queries if (sink := sink_for(q.sink, folder)) is not None}
    return BoundedRun(queries, given, [], executor, options, sinks)


def test_sinks_have_the_same_files_with_any_number_of_tasks(spark: SparkSession, tmp_path: Path) -> None:
    options = BoundedOptions(3, tmp_path / "checkpoint", 2, slots=4)
    with (
        fresh_process(),
        sinks_run(tmp_path / "whole", InProcess(), replace(options, checkpoint=tmp_path / "c")) as run,
    ):
        run.to_the_end()
    rng = random.Random(1)
    while go_on(lambda executor, now: sinks_run(tmp_path / "parts", executor, now), options, rng, spark):
        pass
    whole = files(tmp_path / "whole")
    assert all(whole.values())
    assert files(tmp_path / "parts") == whole


def test_a_live_run_goes_on_with_more_and_with_fewer_tasks(spark: SparkSession, tmp_path: Path) -> None:
    def live(partitions: int, own: SparkSession | None) -> Session:
        forget_memory()
        session = Session(spark=own) if own is not None else Session()
        session.execute("CREATE STREAM S (k INT, name STRING, ts BIGINT) ORDERED BY ts; SET slots = 6")
        session.sql("REGISTER QUERY counted AS SELECT k, COUNT(*) AS n FROM S [RANGE 20] GROUP BY k")
        session.start(options=LiveOptions(checkpoint=tmp_path, partitions=partitions))
        return session

    came: list[tuple[int, str, int]] = []
    for turn, (partitions, own) in enumerate([(1, None), (6, spark), (2, spark), (9, None)]):
        session = live(partitions, own)
        assert session.live is not None
        new = [(n % 7, "x", 5 * turn + n % 5) for n in range(20)]
        new.sort(key=lambda row: row[2])
        came += new
        session.insert("S", new)
        session.live.process()
        assert session.live.main.engine.partitions == 6
        session.stop()
    session = live(3, spark)
    assert session.live is not None
    held = session.live.content("counted", 5 * 4 - 2)
    session.stop()
    counts = {k: sum(row[0] == k and row[2] <= 18 for row in came) for k in range(7)}
    assert sorted(held) == sorted(counts.items())
