"""Topics of Kafka as sinks: what readers of committed transactions see, each epoch once."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint.yielded import Yielded
from continua.sinks.kafka_sink import KafkaSink
from continua.sources.kafka import transactions
from tests.cli.following import Followed
from tests.cli.helpers import continua, lines
from tests.crash.world import forget_memory, number_of
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import COLUMNS, answers, bids, refused, stream
from tests.services.test_kafka_live import begun

ROWS = [(n % 3, n, n // 2) for n in range(90)]
FILE = f"CREATE STREAM Bid ({COLUMNS}) SOURCE jsonl('bids.jsonl') ORDERED BY ts;\n"
SUMS = "SELECT item, SUM(price) AS s, COUNT(*) AS n FROM Bid [RANGE 3] GROUP BY item"
EACH = "SELECT ISTREAM item, price FROM Bid [NOW]"
TOP = "SELECT STREAMED item, MAX(price) AS top FROM Bid [RANGE 3] GROUP BY item"


def into(kafka: KafkaBroker, topic: str, **options: str) -> str:
    """INTO a topic."""
    given = {"servers": f"'{kafka.servers}'"} | options
    return f" INTO kafka('{topic}', {', '.join(f'{name} => {value}' for name, value in given.items())})"


def query(text: str, sink: str = "") -> str:
    return f"REGISTER QUERY q AS {text}{sink};\n"


def in_files(folder: Path, text: str, rows: list[tuple[int, int, int]] = ROWS, name: str = "s.sql") -> str:
    """A script over rows in a file; its path."""
    (folder / "bids.jsonl").write_text("".join(f"{line}\n" for line in bids(*rows)))
    (folder / name).write_text(FILE + text)
    return str(folder / name)


def wanted(folder: Path, text: str, rows: list[tuple[int, int, int]] = ROWS) -> list[dict[str, Any]]:
    """What the query answers on the screen."""
    return [json.loads(line) for line in lines(continua("run", in_files(folder, query(text), rows, "plain.sql")))]


def told(record: Message) -> dict[str, str]:
    """The headers of a record."""
    return {name: value.decode() for name, value in record.headers() or ()}


def changes_in(records: list[Message]) -> Counter[tuple[str, str | None, str]]:
    """The answers that records are: instants, operations and rows."""
    found = ((told(r), json.loads(r.value())) for r in records)
    return Counter((headers["t"], headers.get("op"), json.dumps(row)) for headers, row in found)


def changes_of(answered: list[dict[str, Any]]) -> Counter[tuple[str, str | None, str]]:
    return Counter((str(a["t"]), a.get("op"), json.dumps(a["row"])) for a in answered)


def is_once(records: list[Message]) -> bool:
    """Whether no answer of an epoch and partition is there twice."""
    places = [(h.get("part"), h["epoch"], h["number"]) for h in map(told, records)]
    return len(set(places)) == len(places)


@pytest.mark.parametrize("text", [SUMS, EACH, TOP])
def test_answers_are_records_with_what_they_are_in_headers(kafka: KafkaBroker, tmp_path: Path, text: str) -> None:
    topic, answered = kafka.topic(2), wanted(tmp_path, text)
    assert continua("run", in_files(tmp_path, query(text, into(kafka, topic)))).exit_code == 0
    records = kafka.read(topic, 2)
    assert changes_in(records) == changes_of(answered)
    assert is_once(records)
    assert all(record.key() is None for record in records)


def test_timestamps_are_told_as_on_the_screen(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    script = (
        "CREATE STREAM Bid (item INT, ts TIMESTAMP) SOURCE csv('b.csv') ORDERED BY ts;\n"
        f"REGISTER QUERY q AS SELECT ISTREAM item FROM Bid [NOW]{into(kafka, topic)};\n"
    )
    (tmp_path / "b.csv").write_text("7,2026-05-01T10:00:00.5Z\n")
    (tmp_path / "s.sql").write_text(script)
    assert continua("run", str(tmp_path / "s.sql")).exit_code == 0
    (record,) = kafka.read(topic)
    assert (record.value(), told(record)["t"]) == (b'{"item": 7}', "2026-05-01T10:00:00.5Z")


@pytest.mark.parametrize("size", ["1", "7", "1000"])
def test_of_a_key_the_net_state_is_written_and_a_tombstone_where_it_is_gone(
    kafka: KafkaBroker, tmp_path: Path, size: str
) -> None:
    topic, rows = kafka.topic(3), [(n % 3, n, n * (1 + n % 2)) for n in range(40)]
    answered = wanted(tmp_path, SUMS, rows)
    options = ["--batch-rows", size, "--checkpoint", str(tmp_path / "c")]
    sink = into(kafka, topic, key="item")
    assert continua("run", in_files(tmp_path, query(SUMS, sink), rows), *options).exit_code == 0
    content: dict[int, object] = {}
    states: dict[tuple[int, int], object] = {}
    for answer in answered:
        item = answer["row"]["item"]
        if answer["op"] == "+":
            content[item] = answer["row"]
        else:
            content.pop(item)
        states[answer["t"], item] = content.get(item)
    records = kafka.read(topic, 3)
    keyed = [(int(told(r)["t"]), json.loads(r.key())["item"]) for r in records]
    assert len(set(keyed)) == len(keyed)
    found = {place: r.value() and json.loads(r.value()) for place, r in zip(keyed, records, strict=True)}
    assert found == states
    assert any(value is None for value in found.values())
    assert len({r.partition() for r in records}) > 1
    for item in range(3):
        times = [t for t, i in keyed if i == item]
        assert times == sorted(times)
        assert len({r.partition() for r, (_, i) in zip(records, keyed, strict=True) if i == item}) == 1


def test_elements_of_a_stream_may_have_keys(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    sink = into(kafka, topic, key="'item, price'")
    assert continua("run", in_files(tmp_path, query(EACH, sink), ROWS[:2])).exit_code == 0
    assert [json.loads(r.key()) for r in kafka.read(topic)] == [{"item": 0, "price": 0}, {"item": 1, "price": 1}]


def test_tasks_of_spark_write(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, keyed, answered = kafka.topic(2), kafka.topic(), wanted(tmp_path, SUMS)
    both = query(SUMS, into(kafka, topic)) + query(SUMS, into(kafka, keyed, key="item")).replace("QUERY q", "QUERY r")
    path = in_files(tmp_path, both)
    ended = continua("run", path, "--master", "local[2]", "--batch-rows", "30", "--checkpoint", str(tmp_path / "c"))
    assert ended.exit_code == 0, ended.stderr
    records = kafka.read(topic, 2)
    assert changes_in(records) == changes_of(answered)
    assert is_once(records)
    states = [(told(r)["t"], r.key()) for r in kafka.read(keyed)]
    assert len(states) == len(set(states)) == len({(a["t"], a["row"]["item"]) for a in answered})


def test_a_topic_with_records_is_refused_unless_it_may_have_some(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, other = kafka.topic(), kafka.topic()
    path = in_files(tmp_path, query(EACH, into(kafka, topic)))
    assert continua("run", path).exit_code == 0
    assert "SINK_NOT_EMPTY" in continua("run", path).stderr
    assert continua("run", in_files(tmp_path, query(EACH, into(kafka, topic, append="true")))).exit_code == 0
    assert len(kafka.read(topic)) == 2 * len(ROWS)
    assert kafka.read(other) == []


def test_a_run_that_fails_leaves_nothing(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    path = in_files(tmp_path, query(EACH, into(kafka, topic)))
    with (tmp_path / "bids.jsonl").open("a") as file:
        file.write("no row\n")
    assert continua("run", path, "--batch-rows", "10").exit_code == 1
    assert kafka.read(topic) == []


@pytest.mark.parametrize(
    ("options", "text", "condition"),
    [
        ({"key": "n"}, SUMS, "NOT_A_KEY"),
        ({"key": "nothing"}, SUMS, "UNKNOWN_COLUMN"),
        ({"format": "csv"}, SUMS, "UNKNOWN_OPTION"),
        ({"append": "7"}, SUMS, "BAD_OPTION"),
        ({"compression": "zip"}, SUMS, "BAD_OPTION"),
        ({"servers": "7"}, SUMS, "BAD_OPTION"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_run(
    kafka: KafkaBroker, tmp_path: Path, options: dict[str, str], text: str, condition: str
) -> None:
    ended = continua("run", in_files(tmp_path, query(text, into(kafka, kafka.topic(), **options))))
    assert ended.exit_code == 1
    assert condition in ended.stderr


def test_a_topic_that_is_not_there_is_told(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert "TOPIC_NOT_FOUND" in continua("run", in_files(tmp_path, query(EACH, into(kafka, "nowhere")))).stderr


def test_two_queries_do_not_write_to_one_topic(kafka: KafkaBroker, tmp_path: Path) -> None:
    sink = into(kafka, kafka.topic())
    both = query(EACH, sink) + query(EACH, sink).replace("QUERY q", "QUERY r")
    assert "SINK_SHARED" in continua("run", in_files(tmp_path, both)).stderr


@pytest.mark.parametrize("when", ["before it is committed", "after it was committed"])
def test_a_transaction_of_which_nobody_knows_what_became_of_it_is_made_once(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    topic, answered = kafka.topic(), wanted(tmp_path, SUMS)
    commit, failures = transactions._commit, iter([True, False, True, True, False, False])

    def fails_at_times(mine: Any, target: Any, *others: Any) -> None:
        if not next(failures, False):
            commit(mine, target, *others)
            return
        if when == "before it is committed":
            mine.producer.begin_transaction()
            mine.producer.produce(topic, b"{}", partition=0)
            mine.producer.flush(60)
        else:
            commit(mine, target, *others)
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(transactions, "_commit", fails_at_times)
    options = ["--batch-rows", "20", "--checkpoint", str(tmp_path / "c")]
    assert continua("run", in_files(tmp_path, query(SUMS, into(kafka, topic))), *options).exit_code == 0
    records = kafka.read(topic)
    assert changes_in(records) == changes_of(answered)
    assert is_once(records)


def test_an_epoch_whose_shares_are_not_told_any_more_is_written_whole_or_not_at_all(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, answered = kafka.topic(), wanted(tmp_path, EACH)
    path = in_files(tmp_path, query(EACH, into(kafka, topic)))
    options = ["--batch-rows", "30", "--checkpoint", str(tmp_path / "c")]
    write, left = KafkaSink.write_as, iter([True, True])

    def ends_early(sink: KafkaSink, *others: Any) -> None:
        if not next(left, False):
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        write(sink, *others)

    monkeypatch.setattr(KafkaSink, "write_as", ends_early)
    assert continua("run", path, *options).exit_code != 0
    assert 0 < len(kafka.read(topic)) < len(answered)
    forget_memory()
    monkeypatch.setattr(KafkaSink, "write_as", write)
    monkeypatch.setattr(Yielded, "is_apart", lambda *_: False)
    assert continua("run", path, *options).exit_code == 0
    assert changes_in(kafka.read(topic)) == changes_of(answered)
    forget_memory()
    assert continua("run", path, *options).exit_code == 0
    assert len(kafka.read(topic)) == len(answered)


def test_who_goes_on_with_a_run_knows_what_is_written(kafka: KafkaBroker, tmp_path: Path) -> None:
    source, topic = kafka.topic(), kafka.topic()
    script = stream(kafka, source) + query(SUMS, into(kafka, topic))
    options = LiveOptions(checkpoint=tmp_path / "c")
    for first in range(0, 90, 10):
        kafka.send(source, *bids(*ROWS[first : first + 10]))
        transactions._writers.clear()
        transactions._progress.clear()
        session, live = begun(script, options)
        live.process()
        session.stop()
    records = kafka.read(topic)
    assert is_once(records)
    found = [(a[0], a[1]) for a in answers(stream(kafka, source) + query(SUMS)) if a[0] < ROWS[-1][2]]
    assert Counter((int(told(r)["t"]), told(r)["op"]) for r in records) == Counter(found)


def wait_for_epochs(run: Followed, checkpoint: Path, more: int) -> None:
    """Waits until a run has finished so many more epochs."""

    def last() -> int:
        return max(map(number_of, (checkpoint / "epochs").glob("[0-9]*")), default=0)

    there = last() + more
    run.wait_for(lambda: last() >= there)


def send_some(kafka: KafkaBroker, topic: str, rows: list[tuple[int, int, int]]) -> None:
    """Writes rows to two partitions."""
    for partition in (0, 1):
        kafka.send(topic, *bids(*[r for r in rows if r[1] % 2 == partition]), partition=partition)


@pytest.mark.parametrize("key", ["", "item"])
def test_a_run_that_is_killed_again_and_again_writes_every_epoch_once(
    kafka: KafkaBroker, tmp_path: Path, key: str
) -> None:
    chance = random.Random(len(key))
    source, topic, rows = kafka.topic(2), kafka.topic(2), [(n % 3, n, n // 2) for n in range(240)]
    sink = into(kafka, topic, **({"key": key} if key else {}))
    (tmp_path / "s.sql").write_text(stream(kafka, source) + query(SUMS, sink))
    arguments = ["s.sql", "--follow", "--trigger", "10ms", "--checkpoint", "c", "--max-rows-per-epoch", "4"]
    for first in range(0, len(rows), 80):
        # an epoch reads at most eight rows: there are ten for each half of these
        send_some(kafka, source, rows[first : first + 40])
        run = Followed(tmp_path, *arguments)
        wait_for_epochs(run, tmp_path / "c", chance.randrange(1, 5))
        if first == 80:
            kafka.stop(signal.SIGKILL)
            kafka.start()
        send_some(kafka, source, rows[first + 40 : first + 80])
        wait_for_epochs(run, tmp_path / "c", chance.randrange(1, 5))
        assert run.end(signal.SIGKILL) == -9
    last = rows[-1][2]
    ended = Followed(tmp_path, *arguments, "--until", str(last - 1))
    assert ended.end() == 0, ended.told
    records = kafka.read(topic, 2)
    answered = [a for a in wanted(tmp_path, SUMS, rows) if a["t"] < last]
    assert is_once(records)
    if not key:
        assert changes_in(records) == changes_of(answered)
        return
    states = {(a["t"], a["row"]["item"]): a["row"] if a["op"] == "+" else None for a in answered}
    found = {(int(told(r)["t"]), json.loads(r.key())["item"]): r.value() and json.loads(r.value()) for r in records}
    assert found == states
    assert len(records) == len(found)


def test_a_secret_of_a_sink_must_be_there(kafka: KafkaBroker, tmp_path: Path) -> None:
    sink = into(kafka, kafka.topic(), sasl_password="secret('NO_SUCH_SECRET')")
    assert "UNKNOWN_SECRET" in continua("run", in_files(tmp_path, query(EACH, sink))).stderr
    assert refused(stream(kafka, "t", ssl_key_password="secret('NO_SUCH_SECRET')") + query(EACH)).condition
