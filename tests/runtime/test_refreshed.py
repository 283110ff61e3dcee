"""Tables of files that are read again and again: what is different then is what has changed, also after a restart."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from continua.errors import BindError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from continua.sources import refreshed

SCRIPT = """
CREATE TABLE Rate (currency STRING, rate INT) SOURCE csv('rates.csv') REFRESH EVERY '1 minute';
REGISTER QUERY q AS SELECT * FROM Rate;
"""
JOINED = """
CREATE STREAM Pay (currency STRING, ts TIMESTAMP) ORDERED BY ts;
REGISTER QUERY r AS SELECT ISTREAM rate FROM Pay [NOW] p, Rate t WHERE p.currency = t.currency;
"""


class Clock:
    """Minutes that pass when they are told to."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


def opened(folder: Path) -> Session:
    session = Session(data=folder)
    session.execute(SCRIPT)
    session.start(options=LiveOptions(checkpoint=folder / "c"))
    return session


def test_what_has_changed_when_files_are_read_again_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(refreshed, "time", clock)
    (tmp_path / "rates.csv").write_text("currency,rate\nEUR,1\nEUR,1\nDEM,2\n")
    session = opened(tmp_path)
    assert session.live is not None
    session.live.process()
    (tmp_path / "rates.csv").write_text("currency,rate\nEUR,1\nDEM,3\n")
    session.live.process()
    assert len(session.live.answers("q")) == 3
    clock.passed = 60
    session.live.process()
    session.live.process()
    found = [(a.op, a.row) for a in session.live.answers("q")]
    assert Counter(found[3:]) == Counter([("-", ("DEM", 2)), ("-", ("EUR", 1)), ("+", ("DEM", 3))])
    session.stop()

    (tmp_path / "rates.csv").write_text("currency,rate\nDEM,3\nEUR,4\n")
    again = opened(tmp_path)
    assert again.live is not None
    again.live.process()
    again.live.process()
    found = [(a.op, a.row) for a in again.live.answers("q")]
    assert Counter(found[6:]) == Counter([("-", ("EUR", 1)), ("+", ("EUR", 4))])
    again.stop()


def test_a_bounded_run_reads_it_once_and_joins_it_with_all_instants(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("currency,rate\nEUR,1\nDEM,2\n")
    session = Session(data=tmp_path)
    session.execute(SCRIPT + JOINED)
    session.insert("Pay", [("EUR", "1999-01-01T00:00:00Z")])
    assert [a.row for a in session.answers() if a.query == "r"] == [(1,)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("CREATE RELATION R (a INT) SOURCE csv('r.csv') REFRESH EVERY '1 minute'", "NOT_REFRESHED"),
        ("CREATE TABLE R (a INT) REFRESH EVERY '1 minute'", "NOT_REFRESHED"),
        ("CREATE TABLE R (a INT) SOURCE csv('r.csv') REFRESH EVERY 0", "NOT_REFRESHED"),
        ("CREATE TABLE R (a INT, t BIGINT) SOURCE csv('r.csv') ORDERED BY t REFRESH EVERY '1 minute'", "NOT_REFRESHED"),
    ],
)
def test_what_can_not_be_read_again_is_refused(text: str, condition: str) -> None:
    with pytest.raises(BindError) as caught:
        Session().execute(text)
    assert caught.value.condition == condition
