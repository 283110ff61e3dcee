"""The reference is an independent judge: it answers without the intervals by which the engine works."""

from __future__ import annotations

import pytest

from continua.session import Session
from continua.windows.kinds import KINDS
from continua.windows.spec import WindowSpec

WINDOWS = (
    "[NOW]", "[RANGE 3]", "[RANGE 3 SLIDE 2]", "[RANGE 3 SLIDE 2 ROWS]", "[RANGE UNBOUNDED]", "[RANGE 2 LAG 1]",
    "[ROWS 2]", "[PARTITION BY a ROWS 1]", "[FIXED 4]", "[LANDMARK 2]", "[SESSION GAP 2]",
    "[FROM 2*j TO 2*j + 3 EVERY 2]",
)  # fmt: skip
BY_INTERVALS = {"validity", "intervals", "last_change", "lifetime", "knows_ends", "lengths", "points", "evaluations"}


@pytest.mark.parametrize("window", WINDOWS)
def test_the_reference_asks_no_window_for_its_intervals(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (a INT, ts INT) ORDERED BY ts")
    session.insert("S", [(n % 3, n) for n in (1, 2, 2, 5, 9, 10)])
    session.execute(f"REGISTER QUERY q AS SELECT a, COUNT(*) AS n FROM S {window} GROUP BY a")
    query = session.queries["q"]
    expected = session.reference([query])["q"].changes(query.bound.plan)
    assert expected

    def refused(*_: object) -> None:
        raise AssertionError("the reference has asked for what the engine works by")

    for kind in (WindowSpec, *KINDS):
        for name in vars(kind).keys() & BY_INTERVALS:
            monkeypatch.setattr(kind, name, property(refused))
    assert session.reference([query])["q"].changes(query.bound.plan) == expected
