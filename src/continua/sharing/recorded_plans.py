"""Plans as data, so that a checkpoint can say by which plan a query runs that is answered from another one.

What is read back is put together of the classes that plans are made of, and of no others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import ModuleType
from typing import Any

from continua import instants, types
from continua.algebra import expr, leaves, relational, schema, streaming
from continua.algebra.base import Plan
from continua.errors import Diagnostic, NotSupportedError
from continua.windows import measures
from continua.windows.kinds import KINDS

_MODULES: tuple[ModuleType, ...] = (instants, types, expr, leaves, relational, schema, streaming, measures)


def _classes() -> Mapping[str, type]:
    """The classes that plans are made of, by name."""
    found: dict[str, type] = {kind.__name__: kind for kind in KINDS}
    for module in _MODULES:
        for name, value in vars(module).items():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and (is_dataclass(value) or issubclass(value, Enum)):
                found[name] = value
    return found


_CLASSES = _classes()
_IS = "is"


def recorded(plan: Plan) -> str:
    """A plan as a text; an error where it holds something that no text can say, such as a window made in Python."""
    return json.dumps(_data(plan), ensure_ascii=False, separators=(",", ":"))


def recalled(text: str) -> Plan:
    """The plan of a text."""
    plan = _value(json.loads(text))
    if not isinstance(plan, Plan):
        raise ValueError("a text that is of no plan")
    return plan


def _data(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {_IS: "float", "value": value.hex()}
        case Enum():
            return {_IS: type(value).__name__, "name": value.name}
        case Decimal():
            return {_IS: "Decimal", "value": str(value)}
        case datetime():
            return {_IS: "datetime", "value": value.isoformat()}
        case date():
            return {_IS: "date", "value": value.isoformat()}
        case timedelta():
            return {_IS: "timedelta", "value": [value.days, value.seconds, value.microseconds]}
        case bytes():
            return {_IS: "bytes", "value": base64.b64encode(value).decode()}
        case tuple() | list():
            return [_data(part) for part in value]
        case _ if type(value).__name__ in _CLASSES and is_dataclass(value):
            parts = {f.name: _data(getattr(value, f.name)) for f in fields(value) if f.init}
            return {_IS: type(value).__name__, **parts}
        case other:
            name = type(other).__name__
            raise NotSupportedError(
                Diagnostic("NOT_RECORDED", f"a plan with {name} cannot be written down", parameters={"what": name})
            )


def _value(data: Any) -> Any:
    match data:
        case list():
            return tuple(map(_value, data))
        case {"is": "float", "value": str(value)}:
            return float.fromhex(value)
        case {"is": "Decimal", "value": str(value)}:
            return Decimal(value)
        case {"is": "datetime", "value": str(value)}:
            return datetime.fromisoformat(value)
        case {"is": "date", "value": str(value)}:
            return date.fromisoformat(value)
        case {"is": "timedelta", "value": [days, seconds, microseconds]}:
            return timedelta(days, seconds, microseconds)
        case {"is": "bytes", "value": str(value)}:
            return base64.b64decode(value)
        case {"is": str(name), **parts}:
            kind = _CLASSES[name]
            if issubclass(kind, Enum):
                return kind[str(parts["name"])]
            return kind(**{str(key): _value(part) for key, part in parts.items()})
        case _:
            return data
