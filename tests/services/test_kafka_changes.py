"""Topics that tell how a relation changes: the states of keys, and Debezium's envelope."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from tests.cli.helpers import continua, lines
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import answers, refused, rows
from tests.services.test_kafka_live import begun

ITEMS = "id INT, name STRING, price DECIMAL(8, 2), op STRING, ts TIMESTAMP"
ALL = "REGISTER QUERY q AS SELECT id, name, price FROM Item;\n"
Told = list[tuple[int, str | None, tuple[object, ...]]]


def relation(kafka: KafkaBroker, topic: str, columns: str, clauses: str, **options: object) -> str:
    """The definition of a relation Item over a topic; options are written as they are."""
    given = {"servers": f"'{kafka.servers}'", "tag": "op"} | options
    written = ", ".join(f"{name} => {value}" for name, value in given.items())
    return (
        f"CREATE RELATION Item ({columns}) SOURCE kafka('{topic}', {written}) ORDERED BY ts TAGGED BY op {clauses};\n"
    )


def shown(found: Told) -> list[tuple[int, str | None, tuple[str, ...]]]:
    """Answers with their values as text, and instants in milliseconds."""
    return [(t // 1000, op, tuple(map(str, row))) for t, op, row in found]


def states(kafka: KafkaBroker, *records: tuple[str | None, str | None, int]) -> str:
    """A topic of states: keys, values and times in milliseconds."""
    topic = kafka.topic(retention_ms="-1")
    for key, value, at in records:
        kafka.send(topic, value, key=key, timestamp=at)
    return topic


def test_a_topic_of_states_is_a_relation_from_which_tombstones_remove_rows(kafka: KafkaBroker) -> None:
    topic = states(
        kafka,
        ("1", '{"name": "a", "price": 1.5}', 1000),
        ("2", '{"name": "b", "price": 2}', 2000),
        ("1", '{"name": "c"}', 3000),
        ("2", None, 4000),
        ("7", None, 5000),
    )
    script = relation(kafka, topic, ITEMS, "UPSERT KEY id", key="id", timestamp="ts")
    assert shown(answers(script + ALL)) == [
        (1000, "+", ("1", "a", "1.50")),
        (2000, "+", ("2", "b", "2.00")),
        (3000, "-", ("1", "a", "1.50")),
        (3000, "+", ("1", "c", "None")),
        (4000, "-", ("2", "b", "2.00")),
    ]


def test_what_a_query_writes_by_key_is_read_as_what_it_holds(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic, rows_in = kafka.topic(3), [(n % 3, n % 5, n, n * (1 + n % 2)) for n in range(40)]
    text = "".join(f"{a},{b},{c},{t}\n" for a, b, c, t in rows_in)
    (tmp_path / "s.csv").write_text(text)
    query = "SELECT a, b, SUM(c) AS s FROM S [RANGE 4] GROUP BY a, b"
    stream = "CREATE STREAM S (a INT, b INT, c INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;\n"
    into = f"INTO kafka('{topic}', servers => '{kafka.servers}', key => 'a, b')"
    (tmp_path / "out.sql").write_text(f"{stream}REGISTER QUERY q AS {query} {into};\n")
    (tmp_path / "plain.sql").write_text(f"{stream}REGISTER QUERY q AS {query};\n")
    assert continua("run", str(tmp_path / "out.sql")).exit_code == 0
    wanted = lines(continua("run", str(tmp_path / "plain.sql")))
    back = (
        "CREATE RELATION Item (a INT, b INT, s BIGINT, h MAP<STRING, STRING>, op STRING, arrived TIMESTAMP)"
        f" SOURCE kafka('{topic}', servers => '{kafka.servers}', key => 'a, b', tag => op, timestamp => arrived,"
        " headers => h) ORDERED BY arrived TAGGED BY op UPSERT KEY a, b;\n"
        "REGISTER QUERY q AS SELECT a, b, s FROM Item;\n"
    )
    content: dict[tuple[object, ...], int] = {}
    for _, op, row in answers(back):
        content[row] = content.get(row, 0) + (1 if op == "+" else -1)
    expected: dict[tuple[object, ...], int] = {}
    for line in map(json.loads, wanted):
        row = tuple(line["row"].values())
        expected[row] = expected.get(row, 0) + (1 if line["op"] == "+" else -1)
    assert {r for r, n in content.items() if n} == {r for r, n in expected.items() if n}


def test_a_record_without_a_key_is_no_state(kafka: KafkaBroker) -> None:
    topic = states(kafka, (None, '{"name": "a"}', 1000))
    error = refused(relation(kafka, topic, ITEMS, "UPSERT KEY id", key="id", timestamp="ts") + ALL)
    assert error.condition == "MALFORMED_ROW"
    assert "the record has no key" in str(error)


def test_a_column_that_must_have_a_value_need_have_none_where_a_row_is_removed(kafka: KafkaBroker) -> None:
    topic = states(kafka, ("1", '{"name": "a"}', 1000), ("1", None, 2000))
    columns = ITEMS.replace("name STRING", "name STRING NOT NULL")
    found = answers(relation(kafka, topic, columns, "UPSERT KEY id", key="id", timestamp="ts") + ALL)
    assert [op for _, op, _ in found] == ["+", "-"]


def test_a_topic_of_states_may_be_compacted_behind_what_was_read_of_it(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic(cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    columns = "k STRING, name STRING, o BIGINT, op STRING"
    options = {"servers": f"'{kafka.servers}'", "key": "k", "tag": "op", "offset": "o", "compacted": "true"}
    written = ", ".join(f"{name} => {value}" for name, value in options.items())
    script = (
        f"CREATE RELATION Item ({columns}) SOURCE kafka('{topic}', {written}) ORDERED BY o TAGGED BY op UPSERT KEY k;\n"
        "REGISTER QUERY q AS SELECT k, name FROM Item;\n"
    )
    live_options = LiveOptions(checkpoint=tmp_path / "c")
    for key, name in (("a", "1"), ("b", "1"), ("c", "1")):
        kafka.send(topic, json.dumps({"name": name}), key=key)
    session, live = begun(script, live_options)
    live.process()
    session.stop()
    for key, name in (("a", "2"), ("a", "3"), ("b", "2")):
        kafka.send(topic, json.dumps({"name": name}), key=key)
    kafka.send(topic, None, key="c")
    kafka.wait_until_compacted(topic, 3)  # what was read has gone, and the first new state of a
    assert b'"2"' not in b"".join(r.value() for r in kafka.read(topic) if r.key() == b"a")
    session, live = begun(script, live_options)
    live.finish()
    content: dict[object, int] = {}
    for answer in live.answers("q"):
        content[answer.row] = content.get(answer.row, 0) + (1 if answer.op == "+" else -1)
    session.stop()
    assert {row for row, count in content.items() if count} == {("a", "3"), ("b", "2"), ("other", None)}


SCHEMA_OF_ROW = {
    "type": "struct",
    "optional": True,
    "fields": [
        {"type": "int32", "field": "id"},
        {"type": "string", "field": "name"},
        {
            "type": "bytes",
            "field": "price",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
        },
        {"type": "int64", "field": "made", "name": "io.debezium.time.MicroTimestamp"},
        {"type": "int32", "field": "day", "name": "io.debezium.time.Date"},
        {"type": "bytes", "field": "raw"},
        {"type": "array", "field": "tags", "items": {"type": "string"}},
        {"type": "struct", "field": "free", "name": "io.debezium.data.VariableScaleDecimal"},
    ],
}
SCHEMA = {
    "type": "struct",
    "fields": [{**SCHEMA_OF_ROW, "field": "before"}, {**SCHEMA_OF_ROW, "field": "after"}, {"field": "op"}],
}


def envelope(op: str, before: object, after: object, at: int, schema: object = None) -> str:
    """A record of Debezium's: the time of its change in milliseconds."""
    payload = {"before": before, "after": after, "op": op, "ts_ms": at + 7, "source": {"ts_ms": at, "lsn": at}}
    return json.dumps({"schema": schema, "payload": payload} if schema else payload)


