"""Topics of Kafka as sources: what bounded runs read of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.helpers import continua, lines
from tests.services.kafka_broker import PASSWORD, USER, KafkaBroker
from tests.services.kafka_scripts import EACH, SUMS, answers, bids, refused, rows, stream

MANY = [(n % 5, n * 7 % 100, n // 4) for n in range(120)]
AS_FILE = "CREATE STREAM Bid (item INT, price INT, ts BIGINT) SOURCE jsonl('bids.jsonl') ORDERED BY ts;\n"


def test_records_are_rows(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 10, 1), (2, 20, 2), (1, 30, 5)))
    assert answers(stream(kafka, topic) + EACH) == [(1, None, (1, 10)), (2, None, (2, 20)), (5, None, (1, 30))]


def test_a_json_text_may_have_several_lines(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, '{"item": 1,\n "price": 10,\r\n "ts": 1}\n', *bids((2, 20, 2)))
    assert rows(stream(kafka, topic) + EACH) == [(1, 10), (2, 20)]


def test_records_of_csv_have_fields_in_the_order_of_columns(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, "a;1", '"x;\n""y""";2\r\n', "-;3", "b;4")
    script = stream(kafka, topic, "name STRING, ts BIGINT", format="csv", delimiter="';'", null="'-'")
    assert rows(script + EACH) == [("a",), ('x;\n"y"',), (None,), ("b",)]


def test_a_quote_that_is_open_costs_its_own_record_alone(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, "a,1", '"b,2', "c,3", 'd,"4"')
    script = stream(kafka, topic, "name STRING, ts BIGINT", "ORDERED BY ts ON ERROR SKIP", format="csv")
    assert rows(script + EACH) == [("a",), ("c",), ("d",)]


def test_raw_values_and_the_other_parts_of_records_are_columns(kafka: KafkaBroker) -> None:
    topic = kafka.topic(2, retention_ms="-1")
    kafka.send(topic, "x", partition=1, key="7", headers=[("a", b"1"), ("a", b"2"), ("b", None)], timestamp=1500)
    kafka.send(topic, b"\xff", partition=0, timestamp=2500)
    kafka.send(topic, None, partition=0, timestamp=3500)
    columns = "v BINARY, k STRING, p BIGINT, o BIGINT, h MAP<STRING, STRING>, ts TIMESTAMP"
    parts = {"key": "k", "partition": "p", "offset": "o", "headers": "h", "timestamp": "ts"}
    found = answers(stream(kafka, topic, columns, format="raw", **parts) + EACH)
    assert found == [
        (1_500_000, None, (b"x", "7", 1, 0, (("a", "2"), ("b", None)))),
        (2_500_000, None, (b"\xff", None, 0, 0, ())),
        (3_500_000, None, (None, None, 0, 1, ())),
    ]


def test_a_key_is_read_as_its_column_is_declared(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, '{"ts": 1}', key="17")
    kafka.send(topic, '{"ts": 2}', key="x")
    script = stream(kafka, topic, "k INT, ts BIGINT", "ORDERED BY ts ON ERROR SKIP", key="k")
    assert rows(script + EACH) == [(17,)]


def test_what_is_no_row_is_told_with_topic_partition_and_offset(kafka: KafkaBroker) -> None:
    topic = kafka.topic(2)
    kafka.send(topic, *bids((1, 10, 1)), "{", partition=1)
    error = refused(stream(kafka, topic) + EACH)
    assert error.condition == "MALFORMED_ROW"
    assert (error.parameters["file"], error.parameters["line"]) == (f"{topic}[1]", 1)


def test_what_is_no_row_is_kept_apart_with_topic_partition_and_offset(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 10, 1)), "{", None, " ", '{"item": "x", "ts": 3}', *bids((2, 20, 9)))
    for below in (0, 1):
        kafka.delete_records(topic, 0, below)
        script = stream(kafka, topic, clauses="ORDERED BY ts ON ERROR SKIP") + EACH
        (tmp_path / "s.sql").write_text(script)
        assert len(lines(continua("run", "s.sql"))) == 2 - below
        kept = [json.loads(line) for line in (tmp_path / "rejected/Bid.rejected.jsonl").read_text().splitlines()]
        assert [(k["file"], k["line"]) for k in kept] == [(f"{topic}[0]", offset) for offset in (1, 2, 3, 4)]
        assert kept[1]["reason"] == "the record has no value"


