"""The streams and logical operators of PIPES against the tables, equations and values of both papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import FrozenInstanceError
from datetime import datetime
from decimal import ROUND_DOWN, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.reference import logical
from continua.reference.streams import (
    INFINITY,
    LogicalStream,
    PhysicalStream,
    RawStream,
    coalesce,
    equivalent,
    is_chronon_stream,
    logical_stream,
    logical_to_physical,
    physical_plans_equivalent,
    physical_to_logical,
    physically_equivalent,
    plans_equivalent,
    raw_to_logical,
    raw_to_physical,
    split,
    timeslice,
    value_equivalent,
)

S1 = logical_stream(
    *[("c", 1, 1), ("a", 2, 3), ("a", 3, 3), ("b", 3, 1), ("a", 4, 3), ("b", 4, 1), ("c", 4, 1)],
    *[("b", 5, 2), ("b", 6, 2)],
)
S2 = logical_stream(
    *[("b", 2, 2), ("b", 3, 2), ("a", 4, 1), ("b", 4, 1), ("c", 4, 1), ("a", 5, 2), ("b", 5, 1)],
    *[("a", 6, 1), ("c", 6, 2)],
)

RAW = [("a", 1), ("b", 1), ("a", 1), ("a", 3)]
CHRONONS = [("a", 1, 2), ("a", 1, 2), ("a", 2, 3), ("b", 2, 3), ("a", 3, 4), ("b", 3, 4)]
INTERVALS = [("a", 1, 2), ("a", 1, 4), ("b", 2, 4)]
OTHER_INTERVALS = [("a", 1, 2), ("a", 1, 3), ("b", 2, 4), ("a", 3, 4)]
BOTH = logical_stream(("a", 1, 2), ("a", 2, 1), ("b", 2, 1), ("a", 3, 1), ("b", 3, 1))

BIDS: RawStream[tuple[str, int]] = [(("x", 1), 1), (("y", 2), 1), (("x", 3), 2), (("x", 4), 2), (("y", 5), 4)]


def table(rows: dict[int, str]) -> LogicalStream[str]:
    """Rows as the papers print them: an instant, then the payloads valid at it, duplicates listed."""
    return LogicalStream({t: Counter(row.split()) for t, row in rows.items()})


def concatenated(left: str, right: str) -> str:
    return left + right


def same(left: str, right: str) -> bool:
    return left == right


def less(left: str, right: str) -> bool:
    return left < right


def symbolic_sum(snapshot: Counter[str]) -> str:
    return "+".join(sorted(snapshot.elements()))


def endless(raw: RawStream[str], horizon: int) -> LogicalStream[str]:
    return physical_to_logical(raw_to_physical(raw, endless=True), horizon)


def test_P1_a_raw_stream_becomes_a_chronon_stream() -> None:
    physical = raw_to_physical(RAW)
    assert physical == [("a", 1, 2), ("b", 1, 2), ("a", 1, 2), ("a", 3, 4)]
    assert is_chronon_stream(physical)
    assert not is_chronon_stream(INTERVALS)


def test_P1_a_raw_stream_becomes_a_logical_stream_that_counts_duplicates() -> None:
    assert raw_to_logical(RAW) == logical_stream(("a", 1, 2), ("b", 1, 1), ("a", 3, 1))


def test_P1_the_two_ways_from_raw_to_logical_agree() -> None:
    assert physical_to_logical(raw_to_physical(RAW)) == raw_to_logical(RAW)


def test_P1_several_physical_streams_are_one_logical_stream() -> None:
    assert is_chronon_stream(CHRONONS)
    for physical in (CHRONONS, INTERVALS, OTHER_INTERVALS):
        assert physical_to_logical(physical) == BOTH


def test_P1_elements_are_value_equivalent_by_payload_alone() -> None:
    assert value_equivalent(("a", 1), ("a", 7))
    assert value_equivalent(("a", 1, 5), ("a", 3, 4))
    assert not value_equivalent(("a", 1, 2), ("b", 1, 2))


def test_P1_a_logical_stream_has_one_element_for_a_payload_at_an_instant() -> None:
    with pytest.raises(ValueError, match="2 elements for 'a' at instant 1"):
        logical_stream(("a", 1, 1), ("a", 1, 2))


def test_P1_a_logical_stream_has_positive_multiplicities_from_instant_0_on() -> None:
    with pytest.raises(ValueError, match="multiplicity 0 of 'a'"):
        LogicalStream({1: {"a": 0}})
    with pytest.raises(ValueError, match="instant -1"):
        LogicalStream({-1: {"a": 1}})


def test_P1_a_logical_stream_never_changes() -> None:
    rows = {1: Counter("a"), 2: Counter[str]()}
    stream = LogicalStream(rows)
    rows[1]["a"] = 5
    assert stream == LogicalStream({1: {"a": 1}})
    assert hash(stream) == hash(LogicalStream({1: {"a": 1}}))
    with pytest.raises(FrozenInstanceError):
        stream.snapshots = {}  # type: ignore[misc]
    with pytest.raises(TypeError):
        stream.snapshots[1]["a"] = 2  # type: ignore[index]


def test_P1_disorder_and_empty_intervals_are_refused() -> None:
    with pytest.raises(ValueError, match="timestamp 1 follows 2"):
        raw_to_physical([("a", 2), ("b", 1)])
    with pytest.raises(ValueError, match=r"interval \[3, 3\) of 'a'"):
        physical_to_logical([("a", 3, 3)])


def test_P1_endless_validity_needs_a_horizon() -> None:
    physical = raw_to_physical([("a", 1), ("a", 3)], endless=True)
    assert physical == [("a", 1, INFINITY), ("a", 3, INFINITY)]
    assert physical_to_logical(physical, horizon=5) == logical_stream(
        ("a", 1, 1), ("a", 2, 1), ("a", 3, 2), ("a", 4, 2)
    )
    with pytest.raises(ValueError, match="horizon"):
        physical_to_logical(physical)


def test_P7_table_I_lists_the_snapshots_of_both_streams() -> None:
    assert table({1: "c", 2: "a a a", 3: "a a a b", 4: "a a a b c", 5: "b b", 6: "b b"}) == S1
    assert table({1: "", 2: "b b", 3: "b b", 4: "a b c", 5: "a a b", 6: "a c c"}) == S2


def test_P7_table_II_is_the_product() -> None:
    assert logical.product(S1, S2, concatenated) == table(
        {
            1: "",
            2: "ab ab ab ab ab ab",
            3: "ab ab ab ab ab ab bb bb",
            4: "aa ab ac aa ab ac aa ab ac ba bb bc ca cb cc",
            5: "ba ba bb ba ba bb",
            6: "ba bc bc ba bc bc",
        }
    )


def test_P7_table_III_is_the_sum_at_each_instant() -> None:
    assert logical.aggregate(S1, symbolic_sum) == table(
        {1: "c", 2: "a+a+a", 3: "a+a+a+b", 4: "a+a+a+b+c", 5: "b+b", 6: "b+b"}
    )


def test_P7_table_IV_is_the_window_of_size_two() -> None:
    # Eq. 5 gives six a at instant 4, three from instant 3 and three from 4. Our copy shows a seventh there.
    assert logical.time_window(S1, 2) == table(
        {
            1: "c",
            2: "a a a c",
            3: "a a a a a a b",
            4: "a a a a a a b b c",
            5: "a a a b b b c",
            6: "b b b b",
            7: "b b",
        }
    )


def test_P8_filter_keeps_multiplicities() -> None:
    assert logical.filter_(S1, lambda e, _: e == "a") == table({2: "a a a", 3: "a a a", 4: "a a a"})


def test_P8_map_changes_payloads_and_never_instants() -> None:
    assert logical.map_(table({1: "a b", 2: "a"}), str.upper) == table({1: "A B", 2: "A"})


def test_P8_product_pairs_by_default_and_concatenates_tuples() -> None:
    assert logical.product(table({1: "a"}), table({1: "b"})) == logical_stream((("a", "b"), 1, 1))
    left, right = logical_stream((("a", 1), 1, 2)), logical_stream((("b",), 1, 3))
    assert logical.product(left, right) == logical_stream((("a", 1, "b"), 1, 6))


def test_P8_theta_join_takes_pairs_of_one_instant_only() -> None:
    joined = table({3: "bb bb", 4: "aa aa aa bb cc", 5: "bb bb"})
    assert logical.theta_join(S1, S2, same, concatenated) == joined
    assert logical.theta_join(S1, S2, same) == logical.theta_join(S1, S2, same, lambda e1, e2: (e1, e2))


def test_P8_semijoin_and_antijoin_divide_the_left_stream() -> None:
    assert logical.semijoin(S1, S2, same) == table({3: "b", 4: "a a a b c", 5: "b b"})
    assert logical.antijoin(S1, S2, same) == table({1: "c", 2: "a a a", 3: "a a a", 6: "b b"})


def test_P8_antijoin_finds_the_greatest() -> None:
    assert logical.antijoin(S1, S1, less) == table({1: "c", 2: "a a a", 3: "b", 4: "c", 5: "b b", 6: "b b"})


def test_P8_union_duplicate_elimination_and_difference() -> None:
    left, right = table({1: "a a b", 2: "a"}), table({1: "a c", 3: "b"})
    assert logical.union(left, right) == table({1: "a a a b c", 2: "a", 3: "b"})
    assert logical.duplicate_elimination(left) == table({1: "a b", 2: "a"})
    assert logical.difference(left, right) == table({1: "a b", 2: "a"})


def test_P8_group_sends_each_element_to_one_stream() -> None:
    first, second = logical.group(S1, lambda e, _: 1 if e == "b" else 2, 2)
    assert first == table({3: "b", 4: "b", 5: "b b", 6: "b b"})
    assert second == table({1: "c", 2: "a a a", 3: "a a a", 4: "a a a c"})


def test_P8_aggregation_has_no_value_over_an_empty_snapshot() -> None:
    assert logical.aggregate(table({1: "a a", 3: "b"}), Counter.total) == logical_stream((2, 1, 1), (1, 3, 1))


def test_P8_grouped_aggregation_has_one_value_for_each_group_present() -> None:
    assert logical.grouped_aggregate(S1, str.upper, Counter.total) == LogicalStream(
        {
            1: {("C", 1): 1},
            2: {("A", 3): 1},
            3: {("A", 3): 1, ("B", 1): 1},
            4: {("A", 3): 1, ("B", 1): 1, ("C", 1): 1},
            5: {("B", 2): 1},
            6: {("B", 2): 1},
        }
    )


def test_P8_outer_joins_pad_what_has_no_partner() -> None:
    left, right = table({1: "a a b"}), table({1: "b c"})
    arguments = (left, right, same, concatenated)
    assert logical.left_outer_join(*arguments, "-") == table({1: "a- a- bb"})
    assert logical.right_outer_join(*arguments, "-") == table({1: "bb -c"})
    assert logical.full_outer_join(*arguments, "-", "-") == table({1: "a- a- bb -c"})


def test_P8_time_windows_of_size_one_and_without_bound() -> None:
    stream = table({0: "a", 2: "a b"})
    assert logical.time_window(stream, 1) == stream
    unbounded = table({0: "a", 1: "a", 2: "a a b", 3: "a a b"})
    assert logical.time_window(stream, INFINITY, horizon=4) == unbounded
    with pytest.raises(ValueError, match="horizon"):
        logical.time_window(stream, INFINITY)


def test_P8_count_window_holds_the_last_rows_in_raw_order() -> None:
    assert logical.count_window([("a", 1), ("b", 1), ("c", 1), ("a", 3)], 2, horizon=6) == table(
        {1: "b c", 2: "b c", 3: "c a", 4: "c a", 5: "c a"}
    )
    assert logical.count_window([("a", 1), ("a", 1)], 3, horizon=2) == table({1: "a a"})


def test_P8_partitioned_window_holds_the_last_rows_of_each_key() -> None:
    window = logical.partitioned_window(BIDS, lambda bid: bid[0], 1, horizon=5)
    assert window == LogicalStream(
        {
            1: {("x", 1): 1, ("y", 2): 1},
            2: {("x", 4): 1, ("y", 2): 1},
            3: {("x", 4): 1, ("y", 2): 1},
            4: {("x", 4): 1, ("y", 5): 1},
        }
    )


@pytest.mark.parametrize("size", [0, -1])
def test_P8_windows_refuse_a_size_that_is_not_positive(size: int) -> None:
    windows: list[Callable[[], LogicalStream[str]]] = [
        lambda: logical.time_window(S1, size),
        lambda: logical.sliding_window(S1, size),
        lambda: logical.fixed_window(S1, size),
        lambda: logical.count_window([("a", 1)], size, 3),
        lambda: logical.partitioned_window([("a", 1)], str.upper, size, 3),
    ]
    for window in windows:
        with pytest.raises(ValueError, match="must be positive"):
            window()


Bag = list[str]
SNAPSHOTS = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3))
STREAMS = st.dictionaries(st.integers(0, 4), SNAPSHOTS).map(LogicalStream)
RAW_STREAMS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6)), max_size=8).map(
    lambda rows: sorted(rows, key=lambda row: row[1])
)
LASTING = st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(1, 4))
PHYSICAL_STREAMS = st.lists(LASTING.map(lambda x: (x[0], x[1], x[1] + x[2])), max_size=10)


def in_order(r: Bag, s: Bag) -> Iterable[Hashable]:
    return (a + b for a in r for b in s if a < b)


STANDARD_OPERATORS: dict[
    str,
    tuple[
        Callable[[LogicalStream[str], LogicalStream[str]], LogicalStream[Hashable]],
        Callable[[Bag, Bag], Iterable[Hashable]],
    ],
] = {
    "filter": (
        lambda s1, _: logical.filter_(s1, lambda e, _: e != "b"),
        lambda r, _: [a for a in r if a != "b"],
    ),
    "map": (lambda s1, _: logical.map_(s1, lambda e: e == "a"), lambda r, _: [a == "a" for a in r]),
    "product": (
        lambda s1, s2: logical.product(s1, s2, concatenated),
        lambda r, s: [a + b for a in r for b in s],
    ),
    "duplicate elimination": (lambda s1, _: logical.duplicate_elimination(s1), lambda r, _: set(r)),
    "difference": (logical.difference, lambda r, s: (Counter(r) - Counter(s)).elements()),
    "group": (
        lambda s1, _: logical.project(logical.group(s1, lambda e, _: "abc".index(e) + 1, 3), 2),
        lambda r, _: [a for a in r if a == "b"],
    ),
    "scalar aggregation": (
        lambda s1, _: logical.aggregate(s1, symbolic_sum),
        lambda r, _: ["+".join(r)] if r else [],
    ),
    "grouped aggregation": (
        lambda s1, _: logical.grouped_aggregate(s1, lambda e: e == "a", Counter.total),
        lambda r, _: {(a == "a", sum((b == "a") == (a == "a") for b in r)) for a in r},
    ),
    "union": (logical.union, lambda r, s: r + s),
    "theta-join": (lambda s1, s2: logical.theta_join(s1, s2, less, concatenated), in_order),
    "semijoin": (
        lambda s1, s2: logical.semijoin(s1, s2, less),
        lambda r, s: [a for a in r if any(a < b for b in s)],
    ),
    "antijoin": (
        lambda s1, s2: logical.antijoin(s1, s2, less),
        lambda r, s: [a for a in r if all(a >= b for b in s)],
    ),
    "intersection": (logical.intersection, lambda r, s: (Counter(r) & Counter(s)).elements()),
    "max-union": (logical.max_union, lambda r, s: (Counter(r) | Counter(s)).elements()),
    "strict difference": (logical.strict_difference, lambda r, s: [a for a in r if a not in s]),
    "left outer join": (
        lambda s1, s2: logical.left_outer_join(s1, s2, less, concatenated, "-"),
        lambda r, s: [*in_order(r, s), *(a + "-" for a in r if all(a >= b for b in s))],
    ),
    "right outer join": (
        lambda s1, s2: logical.right_outer_join(s1, s2, less, concatenated, "-"),
        lambda r, s: [*in_order(r, s), *("-" + b for b in s if all(a >= b for a in r))],
    ),
    "full outer join": (
        lambda s1, s2: logical.full_outer_join(s1, s2, less, concatenated, "-", "-"),
        lambda r, s: [
            *in_order(r, s),
            *(a + "-" for a in r if all(a >= b for b in s)),
            *("-" + b for b in s if all(a >= b for a in r)),
        ],
    ),
}


def test_P9_timeslice_is_the_multiset_of_an_instant() -> None:
    assert timeslice(BOTH, 1) == Counter({"a": 2})
    assert timeslice(BOTH, 2) == Counter({"a": 1, "b": 1})
    assert timeslice(BOTH, 9) == Counter()


@pytest.mark.parametrize("name", STANDARD_OPERATORS)
@settings(max_examples=50, deadline=None, print_blob=True)
@given(s1=STREAMS, s2=STREAMS)
def test_P9_standard_operators_commute_with_timeslice(
    name: str, s1: LogicalStream[str], s2: LogicalStream[str]
) -> None:
    operator, relational = STANDARD_OPERATORS[name]
    result = operator(s1, s2)
    for t in range(6):
        r, s = (sorted(timeslice(stream, t).elements()) for stream in (s1, s2))
        assert timeslice(result, t) == Counter(relational(r, s))


def test_P9_a_temporal_predicate_is_not_snapshot_reducible() -> None:
    stream = logical.filter_(table({1: "a", 2: "a"}), lambda _, t: t == 1)
    assert (timeslice(stream, 1), timeslice(stream, 2)) == (Counter("a"), Counter())


@pytest.mark.parametrize(
    ("window", "one", "other"),
    [
        (lambda raw: logical.time_window(raw_to_logical(raw), 2), "ab", "bb"),
        (lambda raw: logical.count_window(raw, 2, 3), "ab", "bb"),
        (lambda raw: logical.partitioned_window(raw, str.upper, 1, 3), "ab", "bb"),
    ],
    ids=["time-based", "count-based", "partitioned"],
)
def test_P9_windows_differ_over_equal_snapshots(
    window: Callable[[RawStream[str]], LogicalStream[str]], one: Bag, other: Bag
) -> None:
    raws = [[(e, t) for t, e in enumerate(payloads, start=1)] for payloads in (one, other)]
    now = [timeslice(raw_to_logical(raw), 2) for raw in raws]
    windowed = [timeslice(window(raw), 2) for raw in raws]
    assert now[0] == now[1] == Counter("b")
    assert windowed[0] == Counter("ab")
    assert windowed[1] != windowed[0]


@pytest.mark.parametrize("window", [logical.sliding_window, logical.fixed_window])
def test_P9_windows_over_endless_streams_differ_over_equal_snapshots(
    window: Callable[[LogicalStream[str], int], LogicalStream[str]],
) -> None:
    early, late = endless([("a", 0)], 3), endless([("a", 2)], 3)
    assert timeslice(early, 2) == timeslice(late, 2) == Counter("a")
    assert (timeslice(window(early, 2), 2), timeslice(window(late, 2), 2)) == (Counter(), Counter("a"))


def test_P10_logical_streams_are_equivalent_when_all_snapshots_are_equal() -> None:
    stream = logical_stream(("a", 1, 2), ("b", 2, 1))
    assert equivalent(stream, logical_stream(("b", 2, 1), ("a", 1, 2)))
    assert not equivalent(stream, logical_stream(("a", 1, 1), ("b", 2, 1)))
    assert not equivalent(stream, logical_stream(("a", 1, 2)))
    assert not equivalent(logical_stream(("a", 1, 2)), stream)


def test_P10_physical_streams_are_equivalent_when_their_logical_streams_are() -> None:
    assert physically_equivalent(CHRONONS, INTERVALS)
    assert physically_equivalent(INTERVALS, INTERVALS[::-1])
    assert not physically_equivalent(INTERVALS, [("a", 1, 2), ("a", 1, 3), ("b", 2, 4)])
    assert physically_equivalent([("a", 1, INFINITY)], [("a", 1, 4)], horizon=4)
    assert not physically_equivalent([("a", 1, INFINITY)], [("a", 1, 4)], horizon=5)


def test_P10_logical_plans_are_equivalent_when_their_answers_are() -> None:
    inputs = [BOTH, logical_stream(("a", 1, 1), ("b", 3, 2))]

    def eliminated_late(s1: LogicalStream[str], s2: LogicalStream[str]) -> LogicalStream[str]:
        return logical.duplicate_elimination(logical.union(s1, s2))

    def eliminated_early(s1: LogicalStream[str], s2: LogicalStream[str]) -> LogicalStream[str]:
        return logical.union(logical.duplicate_elimination(s1), logical.duplicate_elimination(s2))

    def eliminated_twice(s1: LogicalStream[str], s2: LogicalStream[str]) -> LogicalStream[str]:
        return logical.duplicate_elimination(eliminated_early(s1, s2))

    assert plans_equivalent(eliminated_late, eliminated_twice, inputs)
    assert not plans_equivalent(eliminated_late, eliminated_early, inputs)


def test_P10_physical_plans_are_equivalent_when_their_answers_are() -> None:
    def kept(stream: PhysicalStream[str]) -> PhysicalStream[str]:
        return stream

    def shortened(stream: PhysicalStream[str]) -> PhysicalStream[str]:
        return [(e, start, start + 1) for e, start, _ in stream]

    assert physical_plans_equivalent(kept, split, [INTERVALS])
    assert physical_plans_equivalent(coalesce, split, [OTHER_INTERVALS])
    assert not physical_plans_equivalent(kept, shortened, [INTERVALS])


def test_Q1_sliding_window_gives_each_occurrence_its_own_validity() -> None:
    stream = endless([("a", 1), ("a", 3), ("b", 3)], horizon=10)
    window = table({1: "a", 2: "a", 3: "a a b", 4: "a a b", 5: "a b", 6: "a b"})
    assert logical.sliding_window(stream, 4) == window


def test_Q1_fixed_window_ends_every_validity_at_the_next_section() -> None:
    stream = endless([("a", 1), ("a", 3), ("b", 4), ("a", 7)], horizon=12)
    window = table({1: "a", 2: "a", 3: "a a", 4: "b", 5: "b", 6: "b", 7: "a b"})
    assert logical.fixed_window(stream, 4) == window


def test_Q1_windows_refuse_a_stream_whose_elements_end() -> None:
    with pytest.raises(ValueError, match="'c' ends at instant 2"):
        logical.sliding_window(S1, 2)
    with pytest.raises(ValueError, match="infinite validity"):
        logical.fixed_window(S1, 2)


@settings(max_examples=50, deadline=None, print_blob=True)
@given(raw=RAW_STREAMS, size=st.integers(1, 5))
def test_Q1_equations_9_and_10_set_the_ends_that_section_2_6_sets(raw: RawStream[str], size: int) -> None:
    stream = endless(raw, horizon=15)
    slid = physical_to_logical([(e, t, t + size) for e, t in raw])
    fixed = physical_to_logical([(e, t, next(b for b in range(0, 15, size) if b > t)) for e, t in raw])
    assert logical.sliding_window(stream, size) == slid == logical.time_window(raw_to_logical(raw), size)
    assert logical.fixed_window(stream, size) == fixed


Vehicle = tuple[int, Decimal, Decimal]
VEHICLES: list[tuple[Vehicle, str]] = [
    ((5, Decimal("18.28"), Decimal("5.27")), "05:00:08"),
    ((2, Decimal("21.33"), Decimal("4.62")), "05:01:32"),
    ((4, Decimal("19.69"), Decimal("9.97")), "05:02:16"),
]


def seconds(clock: str) -> int:
    return int((datetime.fromisoformat(f"1993-03-11 {clock}") - datetime(1993, 1, 1)).total_seconds())


def vehicles_of_the_last_15_minutes() -> LogicalStream[Vehicle]:
    raw = [(vehicle, seconds(clock)) for vehicle, clock in VEHICLES]
    stream = physical_to_logical(raw_to_physical(raw, endless=True), horizon=seconds("05:20:00"))
    return logical.sliding_window(stream, 15 * 60)


def test_Q3_a_window_of_15_minutes_gives_the_three_intervals() -> None:
    first, second, third = (vehicle for vehicle, _ in VEHICLES)
    assert logical_to_physical(vehicles_of_the_last_15_minutes()) == [
        (first, seconds("05:00:08"), seconds("05:15:08")),
        (second, seconds("05:01:32"), seconds("05:16:32")),
        (third, seconds("05:02:16"), seconds("05:17:16")),
    ]


def test_Q3_the_average_speed_has_the_five_segments() -> None:
    def average(speeds: Counter[Decimal]) -> Decimal:
        mean = sum(speeds.elements(), Decimal(0)) / speeds.total()
        # The paper prints 19.766 for 19.7666...: it cuts the digits off.
        return mean.quantize(Decimal("0.001"), rounding=ROUND_DOWN)

    speeds = logical.map_(vehicles_of_the_last_15_minutes(), lambda vehicle: vehicle[1])
    assert logical_to_physical(logical.aggregate(speeds, average)) == [
        (Decimal("18.280"), seconds("05:00:08"), seconds("05:01:32")),
        (Decimal("19.805"), seconds("05:01:32"), seconds("05:02:16")),
        (Decimal("19.766"), seconds("05:02:16"), seconds("05:15:08")),
        (Decimal("20.510"), seconds("05:15:08"), seconds("05:16:32")),
        (Decimal("19.690"), seconds("05:16:32"), seconds("05:17:16")),
    ]


def test_Q4_equation_1_filters_by_payload_and_instant() -> None:
    assert logical.filter_(S1, lambda e, t: e == "a" and t != 3) == table({2: "a a a", 4: "a a a"})


def test_Q4_equation_2_sums_the_multiplicities_of_equal_images() -> None:
    assert logical.map_(S1, lambda e: "x" if e in "ab" else e) == table(
        {1: "c", 2: "x x x", 3: "x x x x", 4: "x x x x c", 5: "x x", 6: "x x"}
    )


def test_Q4_equation_3_multiplies_multiplicities() -> None:
    left, right = logical_stream(("a", 1, 2), ("b", 2, 1)), logical_stream(("c", 1, 3), ("c", 3, 1))
    assert logical.product(left, right) == logical_stream((("a", "c"), 1, 6))


def test_Q4_equation_4_sets_every_multiplicity_to_1() -> None:
    assert logical.duplicate_elimination(S1) == table({1: "c", 2: "a", 3: "a b", 4: "a b c", 5: "b", 6: "b"})


def test_Q4_equation_5_subtracts_multiplicities_down_to_nothing() -> None:
    assert [logical.monus(3, 1), logical.monus(2, 2), logical.monus(1, 3)] == [2, 0, 0]
    assert logical.difference(S1, S2) == table({1: "c", 2: "a a a", 3: "a a a", 4: "a a", 5: "b", 6: "b b"})


def test_Q4_equation_6_groups_by_payload_and_instant() -> None:
    groups = logical.group(S1, lambda e, t: 1 if t < 3 else 2 if e == "a" else 3, 4)
    assert len(groups) == 4
    assert logical.project(groups, 1) == table({1: "c", 2: "a a a"})
    assert logical.project(groups, 2) == table({3: "a a a", 4: "a a a"})
    assert logical.project(groups, 3) == table({3: "b", 4: "b c", 5: "b b", 6: "b b"})
    assert logical.project(groups, 4) == table({})


def test_Q4_equation_6_refuses_a_group_outside_1_to_k() -> None:
    with pytest.raises(ValueError, match=r"not to one of 1\.\.2"):
        logical.group(S1, lambda _, t: t, 2)
    with pytest.raises(ValueError, match="group 0 of 1"):
        logical.project((S1,), 0)


def test_Q4_equation_7_weighs_payloads_by_multiplicity_and_gives_a_set() -> None:
    stream = logical_stream((10, 1, 2), (40, 1, 1), (5, 2, 4))
    average = logical.aggregate(stream, lambda x: sum(x.elements()) / x.total())
    assert average == logical_stream((20.0, 1, 1), (5.0, 2, 1))


def test_Q4_equation_8_adds_multiplicities() -> None:
    assert logical.union(S1, S2) == table(
        {1: "c", 2: "a a a b b", 3: "a a a b b b", 4: "a a a a b b c c", 5: "a a b b b", 6: "a b b c c"}
    )


def test_Q5_theta_join_filters_the_product_and_maps_the_rest() -> None:
    left, right = table({1: "a c c"}), table({1: "b b", 2: "d"})
    assert logical.theta_join(left, right, less, concatenated) == table({1: "ab ab"})
    assert logical.theta_join(left, right, lambda e1, e2: e1 > e2, lambda e1, _: e1) == table({1: "c c c c"})


def test_Q5_semijoin_is_equation_16_under_equality() -> None:
    left, right = table({1: "a a b", 2: "a"}), table({1: "a a a", 2: "b"})
    printed = logical.theta_join(left, logical.duplicate_elimination(right), same, lambda e1, _: e1)
    assert logical.semijoin(left, right, same) == printed == table({1: "a a"})


def test_Q5_semijoin_counts_an_element_once_however_many_partners_it_has() -> None:
    left, right = table({1: "a a"}), table({1: "b c"})
    printed = logical.theta_join(left, logical.duplicate_elimination(right), less, lambda e1, _: e1)
    assert logical.semijoin(left, right, less) == table({1: "a a"})
    assert printed == table({1: "a a a a"})


def test_Q5_intersection_takes_the_smaller_and_max_union_the_greater_multiplicity() -> None:
    assert logical.intersection(S1, S2) == table({3: "b", 4: "a b c", 5: "b"})
    assert logical.max_union(S1, S2) == table(
        {1: "c", 2: "a a a b b", 3: "a a a b b", 4: "a a a b c", 5: "a a b b", 6: "a b b c c"}
    )


def test_Q5_strict_difference_drops_every_occurrence_and_keeps_duplicates_of_the_rest() -> None:
    assert logical.strict_difference(S1, S2) == table({1: "c", 2: "a a a", 3: "a a a", 6: "b b"})
    assert logical.difference(S1, S2) != logical.strict_difference(S1, S2)


def test_Q6_a_logical_stream_becomes_a_coalesced_physical_one() -> None:
    stream = logical_stream(("a", 1, 1), ("a", 2, 2), ("a", 3, 1), ("a", 5, 1), ("b", 2, 2))
    assert Counter(logical_to_physical(stream)) == Counter(
        [("a", 1, 4), ("a", 2, 3), ("a", 5, 6), ("b", 2, 3), ("b", 2, 3)]
    )


@settings(max_examples=100, deadline=None, print_blob=True)
@given(stream=PHYSICAL_STREAMS)
def test_Q6_from_logical_to_physical_and_back_nothing_changes(stream: PhysicalStream[str]) -> None:
    logical_form = physical_to_logical(stream)
    assert physical_to_logical(logical_to_physical(logical_form)) == logical_form


def test_P8_Q6_coalesce_merges_adjacent_intervals_of_equal_payloads() -> None:
    assert coalesce([("a", 1, 3), ("b", 2, 3), ("a", 3, 4), ("b", 4, 5), ("a", 4, 9)]) == [
        ("a", 1, 9),
        ("b", 2, 3),
        ("b", 4, 5),
    ]


def test_Q6_coalesce_continues_each_element_once() -> None:
    assert coalesce([("a", 1, 3), ("a", 2, 3), ("a", 3, 5)]) == [("a", 1, 5), ("a", 2, 3)]
    assert coalesce([("a", 1, 3), ("a", 3, 4), ("a", 3, 5)]) == [("a", 1, 4), ("a", 3, 5)]


def test_Q6_coalesce_leaves_overlaps_alone() -> None:
    assert coalesce([("a", 1, 4), ("a", 2, 6)]) == [("a", 1, 4), ("a", 2, 6)]


def test_Q6_coalesce_stops_at_the_maximum_length() -> None:
    chronons = [("a", t, t + 1) for t in range(7)]
    assert coalesce(chronons, max_length=3) == [("a", 0, 3), ("a", 3, 6), ("a", 6, 7)]
    assert coalesce(chronons, max_length=1) == chronons
    assert coalesce([("a", 0, 9), ("a", 9, 10)], max_length=3) == [("a", 0, 9), ("a", 9, 10)]


def test_P8_Q6_split_cuts_intervals_into_pieces() -> None:
    assert split([("a", 1, 4)]) == [("a", 1, 2), ("a", 2, 3), ("a", 3, 4)]
    assert split([("a", 1, 6), ("b", 2, 4)], length=2) == [("a", 1, 3), ("b", 2, 4), ("a", 3, 5), ("a", 5, 6)]
    with pytest.raises(ValueError, match="for ever"):
        split([("a", 1, INFINITY)])


def test_Q6_coalesce_lowers_the_rate_and_split_raises_it() -> None:
    assert [len(coalesce(OTHER_INTERVALS)), len(OTHER_INTERVALS), len(split(OTHER_INTERVALS))] == [3, 4, 6]


def test_Q6_split_then_coalesce_gives_back_what_was_coalesced() -> None:
    assert coalesce(split([("a", 1, 9), ("b", 2, 4)], length=3)) == [("a", 1, 9), ("b", 2, 4)]


@pytest.mark.parametrize("length", [0, -2])
def test_Q6_lengths_are_positive(length: int) -> None:
    with pytest.raises(ValueError, match=f"length {length}"):
        coalesce(CHRONONS, max_length=length)
    with pytest.raises(ValueError, match=f"length {length}"):
        split(CHRONONS, length)


@settings(max_examples=100, deadline=None, print_blob=True)
@given(stream=PHYSICAL_STREAMS, length=st.integers(1, 6))
def test_Q6_neither_changes_the_logical_stream(stream: PhysicalStream[str], length: int) -> None:
    before = physical_to_logical(stream)
    for after in (coalesce(stream), coalesce(stream, length), split(stream), split(stream, length)):
        assert physical_to_logical(after) == before
        assert [x[1:] for x in after] == sorted(x[1:] for x in after)
    assert is_chronon_stream(split(stream))
    assert all(end - start <= length for _, start, end in split(stream, length))


@settings(max_examples=100, deadline=None, print_blob=True)
@given(stream=PHYSICAL_STREAMS, length=st.none() | st.integers(1, 6))
def test_Q6_coalesce_leaves_nothing_that_could_still_be_merged(
    stream: PhysicalStream[str],
    length: int | None,
) -> None:
    merged = coalesce(stream, length)
    for e1, start, end in merged:
        for e2, begin, finish in merged:
            adjacent = e1 == e2 and end == begin
            assert not (adjacent and (length is None or finish - start <= length))
