"""Sources whose files are sequences of their own: what is late there, and the order of rows of one instant."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.errors import BindError, ContinuaError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from tests.crash.world import fresh_process

STREAM = "CREATE STREAM S (v STRING, ts BIGINT) SOURCE csv('s') ORDERED BY ts"


def files(folder: Path) -> None:
    (folder / "s").mkdir()
    (folder / "s" / "a.csv").write_text("a1,1\na5,5\na4,4\na9,9\n")
    (folder / "s" / "b.csv").write_text("b1,1\nb3,3\nb5,5\nb2,2\nb9,9\n")


def session_over(folder: Path, clause: str) -> Session:
    session = Session(data=folder, rejects=folder / "rejected")
    session.execute(f"{STREAM} {clause};")
    return session


def late_rows(session: Session, folder: Path) -> list[str]:
    session.answers()
    lines = (folder / "rejected" / "S.rejected.jsonl").read_text().splitlines()
    return [line.split('"file": "')[1].split('"')[0] + ":" + line.split('"line": ')[1].split(",")[0] for line in lines]


@pytest.mark.parametrize(
    ("clause", "late"),
    [
        ("", ["s/a.csv:3", "s/b.csv:1", "s/b.csv:2", "s/b.csv:3", "s/b.csv:4"]),
        ("PARTITIONED BY FILE", ["s/a.csv:3", "s/b.csv:4"]),
        ("SLACK 1 PARTITIONED BY FILE", ["s/b.csv:4"]),
    ],
)
def test_a_row_is_late_by_its_own_file(tmp_path: Path, clause: str, late: list[str]) -> None:
    files(tmp_path)
    session = session_over(tmp_path, clause)
    session.sql("SELECT v FROM S [NOW]")
    assert late_rows(session, tmp_path) == late


@pytest.mark.parametrize("batch", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("durable", [False, True])
def test_rows_of_one_instant_are_in_the_order_of_their_files(
    tmp_path: Path, batch: int | None, partitions: int, durable: bool
) -> None:
    files(tmp_path)
    session = session_over(tmp_path, "PARTITIONED BY FILE")
    query = session.sql("SELECT ISTREAM(v) FROM S [ROWS 1]")
    assert query is not None
    options = BoundedOptions(batch, tmp_path / "checkpoint" if durable else None, partitions)
    with fresh_process(), BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
        run.to_the_end()
        # at one instant the last row of the last file is what the window holds afterwards
        assert [(a.instant, a.row) for a in run.answers()] == [
            (1, ("b1",)),
            (3, ("b3",)),
            (5, ("b5",)),
            (9, ("b9",)),
        ]


def test_an_epoch_waits_for_the_file_that_is_most_behind(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv").write_text("".join(f"a{i},{i * 10}\n" for i in range(6)))
    (tmp_path / "s" / "b.csv").write_text("".join(f"b{i},{i}\n" for i in range(6)))
    session = session_over(tmp_path, "PARTITIONED BY FILE")
    query = session.sql("SELECT v FROM S [NOW]")
    assert query is not None
    reached = []
    with BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), BoundedOptions(4)) as run:
        run.to_the_end(lambda done: reached.append(done.until))
        assert sum(p.rows_in.get("s", 0) for p in run.engine.progress) == 12
    assert reached[1:3] == [0, 2], "two rows of each file an epoch, and b is the slower one"
    assert reached == sorted(reached)


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("CREATE STREAM S (v INT) SOURCE csv('s') PARTITIONED BY FILE", "UNTIMED_PARTITIONS"),
        ("CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts PARTITIONED BY FILE", "NO_FILES"),
        ("CREATE STREAM S (v INT, ts BIGINT) SOURCE csv('s') ORDERED BY ts PARTITIONED BY v", "NOT_BY_COLUMN"),
        ("CREATE STREAM S (v STRING, ts BIGINT) ORDERED BY ts PARTITIONED BY v", "NOT_A_NUMBER"),
        ("CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts PARTITIONED BY w", "UNKNOWN_COLUMN"),
        ("CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts PARTITIONED BY v OFFSET w", "UNKNOWN_COLUMN"),
        ("CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts PARTITIONED v", "SYNTAX"),
    ],
)
def test_partitions_that_make_no_sense_are_refused(statement: str, condition: str) -> None:
    with pytest.raises(ContinuaError) as caught:
        Session().execute(statement)
    assert caught.value.condition == condition
    assert condition == "SYNTAX" or isinstance(caught.value, BindError)
