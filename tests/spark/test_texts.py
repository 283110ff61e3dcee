"""Hundreds of texts in files: the same values and the same rejections in this process and on Spark, however it is cut.

What the values are is settled by tests/sources; CSV is read row by row here too, by Python's own reader.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.errors import DataError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sources.given import Given
from tests.sources.by_rows import read_csv
from tests.sources.text_files import TextFile, large_files, small_files
from tests.spark.in_files import Way, cut

SMALL, LARGE = Way(250), Way(1 << 20)
WHOLE = Way(1 << 30)
COUNTED = ("kind", "nested", "large")
"""Files whose values are counted."""


@dataclass
class Read:
    """What became of the texts of files."""

    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By file the rows, as they are written, so that only the same value is equal."""
    rejected: dict[str, list[tuple[str, int, str, str]]] = field(default_factory=dict)
    """By file where records were that are no rows, why, and their texts."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files."""
    folder = tmp_path_factory.mktemp("texts")
    for file in (*small_files(), *large_files()):
        file.write(folder)
    return folder


def session_over(folder: Path, rejects: Path, skip: bool = True, files: Sequence[TextFile] = ()) -> Session:
    """A query for the content of each file; of some, one that counts equal values too, for which rows have to move."""
    session = Session(data=folder, rejects=rejects)
    for file in files or (*small_files(), *large_files()):
        name, last = file.source, file.columns[-1][0]
        session.execute(file.definition(skip))
        session.execute(f"REGISTER QUERY {name}_rows AS SELECT * FROM {name}")
        if name.startswith(COUNTED):
            session.execute(f"REGISTER QUERY {name}_counts AS SELECT {last}, COUNT(*) AS n FROM {name} GROUP BY {last}")
    return session


def given_by(session: Session, small: Way, large: Way) -> Given:
    """All files, the large ones cut into larger splits."""
    sources = {s for q in session.queries.values() for s in q.sources}
    found: Given = Given({}, {})
    for way, mine in (
        (small, [s for s in sources if not s.name.startswith("large")]),
        (large, [s for s in sources if s.name.startswith("large")]),
    ):
        with cut(way):
            found = Given({}, {**found.files, **session.inputs.given(mine).files})
    return found


def read(folder: Path, rejects: Path, executor: Executor, small: Way, large: Way) -> Read:
    """What a run reads."""
    session = session_over(folder, rejects)
    found = Read()
    given = given_by(session, small, large)
    assert len(given.files) == len([*small_files(), *large_files()])
    with (
        cut(SMALL),
        BoundedRun(
            list(session.queries.values()), given, [], executor, BoundedOptions(partitions=3), reader=session.inputs
        ) as run,
    ):
        run.to_the_end()
        run.tell_kept_apart()
        found.values = Counter((a.query, repr(a.row)) for a in run.answers())
    for path in rejects.iterdir():
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        name = path.name.partition(".")[0]
        found.rejected[name] = [(x["file"], x["line"], x["reason"], x["text"]) for x in lines]
    return found


@pytest.fixture(scope="module")
def here(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """What is read without Spark, each file at once, in a process that has done nothing else."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        rejects = tmp_path_factory.mktemp("rejected")
        return fresh.submit(read, folder, rejects, InProcess(), WHOLE, WHOLE).result()


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """What is read on Spark, in splits."""
    return read(folder, tmp_path_factory.mktemp("rejected"), OnSpark(spark), SMALL, LARGE)


def test_there_are_hundreds_of_texts(here: Read) -> None:
    assert sum(count for (query, _), count in here.values.items() if query.endswith("_rows")) > 350
    assert sum(map(len, here.rejected.values())) > 200


def test_every_text_has_the_same_value_on_spark(here: Read, on_spark: Read) -> None:
    assert not (on_spark.values - here.values), "only on Spark"
    assert not (here.values - on_spark.values), "only in this process"


def test_the_same_records_are_rejected_on_spark_with_their_file_and_line(here: Read, on_spark: Read) -> None:
    assert on_spark.rejected.keys() == here.rejected.keys()
    for name, expected in here.rejected.items():
        assert on_spark.rejected[name] == expected


def test_csv_has_the_values_and_rejections_that_reading_row_by_row_gives(folder: Path, on_spark: Read) -> None:
    files = [f for f in small_files() if f.spec.format == "csv"]
    for file in files:
        rows, wrong = read_csv(file.spec, folder / file.name)
        found = {row: n for (query, row), n in on_spark.values.items() if query == f"{file.source}_rows"}
        assert found == Counter(repr(tuple(map(_positive, row.values))) for row in rows), file
        places = [(m.file, m.line) for m in wrong]
        assert [(x[0], x[1]) for x in on_spark.rejected.get(file.source, [])] == places, file


def _positive(value: object) -> object:
    """A value of the engine, for which both zeros of floating-point numbers are one."""
    return value + 0.0 if isinstance(value, float) else value


@pytest.mark.parametrize("name", ["kind0.csv", "wrong.jsonl"])
def test_without_skip_the_first_record_that_is_no_row_ends_the_run_alike(
    spark: SparkSession, folder: Path, here: Read, tmp_path: Path, name: str
) -> None:
    (file,) = [f for f in (*small_files(), *large_files()) if f.name == name]
    session = session_over(folder, tmp_path, skip=False, files=[file])
    caught: list[DataError] = []
    for executor in (OnSpark(spark), InProcess()):
        given = given_by(session, SMALL, LARGE)
        queries = list(session.queries.values())
        with (
            cut(SMALL),
            BoundedRun(queries, given, [], executor, BoundedOptions()) as run,
            pytest.raises(DataError) as error,
        ):
            run.to_the_end()
        caught.append(error.value)
    first = here.rejected[file.source][0]
    for found in caught:
        assert found.condition == "MALFORMED_ROW"
        assert (found.parameters["file"], found.parameters["line"]) == first[:2]
    assert caught[0].parameters == caught[1].parameters
