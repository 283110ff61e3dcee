"""Filters and projections as trees: what is one step, what two evaluations share, and what is told of them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import pytest

from continua.algebra.expr import Call, Case, Cast, Column, Expr, InList, Literal
from continua.algebra.identity import identity
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.physical.relation import schema_of
from continua.physical.step_sql import _nested, duckdb_sql
from continua.physical.steps import OLD_END, OLD_START, Step, column, composed, placed
from continua.physical.times import compared, plus
from continua.runs.plans import graph_of
from continua.runtime.fingerprints import used_functions
from continua.sqltext.expression_sql import in_duckdb
from continua.types import BIGINT, BOOLEAN, INT, STRING
from tests.physical.comparing import STREAMS, agree, asked, graph

A, B, TEXT = column(0, INT), column(1, INT), column(2, STRING)
POSITIVE = Call(">", (A, Literal(0, INT)), BOOLEAN)
SMALL = Call("<", (B, Literal(9, INT)), BOOLEAN)
FAILS = Call(">", (Cast(TEXT, INT), Literal(0, INT)), BOOLEAN)
SUM = Call("+", (A, B), INT)


def test_columns_of_a_filter_are_picked_in_one_step() -> None:
    (step,) = composed((Step((A, B, TEXT), (FAILS,)),), Step((column(1, INT), column(0, INT))))
    assert step == Step((B, A), (FAILS,))


def test_columns_that_were_picked_go_by_their_names_before() -> None:
    (step,) = composed((Step((B, A)),), Step((A,), (POSITIVE,), plus(OLD_START, 1)))
    assert step == Step((B,), (Call(">", (B, Literal(0, INT)), BOOLEAN),), plus(OLD_START, 1))


def test_conditions_that_cannot_fail_are_one_step() -> None:
    assert composed((Step((A, B), (POSITIVE,)),), Step((A, B), (SMALL,))) == (Step((A, B), (POSITIVE, SMALL)),)


@pytest.mark.parametrize(("first", "second"), [(POSITIVE, FAILS), (FAILS, POSITIVE)])
def test_a_condition_guards_what_can_fail_above_it(first: Expr, second: Expr) -> None:
    lower, upper = Step((A, B, TEXT), (first,)), Step((A, B, TEXT), (second,))
    assert composed((lower,), upper) == (lower, upper)


def test_what_was_computed_is_not_computed_again_for_each_use() -> None:
    lower, upper = Step((SUM,)), Step((Call("*", (A, A), INT),))
    assert composed((lower,), upper) == (lower, upper)


def test_what_is_known_of_nulls_is_no_other_work() -> None:
    strict = Step((replace(A, nullable=False),), (replace(POSITIVE, nullable=False),))
    assert strict == Step((A,), (POSITIVE,))
    assert hash(strict) == hash(Step((A,), (POSITIVE,)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Literal(1, INT), Literal(1, BIGINT)),
        (Literal("1", STRING), Literal(1, INT)),
        (Cast(A, BIGINT), Cast(A, STRING)),
        (InList(A, (Literal(1, INT), Literal(2, INT))), InList(A, (Literal(12, INT),))),
        (Case(((POSITIVE, A), (SMALL, B)), None, INT), Case(((POSITIVE, A),), B, INT)),
        (Call("-", (Call("-", (A, B), INT), A), INT), Call("-", (A, Call("-", (B, A), INT)), INT)),
    ],
)
def test_other_work_has_another_identity(one: Expr, other: Expr) -> None:
    assert identity(one) != identity(other)


def test_long_conditions_are_flat() -> None:
    condition: Expr = POSITIVE
    for _ in range(200):
        condition = Call("OR", (condition, SMALL), BOOLEAN)
    flat = placed(condition, {"c0": 0, "c1": 1}.__getitem__)
    assert isinstance(flat, Call)
    assert flat.arguments == (POSITIVE, *(SMALL for _ in range(200)))


def _over(*steps: Step) -> nodes.Evaluate:
    source = nodes.Source(schema_of([INT, INT, STRING]), (), "s")
    return nodes.Evaluate(schema_of([e.type for e in steps[-1].columns]), (source,), steps)


def test_what_an_evaluation_keeps() -> None:
    node = _over(Step((B, SUM, A), (FAILS,)), Step((column(2, INT), column(1, INT))))
    assert node.passes == (0, None)
    assert node.keeps_times
    assert not node.whole
    assert not node.only_filters
    assert _over(Step((B, A, TEXT), (FAILS,))).only_filters
    assert _over(Step((B, A))).whole


@pytest.mark.parametrize(
    "step",
    [
        Step((A,), start=plus(OLD_START, 1)),
        Step((A,), end=plus(OLD_END, 1)),
        Step((A,), (compared(OLD_END, ">", 3),)),
        Step((OLD_START,)),
    ],
)
def test_what_depends_on_time_does_not_keep_it(step: Step) -> None:
    assert not _over(step).keeps_times


def test_a_node_that_is_sent_has_its_text() -> None:
    node = pickle.loads(pickle.dumps(_over(Step((SUM,), (POSITIVE,)))))
    assert "duckdb" in vars(node)
    assert 'WHERE ("c0" > 0)' in node.duckdb


@pytest.mark.parametrize(
    "condition",
    [
        Call(">", (A, Literal(-7, INT)), BOOLEAN),
        Call("OR", (Call("=", (TEXT, Literal("it's \\ 50%", STRING)), BOOLEAN), POSITIVE), BOOLEAN),
        Call("=", (TEXT, Literal('"#0"', STRING)), BOOLEAN),
        Call("=", (Call("CONCAT", (TEXT, Literal('"#0"', STRING)), STRING), Literal("x", STRING)), BOOLEAN),
        Call("<>", (Literal(True, BOOLEAN), Call("<", (Literal(1, INT), A), BOOLEAN)), BOOLEAN),
        Call("=", (TEXT, Literal("a\n\x00b", STRING)), BOOLEAN),
        Call("NOT", (InList(A, tuple(Literal(n, INT) for n in range(-2, 40))),), BOOLEAN),
        InList(TEXT, (Literal("a", STRING), TEXT, Literal("b", STRING))),
        Call("=", (Case(((POSITIVE, Literal(1, INT)),), Literal(2, INT), INT), Literal(1, INT)), BOOLEAN),
    ],
)
def test_constants_are_put_in_as_they_would_be_translated(condition: Expr) -> None:
    steps = (Step((A, SUM, TEXT), (condition, SMALL)), Step((A,), (POSITIVE,)))
    assert duckdb_sql(steps) == in_duckdb(_nested(steps))


QUERY = "SELECT k, a + 1 AS n FROM S [RANGE 5] WHERE a > 2 AND k IN ('x', 'y') AND CASE WHEN a > 3 THEN k END <> 'z'"


def test_ids_are_the_same_in_every_process() -> None:
    session, query = asked(QUERY)
    script = (
        "from tests.physical.comparing import asked; from continua.runs.bounded import graph_of;"
        f"s, q = asked({QUERY!r}); print(graph_of(q, s.functions).id)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert found == {graph_of(query, session.functions).id}


def test_a_condition_keeps_rows_from_one_that_fails_on_them() -> None:
    rows = {"S": [(1, "7", 0), (2, "no", 1), (3, "8", 2)]}
    session, query = asked("SELECT a FROM S [RANGE 5] WHERE a <> 2 AND CAST(k AS INT) > 0", rows=rows)
    assert agree(session, query)


def test_a_long_condition_is_one_step() -> None:
    conditions = " AND ".join(f"a <> {i}" for i in range(20, 900))
    session, query = asked(f"SELECT a FROM S [RANGE 5] WHERE {conditions}")
    (node,) = (n for n in graph(session, query) if isinstance(n, nodes.Evaluate))
    assert [len(step.where) for step in node.steps] == [880]
    assert agree(session, query)


class Total:
    """A sum, as a user's aggregate."""

    def initializer(self, x: int) -> int:
        """Of one value."""
        return x

    def merger(self, state: int, x: int) -> int:
        """Of one more."""
        return state + x

    def evaluator(self, state: int) -> int:
        """Itself."""
        return state


