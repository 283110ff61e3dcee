"""What sources say of their keys is checked in the order of time: what breaks it is rejected, with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from continua.answers.query import answers_of
from continua.errors import DataError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime.executors.executor import InProcess
from continua.runtime.progress import Progress
from continua.session import Session
from continua.sources import planning
from tests.sources.worlds import bag

Answers = list[tuple[tuple[object, ...], int]]
TAGGED = "CREATE RELATION K (k INT, v INT, op STRING, ts BIGINT) SOURCE csv('k.csv') ORDERED BY ts TAGGED BY op KEY k"
ROWS = "k,v,op,ts\n1,10,+,1\n1,11,+,2\n2,20,u,3\n2,21,+,3\n2,22,u,5\n3,1,-,6\n1,0,-,7\n1,5,+,8\n"
CUTS = [BoundedOptions(partitions=p, batch_rows=b) for p, b in ((1, None), (3, 1), (2, 3))]


def session(folder: Path, text: str, **files: str) -> Session:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    found = Session(data=folder, rejects=folder / "rejected")
    found.execute(text)
    return found


def by_engine(found: Session, options: BoundedOptions) -> Answers:
    queries = list(found.queries.values())
    given = found.inputs.given({s for q in queries for s in q.sources})
    with BoundedRun(queries, given, [], InProcess(), options, reader=found.inputs) as run:
        run.to_the_end()
        run.tell_kept_apart()
        return sorted(bag(run.answers()).items(), key=repr)


def by_reference(found: Session) -> Answers:
    queries = list(found.queries.values())
    judges = found.reference(queries)
    return sorted(bag([a for q in queries for a in answers_of(q, judges[q.name])]).items(), key=repr)


def kept_apart(folder: Path, name: str) -> list[tuple[int, str]]:
    lines = (folder / "rejected" / f"{name}.rejected.jsonl").read_text().splitlines()
    return [(found["line"], found["reason"]) for found in map(json.loads, lines)]


@pytest.mark.parametrize("options", CUTS)
def test_strict_is_the_default_and_rejects_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: BoundedOptions
) -> None:
    monkeypatch.setattr(planning, "BYTES", 24)
    found = session(tmp_path, f"{TAGGED} ON ERROR SKIP; REGISTER QUERY q AS SELECT k, v FROM K;", k=ROWS)
    answers = by_engine(found, options)
    told = kept_apart(tmp_path, "K")
    assert told == [
        (3, "k = 1 cannot be inserted: it is there already"),
        (4, "k = 2 cannot be updated: it is not there"),
        (7, "k = 3 cannot be deleted: it is not there"),
    ]
    assert [(n.condition, n.parameters["count"]) for n in found.inputs.notices] == [("ROWS_SKIPPED", 3)]
    found.inputs.forget()
    assert answers == by_reference(found)
    assert kept_apart(tmp_path, "K") == told


@pytest.mark.parametrize("options", CUTS)
def test_without_on_error_skip_the_first_in_time_is_an_error(tmp_path: Path, options: BoundedOptions) -> None:
    rows = "k,v,op,ts\n1,1,+,1\n2,1,-,9\n1,2,+,4\n3,1,u,4\n"
    text = f"{TAGGED} STRICT SLACK 9; REGISTER QUERY q AS SELECT k, v FROM K;"
    found = session(tmp_path, text, k=rows)
    with pytest.raises(DataError) as by_run:
        by_engine(found, options)
    with pytest.raises(DataError) as by_judge:
        by_reference(found)
    for caught in (by_run.value, by_judge.value):
        assert (caught.condition, caught.parameters["file"], caught.parameters["line"]) == ("BROKEN_KEY", "k.csv", 4)


def test_upsert_takes_modifications_for_what_they_can_mean(tmp_path: Path) -> None:
    found = session(tmp_path, f"{TAGGED} UPSERT; REGISTER QUERY q AS SELECT k, v FROM K;", k=ROWS)
    assert by_engine(found, CUTS[1]) == by_reference(found)
    assert not (tmp_path / "rejected").exists()
    assert sorted(found.snapshot(found.queries["q"], 4)) == [(1, 11), (2, 21)]


def test_without_a_key_a_row_that_is_not_there_cannot_be_deleted(tmp_path: Path) -> None:
    definition = "CREATE RELATION R (a INT, op STRING, ts BIGINT) SOURCE csv('r.csv') ORDERED BY ts TAGGED BY op"
    rows = "1,+,1\n1,+,2\n1,-,3\n,-,3\n1,-,4\n1,-,5\n,+,6\n,-,7\n"
    found = session(tmp_path, f"{definition} ON ERROR SKIP; REGISTER QUERY q AS SELECT a FROM R;", r=rows)
    answers = by_engine(found, CUTS[1])
    reason = "the row cannot be deleted: it is not there"
    assert kept_apart(tmp_path, "R") == [(4, reason), (6, reason)]
    assert answers == by_reference(found)


KEYED = "CREATE STREAM S (k INT, v INT, ts TIMESTAMP) SOURCE csv('s.csv') ORDERED BY ts KEY k CHECKED WITHIN '1 hour'"


@pytest.mark.parametrize("options", CUTS)
def test_a_key_is_checked_within_a_time(tmp_path: Path, options: BoundedOptions) -> None:
    times = ["00:00", "00:30", "01:00", "01:00:01", "01:01", "02:00", ""]
    lines = [f"1,{i},2024-01-01 {t}" + ":00" * (len(t) == 5) for i, t in enumerate(times[:-1])]
    rows = "\n".join([*lines, ",6,2024-01-01 02:00:00", ",7,2024-01-01 02:00:00", "1,8,2024-01-01 03:00:01"])
    text = f"{KEYED} ON ERROR SKIP; REGISTER QUERY q AS SELECT v FROM S [ROWS 2];"
    found = session(tmp_path, text, s=rows)
    answers = by_engine(found, options)
    told = kept_apart(tmp_path, "S")
    assert [line for line, _ in told] == [2, 3, 5, 6, 8]
    assert told[0][1] == "k = 1 was there within 1 HOUR before" and "k = NULL" in told[-1][1]
    assert answers == by_reference(found)


def test_the_state_of_a_check_is_bounded_by_its_time(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},0,{i}" for i in range(6000))
    definition = "CREATE STREAM S (k INT, v INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts KEY k CHECKED WITHIN 10"
    found = session(tmp_path, f"{definition}; REGISTER QUERY q AS SELECT ISTREAM(k) FROM S [NOW];", s=rows)
    (query,) = found.queries.values()
    given = found.inputs.given(query.sources)
    with BoundedRun([query], given, [], InProcess(), BoundedOptions(batch_rows=400), reader=found.inputs) as run:
        most = 0

        def told(done: Progress) -> None:
            nonlocal most
            most = max([most, *done.state_rows.values()])

        run.to_the_end(told)
    assert most < 2048


@pytest.mark.parametrize("options", CUTS)
def test_elements_of_a_tagged_stream_that_last_do_not_overlap(tmp_path: Path, options: BoundedOptions) -> None:
    text = (
        "CREATE STREAM V (k INT, v INT, a BIGINT, b BIGINT) SOURCE csv('v.csv') VALID FROM a TO b ON ERROR SKIP;"
        "CREATE STREAM W OVER V KEY k; REGISTER QUERY q AS SELECT k, v FROM RELATION(W);"
        "REGISTER QUERY r AS SELECT v FROM V [NOW];"
    )
    found = session(tmp_path, text, v="1,0,0,10\n1,1,5,20\n1,2,10,12\n2,3,11,\n2,4,13,\n2,5,14,15\n1,6,30,31\n")
    answers = by_engine(found, options)
    assert [line for line, _ in kept_apart(tmp_path, "W")] == [2, 6]
    assert answers == by_reference(found)


def test_live_rows_are_checked_and_the_check_outlives_the_process(tmp_path: Path) -> None:
    text = (
        "CREATE RELATION K (k INT, v INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY k ON ERROR SKIP;"
        "REGISTER QUERY q AS SELECT k, v FROM K;"
    )
    options = LiveOptions(checkpoint=tmp_path / "checkpoint")
    first = session(tmp_path, text)
    first.start(options=options)
    first.insert("K", [(1, 1, "+", 1), (2, 1, "-", 1), (1, 3, "u", 3)])
    assert first.live is not None
    first.live.process()
    first.stop()
    again = session(tmp_path, text)
    again.start(options=options)
    again.insert("K", [(1, 4, "+", 4), (1, 5, "u", 5), (2, 0, "+", 6)])
    assert again.live is not None
    again.live.finish()
    assert [(a.instant, a.op, a.row) for a in again.live.answers("q")][-3:] == [
        (5, "-", (1, 3)),
        (5, "+", (1, 5)),
        (6, "+", (2, 0)),
    ]
    assert kept_apart(tmp_path, "K") == [
        (2, "k = 2 cannot be deleted: it is not there"),
        (1, "k = 1 cannot be inserted: it is there already"),
    ]
    again.stop()


def test_a_live_row_that_breaks_a_key_is_an_error_without_on_error_skip(tmp_path: Path) -> None:
    found = session(tmp_path, "CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts KEY k CHECKED WITHIN 5;")
    found.execute("REGISTER QUERY q AS SELECT k FROM S [RANGE 3];")
    found.start()
    found.insert("S", [(1, 1), (1, 5), (2, 9)])
    assert found.live is not None
    with pytest.raises(DataError) as caught:
        found.live.process()
    assert (caught.value.condition, caught.value.parameters["line"]) == ("BROKEN_KEY", 2)
    found.stop()
