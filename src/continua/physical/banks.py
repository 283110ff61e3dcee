"""Banks of filters: what many queries ask of the same rows is evaluated in one pass.

Where they compare one column with different constants, the rows are put in the order of the column once; what a query
selects is then a stretch of them, found by bisection. So the cost of a thousand filters is that of sorting once, and of
what they let through. Other conditions that cannot fail are columns of one query, which says for each row who takes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.algebra.expr import Call, Column, Literal
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
    """A filter that compares a column with a constant."""

    column: int
    operator: str
    value: int | float | str


def comparison_of(node: Evaluate) -> Comparison | None:
    """The comparison that a node filters by, if it does nothing else but pick columns."""
    if not node.schema.names or not all(step.picks for step in node.steps):
        return None
    asked = [(number, condition) for number, step in enumerate(node.steps) for condition in step.where]
    if len(asked) != 1:
        return None
    ((number, condition),) = asked
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


class Bank:
    """The filters of one column of one input."""

    def __init__(self, column: int) -> None:
        self._column = column
        self._rows: RowSet | None = None
        self._order: Int64s = np.empty(0, np.int64)
        self._sorted: np.ndarray[tuple[int], np.dtype[np.int64 | np.float64]] = np.empty(0, np.int64)
        self._codes: dict[str, int] = {}

    def select(self, rows: RowSet, node: Evaluate, comparison: Comparison, codec: Codec) -> RowSet:
        """What one of the filters lets through, with the columns that it picks, in the order of the rows."""
        if self._rows is not rows:
            self._sort(rows)
        first, last = self._stretch(comparison)
        if first >= last:
            return RowSet.empty(codec)
        return _picked(rows, node, np.sort(self._order[first:last]), codec)

    def _sort(self, rows: RowSet) -> None:
        """NULLs satisfy no comparison: they are left out."""
        self._rows = rows
        column = rows.payload.column(self._column).combine_chunks()
        present = np.flatnonzero(np.asarray(column.is_valid().to_numpy(zero_copy_only=False)))
        values = column.take(pa.array(present))
        if pa.types.is_string(column.type):
            encoded = values.dictionary_encode()
            self._codes = {text: i for i, text in enumerate(encoded.dictionary.to_pylist())}
            numbers = np.asarray(encoded.indices.to_numpy(zero_copy_only=False))
        else:
            numbers = np.asarray(values.to_numpy(zero_copy_only=False))
        by_value = np.argsort(numbers, kind="stable")
        self._order, self._sorted = present[by_value], numbers[by_value]

    def _stretch(self, comparison: Comparison) -> tuple[int, int]:
        wanted = comparison.value
        value = self._codes.get(wanted, -1) if isinstance(wanted, str) else wanted
        left = int(np.searchsorted(self._sorted, value, side="left"))
        right = int(np.searchsorted(self._sorted, value, side="right"))
        match comparison.operator:
            case "=":
                return left, right
            case "<":
                return 0, left
            case "<=":
                return 0, right
            case ">":
                return right, self._order.size
            case _:
                return left, self._order.size


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
    columns = [rows.payload.column(p).take(pa.array(places)) for p in node.passes if p is not None]
    payload = pa.Table.from_arrays(columns, names=codec.schema.names)
    return RowSet(codec, rows.start[places], rows.end[places], rows.weight[places], payload)


@dataclass(frozen=True, slots=True)
class Member:
    """A filter of a bank."""

    bank: Bank | Masks
    asks: Comparison | str

    def select(self, rows: RowSet, node: Evaluate, codec: Codec) -> RowSet:
        """What it lets through."""
        match self.bank, self.asks:
            case Bank() as bank, Comparison() as comparison:
                return bank.select(rows, node, comparison, codec)
            case Masks() as masks, str() as condition:
                return masks.select(rows, node, condition, codec)
            case _:
                raise TypeError(f"{self.asks} is nothing that a bank of this kind is asked")


def banks_of(nodes: Iterable[Node], evaluator: Evaluator) -> dict[str, Member]:
    """For each node that belongs to one, its place in a bank."""
    compared: dict[tuple[str, int], list[tuple[Evaluate, Comparison]]] = {}
    asked: dict[str, list[tuple[Evaluate, str]]] = {}
    filters = [node for node in nodes if isinstance(node, Evaluate) and node.schema.names]
    for node in filters:
        if (comparison := comparison_of(node)) is not None:
            compared.setdefault((node.inputs[0].id, comparison.column), []).append((node, comparison))
    result: dict[str, Member] = {}
    for (_, column), members in compared.items():
        if len(members) >= LEAST:
            bank = Bank(column)
            result.update({node.id: Member(bank, comparison) for node, comparison in members})
    for node in filters:
        if node.id not in result and node.condition is not None:
            asked.setdefault(node.inputs[0].id, []).append((node, node.condition))
    for others in asked.values():
        if len(others) >= LEAST:
            masks = Masks([condition for _, condition in others], evaluator)
            result.update({node.id: Member(masks, condition) for node, condition in others})
    return result
