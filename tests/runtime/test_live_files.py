"""Live runs over files that grow and folders that get more of them: as if all had been there from the beginning."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from continua.errors import CheckpointError, DataError
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.runs.query_handle import QueryHandle
from continua.runtime import live_files
from continua.session import Session
from continua.sources import csv_split, planning
from tests.crash.world import forget_memory, fresh_process
from tests.sources.worlds import bag

DEFINITIONS = """
CREATE STREAM S (k INT, name STRING, ts BIGINT) SOURCE csv('s') ORDERED BY ts SLACK 2 ON ERROR SKIP;
CREATE STREAM F (k INT, ts BIGINT) SOURCE jsonl('f') ORDERED BY ts PARTITIONED BY FILE;
CREATE STREAM I (k INT, ts BIGINT) ORDERED BY ts;
"""
QUERIES = """
SELECT name FROM S [ROWS 3];
SELECT S.name, F.k FROM S [RANGE 4], F [RANGE 3] WHERE S.k = F.k;
SELECT k, COUNT(*) AS n FROM F [RANGE 5] GROUP BY k;
SELECT k FROM I [RANGE 2];
"""


def content(seed: int) -> dict[str, str]:
    """The lines of files: some rows are late, some lines are no rows."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    time = 0
    for number in range(3):
        lines = []
        for i in range(12):
            time += chance.choice((0, 1, 2))
            name = chance.choice((f"n{number}{i}", f'"two\nlines {number}{i}"', f'"a ""{i}"""'))
            lines.append(f"{chance.randrange(3)},{name},{max(time - chance.choice((0, 0, 1, 4)), 0)}\n")
            if chance.random() < 0.1:
                lines.append("no row\n")
        found[f"s/{number}.csv"] = "".join(lines).removesuffix("\n" if number == 2 else "none")
    for number in range(2):
        times = sorted(chance.randrange(40) for _ in range(10))
        found[f"f/{number}.jsonl"] = "".join(f'{{"k": {chance.randrange(3)}, "ts": {t}}}\n' for t in times)
    return found


def session_over(folder: Path) -> Session:
    session = Session(data=folder, rejects=folder / "rejected")
    session.execute(DEFINITIONS + QUERIES)
    return session


def live_of(session: Session) -> LiveRun:
    assert session.live is not None
    return session.live.main


