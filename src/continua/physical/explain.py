"""Physical plans for readers: the levels of an epoch, what runs at each, and which rows move in between."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from continua.instants import TimeDomain
from continua.physical import nodes, point_nodes
from continua.physical.bounds import held_state
from continua.physical.native import native_query
from continua.physical.partial import Partial
from continua.physical.stages import Channel, Stages, Stay, stages_of

_NESTED = re.compile(r"\(SELECT (?P<items>[^()]*) FROM (?P<rest>.*)\) AS r(?: WHERE (?P<where>.*))?")
_TIMES = f", {nodes.SAME_TIMES}"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator at its level."""

    number: int
    operator: str
    inputs: tuple[int, ...]
    alone: str | None
    """Why it runs on one partition, if it does."""
    state: str | None
    """What it holds from epoch to epoch, and what bounds that."""
    queries: tuple[str, ...]
    """The queries that it works for."""


@dataclass(frozen=True, slots=True)
class Movement:
    """Rows on their way to a level."""

    number: int
    how: str


@dataclass(frozen=True, slots=True)
class ShownLevel:
    """A level: where it runs, what it receives, what runs at it."""

    level: int
    where: str
    receives: tuple[Movement, ...]
    operators: tuple[Operator, ...]


def explain(sinks: Iterable[nodes.Sink], domain: TimeDomain = TimeDomain.TICKS) -> str:
    """The levels of a graph as text."""
    chosen = list(sinks)
    lines: list[str] = []
    for level in levels(chosen, domain):
        lines.append(f"level {level.level}: {level.where}")
        lines += [f"  receives #{m.number} {m.how}" for m in level.receives]
        lines += [f"  {_line(o)}" for o in level.operators]
    lines += [f"{s.query} has no state: over rows that are in Spark it is Spark's own SQL" for s in _native(chosen)]
    return "\n".join(lines)


def explain_json(sinks: Iterable[nodes.Sink], domain: TimeDomain = TimeDomain.TICKS) -> dict[str, object]:
    """The same as an object."""
    chosen = list(sinks)
    return {
        "levels": [asdict(level) for level in levels(chosen, domain)],
        "native": [s.query for s in _native(chosen)],
    }


def explain_sharing(
    sinks: Iterable[nodes.Sink], query: str | None = None, domain: TimeDomain = TimeDomain.TICKS
) -> str:
    """The operators that work for more than one query (or for one and others), and for which."""
    shared = sharing(sinks, query, domain)
    lines = [f"#{o.number} {o.operator}{_of(o)}: {', '.join(o.queries)}" for o in shared]
    nothing = "no two queries share an operator" if query is None else f"{query} shares nothing with other queries"
    return "\n".join(lines) if lines else nothing


def sharing(
    sinks: Iterable[nodes.Sink], query: str | None = None, domain: TimeDomain = TimeDomain.TICKS
) -> list[Operator]:
    """The operators that work for more than one query, one of them the one that is asked about."""
    found = [o for level in levels(sinks, domain) for o in level.operators if len(o.queries) > 1]
    return sorted((o for o in found if query is None or query in o.queries), key=lambda o: o.number)


def levels(sinks: Iterable[nodes.Sink], domain: TimeDomain = TimeDomain.TICKS) -> list[ShownLevel]:
    """The levels of a graph."""
    chosen = list(sinks)
    stages = stages_of(chosen)
    numbers = {n.id: i for i, n in enumerate((n for level in stages.levels for n in level.nodes), start=1)}
    users: dict[str, dict[str, None]] = {}
    for sink in chosen:
        _mark(sink, sink.query, users)
    return [
        ShownLevel(
            number,
            _where(stages, number),
            tuple(Movement(numbers[c.node], _movement(c)) for c in level.receives),
            tuple(
                Operator(
                    numbers[n.id],
                    _described(n),
                    tuple(numbers[below.id] for below in n.inputs),
                    _alone(n),
                    held_state(n, domain) if _holds(stages, n) else None,
                    tuple(users[n.id]),
                )
                for n in level.nodes
            ),
        )
        for number, level in enumerate(stages.levels)
    ]


def _native(sinks: Iterable[nodes.Sink]) -> list[nodes.Sink]:
    return [s for s in sinks if native_query(s) is not None]


