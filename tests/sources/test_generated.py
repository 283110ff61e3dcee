"""Generated sources: the same rows whatever the cut, and mistakes in their definitions are told."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from continua.answers.query import Answer
from continua.errors import CheckpointError, ContinuaError, SourceError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime import inflow
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.sources import planning
from continua.sources.generated import generated, splits_of
from continua.sources.source_spec import SourceSpec
from continua.sources.split_reader import read_split
from continua.sources.splits import Split, entries
from continua.types import BIGINT, STRING, TIMESTAMP
from tests.crash.world import fresh_process
from tests.sources.worlds import bag

BIDS = (("price", BIGINT), ("dateTime", TIMESTAMP), ("auction", BIGINT))
WORLD = """
CREATE STREAM Bid (AUCTION BIGINT, price BIGINT, bidder INT, dateTime TIMESTAMP)
  SOURCE nexmark('bid', rate => 20, events => 150, seed => 3) ORDERED BY dateTime;
CREATE STREAM Auction (id BIGINT, seller BIGINT, category BIGINT, dateTime TIMESTAMP, expires TIMESTAMP)
  SOURCE nexmark('auction', rate => 20, events => 150, seed => 3) VALID FROM dateTime TO expires;
CREATE STREAM Tick (timestamp TIMESTAMP, value BIGINT)
  SOURCE rate(rows_per_second => 3, rows => 20) ORDERED BY timestamp;
