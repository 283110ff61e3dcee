"""Differences between engine and reference that were found once, each as small as it got."""

from __future__ import annotations

import pickle

import pytest

from continua.errors import Diagnostic, EvaluationError
from continua.runs.plans import why_not
from continua.session import Session
from tests.square.checking import agree
from tests.square.graphs import Cut
from tests.square.worlds import Row

STREAM = "CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;"
ONCE = Cut(None, 1)
"""One epoch, one partition."""


def test_an_error_keeps_its_diagnostics_on_the_way_from_a_worker() -> None:
    error = EvaluationError(Diagnostic("EVALUATION_FAILED", "it fails"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is EvaluationError
    assert again.diagnostics == error.diagnostics


def test_a_window_that_leaves_elements_out_before_they_are_encoded() -> None:
    rows: dict[str, list[Row]] = {"S": [(1, 2, 1), (2, 2, 3)]}
    agree(STREAM, rows, "SELECT k FROM S [RANGE 1 SLIDE 5]", ONCE)


def test_an_rstream_that_is_always_empty() -> None:
    agree(STREAM, {"S": [(1, 2, 1)]}, "RSTREAM(SELECT k FROM S [RANGE 3] WHERE k > 9)", ONCE)


@pytest.mark.parametrize("text", ["L [NOW]", "(RSTREAM(SELECT k, x FROM S [RANGE 3])) [NOW]"])
def test_the_now_window_of_a_stream_whose_elements_last(text: str) -> None:
    lasting = "CREATE STREAM L (k INT, x INT, since BIGINT, until BIGINT) VALID FROM since TO until;"
    rows: dict[str, list[Row]] = {"L": [(1, 2, 15, 18), (1, 1, 16, 17)], "S": [(1, 2, 15), (1, 1, 17)]}
    agree(STREAM + lasting, rows, f"RSTREAM(SELECT DISTINCT k FROM {text})", ONCE)


def test_the_deviation_of_decimals_is_that_of_doubles() -> None:
    definitions = "CREATE STREAM D (d DECIMAL(6,1), ts BIGINT) ORDERED BY ts;"
    rows: dict[str, list[Row]] = {"D": [("1.5", 3), ("-3.1", 9), ("1.5", 9)]}
    agree(definitions, rows, "SELECT STDDEV_POP(d) AS c0 FROM D [RANGE UNBOUNDED]", ONCE)


def test_counting_distinct_pairs_of_a_column_with_itself() -> None:
    agree(STREAM, {"S": [(1, 2, 1), (1, 3, 2)]}, "SELECT COUNT(DISTINCT k, k) AS c FROM S [RANGE 3]", ONCE)


@pytest.mark.parametrize("batch_rows", [None, 1])
@pytest.mark.parametrize("window", ["", "[ROWS 2]", "[RANGE 3]"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT k FROM S [NOW]",
        "SELECT k, COUNT(*) AS n FROM S [NOW] GROUP BY k",
        "SELECT k FROM S [NOW] WHERE k NOT IN (SELECT x FROM S [RANGE 1 SLIDE 2])",
        "SELECT k FROM S [RANGE 3 SLIDE 2] WHERE k NOT IN (SELECT x FROM S [RANGE 1 SLIDE 2])",
    ],
)
def test_an_rstream_has_an_element_at_every_instant_even_of_rows_that_stay(
    text: str, window: str, batch_rows: int | None
) -> None:
    rows: dict[str, list[Row]] = {"S": [(1, 2, 6), (1, 3, 7), (2, 1, 8), (2, 3, 8), (2, 2, 10)]}
    query = f"SELECT k FROM (RSTREAM({text})) {window}" if window else f"RSTREAM({text})"
    agree(STREAM, rows, query, Cut(batch_rows, 1))


def test_a_semijoin_keeps_the_strings_of_keys_without_left_rows() -> None:
    definitions = (
        "CREATE STREAM A (s STRING, ts BIGINT) ORDERED BY ts; CREATE STREAM B (s STRING, ts BIGINT) ORDERED BY ts;"
    )
    rows: dict[str, list[Row]] = {"A": [("x", 1), ("y", 6), ("b", 9)], "B": [("b", 1), ("c", 3), ("d", 4)]}
    text = "SELECT s FROM A [RANGE 2] WHERE s IN (SELECT s FROM B [RANGE UNBOUNDED])"
    agree(definitions, rows, text, Cut(1, 1, collecting=True))


def test_a_key_of_more_columns_than_a_word_has_bits_for_nulls() -> None:
    columns = [f"c{i}" for i in range(70)]
    definitions = f"CREATE STREAM W ({', '.join(f'{c} INT' for c in columns)}, ts BIGINT) ORDERED BY ts;"
    rows: dict[str, list[Row]] = {
        "W": [(*range(68), *ends, ts) for ends, ts in (((1, None), 1), ((None, 1), 2), ((1, 1), 3))]
    }
    text = (
        "SELECT c68, c69 FROM W [RANGE 5] AS a WHERE NOT EXISTS (SELECT 1 FROM W [RANGE 2] AS b WHERE b.c69 <= a.c69)"
    )
    agree(definitions, rows, text, ONCE)


def test_aggregates_of_doubles_that_are_no_numbers_or_infinite() -> None:
    definitions = "CREATE STREAM D (v DOUBLE, ts BIGINT) ORDERED BY ts;"
    nan, infinite = float("nan"), float("inf")
    rows: dict[str, list[Row]] = {"D": [(1.5, 1), (nan, 3), (infinite, 8), (-infinite, 9), (infinite, 20), (nan, 40)]}
    calls = ", ".join(f"{f}(v) AS {f}" for f in ("SUM", "AVG", "VAR_POP", "STDDEV_SAMP", "MIN", "MAX", "COUNT"))
    agree(definitions, rows, f"SELECT {calls}, SUM(DISTINCT v) AS d FROM D [RANGE 4]", Cut(1, 1))


def test_what_no_operator_can_order_is_known_before_it_runs() -> None:
    session = Session()
    session.execute("CREATE STREAM A (l ARRAY<INT>, ts BIGINT) ORDERED BY ts")
    query = session.sql("SELECT l FROM A [RANGE 3] LIMIT 1")
    assert query is not None
    reason = why_not(query, session.functions)
    assert reason is not None and "ARRAY<INT>" in reason


@pytest.mark.parametrize("window", ["PARTITION BY k ROWS 4 SLIDE 3", "ROWS 2"])
def test_elements_that_last_keep_the_order_in_which_they_came(window: str) -> None:
    lasting = "CREATE STREAM L (k INT, x INT, since BIGINT, until BIGINT) VALID FROM since TO until;"
    rows: dict[str, list[Row]] = {"L": [(1, 1, 9, 12), (-1, 0, 27, 32), (-1, 1, 28, 30), (-1, 2, 28, 30)]}
    agree(lasting, rows, f"SELECT k, x FROM L [{window}]", Cut(batch_rows=2, partitions=2))
    agree(lasting, rows, f"SELECT k, x FROM L [{window}]", Cut(batch_rows=None, partitions=3))
