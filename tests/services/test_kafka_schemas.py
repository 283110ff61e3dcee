"""Values in Avro and Protobuf, by schemas of a registry and of files."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from continua.session import Session
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import EACH, refused, rows, stream
from tests.services.schema_registry import SchemaRegistry

SECOND = datetime(2026, 5, 1, 12, tzinfo=UTC)
FULL: dict[str, Any] = {
    "type": "record",
    "name": "Full",
    "namespace": "tests",
    "fields": [
        {"name": "ts", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "inner", "type": {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}]}},
        {"name": "list", "type": {"type": "array", "items": "double"}},
        {"name": "pairs", "type": {"type": "map", "values": "long"}},
        {"name": "any", "type": ["null", "int", "string"]},
    ],
}
COLUMNS_OF_FULL = (
    "ts BIGINT, amount DECIMAL(8, 2), millis TIMESTAMP, micros TIMESTAMP, `day` DATE, id STRING, kind STRING,"
    " `inner` STRUCT<x: INT>, list ARRAY<DOUBLE>, pairs MAP<STRING, BIGINT>, `any` STRING"
)
VALUE: dict[str, Any] = {
    "ts": 1,
    "amount": Decimal("-12.34"),
    "millis": SECOND,
    "micros": None,
    "day": date(2026, 5, 1),
    "id": uuid.UUID(int=7),
    "kind": "B",
    "inner": {"x": 5},
    "list": [0.5, 1.5],
    "pairs": {"k": 9},
    "any": "text",
}


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    """A schema of a record: fields by name, as types or with all that a field has."""
    known = [f if isinstance(f, dict) and "default" in f else {"name": n, "type": f} for n, f in fields.items()]
    return {"type": "record", "name": name, "fields": known}


def avro(schema: Any, value: object, number: int | None = None) -> bytes:
    """A value in Avro; with the number of its schema, if there is one."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return headed(stream.getvalue(), number)


def headed(content: bytes, number: int | None) -> bytes:
    return content if number is None else b"\0" + number.to_bytes(4, "big") + content


def by_registry(registry: SchemaRegistry, form: str = "avro", **options: str) -> dict[str, str]:
    return {"format": form, "registry": f"'{registry.url}'"} | options


