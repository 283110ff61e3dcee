"""Topics of Kafka in runs that go on: partitions that lag, fall silent and are added, brokers that go and come."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.session import Session
from tests.cli.following import Followed
from tests.cli.helpers import continua, lines
from tests.crash.world import forget_memory
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import EACH, SUMS, bids, stream

Row = tuple[int, int, int]
ROWS_WINDOW = "REGISTER QUERY r AS SELECT item, price FROM Bid [ROWS 2];\n"
FILES = (
    "CREATE STREAM Bid (item INT, price INT, ts BIGINT) SOURCE jsonl('f') ORDERED BY ts SLACK 2 PARTITIONED BY FILE;\n"
)


def begun(script: str, options: LiveOptions | None = None) -> tuple[Session, LiveRun]:
    """A live run as in a process of its own."""
    forget_memory()
    session = Session()
    session.execute(script)
    session.start(options=options or LiveOptions())
    assert session.live is not None
    return session, session.live.main


def instants(live: LiveRun, name: str = "q") -> list[int]:
    """When the elements of a stream are that a query has answered so far."""
    return [answer.instant for answer in live.answers(name)]


def partitions(seed: int) -> list[list[Row]]:
    """The rows of three partitions, each in about the order of time, one of them behind the others."""
    chance = random.Random(seed)
    found: list[list[Row]] = []
    for number in range(3):
        time = 0
        rows: list[Row] = []
        for _ in range(25):
            time += chance.choice((0, 1, 2))
            late = chance.choice((0, 0, 1, 2, 4))
            rows.append((chance.randrange(3), number * 100 + len(rows), max(time - late, 0)))
        found.append(rows)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_topic_that_grows_is_read_as_if_all_had_been_there(kafka: KafkaBroker, tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    chance, left = random.Random(seed), partitions(seed)
    (tmp_path / "f").mkdir()
    for number, rows in enumerate(left):
        (tmp_path / f"f/{number}.jsonl").write_text("".join(f"{line}\n" for line in bids(*rows)))
    whole = Session(data=tmp_path, rejects=tmp_path / "rejected")
    whole.execute(FILES + SUMS + ROWS_WINDOW)
    wanted = Counter((a.query, a.instant, a.op, a.row) for a in whole.answers())
    topic = kafka.topic(3)
    script = stream(kafka, topic, clauses="ORDERED BY ts SLACK 2") + SUMS + ROWS_WINDOW
    options = LiveOptions(checkpoint=tmp_path / "c", partitions=2, max_rows=chance.choice((None, 2, 7)))
    session, live = begun(script, options)
    while any(left):
        number = chance.choice([n for n, rows in enumerate(left) if rows])
        size = chance.randrange(1, 9)
        kafka.send(topic, *bids(*left[number][:size]), partition=number)
        left[number] = left[number][size:]
        if chance.random() < 0.5:
            live.process()
        if chance.random() < 0.2:
            session.stop()
            session, live = begun(script, options)
    live.finish()
    assert Counter((a.query, a.instant, a.op, a.row) for n in ("q", "r") for a in live.answers(n)) == wanted
    session.stop()


def test_a_partition_that_has_nothing_yet_is_waited_for(kafka: KafkaBroker) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, *bids((1, 1, 5), (1, 2, 9)), partition=0)
    session, live = begun(stream(kafka, topic) + EACH)
    live.process()
    assert instants(live) == []
    kafka.send(topic, *bids((2, 3, 6)), partition=1)
    live.process()
    assert instants(live) == [5]
    session.stop()


def test_a_partition_that_is_silent_is_not_waited_for_after_its_time(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, *bids((1, 1, 5), (1, 2, 9)), partition=0)
    (tmp_path / "s.sql").write_text(stream(kafka, topic) + EACH)
    run = Followed(tmp_path, "s.sql", "--follow", "--trigger", "10ms", "--idle-timeout", "300ms")
    # all are silent in the end: what came is complete then
    run.wait_until(lambda answers: [a["t"] for a in answers] == [5, 9])
    kafka.send(topic, *bids((1, 3, 12), (1, 3, 20)), partition=0)
    run.wait_until(lambda answers: [a["t"] for a in answers][:3] == [5, 9, 12])
    kafka.send(topic, *bids((2, 4, 11), (2, 4, 30)), partition=1)
    run.wait_until(lambda answers: [a["t"] for a in answers] == [5, 9, 12, 20, 30])
    assert run.end(signal.SIGTERM) == 0


def test_a_partition_that_is_added_joins(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic(1)
    kafka.send(topic, *bids((1, 1, 5), (1, 2, 9)))
    options = LiveOptions(checkpoint=tmp_path / "c")
    session, live = begun(stream(kafka, topic) + EACH, options)
    live.process()
    assert instants(live) == [5]
    kafka.add_partitions(topic, 2)
    kafka.wait_for_partitions(topic, 2)
    live.process()
    kafka.send(topic, *bids((1, 3, 20)))
    live.process()
    assert instants(live) == [5]
    kafka.send(topic, *bids((2, 4, 9), (2, 5, 15)), partition=1)
    live.process()
    assert instants(live) == [5, 9, 9]
    session.stop()
    session, live = begun(stream(kafka, topic) + EACH, options)
    kafka.send(topic, *bids((2, 6, 40)), partition=1)
    live.process()
    assert instants(live) == [5, 9, 9, 15]
    session.stop()


def test_a_run_goes_on_when_the_broker_was_away(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 1, 1), (1, 2, 2)))
    (tmp_path / "s.sql").write_text(stream(kafka, topic) + EACH)
    run = Followed(tmp_path, "s.sql", "--follow", "--trigger", "10ms")
    run.wait_until(lambda answers: len(answers) == 1)
    kafka.stop(signal.SIGKILL)
    kafka.start()
    kafka.send(topic, *bids((1, 3, 3), (1, 4, 4)))
    run.wait_until(lambda answers: [a["row"]["price"] for a in answers] == [1, 2, 3])
    assert run.end(signal.SIGTERM) == 0


def wait_for_files(run: Followed, folder: Path, count: int) -> None:
    """Waits until a run has written so many files."""
    run.wait_for(lambda: len(list(folder.glob("epoch-*"))) >= count)


def test_a_run_that_is_killed_again_and_again_has_every_epoch_once(kafka: KafkaBroker, tmp_path: Path) -> None:
    chance = random.Random(5)
    topic, rows = kafka.topic(2), [(n % 3, n, n // 2) for n in range(300)]
    (tmp_path / "bids.jsonl").write_text("".join(f"{line}\n" for line in bids(*rows)))
    (tmp_path / "file.sql").write_text(
        "CREATE STREAM Bid (item INT, price INT, ts BIGINT) SOURCE jsonl('bids.jsonl') ORDERED BY ts;\n" + SUMS
    )
    into = SUMS.replace(";", " INTO json('out');")
    (tmp_path / "s.sql").write_text(stream(kafka, topic) + into)
    arguments = ["s.sql", "--follow", "--trigger", "10ms", "--checkpoint", "c", "--max-rows-per-epoch", "5"]
    sent = 0
    while sent < len(rows):
        run = Followed(tmp_path, *arguments)
        size = chance.randrange(40, 120)
        for partition in (0, 1):
            kafka.send(
                topic, *bids(*[r for r in rows[sent : sent + size] if r[1] % 2 == partition]), partition=partition
            )
        sent += size
        files = len(list((tmp_path / "out").glob("epoch-*")))
        wait_for_files(run, tmp_path / "out", files + chance.randrange(1, 12))
        assert run.end(signal.SIGKILL) == -9
    last = rows[-1][2]
    assert Followed(tmp_path, *arguments, "--until", str(last - 1)).end() == 0
    wanted = [json.loads(line) for line in lines(continua("run", str(tmp_path / "file.sql")))]
    found: list[tuple[int, str, object]] = []
    for path in sorted((tmp_path / "out").glob("epoch-*.json")):
        found += [(a.pop("t"), a.pop("op"), a) for a in map(json.loads, path.read_text().splitlines())]
    key = str
    assert sorted(found, key=key) == sorted(((a["t"], a["op"], a["row"]) for a in wanted if a["t"] < last), key=key)
