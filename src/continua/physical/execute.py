"""One partition of one level, for one epoch: runs its operators on the rows that it was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from continua.errors import Diagnostic, EvaluationError
from continua.kernels.aggregate.aggregate_calls import OverflowInSum
from continua.kernels.aggregate.plain_states import NotPlain
from continua.kernels.jit import Int64s
from continua.kernels.join.gate import SecondMatch
from continua.kernels.store.arena import Arena
from continua.kernels.store.hold import Hold
from continua.kernels.store.interner import Interner
from continua.kernels.words.columns import Codec
from continua.kernels.words.partition import divided, partition_of
from continua.physical import nodes
from continua.physical.banks import banks_of
from continua.physical.distribution import Alone, Anywhere, ByKey, Everywhere
from continua.physical.epoch import Arrived, Epoch, Received
from continua.physical.evaluator import Evaluator
from continua.physical.key_checks import Checked
from continua.physical.operators import Operator, operator_for
from continua.physical.ordered_operators import FINAL
from continua.physical.placement import Channel, Level, Placement, Stay
from continua.physical.rows import RowSet
from continua.physical.time_pieces import time_pieces
from continua.stages import stage

TakesResults: TypeAlias = Callable[[str, pa.Table], None]
"""Takes rows that a query yields."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows on their way to a partition of a later level."""

    channel: Channel
    partition: int
    table: pa.Table


