"""Which side of a join goes to every partition, and that answers are the same wherever rows are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.answers.query import Query
from continua.physical import nodes
from continua.physical.distribution import Alone, Anywhere, ByKey, Everywhere
from continua.physical.epoch import Epoch
from continua.physical.evaluator import evaluator_with
from continua.physical.execute import Partition
from continua.physical.placement import placement_of
from continua.physical.rows import as_rows
from continua.runs.bounded import BoundedOptions
from continua.runs.plans import graph_of
from continua.session import Session
from tests.acceptance.on_engine import BATCHES
from tests.physical.comparing import ROWS, agree, asked, graph

CUTS = [BoundedOptions(batch_rows=rows, partitions=parts) for rows in BATCHES for parts in (2, 3)]
STREAMS = """
    CREATE STREAM S (a INT, k STRING, ts BIGINT) ORDERED BY ts STATISTICS (rate = {fast});
    CREATE STREAM U (b INT, k STRING, ts BIGINT) ORDERED BY ts STATISTICS (rate = {slow});
    CREATE RELATION P (k STRING, n INT){stored};
"""


def _asked(
    query: str, fast: float = 100, slow: float = 1, stored: str = " STATISTICS (rows = 2)"
) -> tuple[Session, Query]:
    rows = {name: ROWS[name] for name in "SUP"}
    return asked(query, STREAMS.format(fast=fast, slow=slow, stored=stored), rows)


def _join(session: Session, query: Query) -> nodes.Join:
    return next(n for n in graph(session, query) if isinstance(n, nodes.Join))


def _sources(node: nodes.Node) -> set[str]:
    own = {node.name} if isinstance(node, nodes.Source) else set[str]()
    return own.union(*map(_sources, node.inputs))


def _levels(session: Session, query: Query) -> int:
    return len(placement_of([graph_of(query, session.functions)]).levels)


THETA = "SELECT * FROM S [RANGE 5], U [RANGE 9] WHERE a < b"


@pytest.mark.parametrize(("fast", "slow", "light"), [(100, 1, "u"), (1, 100, "s")])
def test_without_equalities_the_lighter_side_goes_everywhere(fast: float, slow: float, light: str) -> None:
    session, query = _asked(THETA, fast, slow)
    join = _join(session, query)
    assert join.requires == (Anywhere(), Everywhere())
    assert _sources(join.inputs[1]) == {light}
    assert agree(session, query, CUTS)


def test_sides_that_are_on_one_partition_stay_there() -> None:
    session, query = _asked(
        "SELECT * FROM (SELECT MAX(a) AS m FROM S [RANGE 5]) x, (SELECT MIN(b) AS m FROM U [RANGE 5]) y WHERE x.m > y.m"
    )
    assert _join(session, query).requires == (Alone(), Alone())
    assert _levels(session, query) == 2
    assert agree(session, query, CUTS)


BY_OTHER_KEY = "SELECT n, c FROM (SELECT k, COUNT(*) AS c FROM S [RANGE 5] GROUP BY k) x, P WHERE x.c = P.n"


def test_a_small_relation_comes_to_where_groups_are() -> None:
    session, query = _asked(BY_OTHER_KEY)
    join = _join(session, query)
    assert join.left_keys and join.everywhere and _sources(join.inputs[1]) == {"p"}
    assert _levels(session, query) == 2
    assert agree(session, query, CUTS)


@pytest.mark.parametrize("stored", ["", " STATISTICS (rows = 1000000)"])
def test_a_relation_that_may_be_large_does_not(stored: str) -> None:
    session, query = _asked(BY_OTHER_KEY, stored=stored)
    assert not _join(session, query).everywhere
    assert _levels(session, query) == 3
    assert agree(session, query, CUTS)


def test_groups_that_are_at_the_key_need_no_copies() -> None:
    session, query = _asked(BY_OTHER_KEY.replace("x.c = P.n", "x.k = P.k"))
    assert not _join(session, query).everywhere
    assert _levels(session, query) == 2


SEMI = "SELECT * FROM S [RANGE 5] WHERE a > (SELECT AVG(b) FROM U [RANGE 9])"


def test_rows_meet_their_own_pairs_where_they_are() -> None:
    """A level for the average, and one for the join and what it lets through."""
    session, query = _asked(SEMI)
    gate = next(n for n in graph(session, query) if isinstance(n, nodes.Gate))
    assert gate.together == Anywhere()
    assert _levels(session, query) == 3
    assert agree(session, query, CUTS)


def test_rows_meet_their_own_pairs_by_the_keys_of_these() -> None:
    session, query = _asked(
        "SELECT * FROM S [RANGE 5] WHERE EXISTS (SELECT * FROM U [RANGE 9] WHERE U.k = S.k AND b < a)"
    )
    gate = next(n for n in graph(session, query) if isinstance(n, nodes.Gate))
    assert isinstance(gate.together, ByKey) and len(gate.together.columns) == 1
    assert _levels(session, query) == 2
    assert agree(session, query, CUTS)


def test_rows_that_are_read_are_dealt_out_to_all_partitions() -> None:
    session, query = _asked(THETA)
    placement = placement_of([graph_of(query, session.functions)])
    rows = as_rows(pa.table({"a": [1, 2, 3], "k": ["x"] * 3, "ts": [1, 2, 3]}), np.arange(1, 4), np.arange(2, 5))
    partition = Partition(placement, 0, 0, 2, evaluator_with(()))
    parcels = partition.run(Epoch(1, 0, 9), {}, {"s": rows}).parcels
    assert sorted((p.partition, p.table.num_rows) for p in parcels) == [(0, 2), (1, 1)]


QUERIES = [
    "SELECT * FROM S [RANGE 5], U [RANGE 9] {on_where}",
    "SELECT * FROM S [RANGE 5] LEFT JOIN U [RANGE 9] {on}",
    "SELECT * FROM S [RANGE 5] RIGHT JOIN U [RANGE 9] {on}",
    "SELECT * FROM S [RANGE 5] FULL JOIN U [RANGE 9] {on}",
    "SELECT * FROM S [RANGE 5] WHERE EXISTS (SELECT * FROM U [RANGE 9] {on_where})",
    "SELECT * FROM S [RANGE 5] WHERE NOT EXISTS (SELECT * FROM U [RANGE 9] {on_where})",
    "SELECT * FROM S [RANGE 5] WHERE a NOT IN (SELECT b FROM U [RANGE 9] {on_where})",
    "SELECT a, a > ANY (SELECT b FROM U [RANGE 9] {on_where}) AS any FROM S [RANGE 5]",
    "SELECT a, (SELECT MAX(b) FROM U [RANGE 9] {on_where}) AS most FROM S [RANGE 5]",
    "SELECT S.k, COUNT(*) FROM S [ROWS 3], U [RANGE 9] {on_where} GROUP BY S.k",
    "SELECT DISTINCT a FROM S [RANGE 5] WHERE a >= (SELECT AVG(n) FROM P)",
]
CONDITIONS = ["S.a < U.b", "S.k = U.k AND S.a < U.b", "S.a + U.b > 3", "TRUE", "S.k <=> U.k AND S.a <> U.b"]
values = st.sampled_from([None, 1, 2, 3])
arrived = st.lists(st.tuples(values, st.sampled_from(["x", "y", None]), st.integers(0, 12)), max_size=10).map(
    lambda rows: sorted(rows, key=lambda row: row[-1])
)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(QUERIES), st.sampled_from(CONDITIONS), arrived, arrived,
    st.sampled_from([1, 100, 1_000_000]), st.sampled_from([1, 100, 1_000_000]), st.sampled_from(CUTS),
)  # fmt: skip
def test_all_kinds_of_joins_with_any_weights_of_sides(
    text: str, condition: str, left: list[object], right: list[object], fast: float, slow: float, cut: BoundedOptions
) -> None:
    filled = text.format(on=f"ON {condition}", on_where=f"WHERE {condition}")
    definitions = STREAMS.format(fast=fast, slow=slow, stored="")
    session, query = asked(filled, definitions, {"S": left, "U": right, "P": ROWS["P"]})  # type: ignore[dict-item]
    agree(session, query, [cut])


@pytest.mark.parametrize("off", ["light_side_everywhere", "all"])
def test_it_can_be_switched_off(off: str) -> None:
    for query in (THETA, BY_OTHER_KEY, SEMI):
        session, found = asked(
            f"SET disabled_rules = '{off}'; {query}",
            STREAMS.format(fast=100, slow=1, stored=" STATISTICS (rows = 2)"),
            {name: ROWS[name] for name in "SUP"},
        )
        joins = [n for n in graph(session, found) if isinstance(n, nodes.Join | nodes.Gate)]
        assert joins and not any(n.everywhere for n in joins)
        assert agree(session, found, CUTS)
