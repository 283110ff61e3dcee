"""Expressions as people read them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from continua.algebra.expr import (
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expr,
    InList,
    InSubquery,
    Literal,
    Now,
    Quantified,
    Quantifier,
    ScalarSubquery,
    both,
    equal,
    negation,
)
from continua.algebra.expression_text import expression_text
from continua.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    array,
    decimal,
    map_of,
    struct,
)
from tests.algebra.samples import ALL_BID, ITEM, compare, number

A, B, C = (Column(name, INT) for name in "abc")
P, Q, R = (Column(name, BOOLEAN) for name in "pqr")


def op(operator: str, *arguments: Expr) -> Call:
    return Call(operator, arguments, INT)


def either(left: Expr, right: Expr) -> Call:
    return Call("OR", (left, right), BOOLEAN)


EXPRESSIONS: list[tuple[Expr, str]] = [
    (
        both(compare(">", Column("b.price", INT), number(100)), equal(Column("b.item", INT), Column("c.item", INT))),
        "b.price > 100 AND b.item = c.item",
    ),
    (both(either(P, Q), R), "(p OR q) AND r"),
    (either(both(P, Q), R), "p AND q OR r"),
    (both(P, both(Q, R)), "p AND q AND r"),
    (Call("AND", (P, Q, R), BOOLEAN), "p AND q AND r"),
    (negation(both(P, Q)), "NOT (p AND q)"),
    (both(negation(P), Q), "NOT p AND q"),
    (negation(Exists(ITEM)), "NOT EXISTS(subquery 1)"),
    (equal(compare("<", A, B), P), "(a < b) = p"),
    (op("*", op("+", A, B), C), "(a + b) * c"),
    (op("+", op("*", A, B), C), "a * b + c"),
    (op("-", A, op("-", B, C)), "a - (b - c)"),
    (op("-", op("-", A, B), C), "a - b - c"),
    (op("DIV", A, op("%", B, C)), "a DIV (b % c)"),
    (op("-", op("+", A, B)), "-(a + b)"),
    (op("-", number(-5)), "-(-5)"),
    (op("*", A, number(-5)), "a * -5"),
    (Call("IS NULL", (op("+", A, B),), BOOLEAN), "a + b IS NULL"),
    (Call("NOT", (Call("IS NULL", (A,), BOOLEAN),), BOOLEAN), "a IS NOT NULL"),
    (Call("IS TRUE", (compare("<", A, B),), BOOLEAN), "(a < b) IS TRUE"),
    (Call("LIKE", (A, Literal("it's%", STRING)), BOOLEAN), "a LIKE 'it''s%'"),
    (negation(Call("LIKE", (A, B), BOOLEAN)), "a NOT LIKE b"),
    (Call("BETWEEN", (A, number(1), number(2)), BOOLEAN), "a BETWEEN 1 AND 2"),
    (op("UPPER", A), "UPPER(a)"),
    (op("PI"), "PI()"),
    (op("SUBSCRIPT", A, number(1)), "a[1]"),
    (op("FIELD", A, Literal("x", STRING)), "a.x"),
    (op("TRY_CAST", A, Literal(None, STRING)), "TRY_CAST(a AS STRING)"),
    (Cast(op("+", A, B), decimal(10, 2)), "CAST(a + b AS DECIMAL(10,2))"),
    (Case(((P, A), (Q, B)), C, INT), "CASE WHEN p THEN a WHEN q THEN b ELSE c END"),
    (Case(((P, A),), None, INT), "CASE WHEN p THEN a END"),
    (InList(A, (number(1), number(2))), "a IN (1, 2)"),
    (negation(InList(op("+", A, B), (number(1),))), "a + b NOT IN (1)"),
    (compare("<", Now(), A), "NOW < a"),
    (InSubquery((A,), ITEM), "a IN (subquery 1)"),
    (negation(InSubquery((A, B), ITEM)), "(a, b) NOT IN (subquery 1)"),
    (Quantified(">=", Quantifier.ALL, A, ITEM), "a >= ALL(subquery 1)"),
    (compare("<", A, ScalarSubquery(ITEM, INT)), "a < (subquery 1)"),
    (both(Exists(ITEM), Exists(ALL_BID)), "EXISTS(subquery 1) AND EXISTS(subquery 2)"),
    (both(Exists(ITEM), negation(Exists(ITEM))), "EXISTS(subquery 1) AND NOT EXISTS(subquery 1)"),
    (Column("count(1)", INT), "`count(1)`"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions_are_written_with_the_parentheses_that_they_need(expr: Expr, text: str) -> None:
    assert expression_text(expr) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, NULL, "NULL"),
        (True, BOOLEAN, "TRUE"),
        (3, INT, "3"),
        (2.5, DOUBLE, "2.5"),
        (float("nan"), DOUBLE, "DOUBLE('nan')"),
        (Decimal("1E+2"), decimal(3, 0), "100"),
        ("O'Hara", STRING, "'O''Hara'"),
        (b"\x01\xff", BINARY, "X'01FF'"),
        (date(2024, 2, 29), DATE, "DATE '2024-02-29'"),
        (datetime(2024, 1, 1, 12), TIMESTAMP, "TIMESTAMP '2024-01-01 12:00:00'"),
        (datetime(2024, 1, 1, 0, 0, 0, 500_000), TIMESTAMP, "TIMESTAMP '2024-01-01 00:00:00.5'"),
        (timedelta(minutes=90), INTERVAL, "INTERVAL 90 MINUTES"),
        (timedelta(0), INTERVAL, "INTERVAL 0 SECONDS"),
        (timedelta(microseconds=1), INTERVAL, "INTERVAL 1 MICROSECOND"),
        ((1, 2), array(INT), "ARRAY(1, 2)"),
        ((("a", 1),), map_of(STRING, INT), "MAP('a', 1)"),
        ((("a", 1), ("b", None)), struct(("a", INT), ("b", INT)), "NAMED_STRUCT('a', 1, 'b', NULL)"),
    ],
)
def test_constants_are_written_as_sql_does(value: object, kind: DataType, text: str) -> None:
    assert expression_text(Literal(value, kind)) == text
