"""Plans as text and as JSON, with the operators under the papers' names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Expr
from continua.algebra.expression_text import (
    aggregate_text,
    distinct_subqueries,
    expression_text,
    literal_text,
    name_text,
    sort_text,
)
from continua.algebra.leaves import BaseRelation, Clock, Rule, Source, TaggedSource, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.streaming import Coalesce, Complete, RelationalView, Split, Synchronize, Tag, ToStream
from continua.algebra.traverse import domain_of, expressions_of
from continua.instants import TimeDomain
from continua.windows.spec import WindowSpec
from continua.windows.wording import instant_text, length_of

_JOINS = {
    JoinKind.INNER: "Join",
    JoinKind.LEFT: "LeftOuterJoin",
    JoinKind.RIGHT: "RightOuterJoin",
    JoinKind.FULL: "FullOuterJoin",
    JoinKind.SEMI: "Semijoin",
    JoinKind.ANTI: "Antijoin",
    JoinKind.NULL_AWARE_ANTI: "NullAwareAntijoin",
    JoinKind.MARK: "MarkJoin",
    JoinKind.SINGLE: "SingleJoin",
}
_SET_OPERATIONS = {
    SetOperator.UNION: "Union",
    SetOperator.MAX_UNION: "MaxUnion",
    SetOperator.INTERSECTION: "Intersection",
    SetOperator.DIFFERENCE: "Difference",
    SetOperator.STRICT_DIFFERENCE: "StrictDifference",
}
_WORDS = {
    "alias": "AS",
    "count": "OF",
    "index": "PART",
    "instant": "AT",
    "key": "KEY",
    "keys": "BY",
    "length": "INTO",
    "limit": "LIMIT",
    "mark": "AS",
    "max_length": "UP TO",
    "null_aware": "NULL-AWARE",
    "offset": "OFFSET",
    "order": "ORDER BY",
    "partition": "PARTITION BY",
    "shift": "FROM",
    "step": "EVERY",
    "timestamp": "WITH",
    "when_empty": "WHEN EMPTY",
}
"""What stands before a parameter in the text; those that are not here stand alone."""

_SHOWN_ROWS = 3


def describe(plan: Plan) -> tuple[str, dict[str, object]]:
    """The name of the topmost operator and its parameters, as readable values that JSON can hold."""
    name, parameters = _described(plan, distinct_subqueries(expressions_of(plan)))
    return name, {key: value for key, value in parameters.items() if value is not None and value not in ("", [], {})}


def _described(plan: Plan, subqueries: Sequence[Plan]) -> tuple[str, dict[str, object]]:
    def text(expr: Expr | None) -> str:
        return "" if expr is None else expression_text(expr, subqueries)

    def texts(named: Sequence[tuple[str, Expr]]) -> dict[str, object]:
        return {name: text(expr) for name, expr in named}

    match plan:
        case Source():
            sample = plan.sample and plan.sample.text
            order = [f"BATCH {plan.batch}"] if plan.batch is not None else []
            order += [f"POSITION {plan.position}"] if plan.position is not None else []
            own = {"interval": plan.interval or None, "sample": sample, "order": order}
            return "Source", _stored(plan) | own
        case BaseRelation():
            return "Relation", _stored(plan)
        case TaggedSource():
            return "TaggedSource", _stored(plan)
        case Clock(alias=alias):
            return "Clock", {"name": alias}
        case Values(columns=columns, rows=rows):
            return "Values", {
                "rows": [[literal_text(v, f.type) for v, f in zip(row, columns, strict=True)] for row in rows]
            }
        case Window(input=stream, spec=spec):
            return "Window", {"window": window_text(spec, domain_of(stream))}
        case Filter(predicate=predicate):
            return "Filter", {"predicate": text(predicate)}
        case Project(outputs=outputs):
            return "Map", {"outputs": texts(outputs)}
        case Join(join=join, predicate=predicate, null_aware=pairs, mark=mark):
            name = "Product" if join is JoinKind.INNER and predicate is None else _JOINS[join]
            aware = [f"{text(a)} = {text(b)}" for a, b in pairs]
            return name, {"predicate": text(predicate), "null_aware": aware, "mark": mark}
        case SetOperation(operator=operator, distinct=distinct):
            return _SET_OPERATIONS[operator], {"distinct": distinct or None}
        case DuplicateElimination():
            return "DuplicateElimination", {}
        case Aggregate(keys=keys, aggregates=aggregates, empty_row=empty_row):
            calls = {name: aggregate_text(call, subqueries) for name, call in aggregates}
            if keys:
                return "Grouping", {"aggregates": calls, "keys": texts(keys)}
            return "ScalarAggregation", {"aggregates": calls, "when_empty": None if empty_row else "no row"}
        case TopK(order=order, limit=limit, offset=offset, partition=partition):
            return "TopK" if order else "Limit", {
                "limit": limit,
                "offset": offset or None,
                "partition": [text(e) for e in partition],
                "order": [sort_text(key, subqueries) for key in order],
            }
        case Group(function=function, count=count, index=index):
            return "Group", {"function": text(function), "index": index, "count": count}
        case _:
            return _between(plan)


def _between(plan: Plan) -> tuple[str, dict[str, object]]:
    """Operators between relations and streams, and those that touch only the physical stream."""
    domain = domain_of(plan)
    match plan:
        case Timeslice(instant=instant):
            return "Timeslice", {"instant": instant_text(instant, domain)}
        case RelationalView(timestamp=timestamp):
            return "RelationalView", {"timestamp": timestamp}
        case Synchronize(step=step, offset=offset):
            return "Synchronize", _regular(step, offset, domain)
        case ToStream(as_intervals=True, longest=longest):
            return "Rstream", {"in_intervals": True, "up_to": None if longest is None else length_of(longest, domain)}
        case ToStream(operator=operator):
            return operator.value, {}
        case Tag(input=below, key=key):
            return "Tagger" if kind_of(below) is Kind.STREAM else "Streamed", {"key": list(key)}
        case Complete():
            return "Complete", {}
        case Split(length=length):
            return "Split", {"length": length_of(length, domain)}
        case Coalesce(max_length=longest):
            return "Coalesce", {"max_length": None if longest is None else length_of(longest, domain)}
        case _:
            return type(plan).__name__, {}


def tree(plan: Plan, *, now_windows: bool = True) -> str:
    """The plan, one operator a line, each above its inputs; plans of subqueries below the operator that asks them.

    Now-windows produce the identity, so they can be left out (PIPES 2009, 5.2).
    """
    return "\n".join(_lines(plan, now_windows))


def to_json(plan: Plan) -> dict[str, object]:
    """The plan as nested objects: operator, parameters, schema, kind, inputs and the plans of its subqueries."""
    operator, parameters = describe(plan)
    return {
        "operator": operator,
        "parameters": parameters,
        "schema": [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in plan.schema],
        "kind": kind_of(plan).value,
        "inputs": [to_json(part) for part in plan.inputs],
        "subqueries": [to_json(part) for part in distinct_subqueries(expressions_of(plan))],
    }


def window_text(spec: WindowSpec, domain: TimeDomain | None = None) -> str:
    """A window as it was written, else as it could be: the bracket form with CQL's closed bounds."""
    return spec.text or f"[{spec.body(domain)}]"