def test_partitions_are_late_each_by_itself(kafka: KafkaBroker) -> None:
    topic = kafka.topic(3)
    kafka.send(topic, *bids((1, 1, 100), (1, 2, 200)), partition=0)
    kafka.send(topic, *bids((2, 3, 1), (2, 4, 150), (2, 5, 149)), partition=2)
    assert rows(stream(kafka, topic) + EACH) == [(2, 3), (1, 1), (2, 4), (1, 2)]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_topic_has_the_answers_of_a_file_whatever_the_epochs(kafka: KafkaBroker, tmp_path: Path, size: int) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids(*MANY))
    (tmp_path / "bids.jsonl").write_text("".join(f"{line}\n" for line in bids(*MANY)))
    (tmp_path / "file.sql").write_text(AS_FILE + SUMS)
    (tmp_path / "topic.sql").write_text(stream(kafka, topic) + SUMS)
    wanted = lines(continua("run", str(tmp_path / "file.sql")))
    options = ["--batch-rows", str(size), "--checkpoint", str(tmp_path / "c")]
    assert lines(continua("run", str(tmp_path / "topic.sql"), *options)) == wanted
    assert "agree" in continua("verify", str(tmp_path / "topic.sql")).stderr


def test_spark_reads_a_topic_by_its_tasks(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic(3)
    for partition in range(3):
        kafka.send(topic, *bids(*MANY[partition::3]), partition=partition)
    (tmp_path / "topic.sql").write_text(stream(kafka, topic) + SUMS)
    here = lines(continua("run", str(tmp_path / "topic.sql")))
    assert len(here) > len(MANY)
    assert lines(continua("run", str(tmp_path / "topic.sql"), "--master", "local[2]")) == here


def test_nothing_is_read_of_transactions_that_are_not_committed(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 1, 1)))
    for number, commits in ((2, True), (3, False), (4, True)):
        producer = kafka.producer(transactional_id=f"{topic}-{number}")
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, bids((1, number, number))[0], partition=0)
        producer.flush(60)
        producer.commit_transaction(60) if commits else producer.abort_transaction(60)
    undecided = kafka.producer(transactional_id=f"{topic}-5")
    undecided.init_transactions(60)
    undecided.begin_transaction()
    undecided.produce(topic, bids((1, 5, 5))[0], partition=0)
    undecided.flush(60)
    kafka.send(topic, *bids((1, 6, 6)))
    assert rows(stream(kafka, topic) + EACH) == [(1, 1), (1, 2), (1, 4)]
    uncommitted = stream(kafka, topic, isolation="read_uncommitted")
    assert rows(uncommitted + EACH) == [(1, n) for n in (1, 2, 3, 4, 5, 6)]
    undecided.commit_transaction(60)
    assert rows(stream(kafka, topic) + EACH) == [(1, 1), (1, 2), (1, 4), (1, 5), (1, 6)]


def test_a_topic_is_a_table_too(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, '{"id": 1, "name": "a"}', '{"id": 2, "name": "b"}')
    source = f"SOURCE kafka('{topic}', servers => '{kafka.servers}')"
    script = f"CREATE RELATION Item (id INT, name STRING) {source};\nREGISTER QUERY q AS SELECT name FROM Item;\n"
    assert rows(script) == [("a",), ("b",)]


def test_records_that_are_lost_before_they_were_read_are_an_error(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    # the run ends in its midst, and its checkpoint is left where it was
    kafka.send(topic, *bids(*MANY), "{", *bids((1, 1, 200)))
    (tmp_path / "s.sql").write_text(stream(kafka, topic) + EACH)
    command = ["run", str(tmp_path / "s.sql"), "--batch-rows", "10", "--checkpoint", str(tmp_path / "c")]
    assert continua(*command).exit_code == 1
    kafka.delete_records(topic, 0, 121)
    ended = continua(*command)
    assert ended.exit_code == 1
    assert "OFFSETS_LOST" in ended.stderr


def test_another_topic_of_the_name_is_not_read_on(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 1, 1)))
    (tmp_path / "s.sql").write_text(stream(kafka, topic) + EACH)
    command = ["run", str(tmp_path / "s.sql"), "--checkpoint", str(tmp_path / "c")]
    assert continua(*command).exit_code == 0
    kafka.make_anew(topic)
    kafka.send(topic, *bids((1, 1, 1)))
    assert "SOURCE_CHANGED" in continua(*command).stderr


