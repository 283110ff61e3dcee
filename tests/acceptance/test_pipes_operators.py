"""PIPES 2009 and 2005: their operators as queries, over the streams that the papers print.

What the operators yield is defined over logical streams (tests/reference/test_logical.py has the papers' tables). Here
the same streams are sources, each element with the interval in which it is valid, and queries say the operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import pytest

from continua.answers.query import Query
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.reference import logical
from continua.reference.streams import (
    LogicalStream,
    PhysicalStream,
    equivalent,
    logical_to_physical,
    physical_to_logical,
    raw_to_logical,
)
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.plans import graph_of
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.progress import Progress
from continua.session import Session
from continua.sources.given import Given
from tests.acceptance.sync_helpers import ask, segments
from tests.reference.test_logical import (
    BOTH,
    CHRONONS,
    INTERVALS,
    OTHER_INTERVALS,
    RAW,
    S1,
    S2,
    concatenated,
    less,
    same,
)

STREAM = "CREATE STREAM {} (e STRING, since BIGINT, until BIGINT) VALID FROM since TO until;"
WORTH = {"a": 1, "b": 10, "c": 100, "d": 1000}
"""What letters count for where they are summed up."""


def streams(**physical: PhysicalStream[str]) -> Session:
    """A session of PIPES' dialect with physical streams."""
    session = Session(dialect="pipes")
    for name, elements in physical.items():
        session.execute(STREAM.format(name))
        in_time = sorted((since, until, e) for e, since, until in elements)
        session.insert(name, [(e, since, until) for since, until, e in in_time])
    return session


def example_6() -> Session:
    """The streams S1 and S2 of example 6."""
    return streams(S1=logical_to_physical(S1), S2=logical_to_physical(S2))


def answer(session: Session, text: str) -> LogicalStream[Hashable]:
    """The answer of a query as a logical stream; a row of one column is its value."""
    found = segments(session.answers([ask(session, text)]))
    return physical_to_logical(
        [(row[0] if len(row) == 1 else row, start, end) for row, start, end, count in found for _ in range(count)]
    )


def intervals(session: Session, text: str) -> list[tuple[object, int, int]]:
    """The answer of a query as a physical stream in which equal elements that meet are one."""
    return [(row[0], start, end) for row, start, end, _ in segments(session.answers([ask(session, text)]))]


# P1, P10: streams.


def test_P1_several_physical_streams_are_one_logical_stream_to_a_query() -> None:
    session = streams(A=CHRONONS, B=INTERVALS, C=OTHER_INTERVALS)
    assert [answer(session, f"SELECT e FROM {name}") for name in "ABC"] == [BOTH] * 3


def test_P1_a_raw_stream_is_a_chronon_stream_to_a_query() -> None:
    session = Session(dialect="pipes")
    session.execute("CREATE STREAM R (e STRING, ts BIGINT) ORDERED BY ts")
    session.insert("R", RAW)
    assert answer(session, "SELECT e FROM R") == raw_to_logical(RAW)


def test_P10_queries_are_equivalent_when_their_answers_are() -> None:
    session = example_6()
    late = answer(session, "SELECT DISTINCT e FROM (SELECT e FROM S1 UNION ALL SELECT e FROM S2) u")
    early = "SELECT DISTINCT e FROM S1 UNION ALL SELECT DISTINCT e FROM S2"
    assert equivalent(late, answer(session, f"SELECT DISTINCT e FROM ({early}) u"))
    assert not equivalent(late, answer(session, early))


# P7: example 6.


def test_P7_table_II_is_the_product() -> None:
    found = answer(example_6(), "SELECT CONCAT(x.e, y.e) AS e FROM S1 x, S2 y")
    assert found == logical.product(S1, S2, concatenated)