@dataclass(slots=True)
class Produced:
    """What a partition of a level yields."""

    parcels: list[Parcel] = field(default_factory=list)
    rejected: dict[str, pa.Table] = field(default_factory=dict)
    """By checks the rows that did not pass, with where they stand, their times and what was found of them."""
    state_rows: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each operator took, by the clock; what moves its rows is part of it."""


class Partition:
    """The operators of one partition of one level, with their state in an arena."""

    def __init__(
        self,
        placement: Placement,
        level: int,
        number: int,
        count: int,
        evaluator: Evaluator,
        arena: Arena | None = None,
    ) -> None:
        self.placement = placement
        self._level: Level = placement.levels[level]
        self._number = number
        self._count = count
        self._evaluator = evaluator
        self._arena = arena if arena is not None else Arena()
        self._interner = Interner(self._arena, "strings")
        self._codecs: dict[str, Codec] = {}
        self._operators: dict[str, Operator] = {}
        self._holds: dict[str, Hold] = {}
        self._banks = banks_of(self._level.nodes, evaluator)

    def run(
        self,
        epoch: Epoch,
        received: Received,
        fed: Mapping[str, pa.Table] | None = None,
        results: TakesResults | None = None,
    ) -> Produced:
        """Runs the level's operators in order; ``received`` are the rows of each channel, ``fed`` those of sources.

        ``results`` takes what queries yield, piece by piece in the order of time; those of queries that have the same
        are one table.
        """
        produced = Produced()
        laps = _Laps(produced.seconds)
        for piece, rows in self._pieces(epoch, received):
            self._piece(piece, rows, fed or {}, produced, laps, results)
        self._share_banks(produced.seconds)
        self._collect()
        return produced

    def _pieces(self, epoch: Epoch, received: Received) -> Iterable[tuple[Epoch, Received]]:
        """What goes on behind the end of the input must see that it is the end, and gets the last epoch whole."""
        if epoch.until >= FINAL and any(node.goes_on for node in self._level.nodes):
            return [(epoch, received)]
        return time_pieces(epoch, received)

    def _piece(
        self,
        epoch: Epoch,
        received: Received,
        fed: Mapping[str, pa.Table],
        produced: Produced,
        laps: _Laps,
        results: TakesResults | None,
    ) -> None:
        """Runs the operators for a piece of the epoch."""
        made: dict[str, RowSet] = {}
        arrived: dict[str, RowSet] = {}
        for channel in self._level.receives:
            codec = self._codec(self.placement.nodes[channel.node].schema)
            parts = received.get(channel.name, ())
            rows = RowSet.concat(codec, [RowSet.of_table(codec, part.table) for part in parts])
            arrived[channel.name] = self._waited(channel, rows, epoch, _origins(parts)) if channel.held else rows
            laps.took(channel.node)
        for node in self._level.nodes:
            inputs = []
            for number, below in enumerate(node.inputs):
                brought = self.placement.inputs[node.id, number]
                inputs.append(made[below.id] if brought is None else arrived[brought.name])
            made[node.id] = self._node(node, inputs, epoch, fed, produced)
            if results is not None and isinstance(node, nodes.QueryResult) and len(inputs[0]):
                results(node.query, inputs[0].table)
            produced.rows[node.id] = produced.rows.get(node.id, 0) + len(made[node.id])
            laps.took(node.id)
        for channel in self._level.sends:
            with stage("divide"):
                produced.parcels += self._parcels(channel, made[channel.node])
            laps.took(channel.node)
        self._evaluator.forget()

    def forget_others(self) -> None:
        """Drops the state of operators that are not in the graph any more."""
        mine = (*(n.id for n in self._level.nodes), *(f"hold {c.name}" for c in self._level.receives), "strings")
        for name in self._arena.names:
            if not name.startswith(mine):
                self._arena.drop(name)

    def _codec(self, schema: pa.Schema) -> Codec:
        key = str(schema)
        if key not in self._codecs:
            self._codecs[key] = Codec(schema, self._interner)
        return self._codecs[key]

    def _waited(self, channel: Channel, rows: RowSet, epoch: Epoch, origins: Int64s) -> RowSet:
        """The rows whose epoch has come; in the usual case that is all of them, and none were waiting."""
        if channel.name not in self._holds:
            self._holds[channel.name] = Hold(self._arena, f"hold {channel.name}", rows.codec.width)
        hold = self._holds[channel.name]
        ordered = not origins.size or bool((origins == origins[0]).all())
        if not hold.state_rows and ordered and (not len(rows) or int(rows.start.max()) <= epoch.until):
            return rows
        return RowSet.of_batch(rows.codec, hold.epoch(rows.batch, epoch.until, origins))

    def _node(
        self, node: nodes.Node, inputs: list[RowSet], epoch: Epoch, fed: Mapping[str, pa.Table], produced: Produced
    ) -> RowSet:
        match node:
            case nodes.QueryResult():
                return inputs[0]
            case nodes.Hold() if self.placement.places[node.id].level == 0:
                return inputs[0]
        codec = self._codec(node.schema)
        if isinstance(node, nodes.Source):
            table = fed.get(node.name)
            return RowSet.empty(codec) if table is None else RowSet.of_table(codec, _columns_of(node, table))
        if isinstance(node, nodes.Evaluate) and node.id in self._banks and len(inputs[0]):
            return self._banks[node.id].select(inputs[0], node, codec)
        if self._number and any(isinstance(r, Alone) for r in node.requires):
            return RowSet.empty(codec)
        if node.id not in self._operators:
            changes = self.placement.told_as_changes
            self._operators[node.id] = operator_for(node, self._arena, codec, self._codec, self._evaluator, changes)
        operator = self._operators[node.id]
        try:
            with stage("kernel" if node.stateful else "evaluate"):
                rows = operator.epoch(inputs, epoch.after, epoch.until)
        except (SecondMatch, OverflowInSum) as error:
            raise _failed(node, str(error), instant=error.time) from None
        except NotPlain as error:
            raise _failed(node, str(error)) from None
        except EvaluationError as error:
            raise EvaluationError(*(_told_by(node, d) for d in error.diagnostics)) from None
        if node.stateful:
            produced.state_rows[node.id] = operator.state_rows
        if isinstance(operator, Checked) and operator.rejected is not None:
            before = [produced.rejected[node.id]] if node.id in produced.rejected else []
            produced.rejected[node.id] = pa.concat_tables([*before, operator.rejected])
        return rows

    def _parcels(self, channel: Channel, rows: RowSet) -> Iterable[Parcel]:
        if not len(rows):
            return
        table = rows.table
        match channel.distribution:
            case Stay():
                yield Parcel(channel, self._number % self._count, table)
            case Anywhere():
                share = -(-table.num_rows // self._count)
                for part, begin in enumerate(range(0, table.num_rows, share), self._number):
                    yield Parcel(channel, part % self._count, table.slice(begin, share))
            case Alone():
                yield Parcel(channel, 0, table)
            case Everywhere():
                for part in range(self._count):
                    yield Parcel(channel, part, table)
            case ByKey(columns=columns):
                parts = partition_of(table, columns, self._count)
                if self._count == 1:
                    yield Parcel(channel, 0, table)
                    return
                for part, places in divided(parts, self._count):
                    yield Parcel(channel, part, table.take(pa.array(places)))

    def _share_banks(self, seconds: dict[str, float]) -> None:
        """What a bank took is the time of all its filters alike: the first that asks has it work for all of them."""
        members: dict[int, list[str]] = {}
        for name, member in self._banks.items():
            members.setdefault(id(member.bank), []).append(name)
        for names in members.values():
            share = sum(seconds[name] for name in names) / len(names)
            seconds.update(dict.fromkeys(names, share))

    def _collect(self) -> None:
        """Forgets interned strings that no operator holds any more, when there are many of them."""
        if not self._interner.should_collect:
            return
        live = [ids for o in self._operators.values() for ids in o.interned()]
        for channel in self._level.receives:
            hold = self._holds.get(channel.name)
            if hold is not None:
                live += hold.interned(self._codec(self.placement.nodes[channel.node].schema).string_columns)
        self._interner.collect(live)


def _columns_of(node: nodes.Source, table: pa.Table) -> pa.Table:
    """What a source has of its rows: all of it, but that where they stand is told only where somebody asks."""
    names: list[str] = table.column_names
    known = nodes.ORIGIN in names
    if known == node.placed:
        return table
    width = len(node.schema) - (2 if node.placed else 0)
    if node.placed:
        nowhere = pa.array(np.full(table.num_rows, -1, np.int64))
        payload = table.select(list(range(width)))
        for name in (nodes.ORIGIN, nodes.OFFSET):
            payload = payload.append_column(name, nowhere)
        times = table.select(list(range(width, len(names))))
        return pa.Table.from_arrays([*payload.columns, *times.columns], [*payload.column_names, *times.column_names])
    return table.drop_columns([nodes.ORIGIN, nodes.OFFSET])


class _Laps:
    """Tells whose the time is since it was asked last."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._since = perf_counter()

    def took(self, name: str) -> None:
        """The time since then was that of a node."""
        now = perf_counter()
        self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now


def _origins(parts: Sequence[Arrived]) -> Int64s:
    """For each row the partition of the source that it is from."""
    return np.repeat(np.array([p.origin for p in parts], np.int64), [p.table.num_rows for p in parts])


def _failed(node: nodes.Node, why: str, **known: object) -> EvaluationError:
    found = Diagnostic("EVALUATION_FAILED", f"the query fails on its data: {why}", parameters=known)
    return EvaluationError(_told_by(node, found))


def _told_by(node: nodes.Node, found: Diagnostic) -> Diagnostic:
    """With the operator that failed: it tells whose queries do."""
    return replace(found, parameters={**found.parameters, "operator": node.id})
