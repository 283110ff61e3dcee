"""Large statements: they are bound and planned, or refused by a limit that is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from continua.algebra.expr import TRUE, Call, Column, Expr, children, conjunction, conjuncts
from continua.algebra.schema import Field
from continua.binding.context import Item
from continua.errors import ContinuaError, EvaluationError
from continua.lang.places import Positions
from continua.limits import MOST_BYTES, MOST_ITEMS, MOST_JOINED, MOST_NESTED, MOST_NESTED_QUERIES
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.types import BOOLEAN

STREAM = "CREATE STREAM S (a INT, b INT, c STRING, x DOUBLE, ts BIGINT) ORDERED BY ts;\n"
ROWS = ((1, 5, "ab", 1.5, 1), (2, 6, "cd", -2.5, 2))


def _engine(script: str) -> list[tuple[object, ...]]:
    session = Session(master="none")
    session.execute(STREAM + script)
    session.insert("S", ROWS)
    queries = list(session.queries.values())
    inputs = session.inputs.given({s for q in queries for s in q.sources})
    with BoundedRun(queries, inputs, session.functions, InProcess(), BoundedOptions()) as run:
        run.to_the_end()
        return [tuple(a.row) for a in run.answers()]


def _reference(script: str) -> list[tuple[object, ...]]:
    session = Session(master="none")
    session.execute(STREAM + script)
    session.insert("S", ROWS)
    return [tuple(a.row) for a in session.answers()]


BOTH = pytest.mark.parametrize("answers", [_engine, _reference])


@BOTH
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT ISTREAM a FROM S [NOW] WHERE " + " AND ".join(f"b <> {7 + i}" for i in range(1000)), [(1,), (2,)]),
        ("SELECT ISTREAM a FROM S [NOW] WHERE " + " OR ".join(f"b = {6 + i}" for i in range(1000)), [(2,)]),
        ("SELECT ISTREAM a FROM S [NOW] WHERE b IN (" + ", ".join(map(str, range(6, 2000))) + ")", [(2,)]),
        (
            "SELECT ISTREAM CASE " + " ".join(f"WHEN b = {i} THEN {i}" for i in range(1000)) + " END AS v FROM S [NOW]",
            [(5,), (6,)],
        ),
        ("SELECT ISTREAM " + "ABS(" * 190 + "b" + ")" * 190 + " AS v FROM S [NOW]", [(5,), (6,)]),
        ("SELECT ISTREAM " + "- " * 190 + "b AS v FROM S [NOW]", [(5,), (6,)]),
        (
            "SELECT ISTREAM " + "CAST(CAST(" * 60 + "x" + " AS INT) AS DOUBLE)" * 60 + " AS v FROM S [NOW]",
            [(1.0,), (-2.0,)],
        ),
    ],
    ids=["and", "or", "in", "case", "calls", "signs", "casts"],
)
def test_large_expressions_are_answered(
    answers: Callable[[str], list[tuple[object, ...]]], script: str, expected: list[tuple[object, ...]]
) -> None:
    assert answers(script) == expected


@BOTH
def test_long_unions_are_answered(answers: Callable[[str], list[tuple[object, ...]]]) -> None:
    parts = [f"SELECT a FROM S [NOW] WHERE b = {5 + i % 2}" for i in range(100)]
    assert len(answers(f"ISTREAM({' UNION ALL '.join(parts)})")) == 100
    assert sorted(answers(f"ISTREAM({' UNION '.join(parts)})")) == [(1,), (2,)]
    wider = [f"SELECT {'a' if i % 2 else 'x'} AS v FROM S [NOW]" for i in range(40)]
    assert sorted(set(answers(f"ISTREAM({' UNION ALL '.join(wider)})"))) == [(-2.5,), (1.0,), (1.5,), (2.0,)]


def _views(count: int, body: str) -> str:
    views = "".join(f"CREATE VIEW v{i + 1} AS {body.format(f'v{i}')};" for i in range(count))
    return f"CREATE VIEW v0 AS SELECT a, c FROM S [NOW]; {views} SELECT ISTREAM a FROM v{count};"


@pytest.mark.parametrize(
    ("script", "limit"),
    [
        ("SELECT " + "(" * 500 + "a" + ")" * 500 + " AS v FROM S [NOW];", MOST_NESTED),
        ("SELECT " + "ABS(" * 500 + "a" + ")" * 500 + " AS v FROM S [NOW];", MOST_NESTED),
        ("SELECT " + "- " * 500 + "a AS v FROM S [NOW];", MOST_NESTED),
        ("SELECT a FROM S [NOW] WHERE " + "NOT " * 500 + "a > 1;", MOST_NESTED),
        ("SELECT " + " + ".join(["a"] * 500) + " AS v FROM S [NOW];", MOST_NESTED),
        ("SELECT a FROM " + "(SELECT a FROM " * 150 + "S [NOW]" + ")" * 150 + ";", MOST_NESTED_QUERIES),
        (_views(150, "SELECT a, c FROM {0}"), MOST_NESTED_QUERIES),
        (_views(30, "SELECT a, c FROM {0} UNION ALL SELECT a, c FROM {0}"), MOST_ITEMS),
        ("SELECT t0.a FROM " + ", ".join(f"S [NOW] AS t{i}" for i in range(200)) + ";", MOST_JOINED),
    ],
    ids=["parentheses", "calls", "signs", "nots", "sums", "subqueries", "views", "doubled", "joins"],
)
def test_limits_are_told(script: str, limit: int) -> None:
    with pytest.raises(ContinuaError) as caught:
        Session(master="none").execute(STREAM + script)
    first = caught.value.diagnostics[0]
    assert (first.condition, first.parameters["limit"]) == ("TOO_COMPLEX", limit)
    assert first.span is not None


@BOTH
@pytest.mark.parametrize(
    "value",
    ["REPEAT(c, 1000000000)", "LPAD(c, 1000000000, 'x')", "RPAD(c, CAST(100000000 * x AS INT))"],
)
def test_huge_values_are_refused(answers: Callable[[str], list[tuple[object, ...]]], value: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        answers(f"SELECT ISTREAM LENGTH({value}) AS l FROM S [NOW]")
    assert caught.value.condition == "EVALUATION_FAILED"
    assert str(MOST_BYTES) in str(caught.value)


@BOTH
def test_texts_may_not_double_for_ever(answers: Callable[[str], list[tuple[object, ...]]]) -> None:
    with pytest.raises(EvaluationError, match=str(MOST_BYTES)):
        answers(
            _views(40, "SELECT a, c || c AS c FROM {0}").replace("SELECT ISTREAM a", "SELECT ISTREAM LENGTH(c) AS l")
        )


@BOTH
def test_usual_texts_are_as_they_were(answers: Callable[[str], list[tuple[object, ...]]]) -> None:
    found = answers("SELECT ISTREAM REPEAT(c, 2) AS r, LPAD(c, 3, 'x') AS l, RPAD(c, 3) AS p, c || c AS d FROM S [NOW]")
    assert found == [("abab", "xab", "ab ", "abab"), ("cdcd", "xcd", "cd ", "cdcd")]


def test_lines_of_a_script_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    before = Positions.__init__

    def counted(self: Positions, text: str) -> None:
        nonlocal made
        made += 1
        before(self, text)

    monkeypatch.setattr(Positions, "__init__", counted)
    session = Session(master="none")
    made = 0
    session.execute(STREAM + "".join(f"SELECT a FROM S [NOW] WHERE b = {i};" for i in range(50)))
    assert made <= 2
    assert list(session.queries)[-1] == "q50"


def test_columns_are_found_whatever_their_case() -> None:
    fields = tuple((name, Field(f"t.{name}", BOOLEAN)) for name in ("A", "a", "b"))
    item = Item("t", fields)
    assert [f.name for f in item.find("a")] == ["t.A", "t.a"]
    assert item.find("c") == []


def _depth(expr: Expr) -> int:
    return 1 + max(map(_depth, children(expr)), default=0)


def test_long_conditions_are_flat_and_keep_their_order() -> None:
    parts: list[Expr] = [Column(f"c{i}", BOOLEAN) for i in range(1000)]
    whole = conjunction(parts)
    assert whole is not None
    assert _depth(whole) < 50
    assert list(conjuncts(whole)) == parts
    assert conjuncts(Call("AND", (TRUE, parts[0]), BOOLEAN)) == (parts[0],)
    assert conjunction([]) is None
