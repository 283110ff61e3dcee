"""The built-in functions: what they take and the type they give, under Spark's names.

A signature is a string of one letter an argument: ``n`` number, ``i`` integer, ``s`` string, ``b`` boolean,
``t`` date or timestamp, ``a`` array, ``x`` anything. A ``*`` repeats the letter before it, a ``?`` makes it optional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from continua.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    DataType,
    array,
    common_type,
    decimal,
)

Result: TypeAlias = Callable[[Sequence[DataType]], DataType]


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in: its signature, the type of its result, and whether NULL in always means NULL out."""

    name: str
    signature: str
    result: Result
    strict: bool = True


def _always(result: DataType) -> Result:
    return lambda _: result


def _first(types: Sequence[DataType]) -> DataType:
    return types[0]


def _common(types: Sequence[DataType]) -> DataType:
    merged = types[0]
    for other in types[1:]:
        merged = common_type(merged, other) or merged
    return merged


def _common_of_rest(types: Sequence[DataType]) -> DataType:
    return _common(types[1:])


def _element(types: Sequence[DataType]) -> DataType:
    return types[0].element or STRING


def _rounded(types: Sequence[DataType]) -> DataType:
    return decimal(types[0].precision, types[0].scale) if types[0].name == "DECIMAL" else types[0]


def _sum(types: Sequence[DataType]) -> DataType:
    number = types[0]
    if number.is_integer:
        return BIGINT
    if number.name == "DECIMAL":
        return decimal(number.precision + 10, number.scale)
    return DOUBLE


def _average(types: Sequence[DataType]) -> DataType:
    number = types[0]
    return decimal(number.precision + 4, number.scale + 4) if number.name == "DECIMAL" else DOUBLE


def _list(types: Sequence[DataType]) -> DataType:
    return array(types[0])


