"""PIPES 2009, 7 and 8: sweep areas, the physical time window, operators that never block, physical plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from continua.kernels.store.arena import Arena
from continua.kernels.store.rowstore import RowStore
from continua.kernels.store.sweeparea import SWEEP_AREAS, SweepArea
from continua.kernels.words.batch import INFINITY, Batch
from continua.physical import nodes
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.runtime.progress import Progress
from continua.windows.over_time import TimeWindow
from tests.physical.comparing import agree, asked, graph

OVERLAP = "[t_S, t_E) ∩ [t̂_S, t̂_E) ≠ ∅"
EXPIRED = "t_S ≥ t̂_E"
TABLE_V = {
    "theta-join": ("t_E", f"θ(e, ê) ∧ {OVERLAP}", EXPIRED),
    "duplicate elimination": ("t_E", f"e = ê ∧ {OVERLAP}", EXPIRED),
    "difference": ("t_S", f"e = ê ∧ {OVERLAP}", EXPIRED),
    "scalar aggregation": ("t_S", OVERLAP, EXPIRED),
    "grouping with aggregation": ("t_S", OVERLAP, EXPIRED),
    "count-based window": ("t_S", "", "SA.size() = N"),
    "partitioned window": ("t_S", "", "SA.size() = N"),
    "split": ("t_E", "", "true"),
    "coalesce": ("t_S", "e = ê ∧ t̂_E = t_S", f"{EXPIRED} ∨ t̂_E - t̂_S ≥ l_max"),
}

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, y INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM V (k INT, since BIGINT, until BIGINT) VALID FROM since TO until;
"""
STEPS = 400
ROWS: Mapping[str, Sequence[tuple[object, ...]]] = {
    "S": [(t % 3, t % 7, t) for t in range(STEPS)],
    "P": [(t % 3, t % 5, t) for t in range(STEPS)],
    "V": [(t % 3, t, t + 2) for t in range(STEPS)],
}
BOUNDED = {
    "product": "SELECT S.x, P.y FROM S WINDOW(RANGE 10), P WINDOW(RANGE 10)",
    "theta-join": "SELECT S.x, P.y FROM S WINDOW(RANGE 10), P WINDOW(RANGE 10) WHERE S.x < P.y",
    "equijoin": "SELECT S.x, P.y FROM S WINDOW(RANGE 10), P WINDOW(RANGE 10) WHERE S.k = P.k",
    "duplicate elimination": "SELECT DISTINCT ts % 20 AS d FROM S WINDOW(RANGE 10)",
    "difference": "SELECT k FROM S WINDOW(RANGE 10) EXCEPT ALL SELECT k FROM P WINDOW(RANGE 5)",
    "scalar aggregation": "SELECT SUM(x) AS s, MAX(x) AS m FROM S WINDOW(RANGE 10)",
    "grouping with aggregation": "SELECT k, AVG(x) AS a, MEDIAN(x) AS m FROM S WINDOW(RANGE 10) GROUP BY k",
    "count-based window": "SELECT x FROM S [ROWS 10]",
    "partitioned window": "SELECT x FROM S [PARTITION BY k ROWS 4]",
    "semijoin": "SELECT x FROM S WINDOW(RANGE 10) WHERE k IN (SELECT k FROM P WINDOW(RANGE 2))",
    "split": "SELECT SUM(since) AS n FROM V [RANGE 9]",
}
"""A query for each operator with state, over windows of about ten rows."""


def batch(rows: Sequence[tuple[int, int, int]]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Batch]:
    """Rows of one word with their intervals, each in a slot of its word."""
    word, start, end = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return word.copy(), Batch(word[np.newaxis, :].copy(), start, end, np.ones(word.size, np.int64))


def test_P13_the_sweep_areas_of_the_operators_have_the_parameters_of_table_V() -> None:
    described = {name: (area.order, area.query, area.remove) for name, area in SWEEP_AREAS.items()}
    assert {name: described[name] for name in TABLE_V} == TABLE_V
    assert all(area.played_by for area in SWEEP_AREAS.values())


def test_P13_a_sweep_area_is_probed_by_the_query_predicate_and_purged_by_the_remove_predicate() -> None:
    """The join's: equal payloads whose intervals overlap are found; t_S ≥ t̂_E removes, in the order of ends."""
    area = RowStore(Arena(), "area", 1, False)
    assert isinstance(area, SweepArea)
    area.make_slots(8)
    area.insert(*batch([(1, 0, 9), (2, 1, 4), (1, 2, 5), (1, 3, INFINITY), (3, 3, 4)]))
    assert len(area) == 5

    def found(payload: int, t: int) -> int:
        return sum(places.size for places, _ in area.probe(np.array([payload]), np.array([t]), True))

    assert [found(1, t) for t in (1, 3, 4, 5, 8, 9, 100)] == [1, 3, 3, 2, 2, 1, 1]
    assert [found(2, t) for t in (1, 3, 4)] == [1, 1, 0]
    assert found(7, 3) == 0
    slots, expired = area.extract_expired(5)
    assert sorted(zip(expired.end.tolist(), slots.tolist(), strict=True)) == [(4, 2), (4, 3), (5, 1)]
    assert expired.end.tolist() == sorted(expired.end.tolist())
    assert (area.purge(9).tolist(), len(area)) == ([1], 1)
    assert area.purge(INFINITY - 1).size == 0


