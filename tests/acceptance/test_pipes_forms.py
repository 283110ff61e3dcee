"""COALESCE STREAM and SPLIT STREAM: no effect on the logical stream, one on its rate (PIPES 2005, 4.1, 4.2.5).

The engine is compared with every answer of the reference, whatever the epochs are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from continua.answers.query import Answer
from continua.errors import ContinuaError
from continua.reference.streams import coalesce, physical_to_logical, split
from continua.session import Session
from tests.acceptance.sync_helpers import ask
from tests.acceptance.test_pipes_operators import streams

Intervals = list[tuple[object, int, int]]
QUERIES = {
    "COALESCE STREAM S": None,
    "COALESCE STREAM S UP TO 4": 4,
    "SPLIT STREAM S": 1,
    "SPLIT STREAM S INTO 3": 3,
    "SPLIT STREAM (SPLIT STREAM S INTO 5) INTO 3": 3,
    "SPLIT STREAM (SPLIT STREAM S INTO 2) INTO 6": 2,
    "COALESCE STREAM (SPLIT STREAM S INTO 2)": None,
    "COALESCE STREAM (SELECT RSTREAM e FROM S)": None,
    "SPLIT STREAM (COALESCE STREAM (RSTREAM(SELECT e FROM S)) UP TO 6) INTO 4": 4,
}


def told(answers: list[Answer]) -> Intervals:
    """Elements with their ends, in order."""
    return sorted((a.row[0], a.instant, a.instant + 1 if a.until is None else a.until) for a in answers)


def bounds(found: Iterable[tuple[object, int, int]]) -> tuple[Counter[object], Counter[object]]:
    """Where elements begin and end: of several equal ones nothing says which of them ends."""
    some = list(found)
    return Counter((e, start) for e, start, _ in some), Counter((e, end) for e, _, end in some)


def elements(seed: int) -> list[tuple[str, int, int]]:
    chance = random.Random(seed)
    starts = sorted(chance.randrange(1, 30) for _ in range(chance.randrange(1, 14)))
    return [(chance.choice("abc"), start, start + chance.randrange(1, 9)) for start in starts]


@pytest.mark.parametrize("seed", range(4))
def test_Q6_a_query_coalesces_and_splits_as_the_operators_do_and_its_logical_stream_stays(seed: int) -> None:
    given = elements(seed)
    session = streams(S=given)
    for text, longest in QUERIES.items():
        query = ask(session, text)
        found = told(session.answers([query]))
        assert physical_to_logical(found) == physical_to_logical(given)
        assert all(longest is None or end - start <= longest for _, start, end in found)
        if longest is None:
            assert bounds(found) == bounds(coalesce(given))
        elif longest == 1:
            assert found == sorted(split(given))


def test_Q6_coalesce_lowers_the_rate_and_split_raises_it() -> None:
    given = [("a", t, t + 1) for t in range(20)] + [("b", 3, 17)]
    session = streams(S=sorted(given, key=lambda e: e[1]))
    rates = [len(session.answers([ask(session, f"{form}")])) for form in ("COALESCE STREAM S", "SPLIT STREAM S")]
    assert rates == [2, 34]
    assert len(session.answers([ask(session, "SPLIT STREAM S INTO 7")])) == 3 + 3


@pytest.mark.parametrize(
    "form", ["COALESCE STREAM {}", "COALESCE STREAM {} UP TO 2", "SPLIT STREAM {}", "SPLIT STREAM {} INTO 5"]
)
def test_Q6_a_window_over_a_stream_holds_the_same_in_whatever_intervals_it_comes(form: str) -> None:
    session = streams(S=elements(9))
    for over in ("S", "(SELECT RSTREAM e FROM S)"):
        text = "SELECT e, COUNT(*) AS n FROM {} s WINDOW(RANGE 4) GROUP BY e"
        plain, formed = (ask(session, text.format(part)) for part in (over, f"({form.format(over)})"))
        expected = [(a.instant, a.op, a.row, a.until) for a in session.answers([plain])]
        assert [(a.instant, a.op, a.row, a.until) for a in session.answers([formed])] == expected


def test_Q6_what_never_ends_is_split_up_to_the_last_change() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (e INT, ts BIGINT) ORDERED BY ts")
    session.insert("S", [(1, 2), (2, 11)])
    query = ask(session, "SPLIT STREAM (SELECT RSTREAM e FROM S [RANGE UNBOUNDED]) INTO 5")
    expected = [(1, 2, 5), (1, 5, 10), (1, 10, (1 << 63) - 1), (2, 11, (1 << 63) - 1)]
    assert told(session.answers([query])) == expected


def test_Q6_epochs_tell_a_cut_as_an_end_and_a_beginning() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (e INT, ts BIGINT) ORDERED BY ts")
    session.execute("REGISTER QUERY q AS SPLIT STREAM (SELECT RSTREAM e FROM S [RANGE UNBOUNDED]) INTO 5")
    (handle,) = session.start()
    told: list[tuple[object, ...]] = []
    handle.foreach(lambda _, table: told.extend(map(tuple, (row.values() for row in table.to_pylist()))))
    for instant in (3, 6, 12):
        session.insert("S", [(instant, instant)])
        handle.processAllAvailable()
    session.stop()
    assert told == [(3, "+", 3), (5, "-", 3), (5, "+", 3), (6, "+", 6)] + [
        (10, op, row) for op in "-+" for row in (3, 6)
    ]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("COALESCE STREAM (SELECT e FROM S [RANGE 2])", "NOT_A_STREAM"),
        ("COALESCE STREAM R", "NOT_A_STREAM"),
        ("SPLIT STREAM T", "UNKNOWN_STREAM"),
        ("SPLIT STREAM V", "SPLIT_LENGTH"),
        ("COALESCE STREAM V UP TO 5 TICKS", "UNIT_OF_TICKS"),
        ("SPLIT STREAM S INTO 2 SECONDS", "UNIT_OF_TICKS"),
        ("SPLIT STREAM S INTO 0", "NOT_POSITIVE"),
        ("COALESCE STREAM S UP 3", "SYNTAX"),
        ("COALESCE STREAM", "SYNTAX"),
        ("SELECT * FROM SPLIT STREAM S", "SYNTAX"),
    ],
)
def test_Q6_mistakes_are_told(text: str, condition: str) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (e INT, ts BIGINT) ORDERED BY ts; CREATE TABLE R (e INT) AS VALUES (1);")
    session.execute("CREATE STREAM V (e INT, ts TIMESTAMP) ORDERED BY ts")
    with pytest.raises(ContinuaError) as caught:
        session.execute(text)
    assert caught.value.condition == condition


def test_Q6_splitting_instants_is_told_to_change_nothing(tmp_path: Path) -> None:
    session = Session(master="none", data=tmp_path)
    session.execute("CREATE STREAM S (e INT, ts BIGINT) ORDERED BY ts")
    (outcome,) = session.execute("SPLIT STREAM S INTO 5")
    assert [n.condition for n in outcome.notices] == ["NOTHING_TO_SPLIT"]
    assert outcome.query is not None
    assert outcome.query.columns == ("e",)
