"""The operators of expressions and the types they give (Spark's rules)."""

from __future__ import annotations

from sqlglot import exp

from continua.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTERVAL,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    as_decimal,
    common_type,
    decimal,
)

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}

ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "DIV",
    exp.Mod: "%",
}


def operands_of(node: exp.Expr) -> list[exp.Expr]:
    """What a chain of one operator combines, from the left: of ``a AND b AND c`` it is a, b and c."""
    found: list[exp.Expr] = []
    part = node
    while type(part) is type(node):
        found.append(part.args["expression"])
        part = part.this
    return [part, *reversed(found)]


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """The type of ``left operator right``; None when it makes no sense."""
    if UNKNOWN in (left, right):
        return UNKNOWN
    if left.name == "NULL" or right.name == "NULL":
        return right if left.name == "NULL" else left
    if not (left.is_numeric and right.is_numeric):
        return _temporal(operator, left, right)
    if operator == "DIV":
        return BIGINT
    common = common_type(left, right)
    if common is None or common.name != "DECIMAL":
        return DOUBLE if operator == "/" else common
    return _decimal(operator, as_decimal(left), as_decimal(right))


def _decimal(operator: str, a: DataType, b: DataType) -> DataType:
    match operator:
        case "+" | "-":
            scale = max(a.scale, b.scale)
            return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
        case "*":
            return decimal(a.precision + b.precision + 1, a.scale + b.scale)
        case "/":
            scale = max(6, a.scale + b.precision + 1)
            return decimal(a.precision - a.scale + b.scale + scale, scale)
        case _:
            scale = max(a.scale, b.scale)
            return decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def _temporal(operator: str, left: DataType, right: DataType) -> DataType | None:
    if operator in ("+", "-") and left.is_temporal and right == INTERVAL:
        return TIMESTAMP
    if operator == "+" and left == INTERVAL and right.is_temporal:
        return TIMESTAMP
    if operator == "-" and left.is_temporal and right.is_temporal and left.name == right.name:
        return INTERVAL if left == TIMESTAMP else BIGINT if left == DATE else None
    if operator == "%" and left in (TIMESTAMP, INTERVAL) and right == INTERVAL:
        return INTERVAL
    if operator in ("+", "-") and left == right == INTERVAL:
        return INTERVAL
    if operator == "*" and {left.name, right.name} & {"INTERVAL"} and (left.is_integer or right.is_integer):
        return INTERVAL
    return None
