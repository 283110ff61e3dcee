"""What can be inserted: rows in three forms, tables of every library, values of NumPy; and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from continua.errors import BindError, ContinuaError, DataError, SourceError
from continua.runtime import inputs
from continua.session import Session
from continua.sources.stretches import Stretch, stretch_of
from tests.runtime.living import rows_of

ROWS = [(1, "one", 10), (2, None, 11)]


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(master="none")
    made.execute("CREATE STREAM S (k INT, n STRING, ts BIGINT) ORDERED BY ts SLACK 100;")
    made.sql("REGISTER QUERY q AS SELECT k, n, ts FROM S [RANGE UNBOUNDED]")
    yield made
    made.stop()


class ByArrow:
    """A table of a library that is known by Arrow's C stream interface alone."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


_TABLE = pa.table({"ts": pa.array([10, 11]), "N": pa.array(["one", None]), "k": pa.array([1, 2], pa.int8())})
_FORMS: dict[str, object] = {
    "tuples": ROWS,
    "lists": [list(row) for row in ROWS],
    "dicts": [{"ts": 10, "K": 1, "n": "one"}, {"n": None, "k": 2, "ts": 11}],
    "values of numpy": [(np.int16(1), np.str_("one"), np.int64(10)), (np.uint8(2), None, np.int32(11))],
    "arrow": _TABLE,
    "a record batch": _TABLE.to_batches()[0],
    "a reader": _TABLE.to_reader(),
    "an arrow stream": ByArrow(_TABLE),
    "views of texts": ByArrow(_TABLE.set_column(1, "N", _TABLE.column("N").cast(pa.string_view()))),
    "pandas": pd.DataFrame({"ts": [10, 11], "n": ["one", None], "k": [1, 2]}, index=[7, 8]),
    "categories": pd.DataFrame({"ts": [10, 11], "n": pd.Categorical(["one", None]), "k": [1, 2]}),
    "pandas with mixed columns": pd.DataFrame({"ts": [10, "11"], "n": ["one", None], "k": [1, 2]}),
    "an array of records": np.array([(10, 1, "one"), (11, 2, "two")], [("ts", "i8"), ("k", "i4"), ("n", "U3")]),
    "a generator": (row for row in ROWS),
}


@pytest.mark.parametrize("form", _FORMS)
def test_the_same_rows_in_every_form(session: Session, form: str) -> None:
    (handle,) = session.start()
    session.insert("S", _FORMS[form])  # type: ignore[arg-type]
    handle.processAllAvailable()
    session.live.finish()  # type: ignore[union-attr]
    wanted = [(1, "one", 10), (2, "two", 11)] if form == "an array of records" else ROWS
    assert [tuple(r.values()) for r in handle.toArrow().to_pylist()] == wanted


def test_an_array_of_numbers_is_rows_in_the_declared_order() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, x DOUBLE, ts BIGINT) ORDERED BY ts;")
    session.sql("REGISTER QUERY q AS SELECT k, x FROM S [RANGE UNBOUNDED]")
    session.insert("S", np.array([[1, 2, 3], [4, 5, 6]]))
    session.insert("S", [np.array([7, 8, 9]), np.array([1, 1, 10], object)])
    found = [tuple(r.values()) for r in rows_of(session.table("q"))]
    assert sorted(found) == [(1, 1.0), (1, 2.0), (4, 5.0), (7, 8.0)]


def test_values_of_all_types_from_numpy_and_pandas() -> None:
    session = Session(master="none")
    session.execute(
        "CREATE STREAM S (d DATE, m DECIMAL(6,2), b BOOLEAN, a ARRAY<INT>, s STRUCT<x: INT, y: STRING>, at TIMESTAMP) "
        "ORDERED BY at;"
    )
    session.sql("REGISTER QUERY q AS SELECT d, m, b, a, s, at FROM S [RANGE UNBOUNDED]")
    noon = datetime(2024, 5, 1, 12)
    session.insert("S", [(np.datetime64("2024-05-01"), 1.5, np.True_, np.array([1, 2]), (1, "a"), pd.Timestamp(noon))])
    session.insert("S", [(pd.NaT, Decimal("2.25"), pd.NA, [3], {"x": 2, "y": None}, np.datetime64("2024-05-01T12:00"))])
    frame = pd.DataFrame({"d": [date(2024, 5, 2)], "m": [3.0], "b": [False], "a": [[4]], "s": [{"x": 3, "y": "c"}]})
    session.insert("S", frame.assign(at=pd.to_datetime(["2024-05-01T14:00+02:00"])))
    found = rows_of(session.table("q"))
    assert sorted(str(r["m"]) for r in found) == ["1.50", "2.25", "3.00"]
    assert {r["at"] for r in found} == {noon}
    assert sorted(str(r["d"]) for r in found) == ["2024-05-01", "2024-05-02", "None"]
    assert sorted(map(str, (r["a"] for r in found))) == ["[1, 2]", "[3]", "[4]"]
    assert sorted(str(r["s"]) for r in found)[0] == "{'x': 1, 'y': 'a'}"


