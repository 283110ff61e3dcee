"""Aggregation by definition: at an instant, functions of the bag of rows that are valid then."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.aggregation import Aggregation
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.columns import Codec

Payload = tuple[object, ...]
Row = tuple[Payload, int, int, int]
"""A payload, its start and end, and its weight."""


@dataclass(frozen=True)
class Case:
    """An aggregation over rows of a schema."""

    schema: pa.Schema
    keys: tuple[int, ...]
    specs: tuple[AggregateSpec, ...]
    results: tuple[pa.DataType, ...]
    empty_row: bool = False
    start: int = 0

    @property
    def output(self) -> pa.Schema:
        """The schema of what comes out."""
        keys = [self.schema.field(key) for key in self.keys]
        return pa.schema([*keys, *(pa.field(f"r{n}", kind) for n, kind in enumerate(self.results))])


def batch_of(codec: Codec, rows: Sequence[Row]) -> Batch:
    """Rows as a kernel takes them."""
    names = codec.schema.names
    data = pa.Table.from_pylist([dict(zip(names, row[0], strict=True)) for row in rows], schema=codec.schema)
    times = np.array([row[1:] for row in rows], np.int64).reshape(-1, 3).T
    return Batch(codec.encode(data), *(line.copy() for line in times))


def rows_of(codec: Codec, batch: Batch) -> list[Row]:
    """What a kernel gives, as rows."""
    columns = [column.to_pylist() for column in codec.decode(batch.words).columns]
    payloads = [tuple(map(frozen, values)) for values in zip(*columns, strict=True)] or [()] * len(batch)
    return list(zip(payloads, batch.start.tolist(), batch.end.tolist(), batch.weight.tolist(), strict=True))


def frozen(value: object) -> object:
    """A value that can be counted: there is one NaN, and lists are tuples."""
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return value


def aggregate(
    case: Case,
    rows: Sequence[Row],
    edges: Sequence[int],
    path: Path | None = None,
    tidy: bool = False,
    at_once: bool = False,
) -> list[Row]:
    """The output of all epochs. With a path the state is opened anew for each; ``tidy`` collects strings between."""
    found: list[Row] = []
    arena = Arena(path)
    for after, until in pairwise(edges):
        interner = Interner(arena, "strings")
        codec, output = Codec(case.schema, interner), Codec(case.output, interner)
        kernel = Aggregation(arena, "a", codec, case.keys, case.specs, output, case.empty_row, case.start, at_once)
        batch = batch_of(codec, [row for row in rows if after < row[1] <= until])
        written = rows_of(output, kernel.epoch(batch, after, until))
        assert all(after < row[1] <= until for row in written)
        if at_once:
            order = [(row[1], row[3] > 0) for row in written]
            assert order == sorted(order) and all(row[2] == INFINITY for row in written)
        found += written
        if tidy:
            interner.collect(kernel.interned())
        if path is not None:
            arena.save()
            arena = Arena(path)
    return found


def content(rows: Iterable[Row], instant: int) -> Counter[Payload]:
    """How often each payload counts at an instant."""
    found: Counter[Payload] = Counter()
    for payload, start, end, weight in rows:
        found[payload] += weight * (start <= instant < end)
    return Counter({payload: count for payload, count in found.items() if count})


def expected(case: Case, rows: Sequence[Row], instant: int) -> Counter[Payload]:
    """What the aggregation is at an instant, by definition."""
    groups: dict[Payload, list[Payload]] = {}
    if case.empty_row and not case.keys and instant >= case.start:
        groups[()] = []
    for payload in content(rows, instant).elements():
        groups.setdefault(tuple(frozen(payload[key]) for key in case.keys), []).append(payload)
    calls = list(zip(case.specs, case.results, strict=True))
    return Counter((*key, *(frozen(call(s, kind, members)) for s, kind in calls)) for key, members in groups.items())


def call(spec: AggregateSpec, kind: pa.DataType, members: Sequence[Payload]) -> object:
    """The result of one call over the rows of a group."""
    rows = [tuple(row[a] for a in spec.arguments) for row in members]
    if spec.function in ("MIN_BY", "MAX_BY"):
        return first_by(rows, spec.function == "MAX_BY")
    rows = [row for row in rows if None not in row]
    if spec.distinct or spec.function == "COLLECT_SET":
        rows = list({tuple(map(frozen, row)): row for row in rows}.values())
    values: list[object] = [row[0] for row in rows if row]
    if spec.user is not None:
        return spec.user.evaluator(sorted(values)) if values else None  # type: ignore[type-var]
    match spec.function:
        case "COUNT":
            return len(rows)
        case "COUNT_MERGED":
            return sum(values)  # type: ignore[arg-type]
        case "COLLECT_LIST" | "COLLECT_SET":
            return sorted(values, key=order)
    return None if not values else OF_VALUES[spec.function](values, spec, kind)


def first_by(rows: Sequence[Payload], greatest: bool) -> object:
    """The value of the row that is first by the second one; of several such rows the first value, NULL only alone."""
    keys = [order(by) for _, by in rows if by is not None]
    if not keys:
        return None
    best = max(keys) if greatest else min(keys)
    values = [value for value, by in rows if by is not None and order(by) == best and value is not None]
    return None if not values else max(values, key=order) if greatest else min(values, key=order)


def order(value: object) -> tuple[object, ...]:
    """The order of values: NaN above all numbers, NULL above all."""
    if isinstance(value, tuple):
        return (0, tuple(map(order, value)))
    return (2,) if value is None else (1,) if value != value else (0, value)


def total(values: Sequence[object], _: AggregateSpec, kind: pa.DataType) -> object:
    """The sum: exact, and rounded at the end."""
    if isinstance(values[0], float):
        return math.fsum(values)  # type: ignore[arg-type]
    exact = sum(map(Fraction, values), Fraction(0))  # type: ignore[arg-type]
    return as_decimal(exact, kind.scale) if pa.types.is_decimal(kind) else int(exact)


def as_decimal(exact: Fraction, scale: int) -> Decimal:
    """A decimal of a scale, rounded half away from zero."""
    whole = int(abs(exact) * 10**scale + Fraction(1, 2))
    sign, digits = int(exact < 0), tuple(map(int, str(whole)))
    return Decimal((sign, digits, -scale))


def mean(values: Sequence[object], spec: AggregateSpec, kind: pa.DataType) -> object:
    """The average: the sum as a double, divided by the count; of decimals the exact one, rounded once."""
    if isinstance(values[0], float):
        return total(values, spec, kind) / len(values)  # type: ignore[operator]
    whole = sum(map(Fraction, values), Fraction(0))  # type: ignore[arg-type]
    return as_decimal(whole / len(values), kind.scale) if pa.types.is_decimal(kind) else float(whole) / len(values)


def variance(values: Sequence[object], spec: AggregateSpec, _: pa.DataType) -> object:
    """The variance, exact and rounded at the end; a deviation is its root."""
    count = len(values) - spec.function.endswith("SAMP")
    if not count:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return math.nan
    numbers = [Fraction(value) for value in values]  # type: ignore[call-overload]
    average = sum(numbers, Fraction(0)) / len(numbers)
    exact = float(sum(((number - average) ** 2 for number in numbers), Fraction(0)) / count)
    return math.sqrt(exact) if spec.function.startswith("STDDEV") else exact


def quantile(values: Sequence[object], spec: AggregateSpec, _: pa.DataType) -> object:
    """The value at a fraction of the way through the sorted values."""
    numbers = sorted((float(value) for value in values), key=order)  # type: ignore[arg-type]
    place = (spec.parameters[0] if spec.parameters else 0.5) * (len(numbers) - 1)
    low, high, part = math.floor(place), math.ceil(place), place - math.floor(place)
    if low == high:
        return numbers[low]
    if not all(map(math.isfinite, (numbers[low], numbers[high]))):
        return numbers[low] * (1 - part) + numbers[high] * part
    return float(Fraction(numbers[low]) * Fraction(1 - part) + Fraction(numbers[high] * part))


def mode(values: Sequence[object], _: AggregateSpec, __: pa.DataType) -> object:
    """The value that is there most often; of several such values the least."""
    counted = Counter(map(frozen, values))
    most = max(counted.values())
    return min((value for value in values if counted[frozen(value)] == most), key=order)


OF_VALUES: dict[str, Callable[[Sequence[object], AggregateSpec, pa.DataType], object]] = {
    "SUM": total,
    "AVG": mean,
    "MIN": lambda values, _, __: min(values, key=order),
    "MAX": lambda values, _, __: max(values, key=order),
    "BOOL_AND": lambda values, _, __: all(values),
    "BOOL_OR": lambda values, _, __: any(values),
    "VAR_POP": variance,
    "VAR_SAMP": variance,
    "STDDEV_POP": variance,
    "STDDEV_SAMP": variance,
    "MODE": mode,
    "MEDIAN": quantile,
    "PERCENTILE": quantile,
}
