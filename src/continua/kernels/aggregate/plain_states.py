"""What users' aggregates keep of a group, as bytes that are only data: reading them back executes nothing.

The form is JSON. What JSON has no value for is an object of two members: what it is, and what it is made of.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_KIND, _MADE_OF = "is", "of"
ALLOWED = "numbers, texts, bytes, dates and times, tuples, lists, sets, dicts, Counters, deques and NumPy's arrays"


class NotPlain(TypeError):  # noqa: N818
    """A state that is more than data."""

    def __init__(self, value: object) -> None:
        what = f"the state of a user's aggregate holds a {type(value).__name__}, which cannot be kept"
        super().__init__(f"{what}: it may hold {ALLOWED}")


def written(state: object) -> bytes:
    """A state as bytes."""
    return json.dumps(_plain(state)).encode()


def read(content: bytes) -> Any:
    """The state again."""
    return _state(json.loads(content))


def _plain(value: object) -> object:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return _all(value)
    if isinstance(value, np.ndarray | np.generic):
        return _array(value)
    found = _WAYS.get(kind)
    if found is None:
        raise NotPlain(value)
    name, write, _ = found
    return {_KIND: name, _MADE_OF: write(value)}


def _state(value: Any) -> Any:
    if isinstance(value, list):
        return [_state(part) for part in value]
    if not isinstance(value, dict):
        return value
    name, made_of = value[_KIND], value[_MADE_OF]
    return _of_array(*made_of) if name == "array" else _READERS[name](made_of)


def _array(value: np.ndarray[Any, Any] | np.generic) -> object:
    if value.dtype.hasobject:
        raise NotPlain(value)
    content = b64encode(value.tobytes()).decode()
    return {_KIND: "array", _MADE_OF: [value.dtype.str, list(value.shape), content, isinstance(value, np.generic)]}


def _of_array(dtype: str, shape: list[int], content: str, scalar: bool) -> Any:
    found = np.frombuffer(b64decode(content), dtype=np.dtype(dtype)).reshape(shape)
    return found[()] if scalar else found.copy()


def _all(value: Any) -> list[object]:
    return [_plain(part) for part in value]


def _pairs(value: Any) -> list[object]:
    return [[_plain(key), _plain(part)] for key, part in value.items()]


def _of_pairs(pairs: list[list[Any]]) -> list[tuple[Any, Any]]:
    return [(_state(key), _state(part)) for key, part in pairs]


def _states(parts: list[Any]) -> list[Any]:
    return [_state(part) for part in parts]


def _counted(pairs: list[list[Any]]) -> Counter[Any]:
    return Counter(dict(_of_pairs(pairs)))


_WAYS: dict[type, tuple[str, Callable[[Any], object], Callable[[Any], Any]]] = {
    bytes: ("bytes", lambda v: b64encode(v).decode(), b64decode),
    complex: ("complex", lambda v: [v.real, v.imag], lambda v: complex(*v)),
    Decimal: ("decimal", str, Decimal),
    Fraction: ("fraction", lambda v: [v.numerator, v.denominator], lambda v: Fraction(*v)),
    datetime: ("datetime", lambda v: v.isoformat(), datetime.fromisoformat),
    date: ("date", lambda v: v.isoformat(), date.fromisoformat),
    time: ("time", lambda v: v.isoformat(), time.fromisoformat),
    timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    tuple: ("tuple", _all, lambda v: tuple(_states(v))),
    set: ("set", _all, lambda v: set(_states(v))),
    frozenset: ("frozenset", _all, lambda v: frozenset(_states(v))),
    dict: ("dict", _pairs, lambda v: dict(_of_pairs(v))),
    Counter: ("counter", _pairs, _counted),
    deque: ("deque", lambda v: [v.maxlen, _all(v)], lambda v: deque(_states(v[1]), v[0])),
}
_READERS = {name: read_back for name, _, read_back in _WAYS.values()}