def _table(*rows: tuple[str, str, Result] | tuple[str, str, Result, bool]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for names, signature, result, *strict in rows:
        for name in names.split():
            found[name] = Function(name, signature, result, strict[0] if strict else True)
    return found


SCALARS: dict[str, Function] = _table(
    ("ABS", "n", _first),
    ("CEIL CEILING FLOOR", "n", _always(BIGINT)),
    ("ROUND", "ni?", _rounded),
    ("SQRT CBRT EXP LN LOG10 LOG2 SIN COS TAN ASIN ACOS ATAN DEGREES RADIANS", "n", _always(DOUBLE)),
    ("LOG POW POWER ATAN2", "nn", _always(DOUBLE)),
    ("SIGN SIGNUM", "n", _always(DOUBLE)),
    ("MOD", "nn", _common),
    ("PI", "", _always(DOUBLE)),
    ("GREATEST LEAST", "xx*", _common, False),
    ("COALESCE", "xx*", _common, False),
    ("NVL IFNULL", "xx", _common, False),
    ("NULLIF", "xx", _first, False),
    ("IF IFF", "bxx", _common_of_rest, False),
    ("UPPER UCASE LOWER LCASE TRIM LTRIM RTRIM REVERSE INITCAP", "s", _always(STRING)),
    ("LENGTH CHAR_LENGTH CHARACTER_LENGTH", "s", _always(INT)),
    ("SUBSTRING SUBSTR", "sii?", _always(STRING)),
    ("LEFT RIGHT REPEAT", "si", _always(STRING)),
    ("LPAD RPAD", "sis?", _always(STRING)),
    ("REPLACE", "sss", _always(STRING)),
    ("TRANSLATE", "sss", _always(STRING)),
    ("CONCAT", "xx*", _always(STRING)),
    ("CONCAT_WS", "sx*", _always(STRING), False),
    ("INSTR", "ss", _always(INT)),
    ("CONTAINS STARTSWITH ENDSWITH", "ss", _always(BOOLEAN)),
    ("REGEXP_LIKE", "ss", _always(BOOLEAN)),
    ("REGEXP_EXTRACT", "ssi?", _always(STRING)),
    ("REGEXP_REPLACE", "sss", _always(STRING)),
    ("SPLIT", "ss", _always(array(STRING))),
    ("MD5", "s", _always(STRING)),
    ("SIZE CARDINALITY ARRAY_SIZE", "a", _always(INT)),
    ("ARRAY_CONTAINS", "ax", _always(BOOLEAN)),
    ("ELEMENT_AT", "ai", _element, False),
    ("ARRAY", "x*", lambda types: array(_common(types)) if types else array(STRING), False),
    ("YEAR QUARTER MONTH DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR WEEKOFYEAR HOUR MINUTE SECOND", "t", _always(INT)),
    ("DATE_TRUNC", "st", _always(TIMESTAMP)),
    ("DATE_FORMAT", "ts", _always(STRING)),
    ("TO_DATE", "x", _always(DATE)),
    ("TO_TIMESTAMP", "x", _always(TIMESTAMP)),
    ("DATE_ADD DATE_SUB", "ti", _always(DATE)),
    ("DATEDIFF DATE_DIFF", "tt", _always(INT)),
    ("UNIX_MICROS UNIX_MILLIS UNIX_SECONDS", "t", _always(BIGINT)),
)

AGGREGATES: dict[str, Function] = _table(
    ("COUNT", "x*", _always(BIGINT), False),
    ("COUNT_IF", "b", _always(BIGINT), False),
    ("SUM", "n", _sum),
    ("AVG MEAN", "n", _average),
    ("MIN MAX ANY_VALUE", "x", _first),
    ("MIN_BY MAX_BY", "xx", _first),
    ("FIRST LAST", "x", _first),
    ("VARIANCE VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP", "n", _always(DOUBLE)),
    ("MEDIAN", "n", _always(DOUBLE)),
    ("PERCENTILE", "nn", _always(DOUBLE)),
    ("BOOL_AND EVERY BOOL_OR", "b", _always(BOOLEAN)),
    ("COLLECT_LIST ARRAY_AGG COLLECT_SET", "x", _list, False),
)

ALIASES: dict[str, str] = {
    "MEAN": "AVG",
    "VARIANCE": "VAR_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "EVERY": "BOOL_AND",
    "SOME": "BOOL_OR",
    "ARRAY_AGG": "COLLECT_LIST",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "SUBSTR": "SUBSTRING",
    "CEILING": "CEIL",
    "POW": "POWER",
    "IFNULL": "COALESCE",
    "NVL": "COALESCE",
    "IFF": "IF",
    "SIGNUM": "SIGN",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "DAYOFMONTH": "DAY",
    "CARDINALITY": "SIZE",
    "ARRAY_SIZE": "SIZE",
    "DATE_DIFF": "DATEDIFF",
}
"""Other spellings, and the one that plans use."""

NOT_YET: dict[str, str] = {
    "FIRST_VALUE": "the value of the earliest element is FIRST(x)",
    "LAST_VALUE": "the value of the latest element is LAST(x)",
    "RAND": "its value is not determined by the snapshot",
    "RANDOM": "its value is not determined by the snapshot",
    "UUID": "its value is not determined by the snapshot",
}
"""Functions that people look for and that are refused, with the reason."""

_LETTERS: dict[str, tuple[str, Callable[[DataType], bool]]] = {
    "n": ("a number", lambda t: t.is_numeric),
    "i": ("an integer", lambda t: t.is_integer),
    "s": ("a string", lambda t: t.name == "STRING"),
    "b": ("a condition", lambda t: t.name == "BOOLEAN"),
    "t": ("a date or timestamp", lambda t: t.is_temporal),
    "a": ("an array", lambda t: t.name == "ARRAY"),
    "x": ("a value", lambda _: True),
}


def arity(signature: str) -> tuple[int, int | None]:
    """The least and the greatest number of arguments; None for no limit."""
    letters = [c for c in signature if c in _LETTERS]
    optional = signature.count("?")
    if "*" in signature:
        return len(letters) - 1, None
    return len(letters) - optional, len(letters)


def misfit(signature: str, types: Sequence[DataType]) -> tuple[int, str] | None:
    """The first argument that does not fit, and what was expected in its place."""
    letters = [c for c in signature if c in _LETTERS]
    for index, given in enumerate(types):
        letter = letters[min(index, len(letters) - 1)]
        expected, fits = _LETTERS[letter]
        if given.name not in ("NULL", "UNKNOWN") and not fits(given):
            return index, expected
    return None
