"""The scalar functions: everything about each of them in one declaration.

sqlglot translates a call from Spark's to DuckDB's spelling; where that needs help the declaration writes the SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from continua.functions.signatures import (
    Result,
    always,
    array_of_all,
    parameter_list,
    type_of_all,
    type_of_elements,
    type_of_first,
    type_of_rest,
    type_of_rounded,
)
from continua.limits import MOST_BYTES
from continua.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, array

ScalarSql: TypeAlias = Callable[[list[str]], str]
"""Writes a call whose arguments are written already."""


class NullWhen(Enum):
    """When a result can be NULL."""

    AN_ARGUMENT_IS = auto()
    ALL_ARGUMENTS_ARE = auto()
    AT_ANY_TIME = auto()


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A built-in function of values, under Spark's name."""

    name: str
    signature: str
    result: Result
    doc: str
    """What the user's documents say of it; its parameters are x, y and z there."""
    aliases: tuple[str, ...] = ()
    """Other spellings, of which plans know nothing."""
    stands_for: str | None = None
    """The function that it is in plans, where that takes more arguments than it does itself."""
    null_when: NullWhen = NullWhen.AN_ARGUMENT_IS
    of_one_type: bool = False
    """Whether its arguments must have a type in common."""
    sql: ScalarSql | None = None
    """The SQL of a call, where the name and the arguments are not enough."""
    lengthens: bool = False
    """Whether it makes texts longer than those that it is given, and does not limit them itself."""
    may_skip_arguments: bool = False
    """Whether it may leave an argument alone, so that this one cannot fail."""
    never_fails: bool = False
    """Whether it has a value for all arguments of one type."""
    same_in_spark: bool = False
    """Whether Spark evaluates it exactly as the engine does."""
    operator: str | None = None
    """The operator that means the same."""
    is_pattern: bool = False
    """Whether it tests a text by a pattern."""
    price: float = 3.0
    """What it takes to evaluate it, where a comparison is one."""

    @property
    def name_in_plans(self) -> str:
        """What plans call it."""
        return self.stands_for or self.name

    @property
    def usage(self) -> str:
        """A call as documents show it."""
        return f"{self.name}({parameter_list(self.signature)})"


def limited(value: str, size: str) -> str:
    """A value, or an error where what is made of it has too many bytes."""
    fails = f"ERROR(CONCAT('a text of ', {size}, ' bytes is beyond the limit of {MOST_BYTES}'))"
    return f"CASE WHEN {size} > {MOST_BYTES} THEN {fails} ELSE {value} END"


def _concat_sql(arguments: list[str]) -> str:
    return "(" + " || ".join(f"CAST({a} AS STRING)" for a in arguments) + ")"


def _substring_sql(arguments: list[str]) -> str:
    """Spark takes position 0 as 1."""
    text, begin, *length = arguments
    place = f"CASE WHEN {begin} = 0 THEN 1 ELSE {begin} END"
    return f"SUBSTRING({', '.join([text, place, *length])})"


def _repeat_sql(arguments: list[str]) -> str:
    text, times = arguments
    return f"REPEAT({text}, {limited(times, f'STRLEN({text}) * {times}')})"


def _pad_sql(name: str) -> ScalarSql:
    def written(arguments: list[str]) -> str:
        text, length, *others = arguments
        return f"{name}({', '.join([text, limited(length, length), *others])})"

    return written


def _epoch_sql(microseconds: int) -> ScalarSql:
    """Whole units of so many microseconds since 1970."""
    return lambda arguments: f"CAST(FLOOR(EPOCH_US({arguments[0]}) / {microseconds}) AS BIGINT)"


def _of_number(name: str, doc: str, *aliases: str) -> ScalarFunction:
    """A function of one number that gives a double."""
    return ScalarFunction(name, "n", always(DOUBLE), doc, aliases)


def _of_text(name: str, doc: str, *aliases: str) -> ScalarFunction:
    """A function of one text that gives a text."""
    return ScalarFunction(name, "s", always(STRING), doc, aliases)


def _of_time(name: str, doc: str, *aliases: str) -> ScalarFunction:
    """A part of a date or timestamp."""
    return ScalarFunction(name, "t", always(INT), doc, aliases)


def _text_test(name: str, doc: str, is_pattern: bool = False) -> ScalarFunction:
    """Whether one text has something to do with another."""
    return ScalarFunction(name, "ss", always(BOOLEAN), doc, is_pattern=is_pattern, price=5.0 if is_pattern else 3.0)