def _regular(step: int, offset: int, domain: TimeDomain | None) -> dict[str, object]:
    return {"step": length_of(step, domain), "shift": length_of(offset, domain) if offset else None}


def _stored(plan: Source | BaseRelation | TaggedSource) -> dict[str, object]:
    checks = () if isinstance(plan, BaseRelation) else plan.checks
    told = [f"CHECKED WITHIN {length_of(c.within, c.domain)}" if c.rule is Rule.WITHIN else "STRICT" for c in checks]
    alias = plan.alias if plan.alias != plan.name else None
    return {"name": plan.name, "alias": alias, "key": list(plan.key), "checks": told}


def _lines(plan: Plan, now_windows: bool) -> Iterator[str]:
    if not now_windows and isinstance(plan, Window) and window_text(plan.spec).upper() == "[NOW]":
        yield from _lines(plan.input, now_windows)
        return
    yield _line(plan)
    labels = ["sync: " if part is getattr(plan, "sync", None) else "" for part in plan.inputs]
    below = list(zip(labels, plan.inputs, strict=True))
    asked = distinct_subqueries(expressions_of(plan))
    below += [(f"subquery {number}: ", part) for number, part in enumerate(asked, 1)]
    for index, (label, part) in enumerate(below, 1):
        first, *rest = _lines(part, now_windows)
        last = index == len(below)
        yield ("└─ " if last else "├─ ") + label + first
        yield from (("   " if last else "│  ") + line for line in rest)


def _line(plan: Plan) -> str:
    name, parameters = describe(plan)
    parts = [name]
    for key, value in parameters.items():
        word = _WORDS.get(key)
        parts += [word] if word else []
        parts.append(_parameter_text(key, value))
    return " ".join(parts)


def _parameter_text(key: str, value: object) -> str:
    match value:
        case True:
            return key.upper()
        case list() if key == "rows":
            shown = [f"({', '.join(map(str, row))})" for row in value[:_SHOWN_ROWS]]
            return ", ".join(shown) + (", ..." if len(value) > _SHOWN_ROWS else "")
        case list():
            return ", ".join(map(str, value))
        case dict():
            names = {name: name_text(name) for name in value}
            return ", ".join(text if text == names[n] else f"{text} AS {names[n]}" for n, text in value.items())
        case _:
            return str(value)
