"""Records that are no rows go to a topic of dead letters, each once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from continua.sources.kafka import dead_letters, transactions
from tests.cli.following import Followed
from tests.cli.helpers import continua, lines
from tests.crash.world import forget_memory
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import EACH, bids, stream

SKIP = "ORDERED BY ts ON ERROR SKIP"


def letters(kafka: KafkaBroker, topic: str) -> list[tuple[bytes | None, dict[str, bytes]]]:
    """The dead letters that are there: their values and headers."""
    return [(r.value(), dict(r.headers() or ())) for r in kafka.read(topic)]


def mixed(count: int) -> list[str]:
    """Bids, and between them records that are none."""
    return [bids((n, n, n))[0] if n % 3 else f"bad {n}" for n in range(count)]


def test_a_dead_letter_is_the_record_and_tells_where_it_was_and_why(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, dead = kafka.topic(2), kafka.topic()
    kafka.send(topic, bids((1, 1, 1))[0], "{", partition=1, key="k", headers=[("own", b"7")])
    kafka.send(topic, None, '{"item": "x", "ts": 2}', '{"item": 1}', partition=0)
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters=f"'{dead}'") + EACH)
    assert len(lines(continua("run", str(tmp_path / "s.sql")))) == 1
    found = {(h["continua.partition"], h["continua.offset"]): (value, h) for value, h in letters(kafka, dead)}
    assert set(found) == {(b"1", b"1"), (b"0", b"0"), (b"0", b"1"), (b"0", b"2")}
    value, headers = found[b"1", b"1"]
    assert (value, headers["own"], headers["continua.topic"], headers["continua.source"]) == (
        *(b"{", b"7", topic.encode(), b"Bid"),
    )
    assert b"not JSON" in headers["continua.reason"]
    assert found[b"0", b"0"][0] is None
    assert b"item" in found[b"0", b"1"][1]["continua.reason"]
    assert found[b"0", b"2"][1]["continua.reason"] == b"the timestamp is NULL"


@pytest.mark.parametrize("size", ["2", "1000"])
def test_each_is_there_once_whatever_the_epochs(kafka: KafkaBroker, tmp_path: Path, size: str) -> None:
    topic, dead = kafka.topic(), kafka.topic()
    kafka.send(topic, *mixed(300))
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters=f"'{dead}'") + EACH)
    command = ["run", str(tmp_path / "s.sql"), "--checkpoint", str(tmp_path / "c"), "--batch-rows", size]
    for _ in range(2):
        assert continua(*command).exit_code == 0
        assert [value for value, _ in letters(kafka, dead)] == [f"bad {n}".encode() for n in range(0, 300, 3)]


def test_a_run_that_ends_between_them_and_the_end_of_its_epoch_does_not_write_them_again(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, dead = kafka.topic(), kafka.topic()
    kafka.send(topic, *mixed(30))
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters=f"'{dead}'") + EACH)
    command = ["run", str(tmp_path / "s.sql"), "--checkpoint", str(tmp_path / "c"), "--batch-rows", "10"]
    write = transactions.write_once

    def ends_behind(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(dead_letters, "write_once", ends_behind)
    assert continua(*command).exit_code != 0
    assert len(letters(kafka, dead)) == 4
    forget_memory()
    monkeypatch.setattr(dead_letters, "write_once", write)
    (tmp_path / "other").mkdir()
    assert continua(*command[:-2], "--batch-rows", "7").exit_code == 0
    assert [value for value, _ in letters(kafka, dead)] == [f"bad {n}".encode() for n in range(0, 30, 3)]


def test_a_run_that_is_killed_has_each_once(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, dead = kafka.topic(2), kafka.topic()
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters=f"'{dead}'") + EACH)
    arguments = ["s.sql", "--follow", "--trigger", "10ms", "--checkpoint", "c", "--max-rows-per-epoch", "3"]
    records = mixed(90)
    for first in (0, 30, 60):
        run = Followed(tmp_path, *arguments)
        for partition in (0, 1):
            kafka.send(topic, *records[first + partition : first + 30 : 2], partition=partition)
        wanted = first // 3 + 4
        run.wait_for(lambda wanted=wanted: len(kafka.read(dead)) >= wanted)  # type: ignore[misc]
        assert run.end(signal.SIGKILL) == -9
    assert Followed(tmp_path, *arguments, "--until", "85").end() == 0
    places = [(h["continua.partition"], h["continua.offset"]) for _, h in letters(kafka, dead)]
    assert len(set(places)) == len(places) == 30


def test_spark_keeps_them_too(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, dead = kafka.topic(2), kafka.topic()
    kafka.send(topic, *mixed(30), partition=0)
    kafka.send(topic, *mixed(30), partition=1)
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters=f"'{dead}'") + EACH)
    assert continua("run", str(tmp_path / "s.sql"), "--master", "local[2]").exit_code == 0
    assert sorted(v for v, _ in letters(kafka, dead) if v) == sorted(2 * [f"bad {n}".encode() for n in range(0, 30, 3)])


def test_a_topic_of_dead_letters_that_is_not_there_is_told(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, "{")
    (tmp_path / "s.sql").write_text(stream(kafka, topic, clauses=SKIP, dead_letters="'nowhere'") + EACH)
    ended = continua("run", str(tmp_path / "s.sql"))
    assert ended.exit_code == 1
    assert "TOPIC_NOT_FOUND" in ended.stderr