def _mark(node: nodes.Node, query: str, users: dict[str, dict[str, None]]) -> None:
    mine = users.setdefault(node.id, {})
    if query not in mine:
        mine[query] = None
        for below in node.inputs:
            _mark(below, query, users)


def _line(operator: Operator) -> str:
    notes = [n for n in (operator.alone, operator.state and f"state: {operator.state}") if n]
    return f"#{operator.number} {operator.operator}{_of(operator)}" + (f"   ({'; '.join(notes)})" if notes else "")


def _of(operator: Operator) -> str:
    return f" of {', '.join(f'#{i}' for i in operator.inputs)}" if operator.inputs else ""


def _where(stages: Stages, number: int) -> str:
    if number == 0:
        return "where rows are read, without state"
    alone = [isinstance(stages.places[n.id].distribution, nodes.Alone) for n in stages.levels[number].nodes]
    return "on one partition" if all(alone) else "on every partition"


def _holds(stages: Stages, node: nodes.Node) -> bool:
    return bool(stages.places[node.id].level) and node.stateful and not isinstance(node, nodes.Sink)


def _alone(node: nodes.Node) -> str | None:
    if not any(isinstance(r, nodes.Alone) for r in node.requires):
        return None
    merges = any(isinstance(below, Partial) for below in node.inputs)
    return "no key: one partition" + (", of partial results" if merges else "")


def _movement(channel: Channel) -> str:
    waits = ", rows that start behind the epoch wait" if channel.held else ""
    match channel.distribution:
        case Stay():
            return "from the same partition"
        case nodes.ByKey(columns=columns):
            return f"by {', '.join(f'c{c}' for c in columns)}{waits}"
        case nodes.Alone():
            return f"on one partition{waits}"
        case nodes.Everywhere():
            return f"on every partition{waits}"
        case _:
            return f"on any partition{waits}"


def _described(node: nodes.Node) -> str:
    match node:
        case point_nodes.Latest():
            return node.title
        case nodes.Evaluate(whole=True, passes=passes):
            return f"Columns {', '.join(f'c{p}' for p in passes)}".rstrip()
        case nodes.Evaluate(sql=sql):
            return f"Evaluate {_query(sql)}"
        case nodes.Aggregate(keys=keys, specs=specs) | Partial(keys=keys, specs=specs):
            calls = ", ".join(f"{s.function}({', '.join(f'c{a}' for a in s.arguments)})" for s in specs)
            by = f" by {', '.join(f'c{k}' for k in range(keys))}" if keys else ""
            title = "Partial aggregate" if isinstance(node, Partial) else "Aggregate"
            return f"{title} {calls}{by}"
        case nodes.Multiplicity(rule=rule):
            return rule.replace("_", " ").capitalize()
        case nodes.Changes(kind=kind):
            return {"ISTREAM": "Istream", "DSTREAM": "Dstream"}.get(kind, "Net changes")
        case nodes.Join(left_keys=left, right_keys=right):
            residual = " with a condition on pairs" if node.residual else ""
            return f"{node.title} {_equalities(left, right)}".rstrip() + residual
        case nodes.Gate(left_keys=left, right_keys=right):
            return f"{node.title} {_equalities(left, right)}".rstrip()
        case _:
            return node.title


def _query(sql: str) -> str:
    """A query over the input: its columns and conditions, without the nesting in which they were put together."""
    text = sql.replace(_TIMES, "").replace("`", "")
    conditions: list[str] = []
    items, _, rest = text.removeprefix("SELECT ").partition(" FROM ")
    innermost = items
    while (found := _NESTED.fullmatch(rest)) is not None and _is_identity(found["items"]):
        conditions += [found["where"]] if found["where"] else []
        rest, innermost = found["rest"], found["items"]
    if rest != "input" and not rest.startswith("input WHERE "):
        return text
    conditions += [rest.removeprefix("input WHERE ")] if rest != "input" else []
    columns = (
        "" if items == innermost and _is_identity(items) and conditions else re.sub(r"\b(c\d+) AS \1\b", r"\1", items)
    )
    where = f"WHERE {' AND '.join(reversed(conditions))}" if conditions else ""
    return f"{columns} {where}".strip()


def _is_identity(items: str) -> bool:
    """Whether all columns are handed on under their names, from the first on."""
    return all(item == f"c{i} AS c{i}" for i, item in enumerate(items.split(", ")))


def _equalities(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    return " and ".join(f"left.c{a} = right.c{b}" for a, b in zip(left, right, strict=True))
