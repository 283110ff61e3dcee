"""Statistics: declared, observed, sampled; which of them is believed; what cost makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from continua.catalog import RelationInfo, StreamInfo
from continua.errors import ContinuaError
from continua.instants import INFINITY
from continua.rules.cost import estimate, work
from continua.rules.examples import plan_of
from continua.rules.rule import Facts
from continua.rules.statistics import DEFAULT_ROWS, Statistics, declared, observed, sampled, statistics_of
from continua.session import Session

SCRIPT = """
CREATE STREAM Bid (item_id INT, price INT, ts BIGINT) ORDERED BY ts STATISTICS (rate = 2.5, item_id = 500);
CREATE STREAM Timed (item_id INT, ts TIMESTAMP) STATISTICS (rate = 1000) ORDERED BY ts SLACK 5 SECONDS;
CREATE STREAM Silent (item_id INT, ts TIMESTAMP) ORDERED BY ts;
CREATE RELATION Person (id INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY id STATISTICS (rows => 20000);
CREATE TABLE Label (id INT, name STRING) AS VALUES (1, 'a'), (2, 'b');
"""


@dataclass
class Done:
    """What an epoch tells."""

    until: int
    rows_in: dict[str, int] = field(default_factory=dict)


@pytest.fixture
def session() -> Session:
    made = Session()
    made.execute(SCRIPT)
    return made


def test_declared(session: Session) -> None:
    known = declared(session.catalog.entries())
    assert known.rate("BID") == 2.5
    assert known.rate("Timed") == pytest.approx(0.001)
    assert known.size("Person") == 20000
    assert known.size("Label") == 2
    assert known.values("Bid", "ITEM_ID") == 500
    assert known.values("Bid", "price") is None


def test_described(session: Session) -> None:
    (outcome,) = session.execute("DESCRIBE Bid")
    notes = {row[0]: row[2] for row in outcome.rows}
    assert notes["item_id"] == "500 values"
    assert "2.5" in str(notes["ts"])


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("STATISTICS (rows = 5)", "UNKNOWN_STATISTIC"),
        ("STATISTICS (zz = 5)", "UNKNOWN_STATISTIC"),
        ("STATISTICS (rate = 0)", "BAD_STATISTIC"),
        ("STATISTICS (rate = -3)", "BAD_STATISTIC"),
        ("STATISTICS (rate = 'fast')", "BAD_STATISTIC"),
        ("STATISTICS (rate = TRUE)", "BAD_STATISTIC"),
        ("STATISTICS (a = 3, A = 4)", "DUPLICATE_STATISTIC"),
        ("STATISTICS (rate)", "SYNTAX"),
        ("STATISTICS ()", "SYNTAX"),
        ("STATISTICS (rate = 1", "SYNTAX"),
    ],
)
def test_mistakes(clause: str, condition: str) -> None:
    with pytest.raises(ContinuaError) as raised:
        Session().execute(f"CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts {clause}")
    assert raised.value.condition == condition


def test_sampled() -> None:
    table = pa.table({"item": [1, 1, 2, 2, 3, 3], "once": [1, 2, 3, 4, 5, 6], "ts": [0, 1, 2, 3, 4, 11]})
    known = sampled("Bid", table, "ts")
    assert known.rate("bid") == 0.5
    assert known.values("bid", "item") == 3
    assert (known.values("bid", "once") or 0) > 6, "all values differ: there are more of them"
    instants = pa.table({"ts": pa.array([0, 1_000_000], pa.timestamp("us"))})
    assert sampled("Timed", instants, "ts").rate("timed") == pytest.approx(2e-6, rel=1e-3)
    assert sampled("Bid", table.slice(0, 0), "ts") == Statistics()
    assert sampled("Label", table).size("label") == 6
    nested = pa.table({"list": pa.array([[1], [1], [2]])})
    assert sampled("Label", nested).size("label") == 3


def test_observed() -> None:
    epochs = [
        Done(100, {"Bid": 7}),
        Done(150, {"Bid": 50}),
        Done(200, {"Bid": 150}),
        Done(INFINITY - 1, {"Bid": 1000}),
    ]
    assert observed(epochs).rate("bid") == 2
    assert observed([Done(5, {"Bid": 3})]) == Statistics()
    assert observed([]) == Statistics()


def test_observed_before_the_first_heartbeat_and_later() -> None:
    epochs = [
        Done(-INFINITY, {"Bid": 7, "Silent": 1}),
        Done(100),
        Done(100, {"Bid": 50}),
        Done(150, {"Timed": 9}),
        Done(200, {"Bid": 150, "Timed": 200}),
        Done(200, {"Other": 5}),
    ]
    found = observed(epochs).rates
    assert found == {"bid": 2.0, "silent": 0.01, "timed": 4.0}, "each since it came first, and at least one row"
    assert observed([Done(-INFINITY, {"Bid": 7}), Done(-INFINITY, {"Bid": 7}), Done(5)]) == Statistics()


def test_some_sources() -> None:
    known = Statistics({"bid": 1.0, "open": 2.0}, {"label": 3.0}, {("bid", "price"): 4.0, ("open", "price"): 5.0})
    assert known.of(["Bid", "Label"]) == Statistics({"bid": 1.0}, {"label": 3.0}, {("bid", "price"): 4.0})


def test_precedence(session: Session) -> None:
    seen = Statistics({"bid": 7.0, "timed": 8.0, "silent": 3.0}, {}, {("bid", "price"): 9.0})
    sample = Statistics({"silent": 4.0}, {"other": 6.0}, {("bid", "price"): 1.0, ("bid", "item_id"): 1.0})
    known = statistics_of(session.catalog.entries(), sample, seen)
    assert known.rate("bid") == 2.5
    assert known.rate("silent") == 3.0
    assert known.values("bid", "price") == 9.0
    assert known.values("bid", "item_id") == 500.0
    assert known.size("other") == 6.0
    assert statistics_of(session.catalog.entries()).rate("silent") == pytest.approx(0.001)
    assert statistics_of([]).size("any") == DEFAULT_ROWS


def test_declarations_are_kept(session: Session) -> None:
    bid, person = session.catalog.table("Bid"), session.catalog.table("Person")
    assert isinstance(bid, StreamInfo)
    assert isinstance(person, RelationInfo)
    assert dict(bid.statistics) == {"rate": 2.5, "item_id": 500.0}
    assert dict(person.statistics) == {"rows": 20000.0}


FACTS = Facts(1, Statistics({"bid": 10.0, "open": 1.0, "close": 0.1}, {"category": 50.0}, {("bid", "item_id"): 100.0}))


@pytest.mark.parametrize(
    ("query", "size", "rate"),
    [
        ("SELECT price FROM Bid [RANGE 9]", 100.0, 10.0),
        ("SELECT price FROM Bid [NOW]", 10.0, 10.0),
        ("SELECT price FROM Bid [ROWS 7]", 7.0, 10.0),
        ("SELECT price FROM Bid [PARTITION BY item_id ROWS 7]", 700.0, 10.0),
        ("SELECT price FROM Bid [FIXED 20]", 100.0, 10.0),
        ("SELECT price FROM Bid [RANGE 9] WHERE item_id = 3", 1.0, 0.1),
        ("SELECT price FROM Bid [RANGE 9] WHERE item_id IN (1, 2)", 2.0, 0.2),
        ("SELECT price FROM Bid [RANGE 9] WHERE price > 3 OR price <= 3", 100 * 5 / 9, 10 * 5 / 9),
        ("SELECT label FROM Category", 50.0, 0.0),
        ("SELECT Bid.price FROM Bid [RANGE 9] JOIN Category C ON Bid.item_id = C.item_id", 50.0, 5.0),
        ("SELECT item_id, COUNT(*) FROM Bid [RANGE 99] GROUP BY item_id", 100.0, 20.0),
        ("SELECT item_id, COUNT(*) FROM Bid [RANGE 99 SLIDE 100] GROUP BY item_id", 100.0, 1.0),
        ("SELECT item_id, MAX(price) FROM Bid [RANGE 99] GROUP BY item_id", 100.0, 2.0),
        ("SELECT COUNT(*) FROM Bid [RANGE 99]", 1.0, 1.0),
        ("SELECT item_id FROM Bid [RANGE 9] UNION ALL SELECT item_id FROM Open [RANGE 9]", 110.0, 11.0),
        ("SELECT price FROM Bid [RANGE 9] SEMI JOIN Category C ON Bid.item_id = C.item_id", 50.0, 5.0),
        ("SELECT price FROM Bid [RANGE 9] LEFT JOIN Category C ON Bid.item_id = C.item_id", 100.0, 15.0),
    ],
)
def test_estimates(query: str, size: float, rate: float) -> None:
    found = estimate(plan_of(query), FACTS)
    assert found.size == pytest.approx(size)
    assert found.rate == pytest.approx(rate)


def test_work_grows_with_what_is_done() -> None:
    texts = (
        "SELECT price FROM Bid [RANGE 9] WHERE item_id = 3",
        "SELECT item_id, COUNT(*) FROM Bid [RANGE 9] GROUP BY item_id",
        "SELECT Bid.price FROM Bid [RANGE 9], Open [RANGE 9] WHERE Bid.item_id < Open.item_id",
        "SELECT Bid.price FROM Bid [RANGE 99], Open [RANGE 99] WHERE Bid.item_id < Open.item_id",
    )
    found = [work(plan_of(text), FACTS) for text in texts]
    assert found == sorted(found)
