"""CQL 5: Istream, Dstream and Rstream by their formulas over bags, in every spelling, and the subtlety of 5.2."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import BindError
from tests.acceptance.helpers import Row, ask, ask_all, ask_in, day, session_with

R = "CREATE RELATION R (B STRING, C INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;"
S = "CREATE STREAM S (A INT, ts BIGINT) ORDERED BY ts;"

X, Y = ("x", 1), ("y", 2)
# R is {} at 0, {x, x} from 1, {x, x, y} from 2, {x, y} from 4 and {x, x, x} from 5 on.
CHANGES: list[Row] = [
    (*X, "+", 1),
    (*X, "+", 1),
    (*Y, "+", 2),
    (*X, "-", 4),
    (*Y, "-", 5),
    (*X, "+", 5),
    (*X, "+", 5),
]
STREAMED: dict[str, list[list[Row]]] = {
    "Istream": [[], [X, X], [Y], [], [], [X, X], [], []],
    "Dstream": [[], [], [], [], [X], [Y], [], []],
    "Rstream": [[], [X, X], [X, X, Y], [X, X, Y], [X, Y], [X, X, X], [X, X, X], [X, X, X]],
}
SPELLINGS = [
    "Select {}(B, C) From R",
    "Select {}(*) From R",
    "Select {}(R.*) From R",
    "Select {} B, C From R",
    "Select {} * From R",
    "{}(Select B, C From R)",
    "{}(Select * From R)",
    "{} Select B, C From R",
    "{} Select * From R",
    "{}((Select * From R))",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("operator", STREAMED)
def test_C5_each_operator_means_the_same_on_the_select_list_and_outside_the_query(operator: str, spelling: str) -> None:
    asked = ask(R, {"R": CHANGES}, spelling.format(operator))
    assert asked.streamed(range(8)) == STREAMED[operator]


@pytest.mark.parametrize("operator", ["istream", "ISTREAM", "IStream"])
def test_C5_the_case_of_an_operator_does_not_matter(operator: str) -> None:
    assert ask(R, {"R": CHANGES}, f"SELECT {operator}(B, C) FROM R").streamed(range(8)) == STREAMED["Istream"]


def test_C5_istream_has_a_copy_for_each_copy_that_enters_and_dstream_for_each_that_leaves() -> None:
    session = session_with(R, {"R": CHANGES})
    assert ask_in(session, "SELECT ISTREAM(B) FROM R").elements == [
        (1, ("x",)),
        (1, ("x",)),
        (2, ("y",)),
        (5, ("x",)),
        (5, ("x",)),
    ]
    assert ask_in(session, "SELECT DSTREAM(B) FROM R").elements == [(4, ("x",)), (5, ("y",))]


def test_C5_a_tuple_that_leaves_and_enters_at_one_instant_is_in_neither_stream() -> None:
    session = session_with(R, {"R": [(*X, "+", 1), (*X, "-", 3), (*X, "+", 3)]})
    assert ask_in(session, "ISTREAM(SELECT * FROM R)").elements == [(1, X)]
    assert ask_in(session, "DSTREAM(SELECT * FROM R)").elements == []


def test_C5_nothing_precedes_the_first_instant_so_istream_starts_with_the_whole_relation() -> None:
    session = session_with("CREATE TABLE T (B INT);", {"T": [(1,), (1,), (2,)]})
    assert ask_in(session, "SELECT ISTREAM(*) FROM T").elements == [(0, (1,)), (0, (1,)), (0, (2,))]
    assert ask_in(session, "SELECT DSTREAM(*) FROM T").elements == []
    assert ask_in(session, "SELECT RSTREAM(*) FROM T").streamed([0, 1, 99]) == [[(1,), (1,), (2,)]] * 3


def test_C5_an_operator_stands_outside_a_union() -> None:
    session = session_with(S, {"S": [(1, 1), (2, 3)]})
    union = "(Select A From S[Range 1]) Union All (Select A + 1 From S[Now])"
    # R is {1, 2} at 1, {1} at 2, {2, 3} at 3, {2} at 4 and {} from 5 on.
    assert ask_in(session, f"Istream({union})").streamed(range(6)) == [[], [(1,), (2,)], [], [(2,), (3,)], [], []]
    assert ask_in(session, f"Dstream({union})").streamed(range(6)) == [[], [], [(2,)], [(1,)], [(3,)], [(2,)]]
    assert ask_in(session, f"Rstream({union})").streamed(range(6)) == [
        [],
        [(1,), (2,)],
        [(1,)],
        [(2,), (3,)],
        [(2,)],
        [],
    ]


def test_C5_an_operator_around_an_expression_list_keeps_the_parentheses_of_its_expressions() -> None:
    session = session_with(S, {"S": [(3, 1)]})
    assert ask_in(session, "SELECT ISTREAM (A) + 1, A FROM S [NOW]").elements == [(1, (4, 3))]
    assert ask_in(session, "SELECT ISTREAM((A + 1) * 2, A) FROM S [NOW]").elements == [(1, (8, 3))]


def test_C5_an_operator_makes_a_subquery_a_stream_that_a_window_can_follow() -> None:
    session = session_with(S, {"S": [(1, 1), (2, 3)]})
    # The stream of what leaves the range of 1 has 1 at instant 3 and 2 at instant 5.
    asked = ask_in(session, "SELECT * FROM (SELECT DSTREAM(A) FROM S [RANGE 1]) [RANGE 1] AS Left_")
    assert asked.contents(range(8)) == [[], [], [], [(1,)], [(1,)], [(2,)], [(2,)], []]
    outside = ask_in(session, "SELECT * FROM (DSTREAM(SELECT A FROM S [RANGE 1])) AS Left_ [RANGE 1]")
    assert outside.contents(range(8)) == asked.contents(range(8))


def test_C5_the_operators_work_in_the_domain_of_timestamps() -> None:
    definition = "CREATE STREAM S (A INT, ts TIMESTAMP) ORDERED BY ts;"
    session = session_with(definition, {"S": [(1, day("10:00")), (2, day("10:00:30"))]})
    window = "FROM S [RANGE 1 MINUTE]"
    assert ask_in(session, f"SELECT ISTREAM(A) {window}").elements == [(day("10:00"), (1,)), (day("10:00:30"), (2,))]
    assert ask_in(session, f"SELECT DSTREAM(A) {window}").elements == [
        (day("10:01:00.000001"), (1,)),
        (day("10:01:30.000001"), (2,)),
    ]
    rstream = ask_in(session, f"SELECT RSTREAM(A) {window}")
    moments = [day(t) for t in ("10:00", "10:00:30", "10:01", "10:01:00.000001", "10:01:30.000001")]
    assert rstream.streamed(moments) == [[(1,)], [(1,), (2,)], [(1,), (2,)], [(2,)], []]


def test_C5_an_operator_around_a_stream_is_an_error() -> None:
    session = session_with(S)
    with pytest.raises(BindError) as error:
        session.sql("ISTREAM(SELECT RSTREAM(A) FROM S [NOW])")
    assert error.value.condition == "TWO_OPERATORS"


bags = st.dictionaries(st.tuples(st.sampled_from("xy"), st.integers(0, 1)), st.integers(1, 3), max_size=4).map(Counter)


@settings(max_examples=24, deadline=None, print_blob=True)
@given(st.lists(bags, min_size=1, max_size=6))
def test_C5_the_operators_follow_their_formulas_over_bags(states: list[Counter[tuple[str, int]]]) -> None:
    relation = [*states, states[-1]]
    before: list[Counter[tuple[str, int]]] = [Counter(), *relation[:-1]]
    changes: list[Row] = []
    for t, (old, new) in enumerate(zip(before, relation, strict=True)):
        changes += [(*row, "-", t) for row in (old - new).elements()]
        changes += [(*row, "+", t) for row in (new - old).elements()]
    session = session_with(R, {"R": changes})
    relation_as = (f"{operator}(SELECT * FROM R)" for operator in ("ISTREAM", "DSTREAM", "RSTREAM"))
    entering, leaving, all_ = ask_all(session, *relation_as)
    for t, (old, new) in enumerate(zip(before, relation, strict=True)):
        assert Counter(entering.streamed_at(t)) == new - old
        assert Counter(leaving.streamed_at(t)) == old - new
        assert Counter(all_.streamed_at(t)) == new


JOIN = "Select {}(*) From S [Rows 5], T Where S.A = T.B"
RELATION = f"{S} CREATE TABLE T (B INT);"


def test_C6_identical_tuples_five_apart_give_no_second_element_of_istream() -> None:
    # Tuple 1 arrives at 1 and again, five tuples later, at 6: it enters [Rows 5] as its twin leaves.
    rows: dict[str, list[Row]] = {"S": [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 6), (9, 7)], "T": [(1,)]}
    session = session_with(RELATION, rows)
    assert ask_in(session, JOIN.format("Istream")).elements == [(1, (1, 1))]
    relation = ask_in(session, "Select * From S [Rows 5], T Where S.A = T.B")
    assert relation.contents(range(9)) == [[]] + [[(1, 1)]] * 8
    assert ask_in(session, JOIN.format("Dstream")).elements == []


def test_C6_istream_tells_of_the_tuples_that_an_update_of_the_relation_brings_into_the_join() -> None:
    updated = f"{S} CREATE RELATION T (B INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;"
    rows: dict[str, list[Row]] = {
        "S": [(1, 1), (2, 2), (1, 3)],
        "T": [(2, "+", 0), (1, "+", 4), (2, "-", 5), (2, "+", 6)],
    }
    session = session_with(updated, rows)
    assert ask_in(session, JOIN.format("Istream")).elements == [(2, (2, 2)), (4, (1, 1)), (4, (1, 1)), (6, (2, 2))]
    assert ask_in(session, JOIN.format("Dstream")).elements == [(5, (2, 2))]


def test_C6_rstream_produces_the_identical_tuple_with_the_whole_result_at_each_instant() -> None:
    rows: dict[str, list[Row]] = {"S": [(1, 1), (2, 2), (3, 3), (4, 4), (2, 5), (1, 6)], "T": [(1,), (2,)]}
    asked = ask(RELATION, rows, JOIN.format("Rstream"))
    one, two = (1, 1), (2, 2)
    assert asked.streamed(range(9)) == [
        [],
        [one],
        [one, two],
        [one, two],
        [one, two],
        [one, two, two],
        [one, two, two],
        [one, two, two],
        [one, two, two],
    ]


def test_C6_identical_tuples_four_apart_give_one_and_six_apart_give_another() -> None:
    four_apart: dict[str, list[Row]] = {"S": [(1, 1), (2, 2), (3, 3), (4, 4), (1, 5)], "T": [(1,)]}
    assert ask(RELATION, four_apart, JOIN.format("Istream")).elements == [(1, (1, 1)), (5, (1, 1))]
    six_apart: dict[str, list[Row]] = {"S": [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (1, 7)], "T": [(1,)]}
    assert ask(RELATION, six_apart, JOIN.format("Istream")).elements == [(1, (1, 1)), (7, (1, 1))]


def test_C6_a_key_that_tells_the_tuples_apart_brings_the_second_element_back() -> None:
    keyed = "CREATE STREAM S (A INT, id INT, ts BIGINT) ORDERED BY ts; CREATE TABLE T (B INT);"
    rows: dict[str, list[Row]] = {"S": [(1, n, n) for n in (1, 2, 3, 4, 5, 6)], "T": [(1,)]}
    asked = ask(keyed, rows, "Select Istream(id) From S [Rows 5], T Where S.A = T.B")
    assert asked.elements == [(n, (n,)) for n in (1, 2, 3, 4, 5, 6)]
