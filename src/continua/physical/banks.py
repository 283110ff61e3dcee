"""Banks of filters: what many queries ask of the same rows is evaluated in one pass.

Where they compare columns with different constants, the rows are put in the order of each such column once. What a
comparison selects is then a stretch of them, found by bisection; of several comparisons the shortest stretch is taken,
and those of its rows that are in the other stretches. So the cost of a thousand filters is that of sorting once, and of
what they let through. Other conditions that cannot fail are columns of one query, which says for each row who takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from continua.algebra.expr import Call, Column, Expr, Literal
from continua.kernels.jit import Int64s
from continua.kernels.words.columns import Codec
from continua.physical.evaluator import Evaluator
from continua.physical.nodes import Evaluate, Node
from continua.physical.rows import RowSet
from continua.physical.steps import place_of

LEAST = 8
"""From so many filters of one column on, a bank is worth its sorting."""

_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LARGEST = 1 << 62
"""Constants must be less than it, so that they are words."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition that compares a column with a constant."""

    column: int
    operator: str
    value: int | float | str


def comparisons_of(node: Evaluate) -> tuple[Comparison, ...]:
    """The comparisons that a node filters by, if it does nothing else but pick columns; else none."""
    if not node.schema.names or not all(step.picks for step in node.steps):
        return ()
    asked = [(number, condition) for number, step in enumerate(node.steps) for condition in step.where]
    found = [_comparison(node, number, condition) for number, condition in asked]
    return tuple(comparison for comparison in found if comparison is not None) if None not in found else ()


def _comparison(node: Evaluate, number: int, condition: Expr) -> Comparison | None:
    """A condition of a step of a node as a comparison of a column of its input."""
    match condition:
        case Call(function=operator, arguments=(Column() as column, Literal(value=value))) if operator in _TURNED:
            pass
        case Call(function=turned, arguments=(Literal(value=value), Column() as column)) if turned in _TURNED:
            operator = _TURNED[turned]
        case _:
            return None
    place = place_of(column)
    for step in reversed(node.steps[:number]):
        place = None if place is None else step.passes[place]
    if place is None:
        return None
    constant = _constant(value, node.inputs[0].schema.types[place])
    if constant is None or (isinstance(constant, str) and operator != "="):
        return None
    return Comparison(place, operator, constant)


def _constant(value: object, of: pa.DataType) -> int | float | str | None:
    """A constant as a value of the column's type; None where the types do not simply agree."""
    match value:
        case bool():
            return None
        case int() if abs(value) >= _LARGEST:
            return None
        case int() if pa.types.is_integer(of):
            return value
        case int() | float() if pa.types.is_float64(of):
            return float(value)
        case str() if pa.types.is_string(of):
            return value
        case _:
            return None