@pytest.mark.parametrize(
    ("rows", "condition", "column"),
    [
        (pa.table({"k": [1], "ts": [1]}), "MISSING_COLUMN", "n"),
        (pd.DataFrame({"k": [1], "n": ["a"], "ts": [1], "tz": [1]}), "UNKNOWN_COLUMN", "tz"),
        (pa.table({"k": [1.5], "n": ["a"], "ts": [1]}), "TYPE_MISMATCH", "k"),
        (pa.table([[1], ["a"], [1], [2]], names=["k", "n", "ts", "ts"]), "DUPLICATE_COLUMN", "ts"),
        (pd.DataFrame({"k": [1, "x"], "n": ["a", "b"], "t": [1, 2]}), "UNKNOWN_COLUMN", "t"),
        ({"k": 1, "n": "a", "ts": 1}, "NO_ROWS", None),
        ("abc", "NO_ROWS", None),
        (5, "NO_ROWS", None),
    ],
)
@pytest.mark.parametrize("live", [True, False])
def test_what_does_not_fit_as_a_whole_is_told_by_name(
    session: Session, rows: object, condition: str, column: str | None, live: bool
) -> None:
    if live:
        session.start()
    with pytest.raises(BindError) as raised:
        session.insert("S", rows)  # type: ignore[arg-type]
    assert raised.value.condition == condition
    assert raised.value.parameters.get("column") == column


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ("abc", 2),
        ({"k": 1, "n": "a"}, 2),
        ({"k": 1, "n": "a", "ts": 1, "st": 2}, 2),
        ((1, "a"), 2),
        ((1, "a", None), 2),
        ((1 << 40, "a", 1), 2),
        ((np.float64(1.5), "a", 1), 2),
        (7, 2),
    ],
)
@pytest.mark.parametrize("live", [True, False])
def test_a_row_that_does_not_fit_is_an_error_and_none_is_taken(
    session: Session, row: object, number: int, live: bool
) -> None:
    if live:
        session.start()
    with pytest.raises(DataError) as raised:
        session.insert("S", [(1, "one", 10), row, (2, "two", 11)])  # type: ignore[list-item]
    assert raised.value.parameters["line"] == number
    assert not session.inputs.waiting.of("s")


def test_rows_that_come_while_others_are_read_are_in_the_next_answer(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may insert just then: nobody waits for it."""
    session.insert("S", ROWS[:1])
    read = stretch_of

    def slowly(*arguments: Any) -> Stretch:
        monkeypatch.undo()
        session.insert("S", ROWS[1:])
        return read(*arguments)

    monkeypatch.setattr(inputs, "stretch_of", slowly)
    query = session.queries["q"]
    assert session.snapshot(query, 50) == ROWS[:1]
    assert session.snapshot(query, 50) == ROWS


def test_did_you_mean_in_a_row(session: Session) -> None:
    with pytest.raises(DataError, match="did you mean ts"):
        session.insert("S", [{"k": 1, "n": "a", "tss": 1}])


def test_a_table_with_malformed_rows_skips_them_where_its_source_does() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT NOT NULL, ts BIGINT) ORDERED BY ts ON ERROR SKIP;")
    session.sql("REGISTER QUERY q AS SELECT k FROM S [RANGE UNBOUNDED]")
    session.insert("S", pa.table({"k": ["1", "x", None, "4"], "ts": [1, 2, 3, None]}))
    assert rows_of(session.table("q")) == [{"k": 1}]
    assert [n.parameters.get("count") for n in session.inputs.notices] == [3]


def test_a_stream_that_there_is_not(session: Session) -> None:
    with pytest.raises(SourceError) as raised:
        session.insert("SS", [(1, "a", 1)])
    assert raised.value.condition == "UNKNOWN_STREAM"


def test_rows_inserted_before_the_start_are_part_of_the_live_answer(session: Session) -> None:
    session.insert("S", [(1, "one", 10)])
    (handle,) = session.start()
    session.insert("S", [(2, "two", 200)])
    handle.processAllAvailable()
    assert [r["k"] for r in rows_of(handle.snapshot(50))] == [1]
    session.live.finish()  # type: ignore[union-attr]
    assert [r["k"] for r in handle.toArrow().to_pylist()] == [1, 2]
    session.stop()
    (again,) = session.start()
    again.processAllAvailable()
    session.live.finish()  # type: ignore[union-attr]
    assert again.toArrow().num_rows == 0, "they were the first run's"


def test_rows_of_an_epoch_that_fails_wait_and_those_that_came_later_wait_behind_them() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k STRING, ts BIGINT) ORDERED BY ts;")
    session.sql("REGISTER QUERY bad AS SELECT CAST(k AS INT) AS k FROM S [RANGE UNBOUNDED]")
    session.sql("REGISTER QUERY good AS SELECT k FROM S [RANGE UNBOUNDED]")
    bad, good = session.start()
    session.insert("S", [("x", 1)])
    with pytest.raises(ContinuaError):
        good.processAllAvailable()
    session.insert("S", [("2", 2)])
    bad.stop()
    good.processAllAvailable()
    session.live.finish()  # type: ignore[union-attr]
    assert [(a.instant, a.row) for a in good.answers()] == [(1, ("x",)), (2, ("2",))]