def test_avro_is_read_by_the_schema_that_a_record_names(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    number = registry.register(f"{topic}-value", json.dumps(FULL))
    kafka.send(topic, avro(FULL, VALUE, number), avro(FULL, {**VALUE, "ts": 2, "micros": SECOND, "any": 3}, number))
    script = stream(kafka, topic, COLUMNS_OF_FULL, **by_registry(registry))
    error = refused(script + EACH)
    assert "3 is not a valid STRING" in str(error)  # what a union has, must fit its column
    without = stream(kafka, topic, COLUMNS_OF_FULL.replace(", `any` STRING", ""), **by_registry(registry))
    first, second = rows(without + EACH)
    moment = SECOND.replace(tzinfo=None)
    same = (date(2026, 5, 1), str(uuid.UUID(int=7)), "B", (5,), (0.5, 1.5), (("k", 9),))
    assert first == (Decimal("-12.34"), moment, None, *same)
    assert second == (Decimal("-12.34"), moment, moment, *same)


def test_a_schema_that_evolves_is_read_by_the_names_of_columns(
    kafka: KafkaBroker, registry: SchemaRegistry, tmp_path: Path
) -> None:
    topic = kafka.topic()
    price: dict[str, Any] = {"name": "price", "type": "double", "default": 7.5}
    versions = [
        (record("Bid", item="int", ts="long"), {"item": 1, "ts": 1}),
        (record("Bid", ts="long", item="long", price=price), {"item": 2, "ts": 2, "price": 0.25}),
        (record("Bid", item="int", price=price, ts="long", more={"name": "more", "type": "string", "default": ""}),
         {"item": 3, "ts": 3, "price": 0.5, "more": "x"}),
    ]  # fmt: skip
    for schema, value in versions:
        kafka.send(topic, avro(schema, value, registry.register(f"{topic}-value", json.dumps(schema))))
    columns = "item INT, price DOUBLE, ts BIGINT"
    # a field that is missing is NULL, or what the file of its reader has by default
    assert rows(stream(kafka, topic, columns, **by_registry(registry)) + EACH) == [(1, None), (2, 0.25), (3, 0.5)]
    reader = record("Bid", price=price, item="long", ts="long")
    (tmp_path / "bid.avsc").write_text(json.dumps(reader))
    session = Session(data=tmp_path)
    session.execute(stream(kafka, topic, columns, **by_registry(registry, schema="'bid.avsc'")) + EACH)
    assert [a.row for a in session.answers()] == [(1, 7.5), (2, 0.25), (3, 0.5)]


def test_a_type_that_does_not_fit_any_more_is_told_with_its_record(
    kafka: KafkaBroker, registry: SchemaRegistry
) -> None:
    topic = kafka.topic()
    schemas = [record("A", item="int", ts="long"), record("B", item="string", ts="long")]
    for schema, item in zip(schemas, (1, "one"), strict=True):
        number = registry.register(f"{topic}-{item}", json.dumps(schema))
        kafka.send(topic, avro(schema, {"item": item, "ts": 1}, number))
    script = stream(kafka, topic, "item INT, ts BIGINT", "ORDERED BY ts ON ERROR SKIP", **by_registry(registry))
    assert rows(script + EACH) == [(1,)]
    error = refused(script.replace(" ON ERROR SKIP", "") + EACH)
    assert (error.condition, error.parameters["line"]) == ("MALFORMED_ROW", 1)
    assert "column item: 'one' is not a valid INT" in str(error)


def test_schemas_may_refer_to_others(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    inner = record("tests.Inner", x="int")
    outer = record("tests.Outer", inner="tests.Inner", ts="long")
    registry.register(f"{topic}-inner", json.dumps(inner))
    reference = {"name": "tests.Inner", "subject": f"{topic}-inner", "version": 1}
    number = registry.register(f"{topic}-value", json.dumps(outer), references=[reference])
    content = avro(record("tests.Outer", inner=inner, ts="long"), {"inner": {"x": 4}, "ts": 1}, number)
    kafka.send(topic, content)
    assert rows(stream(kafka, topic, "`inner` STRUCT<x: INT>, ts BIGINT", **by_registry(registry)) + EACH) == [((4,),)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\1....", "does not begin with the number of a schema"),
        (b"", "does not begin with the number of a schema"),
        (b"\0\x7f\0\0\1x", "the registry has no schema"),
    ],
)
def test_what_is_not_written_so_is_told(
    kafka: KafkaBroker, registry: SchemaRegistry, value: bytes, reason: str
) -> None:
    topic = kafka.topic()
    kafka.send(topic, value)
    assert reason in str(refused(stream(kafka, topic, "ts BIGINT", **by_registry(registry)) + EACH))


def test_bytes_that_are_no_value_of_the_schema_are_told(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    schema = record("Bid", name="string", ts="long")
    topic = kafka.topic()
    number = registry.register(f"{topic}-value", json.dumps(schema))
    whole = avro(schema, {"name": "abc", "ts": 1})
    kafka.send(topic, headed(whole[:2], number), headed(whole + b"x", number), headed(whole, number))
    script = stream(kafka, topic, "name STRING, ts BIGINT", "ORDERED BY ts ON ERROR SKIP", **by_registry(registry))
    assert rows(script + EACH) == [("abc",)]


def test_avro_without_a_registry_is_read_by_a_file(kafka: KafkaBroker, tmp_path: Path) -> None:
    schema, topic = record("Bid", item="int", ts="long"), kafka.topic()
    kafka.send(topic, avro(schema, {"item": 1, "ts": 1}))
    (tmp_path / "bid.avsc").write_text(json.dumps(schema))
    session = Session(data=tmp_path)
    session.execute(stream(kafka, topic, "item INT, ts BIGINT", format="avro", schema="'bid.avsc'") + EACH)
    assert [a.row for a in session.answers()] == [(1,)]


def test_a_file_that_is_no_schema_is_told_before_anything_is_read(kafka: KafkaBroker, tmp_path: Path) -> None:
    (tmp_path / "bid.avsc").write_text('{"type": "nothing"}')
    (tmp_path / "bid.proto").write_text("message {")
    for form, name in (("avro", "bid.avsc"), ("protobuf", "bid.proto"), ("avro", "nowhere.avsc")):
        session = Session(data=tmp_path)
        session.execute(stream(kafka, kafka.topic(), "ts BIGINT", format=form, schema=f"'{name}'") + EACH)
        with pytest.raises(OSError, match=name):
            session.answers()


PROTO = """
syntax = "proto3";
package tests;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Kind { NONE = 0; SOME = 1; }
message Other { int32 x = 1; message Deep { int64 ts = 1; string name = 2; } }
message Bid {
  int32 item = 1;
  optional double price = 2;
  int64 ts = 3;
  google.protobuf.Timestamp made = 4;
  Kind kind = 5;
  repeated int32 list = 6;
  map<string, int64> pairs = 7;
  Other other = 8;
  google.protobuf.StringValue note = 9;
  oneof which { string left = 10; int32 right = 11; }
  bytes raw = 12;
}
"""
COLUMNS_OF_PROTO = (
    "item INT, price DOUBLE, made TIMESTAMP, kind STRING, list ARRAY<INT>, pairs MAP<STRING, BIGINT>,"
    " other STRUCT<x: INT>, note STRING, `left` STRING, `right` INT, raw BINARY, ts BIGINT"
)


def message(text: str, name: str, /, **fields: Any) -> bytes:
    """A message in Protobuf."""
    from continua.sources.kafka.protobuf_values import _chosen, _messages

    found = _chosen(_messages({"main.proto": text}), name)(**fields)
    content: bytes = found.SerializeToString()
    return content


def test_protobuf_is_read_by_the_schema_that_a_record_names(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    number = registry.register(f"{topic}-value", PROTO, "PROTOBUF")
    bare = message(PROTO, "Bid", ts=1)
    made = {"seconds": int(SECOND.timestamp()), "nanos": 5000}
    full = message(
        PROTO, "Bid", ts=2, item=3, price=0.0, made=made, kind=1, list=[1, 2], pairs={"k": 1}, other={"x": 2},
        note={"value": "n"}, right=0, raw=b"\xff",
    )  # fmt: skip
    kafka.send(topic, headed(b"\2\2" + bare, number), headed(b"\2\2" + full, number))
    first, second = rows(stream(kafka, topic, COLUMNS_OF_PROTO, **by_registry(registry, "protobuf")) + EACH)
    assert first == (0, None, None, "NONE", (), (), None, None, None, None, b"")
    at = SECOND.replace(tzinfo=None, microsecond=5)
    assert second == (3, 0.0, at, "SOME", (1, 2), (("k", 1),), (2,), "n", None, 0, b"\xff")


def test_the_message_of_a_schema_is_the_one_that_a_record_names(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    number = registry.register(f"{topic}-value", PROTO, "PROTOBUF")
    deep = message(PROTO, "tests.Other.Deep", ts=1, name="deep")
    kafka.send(topic, headed(b"\4\0\0" + deep, number), headed(b"\4\0\x0a" + deep, number), headed(b"\x80", number))
    kafka.send(topic, headed(b"\2\2\xff\xff", number))
    script = stream(
        kafka, topic, "name STRING, ts BIGINT", "ORDERED BY ts ON ERROR SKIP", **by_registry(registry, "protobuf")
    )
    assert rows(script + EACH) == [("deep",)]


def test_a_field_that_protobuf_adds_is_null_in_older_records(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    texts = [
        'syntax = "proto3"; message Bid { int32 item = 1; int64 ts = 2; }',
        'syntax = "proto3"; message Bid { int32 item = 1; int64 ts = 2; string more = 3; }',
    ]
    for number, text in enumerate(texts, 1):
        fields = {"item": number, "ts": number} | ({"more": "x"} if number == 2 else {})
        kafka.send(topic, headed(b"\0" + message(text, "Bid", **fields), registry.register(topic, text, "PROTOBUF")))
    script = stream(kafka, topic, "item INT, more STRING, ts BIGINT", **by_registry(registry, "protobuf"))
    assert rows(script + EACH) == [(1, None), (2, "x")]


def test_protobuf_without_a_registry_is_read_by_a_file(kafka: KafkaBroker, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.send(topic, message(PROTO, "Bid", item=4, ts=1))
    (tmp_path / "bid.proto").write_text(PROTO)
    session = Session(data=tmp_path)
    options = {"format": "protobuf", "schema": "'bid.proto'", "message": "'Bid'"}
    session.execute(stream(kafka, topic, "item INT, ts BIGINT", **options) + EACH)
    assert [a.row for a in session.answers()] == [(4,)]


def test_keys_may_have_a_schema_too(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic, key = kafka.topic(retention_ms="-1"), record("Key", id="int")
    value = record("Value", name="string")
    numbers = [registry.register(f"{topic}-{n}", json.dumps(s)) for n, s in (("key", key), ("value", value))]
    kafka.send(topic, avro(value, {"name": "a"}, numbers[1]), None, key=avro(key, {"id": 7}, numbers[0]))
    script = (
        "CREATE RELATION Item (id INT, name STRING, op STRING, ts TIMESTAMP, o BIGINT)"
        f" SOURCE kafka('{topic}', servers => '{kafka.servers}', format => 'avro', registry => '{registry.url}',"
        " key => id, key_format => 'avro', tag => op, timestamp => ts, offset => o) ORDERED BY o TAGGED BY op"
        " UPSERT KEY id;\nREGISTER QUERY q AS SELECT id, name FROM Item;\n"
    )
    assert rows(script) == [(7, "a"), (7, "a")]


def test_debezium_in_avro_tells_a_relation(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    """As the converter of Kafka Connect writes it, which has names of its own for times."""
    topic = kafka.topic()
    made = {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}
    row = record("Value", id="int", made=["null", made], day={"type": "int", "connect.name": "io.debezium.time.Date"})
    null: dict[str, Any] = {"default": None}
    schema = record(
        "Envelope", before={"name": "before", "type": ["null", row], **null},
        after={"name": "after", "type": ["null", "Value"], **null}, op="string",
        source=record("Source", ts_ms="long"), ts_ms=["null", "long"],
    )  # fmt: skip
    number = registry.register(f"{topic}-value", json.dumps(schema))
    first = {"id": 1, "made": 1_500_000, "day": 1}

    def told(op: str, before: object, after: object, at: int) -> bytes:
        value = {"before": before, "after": after, "op": op, "source": {"ts_ms": at}, "ts_ms": None}
        return avro(schema, value, number)

    kafka.send(topic, told("c", None, first, 1), told("u", None, {**first, "made": None}, 2), None)
    kafka.send(topic, told("d", first, None, 3), None)
    script = (
        "CREATE RELATION Item (id INT, made TIMESTAMP, `day` DATE, op STRING, ts BIGINT)"
        f" SOURCE kafka('{topic}', servers => '{kafka.servers}', format => 'avro', envelope => 'debezium',"
        f" registry => '{registry.url}', tag => op, source_time => ts) ORDERED BY ts TAGGED BY op KEY id;\n"
        "REGISTER QUERY q AS SELECT id, made, `day` FROM Item;\n"
    )
    day, moment = date(1970, 1, 2), datetime(1970, 1, 1, 0, 0, 1, 500_000)
    assert rows(script) == [(1, moment, day), (1, moment, day), (1, None, day), (1, None, day)]


def test_a_registry_that_is_not_there_is_told(kafka: KafkaBroker) -> None:
    topic = kafka.topic()
    kafka.send(topic, b"\0\0\0\0\1x")
    options = {"format": "avro", "registry": "'http://127.0.0.1:1'", "timeout": "1"}
    assert refused(stream(kafka, topic, "ts BIGINT", **options) + EACH).condition == "REGISTRY_UNREACHABLE"


def test_json_may_stand_behind_the_number_of_a_schema(kafka: KafkaBroker, registry: SchemaRegistry) -> None:
    topic = kafka.topic()
    kafka.send(topic, headed(b'{"item": 1, "ts": 1}', 5))
    assert rows(stream(kafka, topic, "item INT, ts BIGINT", **by_registry(registry, "json")) + EACH) == [(1,)]
