"""Queries that join and leave a live run: they cost by their own state, and the others go on from theirs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory
from tests.runtime.living import Answers, push, session_with

LARGE = "REGISTER QUERY large AS SELECT k, COUNT(*) AS n FROM S [RANGE 1000000] GROUP BY k;"
SMALL = "REGISTER QUERY small AS SELECT COUNT(*) AS n FROM P [RANGE 5];"
QUERIES = {
    "counts": "REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 30] GROUP BY k;",
    "named": "REGISTER QUERY named AS SELECT S.k, C.n FROM S [RANGE 20], C WHERE S.k = C.k;",
    "distinct": "REGISTER QUERY distinct AS SELECT DISTINCT k FROM S [RANGE 25];",
    "last": "REGISTER QUERY last AS SELECT k FROM S [ROWS 3];",
    "pairs": "REGISTER QUERY pairs AS SELECT S.k FROM S [RANGE 9],"
    " (SELECT k, COUNT(*) AS n FROM S [RANGE 30] GROUP BY k) c WHERE S.k = c.k AND c.n > 1;",
}


def sizes(folder: Path) -> dict[tuple[Path, int], int]:
    """The bytes of the files with state, by path and number: a file that is written again is another one."""
    files = (p for p in (folder / "state").rglob("*") if p.is_file())
    return {(p, p.stat().st_ino): p.stat().st_size for p in files}


def test_a_query_that_joins_beside_a_large_state_writes_only_its_own(tmp_path: Path) -> None:
    session = session_with(LARGE)
    session.start(options=LiveOptions(checkpoint=tmp_path, partitions=1))
    assert session.live is not None
    session.insert("S", [(n, n // 1000) for n in range(15_000)])
    session.live.process()
    session.insert("S", [(n, 50) for n in range(15_000)])
    session.live.process()
    state = session.live.engine.progress[-1].state_bytes
    assert state > 1_500_000
    before = sizes(tmp_path)
    session.execute(SMALL)
    session.start()
    session.insert("P", [(1, 60), (2, 70)])
    session.live.process()
    written = {path: size for path, size in sizes(tmp_path).items() if path not in before}
    assert 0 < sum(written.values()) < 20_000 < state / 50
    assert not [path for path, _ in written if path.parent.name == "snapshots"]
    session.live.drop("small")
    session.insert("S", [(1, 80)])
    session.live.process()
    later = {path: size for path, size in sizes(tmp_path).items() if path not in before}
    assert sum(later.values()) < 40_000
    session.stop()
    again = session_with(LARGE, SMALL)
    again.start(options=LiveOptions(checkpoint=tmp_path, partitions=1))
    assert again.live is not None
    assert len(again.live.content("large", 60)) == 15_000
    again.insert("S", [(1, 90)])
    again.live.finish()
    assert {row[1] for row in again.live.content("large", 90) if row[0] == 1} == {4}
    again.stop()


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_run_whose_queries_come_and_go_is_the_same_where_it_is_begun_again_all_the_time(
    tmp_path: Path, seed: int
) -> None:
    def ran(folder: Path, begins_again: bool) -> Answers:
        choice = random.Random(seed)
        session, found, t = session_with(), dict[str, list[tuple[int, str | None, tuple[object, ...]]]](), 0
        running: list[str] = []
        session.start([], LiveOptions(checkpoint=folder))
        for step in range(14):
            name = choice.choice(list(QUERIES))
            if name in running:
                if choice.random() < 0.6:
                    found |= {f"{name} {step}": answers_of(session, name)}
                    assert session.live is not None
                    session.live.drop(name)
                    session.execute(f"DROP QUERY {name};")
                    running.remove(name)
            else:
                session.execute(QUERIES[name])
                session.start([session.queries[name]])
                running.append(name)
            for _ in range(choice.randrange(2)):
                t += choice.randrange(1, 9)
                push(session, [(choice.randrange(4), t - choice.randrange(2)) for _ in range(5)])
            if begins_again:
                session.stop()
                forget_memory()
                session = session_with(*(QUERIES[n] for n in running))
                session.start(list(session.queries.values()), LiveOptions(checkpoint=folder))
        assert session.live is not None
        session.live.finish()
        found |= {name: answers_of(session, name) for name in running}
        session.stop()
        return found

    assert ran(tmp_path / "again", begins_again=True) == ran(tmp_path / "once", begins_again=False)


def answers_of(session: Session, name: str) -> list[tuple[int, str | None, tuple[object, ...]]]:
    assert session.live is not None
    return [(a.instant, a.op, a.row) for a in session.live.answers(name)]