def test_P7_table_III_is_the_sum_at_each_instant() -> None:
    cases = " ".join(f"WHEN '{letter}' THEN {worth}" for letter, worth in WORTH.items())
    found = answer(example_6(), f"SELECT SUM(CASE e {cases} END) AS s FROM S1")
    assert found == logical.aggregate(S1, lambda bag: sum(WORTH[e] for e in bag.elements()))


def test_P7_table_IV_is_the_window_of_size_two() -> None:
    assert answer(example_6(), "SELECT e FROM S1 WINDOW(RANGE 2)") == logical.time_window(S1, 2)


# P8, Q4, Q5: operators.

EQUATIONS: dict[str, tuple[str, LogicalStream[Hashable]]] = {
    "1, filter": (
        "SELECT e FROM S1 WHERE e = 'a' AND NOW <> 3",
        logical.map_(logical.filter_(S1, lambda e, t: e == "a" and t != 3), str),
    ),
    "2, map": (
        "SELECT CASE WHEN e = 'c' THEN e ELSE 'x' END AS e FROM S1",
        logical.map_(S1, lambda e: "x" if e in "ab" else e),
    ),
    "3, product": ("SELECT x.e AS e, y.e AS f FROM S1 x, S2 y", logical.product(S1, S2)),
    "4, duplicate elimination": ("SELECT DISTINCT e FROM S1", logical.map_(logical.duplicate_elimination(S1), str)),
    "5, difference": ("SELECT e FROM S1 EXCEPT ALL SELECT e FROM S2", logical.map_(logical.difference(S1, S2), str)),
    "6, group": (
        "SELECT e FROM S1 WHERE NOW >= 3 AND e = 'a'",
        logical.map_(logical.project(logical.group(S1, lambda e, t: 1 if t < 3 else 2 if e == "a" else 3, 3), 2), str),
    ),
    "7, aggregation": ("SELECT COUNT(*) AS n FROM S1", logical.aggregate(S1, Counter.total)),
    "8, union": ("SELECT e FROM S1 UNION ALL SELECT e FROM S2", logical.map_(logical.union(S1, S2), str)),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_Q4_a_query_says_the_equation(name: str) -> None:
    text, expected = EQUATIONS[name]
    assert answer(example_6(), text) == expected


DERIVED: dict[str, tuple[str, LogicalStream[str]]] = {
    "theta-join": (
        "SELECT CONCAT(x.e, y.e) AS e FROM S1 x JOIN S2 y ON x.e < y.e",
        logical.theta_join(S1, S2, less, concatenated),
    ),
    "semijoin": ("SELECT e FROM S1 x LEFT SEMI JOIN S2 y ON x.e = y.e", logical.semijoin(S1, S2, same)),
    "intersection": ("SELECT e FROM S1 INTERSECT ALL SELECT e FROM S2", logical.intersection(S1, S2)),
    "max-union": (
        "(SELECT e FROM S1 EXCEPT ALL SELECT e FROM S2) UNION ALL SELECT e FROM S2",
        logical.max_union(S1, S2),
    ),
    "max-union, in a word": ("SELECT e FROM S1 UNION MAX SELECT e FROM S2", logical.max_union(S1, S2)),
    "strict difference": (
        "SELECT e FROM S1 WHERE e NOT IN (SELECT e FROM S2)",
        logical.strict_difference(S1, S2),
    ),
    "strict difference, in a word": (
        "SELECT e FROM S1 EXCEPT STRICT SELECT e FROM S2",
        logical.strict_difference(S1, S2),
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_Q5_a_query_says_the_derived_operation(name: str) -> None:
    text, expected = DERIVED[name]
    assert answer(example_6(), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT e FROM S1 x LEFT ANTI JOIN S1 y ON x.e < y.e", logical.antijoin(S1, S1, less)),
        (
            "SELECT e, COUNT(*) AS n FROM S1 GROUP BY e",
            logical.grouped_aggregate(S1, lambda e: e, Counter.total),
        ),
        (
            "SELECT CONCAT(COALESCE(x.e, '-'), COALESCE(y.e, '-')) AS e FROM S1 x FULL OUTER JOIN S2 y ON x.e = y.e",
            logical.full_outer_join(S1, S2, same, concatenated, "-", "-"),
        ),
    ],
    ids=["antijoin", "grouped aggregation", "outer join"],
)
def test_P8_a_query_says_the_operator(text: str, expected: LogicalStream[Hashable]) -> None:
    assert answer(example_6(), text) == expected


def test_Q6_how_intervals_are_cut_makes_no_difference_to_a_query() -> None:
    session = streams(A=CHRONONS, B=INTERVALS, C=OTHER_INTERVALS)
    texts = ("SELECT e, COUNT(*) AS n FROM {} GROUP BY e", "SELECT e FROM {} WINDOW(RANGE 2)")
    for text in texts:
        one, *others = [answer(session, text.format(name)) for name in "ABC"]
        assert others == [one, one]


# P14, P15, P16: the physical operators over streams with intervals.

TABLE_VI_A = [("c", 1, 8), ("a", 5, 11), ("d", 6, 14), ("a", 9, 10), ("b", 12, 17)]
TABLE_VI_B = [("b", 1, 7), ("d", 3, 9), ("a", 4, 5), ("b", 7, 15), ("e", 10, 18)]


def test_P14_the_equijoin_of_table_VI_is_table_VII() -> None:
    session = streams(S1=TABLE_VI_A, S2=TABLE_VI_B)
    assert intervals(session, "SELECT S1.e FROM S1, S2 WHERE S1.e = S2.e") == [("d", 6, 9), ("b", 12, 15)]


def test_P15_the_sum_over_table_VI_has_the_nine_segments_of_table_VIII() -> None:
    a, b, c, d = WORTH.values()
    cases = " ".join(f"WHEN '{letter}' THEN {worth}" for letter, worth in WORTH.items())
    found = intervals(streams(S1=TABLE_VI_A), f"SELECT SUM(CASE e {cases} END) AS s FROM S1")
    assert found == [
        (c, 1, 5), (c + a, 5, 6), (c + a + d, 6, 8), (a + d, 8, 9), (a + d + a, 9, 10),
        (a + d, 10, 11), (d, 11, 12), (d + b, 12, 14), (b, 14, 17),
    ]  # fmt: skip


def test_P16_a_time_window_gives_every_element_its_size_as_in_table_IX() -> None:
    chronons = [("b", 1, 2), ("a", 3, 4), ("c", 4, 5), ("a", 7, 8), ("b", 10, 11)]
    found = answer(streams(S3=chronons), "SELECT e FROM S3 WINDOW(RANGE 50)")
    assert found == physical_to_logical([("b", 1, 51), ("a", 3, 53), ("c", 4, 54), ("a", 7, 57), ("b", 10, 60)])


def test_P16_a_window_of_size_1_changes_nothing() -> None:
    session = example_6()
    assert answer(session, "SELECT e FROM S1 WINDOW(RANGE 1)") == answer(session, "SELECT e FROM S1") == S1


# P17: operators do not block, put out in order, and drop what has expired.

BIDS = "CREATE STREAM Bid (item INT, price INT, ts BIGINT) ORDERED BY ts;"
SIZE = 4


BOUNDED = {
    "aggregation": f"SELECT item, SUM(price) AS s FROM Bid WINDOW(RANGE {SIZE}) GROUP BY item",
    "duplicate elimination": f"SELECT DISTINCT item FROM Bid WINDOW(RANGE {SIZE})",
    "join": f"SELECT x.price FROM Bid WINDOW(RANGE {SIZE}) x, Bid WINDOW(RANGE {SIZE}) y WHERE x.item = y.item",
    "difference": f"SELECT item FROM Bid WINDOW(RANGE {SIZE}) EXCEPT ALL SELECT price FROM Bid WINDOW(RANGE 1)",
    "antijoin": f"SELECT item FROM Bid WINDOW(RANGE {SIZE}) "
    f"WHERE item NOT IN (SELECT price FROM Bid WINDOW(RANGE {SIZE}))",
}


@pytest.mark.parametrize("name", BOUNDED)
def test_P17_answers_come_as_time_goes_on_and_state_is_bounded_by_the_live_elements(name: str) -> None:
    check_bounded(bids(60), [BOUNDED[name]], InProcess())


def bids(instants: int) -> Session:
    """One bid at each instant."""
    session = Session(dialect="pipes")
    session.execute(BIDS)
    session.insert("Bid", [(t % 9, t % 5, t) for t in range(instants)])
    return session


def check_bounded(session: Session, texts: Sequence[str], executor: Executor, given: Given | None = None) -> None:
    """Runs queries row by row: answers come all along, in order, and what has expired is not held any more."""
    queries = [ask(session, text) for text in texts]
    inputs = given or session.inputs.given(queries[0].sources)
    found: list[Progress] = []
    starts: dict[str, list[int]] = {query.name: [] for query in queries}
    with BoundedRun(queries, inputs, [], executor, BoundedOptions(1)) as run:
        run.to_the_end(found.append)
        for done in found:
            for name, mine in starts.items():
                rows = run.engine.results(name, done.epoch, done.epoch)
                mine += [] if rows is None else sorted(rows.column(nodes.START).to_pylist())
    for name, mine in starts.items():
        with_answers = [done for done in found if done.rows_out.get(name)]
        assert len(with_answers) > len(found) / 2, "nothing waits for the end"
        assert mine == sorted(mine), "what an epoch yields starts after all that earlier ones have yielded"
    operators = len(list(in_order([graph_of(query, []) for query in queries])))
    states = [sum(done.state_rows.values()) for done in found[SIZE:-1]]
    assert max(states) <= operators * 4 * SIZE, "live elements, in each operator, with the ends that they wait for"
    assert sum(found[-1].state_rows.values()) == 0, "at the end all have expired"


# P18: physical planning.


def titles(query: Query) -> list[str]:
    """The physical operators of a query, from its sources."""
    return [node.title for node in in_order([graph_of(query, [])])]


@pytest.mark.parametrize(
    ("condition", "title"),
    [
        ("x.item = y.item", "Hash join"),
        ("x.item = y.item AND x.price < y.price", "Hash join"),
        ("x.price < y.price", "Nested-loop join"),
        ("x.item <> y.item", "Nested-loop join"),
    ],
)
def test_P18_a_join_is_by_hash_where_its_predicate_has_an_equality_and_by_nested_loops_elsewhere(
    condition: str, title: str
) -> None:
    session = Session(dialect="pipes")
    session.execute(BIDS)
    text = f"SELECT x.price, y.price FROM Bid WINDOW(RANGE 3) x, Bid WINDOW(RANGE 2) y WHERE {condition}"
    session.insert("Bid", [(1, 5, 1), (2, 5, 1), (1, 7, 2), (2, 3, 3), (1, 6, 4)])
    query = ask(session, text)
    assert [t for t in titles(query) if t.endswith("join")] == [title]
    assert session.answers([query])


def test_P18_a_split_stands_before_a_window_over_what_lasts_and_only_there() -> None:
    session = streams(Auction=INTERVALS)
    session.execute(BIDS + "CREATE STREAM Prices AS SELECT item FROM Bid WINDOW(RANGE 3);")
    session.insert("Bid", [(1, 5, 1), (2, 5, 3)])
    lasting = [ask(session, f"SELECT * FROM {name} WINDOW(RANGE 2)") for name in ("Auction", "Prices")]
    for query in lasting:
        assert titles(query).count("Split into chronons") == 1, titles(query)
        assert session.answers([query])
    assert "Split into chronons" not in titles(ask(session, "SELECT item FROM Bid WINDOW(RANGE 2)"))