def test_a_compacted_topic_is_refused_unless_its_source_says_so(kafka: KafkaBroker) -> None:
    topic = kafka.topic(cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    kafka.send(topic, *bids((1, 1, 1)), key="a")
    kafka.send(topic, *bids((1, 2, 2)), key="a")
    assert refused(stream(kafka, topic) + EACH).condition == "TOPIC_COMPACTED"
    kafka.wait_until_compacted(topic, 1)
    left = stream(kafka, topic, clauses="ORDERED BY ts ON ERROR SKIP", compacted="true")
    assert rows(left + EACH) == [(1, 2)]


def test_a_topic_that_is_not_there_is_told_with_its_place(kafka: KafkaBroker) -> None:
    error = refused(stream(kafka, "nowhere") + EACH)
    assert error.condition == "TOPIC_NOT_FOUND"
    assert error.diagnostics[0].span is not None


def test_brokers_that_do_not_answer_are_told(kafka: KafkaBroker) -> None:
    error = refused(stream(kafka, "t", servers="'127.0.0.1:1'", timeout=1) + EACH)
    assert error.condition == "KAFKA_UNREACHABLE"


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"servers": "''"}, "BAD_OPTION"),
        ({"format": "xml"}, "BAD_OPTION"),
        ({"key": "nothing"}, "BAD_OPTION"),
        ({"key": "ts", "timestamp": "ts"}, "BAD_OPTION"),
        ({"timestamp": "item"}, "TYPE_MISMATCH"),
        ({"delimiter": "';'"}, "BAD_OPTION"),
        ({"format": "raw"}, "BAD_COLUMNS"),
        ({"offsets": "o"}, "UNKNOWN_OPTION"),
        ({"compacted": "'no'"}, "BAD_OPTION"),
        ({"timeout": "0"}, "BAD_OPTION"),
        ({"isolation": "none"}, "BAD_OPTION"),
        ({"ssl_nothing": "'x'"}, "KAFKA_REFUSED"),
        ({"sasl_password": "secret('NO_SUCH_SECRET')"}, "UNKNOWN_SECRET"),
    ],
)
def test_options_that_make_no_sense_are_refused(kafka: KafkaBroker, options: dict[str, str], condition: str) -> None:
    assert refused(stream(kafka, "t", **options) + EACH).condition == condition


def test_a_secret_opens_a_topic_and_is_written_down_nowhere(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids((1, 1, 1)))
    guarded = {
        "servers": f"'{kafka.guarded}'",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": USER,
        "sasl_password": "secret('KAFKA_PASSWORD')",
    }
    (tmp_path / "s.sql").write_text(stream(kafka, topic, timeout=5, **guarded) + EACH)
    monkeypatch.setenv("KAFKA_PASSWORD", "wrong")
    wrong = continua("run", str(tmp_path / "s.sql")).stderr
    assert "KAFKA_UNREACHABLE" in wrong
    assert "Authentication failed" in wrong
    monkeypatch.delenv("KAFKA_PASSWORD")
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    monkeypatch.setenv("KAFKA_PASSWORD_FILE", str(tmp_path / "secret"))
    ended = continua("run", str(tmp_path / "s.sql"), "--checkpoint", str(tmp_path / "c"))
    assert len(lines(ended)) == 1
    explained = continua("explain", str(tmp_path / "s.sql"))
    assert PASSWORD not in ended.stdout + ended.stderr + explained.stdout + explained.stderr
    kept = [Path(folder) / name for folder, _, names in os.walk(tmp_path / "c") for name in names]
    assert kept
    assert all(PASSWORD.encode() not in path.read_bytes() for path in kept)


def test_a_partition_is_read_from_where_it_begins(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, *bids(*MANY))
    kafka.delete_records(topic, 0, 100)
    assert kafka.first_offset(topic) == 100
    assert len(rows(stream(kafka, topic) + EACH)) == 20
