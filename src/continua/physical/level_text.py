"""Physical plans for readers: the levels of an epoch, what runs at each, and which rows move in between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from continua.instants import TimeDomain
from continua.physical import check_nodes, nodes, point_nodes, view_nodes
from continua.physical.distribution import Alone, ByKey, Everywhere
from continua.physical.leading import Leaders
from continua.physical.partial import Partial
from continua.physical.placement import Channel, Placement, Stay, in_order, placement_of
from continua.physical.readable_names import Names, calls, column_names, conditions_on_pairs, evaluated
from continua.physical.row_lifetimes import held_state
from continua.recursion import room_to_recurse

Domains = Mapping[str, TimeDomain]
"""In what queries count time; those that are not named, in ticks."""
_IN_TICKS: Domains = {}


@dataclass(frozen=True, slots=True)
class OperatorText:
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
    operators: tuple[OperatorText, ...]


def explain(graphs: Iterable[nodes.QueryResult], domains: Domains = _IN_TICKS) -> str:
    """The levels of a graph as text."""
    chosen = list(graphs)
    lines: list[str] = []
    for level in levels(chosen, domains):
        lines.append(f"level {level.level}: {level.where}")
        lines += [f"  receives #{m.number} {m.how}" for m in level.receives]
        lines += [f"  {_line(o)}" for o in level.operators]
    lines += [f"{name} has no state: where all rows are in one epoch it ends at level 0" for name in _stateless(chosen)]
    return "\n".join(lines)


def explain_json(graphs: Iterable[nodes.QueryResult], domains: Domains = _IN_TICKS) -> dict[str, object]:
    """The same as an object."""
    chosen = list(graphs)
    return {
        "levels": [asdict(level) for level in levels(chosen, domains)],
        "stateless": _stateless(chosen),
    }


def explain_sharing(graphs: Iterable[nodes.QueryResult], query: str | None = None, domains: Domains = _IN_TICKS) -> str:
    """The operators that work for more than one query (or for one and others), and for which."""
    shared = sharing(graphs, query, domains)
    lines = [f"#{o.number} {o.operator}{_from(o)}: {', '.join(o.queries)}" for o in shared]
    nothing = "no two queries share an operator" if query is None else f"{query} shares nothing with other queries"
    return "\n".join(lines) if lines else nothing


def sharing(
    graphs: Iterable[nodes.QueryResult], query: str | None = None, domains: Domains = _IN_TICKS
) -> list[OperatorText]:
    """The operators that work for more than one query, one of them the one that is asked about."""
    found = [o for level in levels(graphs, domains) for o in level.operators if len(o.queries) > 1]
    return sorted((o for o in found if query is None or query in o.queries), key=lambda o: o.number)


def levels(graphs: Iterable[nodes.QueryResult], domains: Domains = _IN_TICKS) -> list[ShownLevel]:
    """The levels of a graph."""
    with room_to_recurse():
        return _levels(list(graphs), domains)


def _levels(chosen: list[nodes.QueryResult], domains: Domains) -> list[ShownLevel]:
    placement = placement_of(chosen)
    numbers = {n.id: i for i, n in enumerate((n for level in placement.levels for n in level.nodes), start=1)}
    names = column_names(in_order(chosen))
    users: dict[str, dict[str, None]] = {}
    for graph in chosen:
        _mark(graph, graph.query, users)
    return [
        ShownLevel(
            number,
            _where(placement, number),
            tuple(Movement(numbers[c.node], _movement(c, names)) for c in level.receives),
            tuple(
                OperatorText(
                    numbers[n.id],
                    _described(n, names),
                    tuple(numbers[below.id] for below in n.inputs),
                    _alone(n),
                    held_state(n, domains.get(next(iter(users[n.id])), TimeDomain.TICKS))
                    if _holds(placement, n)
                    else None,
                    tuple(users[n.id]),
                )
                for n in level.nodes
            ),
        )
        for number, level in enumerate(placement.levels)
    ]


def _stateless(graphs: Sequence[nodes.QueryResult]) -> list[str]:
    """The queries that hold no state, but for rows that wait for their epoch."""
    places = placement_of(graphs).places
    return [s.query for s in graphs if places[s.inputs[0].id].level == 0]


def _mark(node: nodes.Node, query: str, users: dict[str, dict[str, None]]) -> None:
    mine = users.setdefault(node.id, {})
    if query not in mine:
        mine[query] = None
        for below in node.inputs:
            _mark(below, query, users)


def _line(operator: OperatorText) -> str:
    notes = [n for n in (operator.alone, operator.state and f"state: {operator.state}") if n]
    return f"#{operator.number} {operator.operator}{_from(operator)}" + (f"   ({'; '.join(notes)})" if notes else "")


def _from(operator: OperatorText) -> str:
    return f" <- {', '.join(f'#{i}' for i in operator.inputs)}" if operator.inputs else ""


def _where(placement: Placement, number: int) -> str:
    if number == 0:
        return "where rows are read, without state"
    alone = [isinstance(placement.places[n.id].distribution, Alone) for n in placement.levels[number].nodes]
    return "on one partition" if all(alone) else "on every partition"


def _holds(placement: Placement, node: nodes.Node) -> bool:
    return bool(placement.places[node.id].level) and node.stateful and not isinstance(node, nodes.QueryResult)


def _alone(node: nodes.Node) -> str | None:
    if not any(isinstance(r, Alone) for r in node.requires):
        return None
    if isinstance(node, check_nodes.Checked):
        return "rows in their order: one partition"
    merges = any(isinstance(below, Partial) for below in node.inputs)
    return "no key: one partition" + (", of partial results" if merges else "")


def _movement(channel: Channel, names: Names) -> str:
    waits = ", rows that start behind the epoch wait" if channel.held else ""
    match channel.distribution:
        case Stay():
            return "from the same partition"
        case ByKey(columns=columns):
            return f"by {', '.join(names[channel.node][c] for c in columns)}{waits}"
        case Alone():
            return f"on one partition{waits}"
        case Everywhere():
            return f"on every partition{waits}"
        case _:
            return f"on any partition{waits}"


def _described(node: nodes.Node, names: Names) -> str:
    match node:
        case point_nodes.Latest() | point_nodes.LastChange() | point_nodes.Earliest():
            return node.title
        case nodes.Evaluate(inputs=(below,)):
            title = "Columns" if node.whole else "Evaluate"
            return f"{title} {evaluated(node, names[below.id]).text(names[below.id])}"
        case Leaders(column=column, greatest=greatest, inputs=(below,)):
            return f"Leaders by the {'greatest' if greatest else 'least'} {names[below.id][column]}"
        case nodes.Aggregate(keys=keys, inputs=(below,)) | Partial(keys=keys, inputs=(below,)):
            by = f" by {', '.join(names[below.id][:keys])}" if keys else ""
            title = "Partial aggregate" if isinstance(node, Partial) else "Aggregate"
            return f"{title} {', '.join(calls(node, names[below.id]))}{by}"
        case nodes.Multiplicity(rule=rule):
            return rule.replace("_", " ").capitalize()
        case nodes.Changes(kind=kind):
            return {"ISTREAM": "Istream", "DSTREAM": "Dstream"}.get(kind, "Net changes")
        case nodes.Join(inputs=(left, right)):
            rest = conditions_on_pairs(node, names[left.id], names[right.id])
            where = f" where {' and '.join(rest)}" if rest else ""
            return f"{node.title} {_equalities(node, names)}".rstrip() + where
        case nodes.Gate():
            return f"{node.title} {_equalities(node, names)}".rstrip()
        case check_nodes.Checked(key=key, inputs=(below,)) if key:
            return f"{node.title} by key {', '.join(names[below.id][k] for k in key)}"
        case view_nodes.TaggedView(key=key, inputs=(below,)) if key:
            return f"Relational view by key {', '.join(names[below.id][k] for k in key)}"
        case _:
            return node.title


def _equalities(node: nodes.Join | nodes.Gate, names: Names) -> str:
    left, right = (names[side.id] for side in node.inputs)
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    return " and ".join(f"left.{left[a]} = right.{right[b]}" for a, b in pairs)