def plain(n: int, name: str | None = None, price: float | None = None) -> dict[str, object]:
    return {"id": n, "name": name, "price": price}


CHANGES = [
    envelope("r", None, plain(1, "a", 1.5), 1000),
    envelope("c", None, plain(2, "b", 2), 2000),
    envelope("u", plain(1), plain(1, "c", 3), 3000),
    envelope("d", plain(2), None, 4000),
    None,
]
CHANGED = [
    (1000, "+", ("1", "a", "1.50")),
    (2000, "+", ("2", "b", "2.00")),
    (3000, "-", ("1", "a", "1.50")),
    (3000, "+", ("1", "c", "3.00")),
    (4000, "-", ("2", "b", "2.00")),
]


@pytest.mark.parametrize("policy", ["STRICT", "UPSERT"])
def test_debezium_tells_a_relation(kafka: KafkaBroker, policy: str) -> None:
    topic = kafka.topic()
    kafka.send(topic, *CHANGES)
    script = relation(kafka, topic, ITEMS, f"{policy} KEY id", format="debezium", source_time="ts")
    assert shown(answers(script + ALL)) == CHANGED


@pytest.mark.parametrize("size", ["1", "1000"])
def test_the_engine_has_it_as_it_is_defined(kafka: KafkaBroker, tmp_path: Path, size: str) -> None:
    topic = kafka.topic()
    updates = [envelope("u", plain(n % 3), plain(n % 3, str(n)), 5000 + n) for n in range(20)]
    kafka.send(topic, *CHANGES, *updates, envelope("d", plain(1), None, 6000), None)
    for clauses in ("UPSERT KEY id", "UPSERT KEY id ON ERROR SKIP"):
        script = relation(kafka, topic, ITEMS, clauses, format="debezium", source_time="ts")
        (tmp_path / "s.sql").write_text(script + ALL)
        ended = continua("verify", str(tmp_path / "s.sql"), "--batch-rows", size)
        assert "agree" in ended.stderr, ended.stderr


