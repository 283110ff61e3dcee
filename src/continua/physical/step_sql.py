"""Steps as SQL: the one place where the trees of physical operators become text, when they are about to run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from continua.algebra.expr import Call, Column, Expr, InList, Literal, transform
from continua.physical.steps import END, START, WEIGHT, Step
from continua.recursion import room_to_recurse
from continua.sqltext.expression_sql import ExpressionWriter, in_duckdb, quoted, typed

_WRITER = ExpressionWriter()
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_BLANK = re.compile('"#([0-9]+)"')


def duckdb_sql(steps: Sequence[Step]) -> str:
    """Steps as a query over the table ``input``, in DuckDB's SQL; each is a query over the one before it.

    Constants that something is compared with are the same in both dialects. They are put in afterwards, so that queries
    which differ in them alone are translated once.
    """
    with room_to_recurse():
        blanks = _Blanks()
        text = _nested([blanks.instead(step) for step in steps])
        if '"' in text:  # in a text that is still there, and might look like a blank
            return in_duckdb(_nested(steps))
        return _BLANK.sub(lambda blank: blanks.constants[int(blank[1])], in_duckdb(text))


def _nested(steps: Sequence[Step]) -> str:
    text = "input"
    for number, step in enumerate(steps):
        text = _select(step, text if number == 0 else f"({text}) AS r")
    return text


class _Blanks:
    """Takes constants out of conditions, and leaves columns with their numbers in their place."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        """In DuckDB's SQL."""

    def instead(self, step: Step) -> Step:
        """A step without the constants that its conditions compare with."""
        return replace(step, where=tuple(transform(part, self._without) for part in step.where))

    def _without(self, expr: Expr) -> Expr:
        match expr:
            case Call(function=function, arguments=arguments) if function in _COMPARISONS:
                return replace(expr, arguments=tuple(self._blank([a]) or a for a in arguments))
            case InList(items=items) if (blank := self._blank(items)) is not None:
                return replace(expr, items=(blank,))
            case _:
                return expr

    def _blank(self, items: Sequence[Expr]) -> Expr | None:
        """A column instead of constants; None where one of the items is none that is the same in both dialects."""
        texts = [_constant(item) for item in items]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        self.constants.append(", ".join(known))
        return Column(f"#{len(self.constants) - 1}", items[0].type)


def _constant(expr: Expr) -> str | None:
    match expr:
        case Literal(value=bool()):
            return None
        case Literal(value=int(number)):
            return str(number) if number >= 0 else f"({number})"
        case Literal(value=str(text)) if text.isprintable():
            return "'" + text.replace("'", "''") + "'"
        case _:
            return None


def condition_sql(conditions: Sequence[Expr]) -> str:
    """Conditions that are asked together, in DuckDB's SQL."""
    with room_to_recurse():
        return in_duckdb(" AND ".join(f"({_WRITER.expr(condition)})" for condition in conditions))


def picking_sql(places: Sequence[int], condition: str) -> str:
    """A query over the table ``input`` for some columns of the rows that meet a condition, which is DuckDB's SQL."""
    items = [f'"c{place}" AS "c{number}"' for number, place in enumerate(places)]
    items += [f'"{name}"' for name in (START, END, WEIGHT)]
    return f"SELECT {', '.join(items)} FROM input WHERE {condition}"


def latest_sql(value: Expr) -> str:
    """The largest value of an expression over the table ``input``, if that has rows, at the latest of their starts."""
    start = f"MAX({quoted(START)})"
    items = [f"CAST(MAX({_WRITER.expr(value)}) AS BIGINT) AS {quoted('c0')}", f"{start} AS {quoted(START)}"]
    items += [f"{start} + 1 AS {quoted(END)}", f"CAST(1 AS BIGINT) AS {quoted(WEIGHT)}"]
    with room_to_recurse():
        return in_duckdb(f"SELECT {', '.join(items)} FROM input HAVING COUNT(*) > 0")


def _select(step: Step, source: str) -> str:
    outputs = [(f"c{place}", expr) for place, expr in enumerate(step.columns)]
    outputs += [(START, step.start), (END, step.end)]
    items = [f"{typed(expr, _WRITER.expr(expr))} AS {quoted(name)}" for name, expr in outputs]
    where = f" WHERE {' AND '.join(map(_WRITER.expr, step.where))}" if step.where else ""
    return f"SELECT {', '.join(items)}, {quoted(WEIGHT)} FROM {source}{where}"
