"""Rows that come once, in chunks of any size: the same as those of a file with the same bytes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from continua.errors import DataError, SourceError
from continua.session import Session
from continua.sources import incoming
from continua.sources.incoming import Incoming
from continua.sources.intervals import Source
from continua.sources.source_spec import SourceSpec
from continua.sources.stretches import Stretch

LINES = ["k,name,ts\n", '1,"two\nlines",1\n', "2,plain,2\n", "\n", "no row\n", '3,"a ""b""",3\n', "4,é,4\n"]


def declared(form: str) -> tuple[Source, SourceSpec]:
    session = Session(master="none")
    session.execute(f"CREATE STREAM S (k INT, name STRING, ts BIGINT) SOURCE {form}('-') ORDERED BY ts ON ERROR SKIP")
    info = session.catalog.table("S")
    assert isinstance(info, Source)
    return info, SourceSpec(form, "-", tuple((f.name, f.type) for f in info.columns), (), True, "S")


def opened(form: str, *connections: list[bytes], news: threading.Event | None = None) -> Incoming:
    """A source that brings some connections, one after the other; all but the last break off."""
    info, spec = declared(form)
    last = len(connections) - 1
    given = iter([(iter(chunks), number < last) for number, chunks in enumerate(connections)])
    return Incoming(info, spec, "<test>", given, news or threading.Event())


def everything(source: Incoming, rows: int | None = None) -> list[Stretch]:
    """All that it brings, waiting for it to come."""
    found: list[Stretch] = []
    while True:
        over = source.ended
        taken = source.take(0, rows)
        if taken is not None:
            found.append(taken)
        elif over:
            return found


def rows_of(found: list[Stretch]) -> list[dict[str, object]]:
    return pa.concat_tables([s.rows for s in found]).to_pylist() if found else []


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(8)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_the_cut_into_chunks_and_the_number_of_rows_do_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    body = LINES[1:]
    chance.shuffle(body)
    data = "".join([LINES[0], *body]).encode()
    data = data.removesuffix(b"\n") if chance.random() < 0.5 else data
    expected = everything(opened("csv", [data]))
    found = everything(opened("csv", cut(data, chance)), chance.choice((None, 1, 2, 100)))
    assert rows_of(found) == rows_of(expected)
    assert len(rows_of(found)) == 4
    assert [(m.line, m.text) for s in found for m in s.wrong] == [(m.line, m.text) for s in expected for m in s.wrong]


def test_lines_are_counted_from_the_beginning_of_a_connection() -> None:
    found = everything(opened("csv", [b"k,name,ts\n1,a,1\n", b"wrong\n2,b,2\n", b"worse\n"]))
    assert sorted(m.line for s in found for m in s.wrong) == [3, 5]


def test_a_line_without_an_end_is_a_row_at_the_end_only() -> None:
    source = opened("jsonl", [b'{"k": 1, "ts": 1}\n{"k": 2, "t'], [b'{"k": 3, "ts": 3}\n{"k": 4, "ts": 4}'])
    assert [row["c0"] for row in rows_of(everything(source))] == [1, 3, 4]
    assert [(n.condition, n.parameters["bytes"]) for n in source.notices()] == [("LINE_UNFINISHED", 11)]


def test_every_connection_may_have_a_header_of_its_own() -> None:
    source = opened("csv", [b"k,name,ts\n1,a,1\n"], [b"ts,name,k\n2,b,20\n"], [b"3,c,3\n"])
    assert [(row["c0"], row["c2"]) for row in rows_of(everything(source))] == [(1, 1), (20, 2), (3, 3)]


def test_what_a_header_lacks_is_told() -> None:
    source = opened("csv", [b"k,nam,ts\n1,a,1\n"])
    with pytest.raises(SourceError) as caught:
        everything(source)
    assert caught.value.condition == "MISSING_COLUMN"


def test_a_line_that_has_no_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "ROOM", 100)
    source = opened("jsonl", [b'{"k": 1, "ts": 1}\n', *[b"x" * 60] * 3, b'\n{"k": 2, "ts": 2}\n'])
    found: list[Stretch] = []
    with pytest.raises(DataError) as caught:
        while not source.ended:
            if (taken := source.take(0)) is not None:
                found.append(taken)
    assert caught.value.condition == "LINE_TOO_LONG"
    assert caught.value.parameters["line"] == 2
    assert [row["c0"] for row in rows_of(found)] == [1]
    source.close()


def test_who_sends_too_much_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "ROOM", 100)
    sent: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(50):
            sent.append(number)
            yield b'{"k": 1, "ts": 1}\n'

    info, spec = declared("jsonl")
    news = threading.Event()
    source = Incoming(info, spec, "<test>", iter([(chunks(), False)]), news)
    news.wait(10)
    while len(sent) < 6:
        news.wait(0.01)
    assert len(sent) < 10
    assert len(rows_of(everything(source))) == 50