def kept_apart(folder: Path) -> list[tuple[str, int, bool]]:
    found = []
    for path in sorted((folder / "rejected").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found += [(x["file"], x["line"], x["reason"] == "late") for x in lines]
    return sorted(found)


def answers_of(live: LiveRun, handles: list[QueryHandle]) -> object:
    return bag([a for handle in handles for a in live.answers(handle.name)])


def expected(folder: Path, files: dict[str, str], rows: list[tuple[int, int]]) -> tuple[object, object]:
    """What a bounded run says of all of it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    session = session_over(folder)
    session.insert("I", rows)
    return bag(session.answers()), kept_apart(folder)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("durable", [False, True])
def test_files_that_grow_are_read_as_if_they_had_been_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, durable: bool
) -> None:
    files, rows = content(seed), [(i % 3, i) for i in range(9)]
    answers, apart = expected(tmp_path / "whole", files, rows)
    monkeypatch.setattr(planning, "BYTES", 70)
    for module in (csv_split, live_files):
        monkeypatch.setattr(module, "MOST_OPEN", 60)
    forget_memory()
    chance = random.Random(seed)
    folder = tmp_path / "live"
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    # of the files that are sequences of their own the first rows are there: only what is known is waited for
    left = {name: text.encode() for name, text in files.items()}
    for name in [n for n in left if n.startswith("f/")]:
        first, left[name] = left[name].split(b"\n", 1)
        (folder / name).write_bytes(first + b"\n")
    options = LiveOptions(checkpoint=tmp_path / "checkpoint" if durable else None, partitions=chance.choice((1, 3)))
    session = session_over(folder)
    handles = session.start(options=options)
    live_of(session).process()
    while left:
        name = (
            min(n for n in left if n.startswith("s/"))
            if chance.random() < 0.5 and any(n.startswith("s/") for n in left)
            else chance.choice(sorted(n for n in left if n.startswith("f/")) or sorted(left)[:1])
        )
        cut = chance.randrange(1, 60)
        with (folder / name).open("ab") as file:
            file.write(left[name][:cut])
        left[name] = left[name][cut:]
        if not left[name]:
            del left[name]
        live_of(session).process()
        if durable and chance.random() < 0.1:
            session.stop()
            forget_memory()
            session = session_over(folder)
            handles = session.start(options=options)
    session.insert("I", rows)
    live_of(session).finish()
    assert answers_of(live_of(session), handles) == answers
    assert kept_apart(folder) == apart
    late = handles[0].late("S")
    assert isinstance(late, pa.Table)
    assert late.num_rows == sum(1 for file, _, is_late in kept_apart(tmp_path / "whole") if is_late and "s/" in file)
    session.stop()


def test_a_line_that_has_no_end_is_still_being_written(tmp_path: Path) -> None:
    forget_memory()
    path = tmp_path / "s.csv"
    path.write_text("1,1\n2,2\n3")
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    session.sql("SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    session.start()
    live = live_of(session)
    live.process()
    assert live.engine.positions["s"].rows == 2
    path.write_text("1,1\n2,2\n30,3\n4,4\n")
    live.process()
    live.process()
    assert live.engine.positions["s"].rows == 4
    assert live.engine.until == 3
    session.stop()


def test_a_row_that_is_none_can_be_corrected_and_the_run_goes_on(tmp_path: Path) -> None:
    forget_memory()
    path = tmp_path / "s.csv"
    path.write_text("1,1\nx,2\n")
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    live = live_of(session)
    with pytest.raises(DataError) as caught:
        live.process()
    assert (caught.value.parameters["file"], caught.value.parameters["line"]) == ("s.csv", 2)
    path.write_text("1,1\n2,2\n")
    live.finish()
    assert {a.row for a in live.answers(handle.name)} == {(1,), (2,)}
    session.stop()


def test_a_file_that_changed_where_it_was_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("1,1\n2,2\n")
    options = LiveOptions(checkpoint=tmp_path / "checkpoint")

    def started() -> Session:
        session = Session(data=tmp_path)
        session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
        session.sql("SELECT k FROM S [NOW]")
        session.start(options=options)
        return session

    with fresh_process():
        session = started()
        live_of(session).process()
        session.stop()
    path.write_text("1,1\n3,2\n4,4\n")
    with fresh_process(), pytest.raises(CheckpointError) as caught:
        started()
    assert caught.value.condition == "SOURCE_CHANGED"


def test_files_that_were_there_are_waited_for_however_many(tmp_path: Path) -> None:
    forget_memory()
    (tmp_path / "s").mkdir()
    for number in range(130):
        (tmp_path / "s" / f"{number:03}.csv").write_text("".join(f"{number},{t}\n" for t in (1, 2, 3)))
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s') ORDERED BY ts PARTITIONED BY FILE;")
    session.sql("SELECT ISTREAM k, ts FROM S [NOW]")
    (handle,) = session.start()
    live_of(session).process()
    live_of(session).finish()
    assert len(live_of(session).answers(handle.name)) == 390
    assert handle.late("S").num_rows == 0
    session.stop()


@pytest.mark.parametrize("change", ["shorter", "longer", "replaced", "grown by another name", "gone", "written again"])
def test_what_was_read_stays_as_it_was_while_a_run_goes_on(tmp_path: Path, change: str) -> None:
    forget_memory()
    path = tmp_path / "s.csv"
    before = "".join(f"{i},{i}\n" for i in range(1, 4))
    path.write_text(before)
    form = "parquet" if change == "written again" else "csv"
    if form == "parquet":
        path = tmp_path / "s.parquet"
        pq.write_table(pa.table({"k": [1, 2, 3], "ts": [1, 2, 3]}), path)
    session = Session(data=tmp_path)
    session.execute(f"CREATE STREAM S (k BIGINT, ts BIGINT) SOURCE {form}('{path.name}') ORDERED BY ts;")
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start()
    live = live_of(session)
    live.process()
    other = tmp_path / "other"
    match change:
        case "shorter":
            path.write_text("1,1\n")
        case "longer":
            path.write_text(before.replace("2,2", "7,2") + "4,4\n")
        case "replaced":
            other.write_text("".join(f"{i},{i}\n" for i in range(4, 9)))
            other.rename(path)
        case "grown by another name":
            other.write_text(before + "4,4\n")
            other.rename(path)
        case "gone":
            path.unlink()
        case _:
            pq.write_table(pa.table({"k": [1, 2, 3, 4], "ts": [1, 2, 3, 4]}), path)
    if change in ("grown by another name", "gone"):
        live.finish()
        expected_rows = 4 if change != "gone" else 3
        assert len({a.row for a in live.answers(handle.name)}) == expected_rows
    else:
        for _ in range(2):
            with pytest.raises(CheckpointError) as caught:
                live.process()
            assert caught.value.condition == "SOURCE_CHANGED"
    session.stop()


@pytest.mark.parametrize(("form", "rows"), [("csv", "{0},{0}\n"), ("jsonl", '{{"k": {0}, "ts": {0}}}\n')])
def test_a_file_that_is_gone_before_it_was_read_is_told_once(tmp_path: Path, form: str, rows: str) -> None:
    forget_memory()
    folder = tmp_path / "s"
    folder.mkdir()
    for name, first in (("a", 0), ("b", 6), ("c", 12)):
        (folder / f"{name}.{form}").write_text("".join(rows.format(first + i) for i in range(6)))
    session = Session(data=tmp_path)
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) SOURCE {form}('s') ORDERED BY ts;")
    session.sql("SELECT k FROM S [NOW]")
    (handle,) = session.start(options=LiveOptions(max_rows=4))
    live = live_of(session)
    live.step()
    live.step()  # four rows of the first file, and its other two
    (folder / f"a.{form}").unlink()
    live.step()
    (folder / f"b.{form}").unlink()
    live.process()
    live.finish()
    told = [(n.condition, n.parameters["file"]) for n in session.inputs.notices]
    assert told == [("FILE_GONE", f"s/b.{form}")]
    assert {a.row[0] for a in live.answers(handle.name)} == {*range(10), *range(12, 18)}
    session.stop()


def test_rows_before_a_query_joined_are_not_late(tmp_path: Path) -> None:
    forget_memory()
    (tmp_path / "t.csv").write_text("".join(f"{i},{i}\n" for i in range(1, 21)))
    session = Session(data=tmp_path, rejects=tmp_path / "rejected")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    session.execute("CREATE STREAM T (k INT, ts BIGINT) SOURCE csv('t.csv') ORDERED BY ts;")
    first = session.sql("SELECT k FROM S [NOW]")
    assert first is not None
    session.start([first])
    session.insert("S", [(1, 9), (2, 10)])
    live_of(session).process()
    second = session.sql("SELECT ISTREAM k FROM T [NOW]")
    assert second is not None
    (handle,) = session.start([second])
    live_of(session).process()
    live_of(session).finish()
    assert [a.row for a in live_of(session).answers(handle.name)] == [(i,) for i in range(11, 21)]
    assert handle.late("T").num_rows == 0
    assert not (tmp_path / "rejected").exists()
    session.stop()


def test_what_an_epoch_leaves_of_files_is_read_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_files, "EPOCH_BYTES", 1)
    (tmp_path / "s").mkdir()
    for number in range(3):
        (tmp_path / "s" / f"{number}.csv").write_text(f"1,a,{2 * number}\n1,b,{2 * number + 1}\n")
    session = Session(data=tmp_path, master="none")
    session.execute("CREATE STREAM S (k INT, name STRING, ts BIGINT) SOURCE csv('s') ORDERED BY ts")
    session.sql("SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    session.start()
    live = live_of(session)
    live.finish()
    assert live.engine.epoch_number > 3
    assert live.content("q1") == [(6,)]
    session.stop()


@pytest.mark.parametrize("rows", [None, 1])
def test_two_streams_may_read_one_file(rows: int | None, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("1,5,1\n2,6,2\n")
    session = Session(data=tmp_path, master="none")
    for name, time in (("A", "x"), ("B", "y")):
        session.execute(f"CREATE STREAM {name} (k INT, x BIGINT, y BIGINT) SOURCE csv('s.csv') ORDERED BY {time}")
    session.execute("SELECT COUNT(*) AS n FROM A [RANGE UNBOUNDED]; SELECT COUNT(*) AS n FROM B [RANGE UNBOUNDED];")
    session.start(options=LiveOptions(max_rows=rows))
    live = live_of(session)
    live.finish()
    assert (live.content("q1"), live.content("q2")) == ([(2,)], [(2,)])
    session.stop()


@pytest.mark.parametrize(
    ("definition", "files", "more", "closed"),
    [
        ("csv('a.csv') ORDERED BY ts", {"a.csv": "k,ts\n1,1\n2,5\n"}, {"a.csv": "3,6\n3,9\n"}, (4, 8)),
        # the latest of the last rows, less the slack
        ("csv('a.csv') ORDERED BY ts SLACK 2", {"a.csv": "1,1\n2,7\n2,5\n"}, {"a.csv": "3,9\n3,8\n"}, (4, 6)),
        # a row that is none, and one that is late, tell nothing
        ("csv('a.csv') ORDERED BY ts ON ERROR SKIP", {"a.csv": "1,1\n2,5\nx,9\n"}, {"a.csv": "3,6\n3,1\n"}, (4, 5)),
        (
            "jsonl('a.jsonl') ORDERED BY ts",
            {"a.jsonl": '{"ts": 5}\n'},
            {"a.jsonl": '{"ts": 9}\n{'},
            (4, 8),
        ),
        # a folder is one sequence, unless each file is one
        ("csv('d') ORDERED BY ts", {"d/a.csv": "1,1\n2,5\n"}, {"d/b.csv": "3,6\n3,9\n"}, (4, 8)),
        (
            "csv('d') ORDERED BY ts PARTITIONED BY FILE",
            {"d/a.csv": "1,1\n2,5\n", "d/b.csv": "1,3\n"},
            {"d/a.csv": "3,6\n", "d/b.csv": "3,9\n"},
            (2, 5),
        ),
    ],
)
def test_the_epoch_that_reads_rows_closes_what_they_make_complete(
    tmp_path: Path, definition: str, files: dict[str, str], more: dict[str, str], closed: tuple[int, int]
) -> None:
    session = Session(data=tmp_path, master="none", rejects=tmp_path / "rejected")
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) SOURCE {definition}; SELECT COUNT(*) FROM S [RANGE 2];")
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    session.start()
    live = live_of(session)
    reached = []
    for texts in (more, {}):
        before = live.engine.epoch_number
        live.step()
        reached.append((live.engine.epoch_number - before, live.engine.until))
        for path, text in texts.items():
            with (tmp_path / path).open("a") as file:
                file.write(text)
    session.stop()
    assert reached[1] == (1, closed[1])
    assert reached[0][1] == closed[0]


def test_where_records_may_have_several_lines_an_epoch_of_its_own_closes(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('1,"one\n9,9",5\n')
    session = Session(data=tmp_path, master="none")
    source = "SOURCE csv('s.csv') ORDERED BY ts"
    session.execute(f"CREATE STREAM S (k INT, name STRING, ts BIGINT) {source}; SELECT COUNT(*) FROM S [RANGE 2];")
    session.start()
    live = live_of(session)
    live.step()
    assert live.engine.until == 4
    session.stop()


GROWING = "CREATE STREAM {0} (v INT, ts BIGINT) SOURCE csv('a.csv') ORDERED BY ts;"
SUMMED = "REGISTER QUERY {0} AS SELECT SUM(v) AS n FROM {0} [RANGE UNBOUNDED];"


def replaced(path: Path, text: str) -> None:
    """Puts another file in the place of one."""
    other = path.with_suffix(".new")
    other.write_text(text)
    other.replace(path)


def test_a_file_of_several_splits_may_be_replaced_by_a_longer_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "BYTES", 64)
    monkeypatch.setattr(live_files, "MOST_OPEN", 0)
    lines = [f"{i},{i}\n" for i in range(100)]
    (tmp_path / "a.csv").write_text("v,ts\n" + "".join(lines[:-1]))
    session = Session(data=tmp_path, master="none")
    session.execute(GROWING.format("A") + SUMMED.format("A"))
    session.start()
    assert session.live is not None
    session.live.process()
    replaced(tmp_path / "a.csv", "v,ts\n" + "".join(lines))
    session.live.process()
    session.live.finish()
    assert session.live.content("A") == [(sum(range(100)),)]
    session.stop()


def test_each_source_of_a_file_sees_that_it_was_written_anew(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("v,ts\n1,1\n2,2\n3,3\n")
    session = Session(data=tmp_path, master="none")
    session.execute(GROWING.format("B") + SUMMED.format("B"))
    session.start()
    assert session.live is not None
    session.live.process()
    session.execute(GROWING.format("A") + SUMMED.format("A"))
    session.start()
    replaced(tmp_path / "a.csv", "v,ts\n9,1\n9,2\n9,3\n4,4\n5,5\n")
    with pytest.raises(CheckpointError) as caught:
        session.live.process()
    assert caught.value.condition == "SOURCE_CHANGED"
    session.stop()