FUNCTIONS = """
    CREATE FUNCTION neg(x INT) RETURNS INT LANGUAGE PYTHON AS 'operator:neg';
    CREATE FUNCTION inverted(x INT) RETURNS INT LANGUAGE PYTHON AS 'operator:invert';
    CREATE AGGREGATE total(x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.physical.test_steps:Total';
"""


@pytest.mark.parametrize(
    ("query", "used"),
    [
        ("SELECT a, 'neg' AS word FROM S [NOW] WHERE k <> 'inverted'", []),
        ("SELECT NEG(a) AS n FROM S [NOW]", ["neg"]),
        ("SELECT a FROM S [RANGE 5] WHERE 3 < neg(a)", ["neg"]),
        ("SELECT S.a FROM S [RANGE 5], U [RANGE 5] WHERE inverted(S.a) < neg(U.b)", ["inverted", "neg"]),
        ("SELECT SUM(inverted(a)) AS n FROM S [RANGE 5] GROUP BY k", ["inverted"]),
        ("SELECT total(a) AS n FROM S [RANGE 5]", ["total"]),
    ],
)
def test_functions_are_used_where_they_are_called(query: str, used: list[str]) -> None:
    session, found = asked(query, STREAMS + FUNCTIONS)
    assert list(used_functions(in_order([graph_of(found, session.functions)]), session.functions)) == used


def test_columns_are_placed_and_intervals_stay() -> None:
    asked_of = compared(Column("s.a", BIGINT), ">", OLD_START)
    assert placed(asked_of, {"s.a": 4}.__getitem__) == compared(column(4, BIGINT), ">", OLD_START)
