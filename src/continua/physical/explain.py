"""Physical plans for readers: the levels of an epoch, what runs at each, and which rows move in between."""

from __future__ import annotations

from collections.abc import Iterable

from continua.physical import nodes, point_nodes
from continua.physical.stages import Channel, Stages, Stay, stages_of

_TIMES = f", `{nodes.START}` AS `{nodes.START}`, `{nodes.END}` AS `{nodes.END}`, `{nodes.WEIGHT}`"


def explain(sinks: Iterable[nodes.Sink]) -> str:
    """The levels of a graph as text."""
    stages = stages_of(sinks)
    names = {n.id: f"#{i}" for i, n in enumerate((n for level in stages.levels for n in level.nodes), start=1)}
    lines: list[str] = []
    for number, level in enumerate(stages.levels):
        lines.append(f"level {number}: {_where(stages, number)}")
        lines += [f"  receives {names[channel.node]} {_movement(channel)}" for channel in level.receives]
        lines += [
            f"  {names[node.id]} {_described(node)}{_inputs(node, names)}{_notes(stages, node)}" for node in level.nodes
        ]
    return "\n".join(lines)


def _where(stages: Stages, number: int) -> str:
    if number == 0:
        return "where rows are read, without state"
    alone = [isinstance(stages.places[n.id].distribution, nodes.Alone) for n in stages.levels[number].nodes]
    return "on one partition" if all(alone) else "on every partition"


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
            return "Evaluate " + sql.replace(_TIMES, "").replace("`", "")
        case nodes.Aggregate(keys=keys, specs=specs):
            calls = ", ".join(f"{s.function}({', '.join(f'c{a}' for a in s.arguments)})" for s in specs)
            by = f" by {', '.join(f'c{k}' for k in range(keys))}" if keys else ""
            return f"Aggregate {calls}{by}"
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


def _equalities(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    return " and ".join(f"left.c{a} = right.c{b}" for a, b in zip(left, right, strict=True))


def _inputs(node: nodes.Node, names: dict[str, str]) -> str:
    return f" of {', '.join(names[n.id] for n in node.inputs)}" if node.inputs else ""


def _notes(stages: Stages, node: nodes.Node) -> str:
    notes: list[str] = []
    if any(isinstance(r, nodes.Alone) for r in node.requires):
        notes.append("no key: one partition")
    if stages.places[node.id].level and node.stateful and not isinstance(node, nodes.Sink):
        notes.append("holds state")
    return f"   ({'; '.join(notes)})" if notes else ""
