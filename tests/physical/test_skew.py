"""EXPLAIN tells of keys that most rows have."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.session import Session

STREAM = "CREATE STREAM Bid (item INT, bidder INT, price INT, ts BIGINT) SOURCE csv('bid.csv') ORDERED BY ts;"


def explained(folder: Path, query: str) -> list[str]:
    rows = [f"{7 if i % 2 else i},{i % 10},{i},{i}\n" for i in range(400)]
    (folder / "bid.csv").write_text("".join(rows))
    session = Session(data=folder)
    session.execute(STREAM)
    text = session.execute(f"EXPLAIN PHYSICAL {query}")[0].text
    assert text is not None
    return [line for line in text.splitlines() if line.startswith("skew")]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "SELECT item, SUM(price) AS s FROM Bid [RANGE 9] GROUP BY item",
            ["skew: one value of item is in 50% of the first rows of Bid; all of these go to one partition of level 1"],
        ),
        (
            "SELECT item, MAX(price) AS m FROM Bid WINDOW(RANGE 40 SLIDE 20) GROUP BY item",
            ["skew: one value of item is in 50% of the first rows of Bid; only partial results move to level 1"],
        ),
        ("SELECT bidder, SUM(price) AS s FROM Bid [RANGE 9] GROUP BY bidder", []),
        ("SELECT item + 1 AS i, SUM(price) AS s FROM Bid [RANGE 9] GROUP BY item + 1", []),
        ("SELECT price FROM Bid [NOW]", []),
    ],
)
def test_a_frequent_key_is_told_with_what_it_does(tmp_path: Path, query: str, told: list[str]) -> None:
    assert explained(tmp_path, query) == told


def test_without_rows_nothing_is_told(tmp_path: Path) -> None:
    session = Session(data=tmp_path)
    session.execute(STREAM)
    text = session.execute("EXPLAIN PHYSICAL SELECT item, COUNT(*) AS n FROM Bid [NOW] GROUP BY item")[0].text
    assert text is not None and "skew" not in text
