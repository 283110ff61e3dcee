"""Small queries of common shapes, over streams of a few rows: ``continua warmup`` compiles what they use.

Each is a script by itself, since queries that run together share what they can.
"""

from __future__ import annotations

from pathlib import Path

STREAMS = """
CREATE STREAM Bid (item INT, bidder BIGINT, price DOUBLE, cents DECIMAL(12, 2), tag STRING, ts BIGINT)
  SOURCE csv('bids.csv') ORDERED BY ts;
CREATE STREAM Ask (item INT, price DOUBLE, tag STRING, day DATE, sold BOOLEAN, ts TIMESTAMP)
  SOURCE csv('asks.csv') ORDERED BY ts;
CREATE STREAM Sale (item INT, price DOUBLE, ts BIGINT) SOURCE csv('sales.csv') ORDERED BY ts;
"""

SHAPES: dict[str, str] = {
    "count": "SELECT COUNT(*) AS bids FROM Bid [RANGE 10]",
    "filter": "SELECT item, price FROM Bid [NOW] WHERE price > 3",
    "grouped sum": "SELECT item, SUM(bidder) AS total FROM Bid [RANGE 10] GROUP BY item",
    "average": "SELECT item, COUNT(*) AS bids, AVG(price) AS mean FROM Bid [RANGE 10] GROUP BY item",
    "extremes": "SELECT item, MIN(price) AS least, MAX(bidder) AS most FROM Bid [RANGE 10] GROUP BY item",
    "decimals": "SELECT item, SUM(cents) AS total, AVG(cents) AS mean FROM Bid [RANGE 10] GROUP BY item",
    "deviation": "SELECT STDDEV(price) AS spread FROM Bid [RANGE 10]",
    "string keys": "SELECT tag, COUNT(*) AS bids FROM Bid [RANGE 10] GROUP BY tag",
    "timestamps": "SELECT tag, day, sold, COUNT(*) AS asks FROM Ask [RANGE 10 SECONDS] GROUP BY tag, day, sold",
    "slide": "SELECT item, SUM(price) AS total FROM Bid [RANGE 10 SLIDE 5] GROUP BY item",
    "join": "SELECT b.item, b.price, s.price AS sold FROM Bid [RANGE 10] AS b, Sale [RANGE 10] AS s "
    "WHERE b.item = s.item",
    "left join": "SELECT b.item, s.price FROM Bid [RANGE 10] AS b LEFT JOIN Sale [RANGE 10] AS s ON b.item = s.item",
    "not in": "SELECT item FROM Bid [RANGE 10] WHERE item NOT IN (SELECT item FROM Sale [RANGE 5])",
    "distinct": "SELECT DISTINCT item FROM Bid [RANGE 10]",
    "count distinct": "SELECT COUNT(DISTINCT bidder) AS bidders FROM Bid [RANGE 10]",
    "median": "SELECT MEDIAN(price) AS middle FROM Bid [RANGE 10]",
    "row window": "SELECT item, price FROM Bid [ROWS 3]",
    "partitioned window": "SELECT item, AVG(price) AS mean FROM Bid [PARTITION BY item ROWS 2] GROUP BY item",
    "session window": "SELECT item, COUNT(*) AS bids FROM Bid [SESSION GAP 3 PARTITION BY item] GROUP BY item",
    "sequence window": "SELECT COUNT(*) AS bids FROM Bid [FROM 4 * j TO 4 * j + 7 EVERY 4]",
    "top-k": "SELECT item, price FROM Bid [RANGE 10] ORDER BY price DESC LIMIT 2",
    "except": "SELECT item FROM Bid [RANGE 10] EXCEPT SELECT item FROM Sale [RANGE 10]",
    "istream": "SELECT ISTREAM item, SUM(price) AS total FROM Bid [RANGE 10] GROUP BY item",
    "rstream": "SELECT RSTREAM item, price FROM Bid [RANGE 10 SLIDE 5]",
}

_ROWS = 120


def write_sources(folder: Path) -> None:
    """Writes the rows of the streams."""
    bids = (f"{i % 5},{i % 7},{i % 11 + 0.25},{i % 13}.50,t{i % 3},{i // 2}" for i in range(_ROWS))
    asks = (f"{i % 5},{i % 9 + 0.5},t{i % 4},2024-05-01,true,2024-05-01T10:00:{i % 60:02}Z" for i in range(60))
    sales = (f"{i % 4},{i % 11 + 0.25},{i}" for i in range(_ROWS // 2))
    for name, head, rows in (
        ("bids.csv", "item,bidder,price,cents,tag,ts", bids),
        ("asks.csv", "item,price,tag,day,sold,ts", asks),
        ("sales.csv", "item,price,ts", sales),
    ):
        (folder / name).write_text("\n".join([head, *rows, ""]), encoding="utf-8")


def script(name: str) -> str:
    """The script of a shape."""
    return f"{STREAMS}{SHAPES[name]};\n"