_NUMBERS = (
    ScalarFunction("ABS", "n", type_of_first, "x without its sign", same_in_spark=True),
    ScalarFunction("CEIL", "n", always(BIGINT), "the least integer that is not below x", ("CEILING",)),
    ScalarFunction("FLOOR", "n", always(BIGINT), "the greatest integer that is not above x"),
    ScalarFunction("ROUND", "ni?", type_of_rounded, "x with y digits behind the point, 0 by default"),
    _of_number("SQRT", "the square root"),
    _of_number("CBRT", "the cube root"),
    _of_number("EXP", "e to the power of x"),
    _of_number("LN", "the natural logarithm"),
    _of_number("LOG10", "the logarithm to the base 10"),
    _of_number("LOG2", "the logarithm to the base 2"),
    _of_number("SIN", "the sine"),
    _of_number("COS", "the cosine"),
    _of_number("TAN", "the tangent"),
    _of_number("ASIN", "the inverse of the sine"),
    _of_number("ACOS", "the inverse of the cosine"),
    _of_number("ATAN", "the inverse of the tangent"),
    _of_number("DEGREES", "x radians in degrees"),
    _of_number("RADIANS", "x degrees in radians"),
    ScalarFunction("LOG", "nn", always(DOUBLE), "the logarithm of y to the base x"),
    ScalarFunction("POWER", "nn", always(DOUBLE), "x to the power of y", ("POW",)),
    ScalarFunction("ATAN2", "nn", always(DOUBLE), "the angle of the point (y, x)"),
    _of_number("SIGN", "-1, 0 or 1, as x is below, equal to or above 0", "SIGNUM"),
    ScalarFunction("MOD", "nn", type_of_all, "the rest of x divided by y", same_in_spark=True, operator="%"),
    ScalarFunction("PI", "", always(DOUBLE), "3.14159..."),
)

_CHOICES = (
    ScalarFunction(
        "GREATEST", "xx*", type_of_all, "the greatest argument that is not NULL",
        null_when=NullWhen.AT_ANY_TIME, of_one_type=True, same_in_spark=True,
    ),
    ScalarFunction(
        "LEAST", "xx*", type_of_all, "the least argument that is not NULL",
        null_when=NullWhen.AT_ANY_TIME, of_one_type=True, same_in_spark=True,
    ),
    ScalarFunction(
        "COALESCE", "xx*", type_of_all, "the first argument that is not NULL",
        null_when=NullWhen.ALL_ARGUMENTS_ARE, of_one_type=True, may_skip_arguments=True, never_fails=True,
        same_in_spark=True, price=1.0,
    ),
    ScalarFunction(
        "NVL", "xx", type_of_all, "x, or y where x is NULL", ("IFNULL",), stands_for="COALESCE",
        null_when=NullWhen.ALL_ARGUMENTS_ARE, of_one_type=True,
    ),
    ScalarFunction(
        "NULLIF", "xx", type_of_first, "x, or NULL where x equals y",
        null_when=NullWhen.AT_ANY_TIME, never_fails=True, same_in_spark=True,
    ),
    ScalarFunction(
        "IF", "bxx", type_of_rest, "y where x is true, else z", ("IFF",),
        null_when=NullWhen.AT_ANY_TIME, may_skip_arguments=True, same_in_spark=True,
    ),
)  # fmt: skip

_TEXTS = (
    _of_text("UPPER", "x in upper case", "UCASE"),
    _of_text("LOWER", "x in lower case", "LCASE"),
    _of_text("TRIM", "x without blanks at its ends"),
    _of_text("LTRIM", "x without blanks at its beginning"),
    _of_text("RTRIM", "x without blanks at its end"),
    _of_text("REVERSE", "the characters of x from the last to the first"),
    _of_text("INITCAP", "x with a capital letter at the beginning of each word"),
    ScalarFunction(
        "LENGTH", "s", always(INT), "how many characters x has", ("CHAR_LENGTH", "CHARACTER_LENGTH")
    ),
    ScalarFunction(
        "SUBSTRING", "sii?", always(STRING), "z characters of x, or all, from the y-th on", ("SUBSTR",),
        sql=_substring_sql,
    ),
    ScalarFunction("LEFT", "si", always(STRING), "the first y characters of x"),
    ScalarFunction("RIGHT", "si", always(STRING), "the last y characters of x"),
    ScalarFunction("REPEAT", "si", always(STRING), "x, y times", sql=_repeat_sql),
    ScalarFunction(
        "LPAD", "sis?", always(STRING), "x, filled up with z, or blanks, on the left to y characters",
        sql=_pad_sql("LPAD"),
    ),
    ScalarFunction(
        "RPAD", "sis?", always(STRING), "x, filled up with z, or blanks, on the right to y characters",
        sql=_pad_sql("RPAD"),
    ),
    ScalarFunction("REPLACE", "sss", always(STRING), "x with z in place of each y", lengthens=True),
    ScalarFunction("TRANSLATE", "sss", always(STRING), "x with the characters of z in place of those of y"),
    ScalarFunction(
        "CONCAT", "xx*", always(STRING), "the arguments as one text", sql=_concat_sql, lengthens=True
    ),
    ScalarFunction(
        "CONCAT_WS", "sx*", always(STRING), "the arguments behind x that are not NULL as one text, with x between them",
        null_when=NullWhen.AT_ANY_TIME, lengthens=True,
    ),
    ScalarFunction("INSTR", "ss", always(INT), "where y begins in x; 0 if it is not in it"),
    _text_test("CONTAINS", "whether y is in x"),
    _text_test("STARTSWITH", "whether x begins with y"),
    _text_test("ENDSWITH", "whether x ends with y"),
    _text_test("REGEXP_LIKE", "whether the regular expression y matches a part of x", is_pattern=True),
    ScalarFunction(
        "REGEXP_EXTRACT", "ssi?", always(STRING),
        "group z, the first by default, of what the regular expression y matches in x",
    ),
    ScalarFunction(
        "REGEXP_REPLACE", "sss", always(STRING), "x with z in place of all that the regular expression y matches",
        lengthens=True,
    ),
    ScalarFunction("SPLIT", "ss", always(array(STRING)), "the parts of x between matches of the regular expression y"),
    _of_text("MD5", "the MD5 checksum of x, in hexadecimal digits"),
)  # fmt: skip