def test_P16_the_physical_time_window_gives_table_IX() -> None:
    stream = [("b", 1), ("a", 3), ("c", 4), ("a", 7), ("b", 10)]
    table = [("b", 1, 51), ("a", 3, 53), ("c", 4, 54), ("a", 7, 57), ("b", 10, 60)]
    start, end, kept = TimeWindow(50).intervals(np.array([t for _, t in stream]))
    assert kept is None
    assert [(name, s, e) for (name, _), s, e in zip(stream, start.tolist(), end.tolist(), strict=True)] == table
    definitions = "CREATE STREAM S3 (tuple STRING, ts BIGINT) ORDERED BY ts;"
    query = "SELECT RSTREAM tuple FROM S3 WINDOW(RANGE 50)"
    session, found = asked(query, definitions, {"S3": stream}, "pipes")
    answers = session.answers([found])
    assert [(a.row[0], a.instant) for a in answers] == [(name, s) for name, s, _ in table]
    assert sorted((a.row[0], a.until) for a in answers) == sorted((name, e) for name, _, e in table)
    assert agree(session, found) == len(table)


def test_P16_a_now_window_has_no_effect() -> None:
    """Property 7.6."""
    start, end, kept = TimeWindow(1).intervals(np.array([1, 3, 3, 10]))
    assert (start.tolist(), end.tolist(), kept) == ([1, 3, 3, 10], [2, 4, 4, 11], None)


def in_epochs(text: str, rows: int) -> tuple[list[Progress], BoundedRun]:
    """A query run in epochs of so many rows of each source: what each epoch did, and the run."""
    session, query = asked(text, DEFINITIONS, ROWS)
    run = BoundedRun(
        [query],
        session.inputs.read(query.sources),
        session.functions,
        InProcess(),
        BoundedOptions(batch_rows=rows, partitions=2),
    )
    epochs: list[Progress] = []
    with run:
        run.to_the_end(epochs.append)
        results = [run.engine.results(query.name, done.epoch, done.epoch) for done in epochs]
    for done, table in zip(epochs, results, strict=True):
        starts = [] if table is None else table.column(nodes.START).to_pylist()
        earlier = [e.until for e in epochs if e.epoch < done.epoch]
        assert all(max(earlier, default=-1) < start <= done.until for start in starts)
    return epochs, run


@pytest.mark.parametrize("operator", BOUNDED)
def test_P17_an_operator_does_not_block_gives_results_in_the_order_of_starts_and_forgets(operator: str) -> None:
    """Every epoch yields what starts in it; the state holds what is alive, however much has passed."""
    epochs, _ = in_epochs(BOUNDED[operator], 40)
    assert len(epochs) >= STEPS // 40
    assert all(sum(done.rows_out.values()) for done in epochs[:9])
    held = [sum(done.state_rows.values()) for done in epochs[1:9]]
    assert max(held) <= 2 * min(held) + 20, held
    assert max(held) <= 150, held
    assert sum(epochs[-1].state_rows.values()) <= 22


def joins(text: str) -> list[str]:
    return [node.title for node in graph(*asked(text, DEFINITIONS, ROWS)) if isinstance(node, nodes.Join)]


def test_P18_a_join_is_by_hashing_where_its_predicate_has_an_equality() -> None:
    windows = "S WINDOW(RANGE 10), P WINDOW(RANGE 10)"
    assert joins(f"SELECT S.x FROM {windows} WHERE S.k = P.k") == ["Hash join"]
    assert joins(f"SELECT S.x FROM {windows} WHERE S.k = P.k AND S.x < P.y") == ["Hash join"]
    assert joins(f"SELECT S.x FROM {windows} WHERE S.x < P.y") == ["Nested-loop join"]
    assert joins(f"SELECT S.x FROM {windows} WHERE ABS(S.x - P.y) < 2") == ["Nested-loop join"]
    assert joins(f"SELECT S.x FROM {windows}") == ["Nested-loop join"]


def splits_below_windows(text: str) -> list[bool]:
    """For each window of a plan, whether a split stands right below it."""
    found = [n for n in graph(*asked(text, DEFINITIONS, ROWS)) if isinstance(n, nodes.Validity | nodes.SweptWindow)]
    return [isinstance(node.inputs[0], nodes.Chronons) for node in found]


@pytest.mark.parametrize("window", ["WINDOW(RANGE 10)", "[ROWS 3]", "[PARTITION BY k ROWS 2]", "[FIXED 10]"])
def test_P18_a_split_is_placed_before_a_window_over_what_is_no_chronon_stream(window: str) -> None:
    assert splits_below_windows(f"SELECT k FROM S {window}") == [False]
    assert splits_below_windows(f"SELECT k FROM V {window}") == [True]
    derived = "RSTREAM(SELECT k FROM S WINDOW(RANGE 5))"
    assert splits_below_windows(f"SELECT k FROM ({derived}) {window}") == [False, True]
    assert splits_below_windows(f"SELECT k FROM (RSTREAM(SELECT k FROM S [NOW])) {window}") == [False]


def test_P18_the_pieces_of_a_split_are_chronons() -> None:
    session, query = asked("SELECT k FROM V WINDOW(RANGE 10)", DEFINITIONS, {"V": [(1, 3, 6)]})
    (split,) = [n for n in graph(session, query) if isinstance(n, nodes.Chronons)]
    assert split.chronon == 1
    assert agree(session, query)