CREATE TABLE Seller (id BIGINT, name STRING, state STRING) SOURCE nexmark('PERSON', events => 150, seed => 3);
"""
QUERIES = """
SELECT auction, COUNT(*) AS n, MAX(price) AS best FROM Bid [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY auction;
SELECT ISTREAM b.price, a.category, s.name
  FROM Bid [NOW] b, Auction [NOW] a, Seller s WHERE b.auction = a.id AND a.seller = s.id;
SELECT SUM(value) AS total FROM Tick [RANGE 2 SECONDS];
"""


def spec(format_: str, path: str = "", columns: tuple[tuple[str, object], ...] = BIDS, **options: object) -> SourceSpec:
    return SourceSpec(format_, path, columns, tuple(options.items()), name="S")  # type: ignore[arg-type]


def session_with(text: str) -> Session:
    session = Session()
    session.execute(text)
    return session


def answers(text: str, options: BoundedOptions) -> list[Answer]:
    session = session_with(text)
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    with fresh_process(), BoundedRun(queries, given, [], InProcess(), options) as run:
        run.to_the_end()
        return run.answers()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "source",
    [
        spec("nexmark", "bid", events=9_000, seed=5),
        spec("nexmark", "person", (("state", STRING), ("id", BIGINT)), events=9_000),
        spec("rate", "", (("value", BIGINT), ("timestamp", TIMESTAMP)), rows=9_000, rows_per_second=7),
    ],
    ids=["bid", "person", "rate"],
)
def test_any_cut_gives_the_same_rows(source: SourceSpec, seed: int) -> None:
    chance = random.Random(seed)
    (whole,) = splits_of(source, 1 << 30)
    bounds = [0, *sorted(chance.randrange(9_000) for _ in range(chance.randrange(1, 30))), 9_000]
    splits = [replace(whole, begin=a, end=b) for a, b in pairwise(bounds)]
    pieces = [read_split(source, split) for split in splits]
    expected = read_split(source, whole)
    assert pa.concat_tables([p.columns for p in pieces]).combine_chunks() == expected.columns.combine_chunks()
    assert entries(p.extent for p in pieces) == bounds[:-1]
    assert [p.extent.ended for p in pieces][-1] and pieces[-1].extent.exit == 9_000
    lines = [line + p.extent.entry for p in pieces for line in p.lines.tolist()]
    assert lines == expected.lines.tolist(), "a line is a number"


@pytest.mark.parametrize("kind", ["person", "auction", "bid"])
def test_so_many_rows_at_a_time(kind: str) -> None:
    source = spec("nexmark", kind, (("dateTime", TIMESTAMP),), events=1_234)
    (whole,) = splits_of(source, 1 << 30)
    found, offset = [], 0
    while offset < 1_234:
        piece = read_split(source, replace(whole, begin=offset, entry=offset, rows=7))
        assert piece.columns.num_rows <= 7 and piece.extent.exit > offset
        found.append(piece.columns)
        offset = piece.extent.exit
    assert piece.extent.ended
    assert pa.concat_tables(found).combine_chunks() == read_split(source, whole).columns.combine_chunks()


def test_a_split_is_of_so_many_bytes() -> None:
    source = spec("nexmark", "bid", events=10_000_000)
    splits = splits_of(source, planning.BYTES)
    assert [(s.begin, s.end) for s in splits] == list(pairwise([s.begin for s in splits] + [10_000_000]))
    middle = read_split(source, splits[1]).columns
    assert middle.nbytes == pytest.approx(planning.BYTES, rel=0.1)


@pytest.fixture(scope="module")
def expected() -> Counter[tuple[object, ...]]:
    """What the reference says."""
    found = bag(session_with(WORLD + QUERIES).answers())
    assert len(found) > 50
    return found


@pytest.mark.parametrize("seed", range(3))
def test_answers_do_not_depend_on_the_cut(
    monkeypatch: pytest.MonkeyPatch, expected: Counter[tuple[object, ...]], seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(planning, "BYTES", chance.choice((300, 1_000, 3_000)))
    monkeypatch.setattr(inflow, "EPOCH_BYTES", chance.choice((1_000, 3_000, 1 << 30)))
    rows, parts = chance.choice((None, None, 40)), chance.choice((1, 3))
    assert bag(answers(WORLD + QUERIES, BoundedOptions(rows, partitions=parts))) == expected


def test_rate_counts_up() -> None:
    session = session_with(
        "CREATE STREAM R (VALUE INT, timestamp TIMESTAMP)"
        "  SOURCE rate(rows_per_second => 3, rows => 7, start => '2026-01-01 00:00:00.000001') ORDERED BY timestamp;"
    )
    session.sql("SELECT ISTREAM value, timestamp FROM R [NOW]")
    first = datetime(2026, 1, 1, microsecond=1)
    expected = [(n, first + timedelta(microseconds=n * 1_000_000 // 3)) for n in range(7)]
    assert [a.row for a in session.answers()] == expected


@pytest.mark.parametrize(
    ("source", "condition"),
    [
        ("nexmark('bid')", "ENDLESS_SOURCE"),
        ("nexmark('bids', events => 5)", "BAD_OPTION"),
        ("nexmark(events => 5)", "BAD_OPTION"),
        ("rate('bid', rows => 5)", "BAD_OPTION"),
        ("nexmark('bid', events => -1)", "BAD_OPTION"),
        ("nexmark('bid', events => 1.5)", "BAD_OPTION"),
        ("nexmark('bid', events => 5, rate => 0)", "BAD_OPTION"),
        ("nexmark('bid', events => 5, rate => 2000000)", "BAD_OPTION"),
        ("nexmark('bid', events => 5, seed => 'x')", "BAD_OPTION"),
        ("nexmark('bid', events => 5, extra => 3)", "BAD_OPTION"),
        ("nexmark('bid', events => 5, start => 'soon')", "BAD_OPTION"),
        ("nexmark('bid', events => 1000000000000, rate => 1)", "BAD_OPTION"),
        ("nexmark('bid', event => 5)", "UNKNOWN_OPTION"),
        ("rate(rows => 5, rate => 3)", "UNKNOWN_OPTION"),
        ("rate(rows => 5)", "MISSING_COLUMN"),
        ("nexmark('person', events => 5)", "MISSING_COLUMN"),
        ("nexmarc('bid')", "UNKNOWN_SOURCE"),
    ],
)
def test_mistakes_are_told_at_their_place(source: str, condition: str) -> None:
    session = session_with(
        f"CREATE STREAM S (price BIGINT, dateTime TIMESTAMP)\n  SOURCE {source} ORDERED BY dateTime;"
    )
    session.sql("SELECT price FROM S [NOW]")
    (query,) = session.queries.values()
    for ask in (session.answers, lambda: session.inputs.given(query.sources)):
        with pytest.raises(SourceError) as caught:
            ask()
        assert caught.value.condition == condition
        span = caught.value.diagnostics[0].span
        assert span is not None and span.line == 2


@pytest.mark.parametrize(
    ("column", "condition", "hint"),
    [
        ("prise BIGINT", "MISSING_COLUMN", "price"),
        ("extra STRING", "MISSING_COLUMN", "extra => true"),
        ("price STRING", "TYPE_MISMATCH", "price BIGINT"),
        ("price SMALLINT", "TYPE_MISMATCH", "price BIGINT"),
        ("channel BIGINT", "TYPE_MISMATCH", "channel STRING"),
    ],
)
def test_columns_are_those_of_nexmark(column: str, condition: str, hint: str) -> None:
    session = session_with(
        f"CREATE STREAM S ({column}, dateTime TIMESTAMP) SOURCE nexmark('bid', events => 5) ORDERED BY dateTime;"
    )
    session.sql("SELECT * FROM S [NOW]")
    with pytest.raises(ContinuaError) as caught:
        session.answers()
    assert caught.value.condition == condition
    assert hint in str(caught.value.diagnostics[0].hint)


def test_the_padding_is_there_where_it_is_asked_for() -> None:
    session = session_with(
        "CREATE STREAM S (extra STRING, dateTime TIMESTAMP) SOURCE nexmark('bid', events => 50, extra => true) "
        "ORDERED BY dateTime;"
    )
    session.sql("SELECT ISTREAM LENGTH(extra) AS n FROM S [NOW]")
    assert {a.row[0] for a in session.answers()} <= set(range(50, 90))


def test_a_value_that_does_not_fit_is_a_malformed_row() -> None:
    source = spec("rate", "", (("value", replace(BIGINT, name="INT")),), rows=1 << 33)
    beyond = 1 << 31
    piece = read_split(source, Split("", "rate(...)", beyond - 2, beyond + 2, 1 << 33))
    assert piece.columns.column(0).to_pylist() == [beyond - 2, beyond - 1]
    assert [(m.line, m.value, m.column) for m in piece.wrong] == [(2, beyond, "value"), (3, beyond + 1, "value")]


@pytest.mark.parametrize("stop", [1, 3])
def test_a_bounded_run_goes_on_from_its_checkpoint(
    tmp_path: Path, expected: Counter[tuple[object, ...]], stop: int
) -> None:
    options = BoundedOptions(40, tmp_path / "checkpoint", 2)

    def started(text: str) -> BoundedRun:
        session = session_with(text + QUERIES)
        queries = list(session.queries.values())
        given = session.inputs.given({s for q in queries for s in q.sources})
        return BoundedRun(queries, given, [], InProcess(), options)

    class StoppedError(Exception):
        pass

    def stopping(done: object) -> None:
        nonlocal stop
        del done
        stop -= 1
        if not stop:
            raise StoppedError

    with fresh_process(), pytest.raises(StoppedError), started(WORLD) as run:
        run.to_the_end(stopping)
    with fresh_process(), pytest.raises(CheckpointError) as caught:
        started(WORLD.replace("seed => 3", "seed => 4"))
    assert caught.value.condition == "SOURCE_CHANGED"
    with fresh_process(), started(WORLD) as run:
        run.to_the_end()
        assert bag(run.answers()) == expected


def test_what_a_source_is_called_tells_all_that_its_rows_depend_on() -> None:
    seen = {
        generated(spec("nexmark", kind, (("dateTime", TIMESTAMP),), **options)).shown
        for kind in ("bid", "auction")
        for options in ({}, {"rate": 7}, {"seed": 7}, {"start": "2026-01-01"})
    }
    assert len(seen) == 8
    few, many = (generated(spec("nexmark", "bid", events=n)).shown for n in (5, 6))
    assert few == many, "with more events it has grown, and is the same"
