"""Whether two parts of a plan are the same but for the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any

from continua.algebra.base import Plan
from continua.algebra.expr import Column, has_subquery
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.relational import Aggregate, Join, Project, Window
from continua.algebra.schema import Field
from continua.algebra.streaming import RelationalView, Tag
from continua.algebra.traverse import expressions_of


def alike(left: Plan, right: Plan) -> bool:
    """Whether both have the same rows at every instant, because they are computed in the same way."""
    if left.schema.types != right.schema.types:
        return False
    one, other = canonical(left), canonical(right)
    return one is not None and one == other


@lru_cache(maxsize=256)
def canonical(plan: Plan) -> Plan | None:
    """The plan with its columns numbered from the leaves up; None where it is not known how to name them."""
    try:
        return _Numbering().plan(plan)[0]
    except _NoNamesError:
        return None


class _NoNamesError(Exception):
    """An operator whose columns cannot be named anew."""


class _Numbering:
    def __init__(self) -> None:
        self._numbers = count()

    def plan(self, plan: Plan) -> tuple[Plan, dict[str, str]]:
        """The plan with new names, and the new names of its columns."""
        if any(map(has_subquery, expressions_of(plan))):
            raise _NoNamesError
        parts = {name: self.plan(part) for name in plan.input_names if (part := getattr(plan, name)) is not None}
        below = {old: new for _, names in parts.values() for old, new in names.items()}
        inputs: dict[str, Any] = {name: part for name, (part, _) in parts.items()}
        return self._operator(plan, inputs, below)

    def _operator(self, plan: Plan, inputs: dict[str, Any], below: dict[str, str]) -> tuple[Plan, dict[str, str]]:
        match plan:
            case Source() | BaseRelation() | TaggedSource() | Values():
                names = self._fresh(plan.schema.names)
                columns = tuple(replace(f, name=names[f.name]) for f in plan.columns)
                own = {} if isinstance(plan, Values) else {"alias": "", "key": tuple(names[k] for k in plan.key)}
                return replace(plan, columns=columns, **own), names  # type: ignore[arg-type]
            case Project(outputs=outputs):
                names = self._fresh(n for n, _ in outputs)
                return Project(inputs["input"], tuple((names[n], _renamed(e, below)) for n, e in outputs)), names
            case Aggregate(keys=keys, aggregates=calls):
                names = self._fresh([n for n, _ in keys] + [n for n, _ in calls])
                own_keys = tuple((names[n], _renamed(e, below)) for n, e in keys)
                own_calls = tuple((names[n], _renamed(call, below)) for n, call in calls)
                return replace(plan, **inputs, keys=own_keys, aggregates=own_calls), names
            case Window(spec=spec):
                renamed = spec.renamed(below)
                if renamed is None:
                    raise _NoNamesError
                return replace(plan, **inputs, spec=renamed), below
            case Join() if plan.mark:
                names = self._fresh([plan.mark])
                changed = self._changed(plan, inputs, below)
                return replace(changed, mark=names[plan.mark]), {**below, **names}  # type: ignore[call-arg]
            case RelationalView(timestamp=timestamp):
                names = {n: below[n] for n in plan.input.schema.names} | self._fresh([timestamp] if timestamp else [])
                return replace(plan, **inputs, timestamp=names[timestamp] if timestamp else None), names
            case Tag(key=key):
                names = {n: below[n] for n in plan.schema.names}
                return replace(plan, **inputs, key=tuple(names[k] for k in key)), names
            case Clock():
                clock = replace(plan, alias=f"c{next(self._numbers)}")
                return clock, dict(zip(plan.schema.names, clock.schema.names, strict=True))
            case _:
                return self._changed(plan, inputs, below), {n: below[n] for n in plan.schema.names}

    def _changed(self, plan: Plan, inputs: dict[str, Any], below: dict[str, str]) -> Plan:
        other = [f.name for f in fields(plan) if f.init and f.name not in plan.input_names]
        return replace(plan, **inputs, **{name: _renamed(getattr(plan, name), below) for name in other})

    def _fresh(self, names: Any) -> dict[str, str]:
        return {name: f"c{next(self._numbers)}" for name in names}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Columns under their new names, in expressions, sort keys, aggregates, and tuples of them."""
    match value:
        case Column(name=name):
            return replace(value, name=names.get(name, name))
        case tuple():
            return tuple(_renamed(part, names) for part in value)
        case Plan() | Field():
            return value
        case _ if is_dataclass(value) and not isinstance(value, type) and value.__class__.__module__.endswith(".expr"):
            own = {f.name: _renamed(getattr(value, f.name), names) for f in fields(value) if f.init}
            return replace(value, **own)
        case _:
            return value