_ARRAYS = (
    ScalarFunction("SIZE", "a", always(INT), "how many elements x has", ("CARDINALITY", "ARRAY_SIZE")),
    ScalarFunction("ARRAY_CONTAINS", "ax", always(BOOLEAN), "whether y is an element of x"),
    ScalarFunction(
        "ELEMENT_AT",
        "ai",
        type_of_elements,
        "the y-th element of x; those below 0 count from the end",
        null_when=NullWhen.AT_ANY_TIME,
    ),
    ScalarFunction(
        "ARRAY", "x*", array_of_all, "the arguments as an array", null_when=NullWhen.AT_ANY_TIME, of_one_type=True
    ),
)

_TIMES = (
    _of_time("YEAR", "the year"),
    _of_time("QUARTER", "the quarter of the year, from 1 to 4"),
    _of_time("MONTH", "the month, from 1 to 12"),
    _of_time("DAY", "the day of the month", "DAYOFMONTH"),
    ScalarFunction(
        "DAYOFWEEK", "t", always(INT), "the day of the week, from 1, which is Sunday, to 7",
        sql=lambda arguments: f"(DAYOFWEEK({arguments[0]}) + 1)",
    ),
    _of_time("DAYOFYEAR", "the day of the year"),
    _of_time("WEEKOFYEAR", "the week of the year"),
    _of_time("HOUR", "the hour"),
    _of_time("MINUTE", "the minute"),
    _of_time("SECOND", "the second"),
    ScalarFunction("DATE_TRUNC", "st", always(TIMESTAMP), "where the unit x (`'hour'`) that y lies in begins"),
    ScalarFunction("DATE_FORMAT", "ts", always(STRING), "x as text, in the form y"),
    ScalarFunction("TO_DATE", "x", always(DATE), "x as a date"),
    ScalarFunction("TO_TIMESTAMP", "x", always(TIMESTAMP), "x as a timestamp"),
    ScalarFunction("DATE_ADD", "ti", always(DATE), "y days after x"),
    ScalarFunction("DATE_SUB", "ti", always(DATE), "y days before x"),
    ScalarFunction("DATEDIFF", "tt", always(INT), "how many days x is after y", ("DATE_DIFF",)),
    ScalarFunction(
        "UNIX_MICROS", "t", always(BIGINT), "microseconds since 1970",
        sql=lambda arguments: f"EPOCH_US({arguments[0]})",
    ),
    ScalarFunction("UNIX_MILLIS", "t", always(BIGINT), "whole milliseconds since 1970", sql=_epoch_sql(1000)),
    ScalarFunction("UNIX_SECONDS", "t", always(BIGINT), "whole seconds since 1970", sql=_epoch_sql(1_000_000)),
)  # fmt: skip


def _by_spelling(functions: Iterable[ScalarFunction]) -> dict[str, ScalarFunction]:
    return {name: function for function in functions for name in (function.name, *function.aliases)}


SCALARS: dict[str, ScalarFunction] = _by_spelling((*_NUMBERS, *_CHOICES, *_TEXTS, *_ARRAYS, *_TIMES))
"""The declarations, by every spelling."""


def operator_of(name: str) -> str:
    """The operator that means the same as a function of a plan; operators are their own names."""
    declared = SCALARS.get(name)
    return name if declared is None or declared.operator is None else declared.operator
