"""Texts of what physical operators are made of: equal for equal work, and the same in every process."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from continua.algebra.expr import Call, Case, Cast, Column, InList, Literal, Now
from continua.algebra.identity import identity
from continua.physical.steps import Step


def stable_text(value: object) -> str:
    """A text that is the same in every process: functions by their names, expressions by what they do."""
    if isinstance(value, Step):
        return value.identity
    if isinstance(value, Column | Literal | Call | Cast | Case | InList | Now):
        return identity(value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = ", ".join(f"{f.name}={stable_text(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({parts})"
    if isinstance(value, tuple):
        return f"({', '.join(map(stable_text, value))})"
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(type(value)))}"
    return repr(value)
