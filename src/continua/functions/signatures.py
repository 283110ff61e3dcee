"""What functions take and the type they give.

A signature is a string of one letter an argument: ``n`` number, ``i`` integer, ``s`` string, ``b`` boolean,
``t`` date or timestamp, ``a`` array, ``x`` anything. A ``*`` repeats the letter before it, a ``?`` makes it optional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from continua.types import BIGINT, DOUBLE, STRING, DataType, array, common_type, decimal

Result: TypeAlias = Callable[[Sequence[DataType]], DataType]
"""The type of a result by the types of the arguments."""

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


def parameter_list(signature: str) -> str:
    """The parameters as documents name them.

    >>> parameter_list("xn"), parameter_list("sii?"), parameter_list("xx*"), parameter_list("")
    ('x, y', 'x, y[, z]', 'x, ...', '')
    """
    least, most = arity(signature)
    names = "xyz"
    if most is None:
        return ", ".join([*names[: max(least, 1)], "..."])
    required, optional = names[:least], names[least:most]
    return ", ".join(required) + "".join(f"[, {name}]" for name in optional)


# The types of results.


def always(result: DataType) -> Result:
    """One type, whatever the arguments are."""
    return lambda _: result


def type_of_first(types: Sequence[DataType]) -> DataType:
    """The type of the first argument."""
    return types[0]


def type_of_all(types: Sequence[DataType]) -> DataType:
    """The type that all arguments have in common."""
    merged = types[0]
    for other in types[1:]:
        merged = common_type(merged, other) or merged
    return merged


def type_of_rest(types: Sequence[DataType]) -> DataType:
    """The type that all arguments but the first have in common."""
    return type_of_all(types[1:])


def type_of_elements(types: Sequence[DataType]) -> DataType:
    """The type of the elements of an array."""
    return types[0].element or STRING


def type_of_rounded(types: Sequence[DataType]) -> DataType:
    """The type of a rounded number."""
    return decimal(types[0].precision, types[0].scale) if types[0].name == "DECIMAL" else types[0]


def type_of_sum(types: Sequence[DataType]) -> DataType:
    """The type of a sum: wide enough for many numbers."""
    number = types[0]
    if number.is_integer:
        return BIGINT
    if number.name == "DECIMAL":
        return decimal(number.precision + 10, number.scale)
    return DOUBLE


def type_of_average(types: Sequence[DataType]) -> DataType:
    """The type of an average: with more digits behind the point than the numbers have."""
    number = types[0]
    return decimal(number.precision + 4, number.scale + 4) if number.name == "DECIMAL" else DOUBLE


def array_of_first(types: Sequence[DataType]) -> DataType:
    """An array of values of the first argument's type."""
    return array(types[0])


def array_of_all(types: Sequence[DataType]) -> DataType:
    """An array of the type that all arguments have in common; of strings where there are none."""
    return array(type_of_all(types)) if types else array(STRING)
