"""Result rows as tables of answers, in the order of time: all that a task needs to write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.algebra.base import Kind
from continua.instants import TimeDomain
from continua.kernels.jit import Int64s
from continua.physical.nodes import START, WEIGHT
from continua.stages import stage


@stage("net changes")
def plain_answers(
    results: pa.Table, kind: Kind, domain: TimeDomain, names: Sequence[str], coded: bool = False
) -> pa.Table:
    """Elements or net changes as answers, in the order of time; operations as texts, or ``coded`` by a dictionary."""
    pieces = _pieces(results)
    if len(pieces) > 1:
        return pa.concat_tables([_answers(piece, kind, domain, names, coded) for piece in pieces])
    return _answers(results, kind, domain, names, coded)


def _pieces(results: pa.Table) -> list[pa.Table]:
    """The rows as they were yielded, if every batch of them lies behind the one before in time."""
    found = [pa.Table.from_batches([batch]) for batch in results.to_batches() if batch.num_rows]
    spans = [pc.min_max(piece.column(START)).as_py() for piece in found]
    apart = all(a["max"] < b["min"] for a, b in pairwise(spans))
    return found if apart else [results]


def _answers(results: pa.Table, kind: Kind, domain: TimeDomain, names: Sequence[str], coded: bool) -> pa.Table:
    """The same of rows that are put in order together."""
    weight = np.asarray(results.column(WEIGHT).to_numpy(), np.int64)
    start = np.asarray(results.column(START).to_numpy(), np.int64)
    order = _in_order(start, weight)
    if order is None:
        chosen, times, signs = results, start, weight
    else:
        chosen, times, signs = results.take(pa.array(order)), start[order], weight[order]
    columns = {"t": instant_column(times, domain)}
    if kind is Kind.RELATION:
        operations = pa.DictionaryArray.from_arrays(pa.array((signs < 0).view(np.int8)), ["+", "-"])
        columns["op"] = operations if coded else operations.cast(pa.string())
    for place, name in enumerate(names):
        columns[free_name(name, columns)] = chosen.column(place)
    return pa.table(columns)


def free_name(name: str, taken: Collection[str], alike: Callable[[str], str] = str) -> str:
    """A column's name, with a number where the instant, the operation or another column has it already.

    ``alike``: what is the same of names that are taken for each other.
    """
    number, found, others = 2, name, {alike(other) for other in taken}
    while alike(found) in others:
        found, number = f"{name}_{number}", number + 1
    return found


def _in_order(start: Int64s, weight: Int64s) -> Int64s | None:
    """The rows by instant, deletions before insertions, as often as they count; None where they stand so already."""
    single = bool((np.abs(weight) == 1).all())
    later, level = start[1:] > start[:-1], start[1:] == start[:-1]
    if bool((later | (level & (weight[1:] >= weight[:-1]))).all()):
        return None if single else np.repeat(np.arange(start.size), np.abs(weight))
    order = np.lexsort((weight, start))
    return order if single else np.repeat(order, np.abs(weight[order]))


def instant_column(values: Int64s, domain: TimeDomain) -> pa.Array:
    array = pa.array(values)
    return array.cast(pa.timestamp("us", "UTC")) if domain is TimeDomain.MICROSECONDS else array