def test_time_may_be_that_of_the_envelope(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, *CHANGES)
    script = relation(kafka, topic, ITEMS, "KEY id", format="debezium", envelope_time="ts")
    assert shown(answers(script + ALL)) == [(t + 7, op, row) for t, op, row in CHANGED]


def test_what_is_told_twice_changes_nothing_under_upsert_and_is_refused_under_strict(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, *CHANGES, *CHANGES[:2])
    script = relation(kafka, topic, ITEMS, "UPSERT KEY id", format="debezium", timestamp="ts")
    found = [row for _, _, row in shown(answers(script + ALL))]
    assert found[-1] == ("2", "b", "2.00")
    assert refused(script.replace("UPSERT", "STRICT") + ALL).condition == "BROKEN_KEY"


def test_without_a_key_an_update_removes_a_row_and_inserts_one(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(
        topic,
        envelope("c", None, plain(1, "a"), 1000),
        envelope("c", None, plain(1, "a"), 2000),
        envelope("u", plain(1, "a"), plain(1, "b"), 3000),
        envelope("d", plain(1, "a"), None, 4000),
    )
    script = relation(kafka, topic, ITEMS, "", format="debezium", source_time="ts")
    assert shown(answers(script + ALL)) == [
        (1000, "+", ("1", "a", "None")),
        (2000, "+", ("1", "a", "None")),
        (3000, "-", ("1", "a", "None")),
        (3000, "+", ("1", "b", "None")),
        (4000, "-", ("1", "a", "None")),
    ]
    kafka.send(topic, envelope("u", None, plain(1, "b"), 5000))
    assert "REPLICA IDENTITY FULL" in str(refused(script + ALL))


def test_values_are_what_their_schema_says(kafka: KafkaBroker) -> None:
    def encoded(number: int) -> str:
        return base64.b64encode(number.to_bytes(2, "big", signed=True)).decode()

    topic, row = kafka.topic(), {"id": 1, "name": "x", "price": encoded(-150), "made": 1_500_000_000_000_001}
    row |= {"day": 19_000, "raw": encoded(258), "tags": ["p", "q"], "free": {"scale": 3, "value": encoded(1500)}}
    kafka.send(topic, envelope("c", None, row, 1000, SCHEMA), envelope("d", row, None, 2000, SCHEMA))
    columns = (
        "id INT, name STRING, price DECIMAL(8, 2), made TIMESTAMP, day DATE, raw BINARY, tags ARRAY<STRING>,"
        " free DECIMAL(8, 3), op STRING, ts TIMESTAMP"
    )
    script = relation(kafka, topic, columns, "STRICT KEY id", format="debezium", source_time="ts")
    query = "REGISTER QUERY q AS SELECT price, made, day, raw, tags, free FROM Item;\n"
    found = rows(script + query)
    assert list(map(str, found[0])) == [
        *("-1.50", "2017-07-14 02:40:00.000001", "2022-01-08", str(b"\x01\x02"), "('p', 'q')", "1.500"),
    ]
    assert len(found) == 2


def test_without_a_schema_numbers_are_times_in_a_unit_that_is_said(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, envelope("c", None, {"id": 1, "made": 1_500_000, "day": 1}, 1000))
    columns = "id INT, made TIMESTAMP, day DATE, op STRING, ts TIMESTAMP"
    script = relation(kafka, topic, columns, "KEY id", format="debezium", source_time="ts")
    assert "time_unit" in str(refused(script + "REGISTER QUERY q AS SELECT made FROM Item;\n"))
    script = relation(kafka, topic, columns, "KEY id", format="debezium", source_time="ts", time_unit="'milliseconds'")
    (found,) = rows(script + "REGISTER QUERY q AS SELECT made, day FROM Item;\n")
    assert list(map(str, found)) == ["1970-01-01 00:25:00", "1970-01-02"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (envelope("t", None, None, 1), "the table was truncated"),
        (envelope("x", None, {}, 1), "its op is 'x'"),
        ('{"id": 1}', "it has no op"),
        ("[1]", "not an object with fields"),
        ("{", "not JSON"),
        (envelope("c", None, {"id": "one"}, 1), "not a valid INT"),
        (envelope("c", None, None, 1), "does not tell the row after"),
    ],
)
def test_what_is_no_change_of_a_row_is_told(kafka: KafkaBroker, value: str, reason: str) -> None:
    topic = kafka.topic()
    kafka.send(topic, envelope("c", None, plain(1), 1), None, value)
    error = refused(relation(kafka, topic, ITEMS, "UPSERT KEY id", format="debezium", source_time="ts") + ALL)
    assert reason in str(error)
    assert (error.parameters["file"], error.parameters["line"]) == (f"{topic}[0]", 2)


@pytest.mark.parametrize(
    "options",
    [
        {"format": "debezium", "tag": None},
        {"format": "debezium", "tag": "id"},
        {"format": "csv", "envelope": "'debezium'"},
        {"format": "debezium", "time_unit": "'hours'"},
        {"tag": "op"},
        {"source_time": "ts", "key": "id"},
        {"key": "id", "key_format": "xml"},
        {"key": "'id, name'", "key_format": "raw"},
        {"key_format": "json"},
        {"dead_letters": "'dead'"},
        {"registry": "'nowhere'", "key": "id"},
        {"schema": "'bid.avsc'", "key": "id"},
    ],
)
def test_options_that_make_no_sense_are_refused(kafka: KafkaBroker, options: dict[str, str | None]) -> None:
    script = relation(kafka, "t", ITEMS, "UPSERT KEY id", **options).replace(", tag => None", "")
    assert refused(script + ALL).condition in ("BAD_OPTION", "TYPE_MISMATCH", "SOURCE_NOT_READABLE")