class _Sorted:
    """A column of some rows, in its order. NULLs satisfy no comparison: they are left out."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        whole = column.combine_chunks()
        self._rows = len(whole)
        self._codes: dict[str, int] = {}
        present = np.flatnonzero(np.asarray(whole.is_valid().to_numpy(zero_copy_only=False)))
        values = whole.take(pa.array(present))
        if pa.types.is_string(whole.type):
            encoded = values.dictionary_encode()
            self._codes = {text: i for i, text in enumerate(encoded.dictionary.to_pylist())}
            values = encoded.indices
        numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        by_value = np.argsort(numbers, kind="stable")
        self.order: Int64s = present[by_value]
        """The rows, by their values."""
        self._values = numbers[by_value]

    @cached_property
    def ranks(self) -> Int64s:
        """Where in the order each row is; -1 for those that are left out."""
        found = np.full(self._rows, -1, np.int64)
        found[self.order] = np.arange(self.order.size)
        return found

    def stretch(self, comparison: Comparison) -> tuple[int, int]:
        """Which of the rows in order satisfy a comparison."""
        wanted = comparison.value
        value = self._codes.get(wanted, -1) if isinstance(wanted, str) else wanted
        left = int(np.searchsorted(self._values, value, side="left"))
        right = int(np.searchsorted(self._values, value, side="right"))
        match comparison.operator:
            case "=":
                return left, right
            case "<":
                return 0, left
            case "<=":
                return 0, right
            case ">":
                return right, self.order.size
            case _:
                return left, self.order.size


class Bank:
    """The filters of one input."""

    def __init__(self) -> None:
        self._rows: RowSet | None = None
        self._sorted: dict[int, _Sorted] = {}

    def select(self, rows: RowSet, node: Evaluate, comparisons: Iterable[Comparison], codec: Codec) -> RowSet:
        """What one of the filters lets through, with the columns that it picks, in the order of the rows."""
        if self._rows is not rows:
            self._rows, self._sorted = rows, {}
        found = [(column := self._column(c.column), *column.stretch(c)) for c in comparisons]
        (shortest, first, last), *others = sorted(found, key=lambda stretch: stretch[2] - stretch[1])
        places = shortest.order[first : max(first, last)]
        for column, first, last in others:
            ranks = column.ranks[places]
            places = places[(first <= ranks) & (ranks < last)]
        return _picked(rows, node, np.sort(places), codec)

    def _column(self, place: int) -> _Sorted:
        assert self._rows is not None
        if place not in self._sorted:
            self._sorted[place] = _Sorted(self._rows.payload.column(place))
        return self._sorted[place]


class Masks:
    """Filters of one input that ask different things."""

    def __init__(self, conditions: Iterable[str], evaluator: Evaluator) -> None:
        self._numbers = {condition: number for number, condition in enumerate(dict.fromkeys(conditions))}
        asked = ", ".join(f'({condition}) AS "m{number}"' for condition, number in self._numbers.items())
        self._sql = f"SELECT {asked} FROM input"
        self._schema = pa.schema([(f"m{number}", pa.bool_()) for number in self._numbers.values()])
        self._evaluator = evaluator
        self._rows: RowSet | None = None
        self._found: pa.Table = self._schema.empty_table()

    def select(self, rows: RowSet, node: Evaluate, condition: str, codec: Codec) -> RowSet:
        """What one of the filters lets through, with the columns that it picks, in the order of the rows."""
        if self._rows is not rows:
            self._rows, self._found = rows, self._evaluator.run(self._sql, rows.table, self._schema)
        met = self._found.column(self._numbers[condition]).combine_chunks().fill_null(False)
        return _picked(rows, node, np.flatnonzero(met.to_numpy(zero_copy_only=False)), codec)


def _picked(rows: RowSet, node: Evaluate, places: Int64s, codec: Codec) -> RowSet:
    """Some rows, with the columns that a node picks."""
    if not places.size:
        return RowSet.empty(codec)
    taken = pa.array(places)
    columns = [rows.payload.column(p).take(taken) for p in node.passes if p is not None]
    payload = pa.Table.from_arrays(columns, names=codec.schema.names)
    return RowSet(codec, rows.start[places], rows.end[places], rows.weight[places], payload)


@dataclass(frozen=True, slots=True)
class Member:
    """A filter of a bank."""

    bank: Bank | Masks
    asks: tuple[Comparison, ...] | str

    def select(self, rows: RowSet, node: Evaluate, codec: Codec) -> RowSet:
        """What it lets through."""
        match self.bank, self.asks:
            case Bank() as bank, tuple() as comparisons:
                return bank.select(rows, node, comparisons, codec)
            case Masks() as masks, str() as condition:
                return masks.select(rows, node, condition, codec)
            case _:
                raise TypeError(f"{self.asks} is nothing that a bank of this kind is asked")


def banks_of(nodes: Iterable[Node], evaluator: Evaluator) -> dict[str, Member]:
    """For each node that belongs to one, its place in a bank."""
    filters = [node for node in nodes if isinstance(node, Evaluate) and node.schema.names]
    banks: dict[str, Bank] = {}
    result = {
        node.id: Member(banks.setdefault(node.inputs[0].id, Bank()), comparisons)
        for node, comparisons in _compared(filters)
    }
    asked: dict[str, list[tuple[Evaluate, str]]] = {}
    for node in filters:
        if node.id not in result and node.condition is not None:
            asked.setdefault(node.inputs[0].id, []).append((node, node.condition))
    for others in asked.values():
        if len(others) >= LEAST:
            masks = Masks([condition for _, condition in others], evaluator)
            result.update({node.id: Member(masks, condition) for node, condition in others})
    return result


def _compared(filters: Iterable[Evaluate]) -> list[tuple[Evaluate, tuple[Comparison, ...]]]:
    """Those that are worth sorting rows for, with their comparisons: many filters compare each of their columns."""
    found = [(node, comparisons) for node in filters if (comparisons := comparisons_of(node))]
    while True:
        users = Counter((n.inputs[0].id, place) for n, some in found for place in {c.column for c in some})
        fitting = [(n, some) for n, some in found if all(users[n.inputs[0].id, c.column] >= LEAST for c in some)]
        if len(fitting) == len(found):
            return found
        found = fitting
