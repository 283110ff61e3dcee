"""Rows as they are fed: of streams, of stored relations, of tagged streams, and constants."""

from __future__ import annotations

from continua.algebra.expr import Literal
from continua.algebra.plan import BaseRelation, Plan, Source, TaggedSource, Values
from continua.algebra.schema import Field
from continua.instants import INFINITY
from continua.physical import nodes
from continua.physical.joins import union
from continua.physical.moments import remainder
from continua.physical.relation import Relation, schema_of
from continua.physical.setting import Setting
from continua.types import STRING

_START, _END = f"`{nodes.START}`", f"`{nodes.END}`"
TAG = Field("#tag", STRING, False)
"""The column that says what a modification does."""


def stream_source(setting: Setting, plan: Source) -> Relation:
    """The elements of a stream, from the query's start on, at instants of its chronon."""
    rows = _fed(plan.name, plan.schema.fields)
    start, end = _START, _END
    if setting.chronon > 1:
        start, end = _floored(setting.chronon)
    columns = [f.column for f in rows.fields]
    if plan.interval:
        first = f"GREATEST({start}, {setting.start})"
        return rows.computed(columns, rows.fields, f"{end} > {setting.start}", first, end)
    if setting.start > 0 or setting.chronon > 1:
        return rows.computed(columns, rows.fields, f"{start} >= {setting.start}", start, end)
    return rows


def tagged_source(setting: Setting, plan: TaggedSource) -> Relation:
    """The modifications of a tagged stream; the last column is the tag."""
    rows = _fed(plan.name, (*plan.schema.fields, TAG))
    if setting.start <= 0 and setting.chronon == 1:
        return rows
    start, end = _floored(setting.chronon) if setting.chronon > 1 else (_START, _END)
    return rows.computed([f.column for f in rows.fields], rows.fields, f"{start} >= {setting.start}", start, end)


def stored(setting: Setting, plan: BaseRelation) -> Relation:
    """The rows of a stored relation: there from the start, for ever."""
    rows = _fed(plan.name, plan.schema.fields, setting.generation)
    return rows.computed([f.column for f in rows.fields], rows.fields, None, str(setting.start), str(INFINITY))


def fed(setting: Setting, plan: Plan) -> Relation:
    """The rows of a source as they come, at instants of the chronon but without regard to the query's start."""
    match plan:
        case TaggedSource(name=name):
            rows = _fed(name, (*plan.schema.fields, TAG))
        case BaseRelation(name=name):
            return _fed(name, plan.schema.fields, setting.generation)
        case Source(name=name):
            rows = _fed(name, plan.schema.fields)
        case _:
            raise TypeError(type(plan).__name__)
    if setting.chronon == 1:
        return rows
    return rows.computed([f.column for f in rows.fields], rows.fields, None, *_floored(setting.chronon))


def values(setting: Setting, plan: Values) -> Relation:
    """Constant rows: made from a source that has one row without columns."""
    start, end = str(setting.start), str(INFINITY)
    unit = Relation(unit_source(setting), ())
    lines = [
        unit.computed([Literal(v, f.type) for f, v in zip(plan.columns, row, strict=True)], plan.columns, None, start,
                      end)
        for row in plan.rows
    ]  # fmt: skip
    if not lines:
        return unit.computed([Literal(None, f.type) for f in plan.columns], plan.columns, "FALSE", start, end)
    return union(*lines) if len(lines) > 1 else lines[0]


def unit_source(setting: Setting) -> nodes.Source:
    """The source that has one row without columns."""
    return nodes.Source(schema_of(()), (), nodes.UNIT + setting.generation)


def _fed(name: str, fields: tuple[Field, ...], generation: str = "") -> Relation:
    names = tuple(f.short for f in fields)
    return Relation(nodes.Source(schema_of([f.type for f in fields]), (), name.casefold() + generation, names), fields)


def _floored(chronon: int) -> tuple[str, str]:
    start = f"({_START} - {remainder(_START, chronon)})"
    ceiled = f"({_END} + {remainder(f'-{_END}', chronon)})"
    end = f"CASE WHEN {_END} >= {INFINITY} THEN {INFINITY} ELSE GREATEST({ceiled}, {start} + {chronon}) END"
    return start, end
