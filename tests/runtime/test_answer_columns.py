"""Answers as columns are the answers one by one."""

from __future__ import annotations

import math
import random
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from continua.answers.answer_columns import Answers, columns_from
from continua.answers.from_results import answers_from
from continua.answers.query import Query
from continua.instants import INFINITY
from continua.physical.nodes import END, START, WEIGHT
from continua.session import Session
from continua.sqltext.duckdb_types import arrow_type

VALUES: dict[str, list[object]] = {
    "BIGINT": [0, -1, 7, -(2**63), 2**63 - 1],
    "INT": [0, -5, 3],
    "DOUBLE": [0.0, 1.5, -2.0, math.nan, math.inf, -math.inf, 1e300],
    "FLOAT": [0.5, math.nan, -1.0],
    "DECIMAL(6,2)": [Decimal("1.50"), Decimal("-3.25"), Decimal("0.00")],
    "STRING": ["", "a", "B", "ä", "z", "\U0001f600", "\uffff"],
    "BINARY": [b"", b"\xff", b"a"],
    "BOOLEAN": [True, False],
    "DATE": [date(1, 1, 1), date(2024, 2, 29)],
    "TIMESTAMP": [datetime(1969, 12, 31, 23, 59), datetime(9999, 12, 31)],
}
KINDS = {"relation": "SELECT {c} FROM s [RANGE 5]", "stream": "SELECT ISTREAM {c} FROM s [RANGE 5]"}


def query_over(types: list[str], kind: str) -> Query:
    session = Session()
    columns = [f"c{i}" for i in range(len(types))]
    declared = ", ".join(f"{c} {of}" for c, of in zip(columns, types, strict=True))
    session.execute(f"CREATE STREAM s ({declared}, ts BIGINT) ORDERED BY ts;")
    query = session.sql(KINDS[kind].format(c=", ".join(columns)) + ";")
    assert query is not None
    return query


def result_rows(rng: random.Random, query: Query) -> pa.Table:
    count = rng.randint(0, 40)
    columns = []
    for of in query.bound.logical.schema.types:
        some = [None, *VALUES[str(of)]][: rng.randint(1, 8)]
        columns.append(pa.array([rng.choice(some) for _ in range(count)], arrow_type(of)))
    start = [rng.randint(0, 5) if rng.random() < 0.9 else 2**61 for _ in range(count)]
    end = [INFINITY if rng.random() < 0.4 else t + rng.randint(1, 4) for t in start]
    weight = [rng.choice([1, 1, 2, -1]) for _ in start]
    names = [*(f"c{i}" for i in range(len(columns))), START, END, WEIGHT]
    times = [pa.array(v, pa.int64()) for v in (start, end, weight)]
    table = pa.Table.from_arrays([*columns, *times], names=names)
    cut = rng.randint(0, count)
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", KINDS)
def test_random_results(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    types = [rng.choice(list(VALUES)) for _ in range(rng.randint(1, 4))]
    query = query_over(types, kind)
    for _ in range(5):
        table = result_rows(rng, query)
        columns = columns_from(query, table)
        assert columns is not None
        assert len(columns) == len(columns.answers())
        assert repr(columns.answers()) == repr(answers_from(query, table))


@pytest.mark.parametrize(
    ("of", "value"),
    [("DOUBLE", -0.0), ("ARRAY<INT>", [1]), ("STRUCT<a: INT>", {"a": 1})],
)
def test_what_is_not_simple_is_answered_one_by_one(of: str, value: object) -> None:
    query = query_over([of], "relation")
    times = {name: pa.array([0], pa.int64()) for name in (START, END, WEIGHT)}
    kind = arrow_type(query.bound.logical.schema.types[0])
    assert columns_from(query, pa.table({"c0": pa.array([value], kind), **times})) is None


def test_parts_are_merged_by_instant_in_their_order() -> None:
    query = query_over(["INT"], "stream")
    rows = [pa.array(v, pa.int64()) for v in ([1, 2], [2, 3], [1, 1])]
    table = pa.Table.from_arrays([pa.array([5, 6], pa.int32()), *rows], names=["c0", START, END, WEIGHT])
    part = columns_from(query, table)
    assert part is not None
    merged = Answers([part, answers_from(query, table)])
    assert [(a.instant, a.row) for a in merged] == [(1, (5,)), (1, (5,)), (2, (6,)), (2, (6,))]
    assert (len(merged), merged[0], list(merged[2:])) == (4, part.answers()[0], list(merged)[2:])
