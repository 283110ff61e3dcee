"""Plans of aggregation: what a list of calls keeps of a group, and how results are read from it.

Calls share what they keep: COUNT(x), SUM(x) and AVG(x) need one count and one sum, MEDIAN(x) and COUNT(DISTINCT x) one
set of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.aggregation_sweep import INPUT_COLUMNS, PLAIN, VALUED, Families
from continua.kernels.aggregate.extremes import (
    BY_WORD,
    BYTES,
    GREATEST,
    LEAST,
    MEMBERS,
    pair_order,
)
from continua.kernels.aggregate.from_all_values import FromAllValues
from continua.kernels.aggregate.result_readers import (
    ALL_TRUE,
    ANY_TRUE,
    AVERAGE,
    BOUNDS,
    CELL_VALUE,
    COMPUTED,
    FIRST_HELD,
    FLOAT_AVERAGE,
    FLOAT_SUM,
    NOT_DECIMAL,
    READER_COLUMNS,
    SUM,
    VARIANCE,
)
from continua.kernels.aggregate.state_families import (
    Average,
    AverageOfParts,
    Count,
    CountOfParts,
    Extreme,
    FirstBy,
    Sum,
    Truth,
    UserDefined,
    Variance,
)
from continua.kernels.aggregate.sums import COUNT, FLOAT_SQUARES, FLOATS, INTEGER, LIMBS, SQUARES, TRUES
from continua.kernels.aggregate.word_values import bounds, two_words, word_order
from continua.kernels.jit import Int64s
from continua.kernels.words.columns import NULLS_PER_WORD, Codec

_Made = TypeVar("_Made")
ENTRY, IS_NULL = -1, -2
"""Words of an event that are no words of a row: the entry of a value, and whether the last column is NULL."""


@dataclass(frozen=True, slots=True)
class Input:
    """Columns that calls read: as they are, or as entries of a table of distinct values."""

    columns: tuple[int, ...]
    valued: bool
    optional: bool = False
    """Whether the last column may be NULL; a row with NULL in another one does not count."""

    @property
    def required(self) -> tuple[int, ...]:
        """The columns that must not be NULL."""
        return self.columns[:-1] if self.optional else self.columns


@dataclass(frozen=True, slots=True)
class RunningTotal:
    """A count or sum over an input; without one, the count of all rows."""

    source: Input | None
    operation: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A heap or list of the values of an input, or the bytes of what the call of that number keeps."""

    source: Input | None
    kind: int
    order: int = BY_WORD
    number: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is computed outside the sweep: its number, what it reads, and where its words go."""

    spec: AggregateSpec
    number: int
    source: Input
    holder: Holder
    place: int
    words: int


@dataclass(frozen=True, slots=True)
class _Reader:
    operation: int
    counts: RunningTotal | Holder | Call
    sums: RunningTotal | None = None
    more: RunningTotal | None = None
    option: int = 0
    scale: int = 0
    decimal: int = NOT_DECIMAL
    bounds: tuple[int, int] = (0, 0)


class AggregationPlan:
    """What calls need: inputs, what is kept of each, holders, readers, and the calls that are computed outside."""

    def __init__(self, specs: Sequence[AggregateSpec], codec: Codec, output: Codec, keys: int) -> None:
        self._codec = codec
        self._output = output
        self._keys = keys
        self.inputs: list[Input] = []
        self.totals: list[RunningTotal] = []
        self.holders: list[Holder] = []
        self.calls: list[Call] = []
        self._readers = [self._reader(number, spec) for number, spec in enumerate(specs)]
        self.totals.sort(key=lambda total: self._number(total.source))
        self.holders.sort(key=lambda holder: self._number(holder.source))

    @cached_property
    def key_lines(self) -> int:
        """How many words of a row of output are those of keys."""
        return sum(len(words) for words in self._output.columns[: self._keys])

    @cached_property
    def result_width(self) -> int:
        """How many words a result has, with its null words."""
        return self._output.width - self.key_lines

    @cached_property
    def families(self) -> Families:
        """What of the sweep the calls use."""
        kept, read = {total.operation for total in self.totals}, {reader.operation for reader in self._readers}
        return Families(
            outside=1 if self.calls else None,
            integers=1 if kept & {INTEGER, LIMBS} else None,
            floats=1 if FLOATS in kept else None,
            limbs=1 if kept & {LIMBS, SQUARES, FLOAT_SQUARES} else None,
            averages=1 if AVERAGE in read else None,
        )

    @property
    def computed_width(self) -> int:
        """How many words the calls that are computed outside give: their results, and whether each is NULL."""
        return sum(call.words + 1 for call in self.calls)

    def lines(self, source: Input) -> list[int]:
        """The words of a row of input that are the value of an input."""
        return [line for column in source.columns for line in self._codec.columns[column]]

    @cached_property
    def float_inputs(self) -> list[Input]:
        """The inputs with sums of doubles."""
        return [s for s in self.inputs if any(t.source == s and t.operation == FLOATS for t in self.totals)]

    @cached_property
    def has_heaps(self) -> bool:
        """Whether events need the ends of their rows."""
        return any(holder.kind in (LEAST, GREATEST) for holder in self.holders)

    def is_counted(self, source: Input) -> bool:
        """Whether of a plain input nothing but a count is kept, so that its values do not matter."""
        held = any(holder.source == source for holder in self.holders)
        return not held and all(total.operation == COUNT for total in self.totals if total.source == source)

    @cached_property
    def plain_inputs(self) -> list[Input]:
        """The inputs that are read as they are."""
        return [source for source in self.inputs if not source.valued]

    @cached_property
    def has_values(self) -> bool:
        """Whether a table of distinct values is needed."""
        return len(self.plain_inputs) < len(self.inputs)

    @cached_property
    def null_lines(self) -> int:
        """How many words of an event have a bit for each plain input that is NULL."""
        return -(-len(self.plain_inputs) // NULLS_PER_WORD)

    @cached_property
    def event_width(self) -> int:
        """How many words an event has: null words, values and entries, and the end of its row."""
        return self.null_lines + len(self.event_lines) + self.has_heaps

    @cached_property
    def event_lines(self) -> list[tuple[Input, int]]:
        """The words of an event behind the null words: an input, and a line of its value, its entry, its null flag."""
        found: list[tuple[Input, int]] = []
        for source in self.inputs:
            if source.valued:
                found.append((source, ENTRY))
            elif not self.is_counted(source):
                found += [(source, line) for line in self.lines(source)]
                found += [(source, IS_NULL)] * source.optional
        return found

    def input_table(self) -> Int64s:
        """The table of inputs."""
        table = np.zeros((len(self.inputs), INPUT_COLUMNS), np.int64)
        owners = [source for source, _ in self.event_lines]
        for number, source in enumerate(self.inputs):
            line = self.null_lines + owners.index(source) if source in owners else 0
            wide = int(len(self.lines(source)) == 2 and len(source.columns) == 1)
            kind, null_line, mask = VALUED, 0, 0
            if not source.valued:
                plain = self.plain_inputs.index(source)
                kind, null_line, mask = PLAIN, plain // NULLS_PER_WORD, 1 << (plain % NULLS_PER_WORD)
            steps, holders = _range(self.totals, source), _range(self.holders, source)
            table[number] = (kind, line, wide if source in owners else 0, null_line, mask, *steps, *holders)
        return table

    def reader_table(self) -> Int64s:
        """The table of readers, sums of doubles first: averages take them from there."""
        table = np.zeros((len(self._readers), READER_COLUMNS), np.int64)
        known: dict[RunningTotal | None, int] = {}
        numbered = sorted(enumerate(self._readers), key=lambda pair: pair[1].operation != FLOAT_SUM)
        for row, (number, reader) in enumerate(numbered):
            column = self._keys + number
            words = self._output.columns[column]
            place = words[0] - self.key_lines
            null = self._output.null_words[column // NULLS_PER_WORD] - self.key_lines
            if reader.operation == FLOAT_SUM:
                known[reader.sums] = place + 1
            option = known.get(reader.sums, 0) if reader.operation == FLOAT_AVERAGE else reader.option
            table[row, :BOUNDS] = (
                reader.operation, place, len(words), null, 1 << (column % NULLS_PER_WORD),
                self._place(reader.counts), self._place(reader.sums), self._place(reader.more),
                option, reader.scale, reader.decimal,
            )  # fmt: skip
            table[row, BOUNDS:] = [part for bound in reader.bounds for part in two_words(bound)]
        return table

    def _place(self, read: RunningTotal | Holder | Call | None) -> int:
        match read:
            case RunningTotal():
                return self.totals.index(read)
            case Holder():
                return self.holders.index(read)
            case Call():
                return read.place
            case _:
                return 0

    def _number(self, source: Input | None) -> int:
        return len(self.inputs) if source is None else self.inputs.index(source)

    # From calls to what they keep.

    def _reader(self, number: int, spec: AggregateSpec) -> _Reader:
        result = self._output.schema.field(self._keys + number).type
        match spec.family:
            case Count() if not spec.arguments:
                return _Reader(CELL_VALUE, _once(self.totals, RunningTotal(None, COUNT)))
            case Count():
                return _Reader(CELL_VALUE, self._total(spec, COUNT))
            case CountOfParts():
                return _Reader(CELL_VALUE, self._total(spec, TRUES))
            case Truth(all_values=all_values):
                values = replace(spec, distinct=False)
                operation = ALL_TRUE if all_values else ANY_TRUE
                return _Reader(operation, self._total(values, COUNT), self._total(values, TRUES))
            case Sum():
                return self._sum(spec, result)
            case Average():
                return self._average(spec, self._total(spec, COUNT), result)
            case AverageOfParts():
                sums, counts = (replace(spec, arguments=(column,)) for column in spec.arguments)
                return self._average(sums, self._total(counts, TRUES), result)
            case Variance(sample=sample, root=root):
                return self._variance(spec, sample, root)
            case Extreme(greatest=greatest):
                order = word_order(self._codec, spec.arguments[0])
                if order is None:
                    return self._computed(number, spec)
                kind = GREATEST if greatest else LEAST
                return _Reader(FIRST_HELD, _once(self.holders, Holder(self._input(spec, False), kind, order)))
            case FirstBy(greatest=greatest):
                return self._first_by(number, spec, GREATEST if greatest else LEAST)
            case FromAllValues() | UserDefined():
                return self._computed(number, spec)

    def _sum(self, spec: AggregateSpec, result: pa.DataType) -> _Reader:
        if self._is_float(spec):
            return _Reader(FLOAT_SUM, self._total(spec, COUNT), self._total(spec, FLOATS))
        drop = self._scale(spec) - (result.scale if pa.types.is_decimal(result) else 0)
        sums = self._total(spec, self._integer_sum(spec))
        return _Reader(SUM, self._total(spec, COUNT), sums, option=drop, bounds=bounds(result))

    def _average(self, spec: AggregateSpec, counts: RunningTotal, result: pa.DataType) -> _Reader:
        if self._is_float(spec):
            return _Reader(FLOAT_AVERAGE, counts, self._total(spec, FLOATS))
        sums, scale = self._total(spec, self._integer_sum(spec)), self._scale(spec)
        if not pa.types.is_decimal(result):
            return _Reader(AVERAGE, counts, sums, scale=scale)
        return _Reader(AVERAGE, counts, sums, scale=scale, decimal=result.scale, bounds=bounds(result))

    def _variance(self, spec: AggregateSpec, sample: bool, root: bool) -> _Reader:
        if self._is_float(spec):
            sums, squares = self._total(spec, FLOATS), self._total(spec, FLOAT_SQUARES)
        else:
            self._check_number(spec)
            sums, squares = self._total(spec, LIMBS), self._total(spec, SQUARES)
        counts, scale = self._total(spec, COUNT), self._scale(spec)
        return _Reader(VARIANCE, counts, sums, squares, option=int(sample), scale=scale, decimal=int(root))

    def _first_by(self, number: int, spec: AggregateSpec, kind: int) -> _Reader:
        value, by = spec.arguments
        first, second = word_order(self._codec, by), word_order(self._codec, value)
        if first is None or second is None:
            return self._computed(number, spec)
        source = _once(self.inputs, Input((by, value), False, True))
        return _Reader(FIRST_HELD, _once(self.holders, Holder(source, kind, pair_order(first, second))))

    def _computed(self, number: int, spec: AggregateSpec) -> _Reader:
        by = isinstance(spec.family, FirstBy)
        source = _once(self.inputs, Input(spec.arguments[::-1] if by else spec.arguments, True, by))
        has_state = spec.user is not None and spec.user.inverse is not None
        holder = Holder(None, BYTES, number=number) if has_state else Holder(source, MEMBERS)
        words = len(self._output.columns[self._keys + number])
        call = Call(spec, number, source, _once(self.holders, holder), self.computed_width, words)
        self.calls.append(call)
        return _Reader(COMPUTED, call)

    def _total(self, spec: AggregateSpec, operation: int) -> RunningTotal:
        return _once(self.totals, RunningTotal(self._input(spec, spec.distinct), operation))

    def _input(self, spec: AggregateSpec, valued: bool) -> Input:
        return _once(self.inputs, Input(spec.arguments, valued))

    # Types.

    def _type(self, spec: AggregateSpec) -> pa.DataType:
        return self._codec.schema.field(spec.arguments[0]).type

    def _is_float(self, spec: AggregateSpec) -> bool:
        return bool(pa.types.is_floating(self._type(spec)))

    def _scale(self, spec: AggregateSpec) -> int:
        kind = self._type(spec)
        return int(kind.scale) if pa.types.is_decimal(kind) else 0

    def _integer_sum(self, spec: AggregateSpec) -> int:
        self._check_number(spec)
        return INTEGER if len(self._codec.columns[spec.arguments[0]]) == 1 else LIMBS

    def _check_number(self, spec: AggregateSpec) -> None:
        kind, lines = self._type(spec), self._codec.columns[spec.arguments[0]]
        if not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)) or lines[0] in self._codec.string_columns:
            raise TypeError(f"{spec.function} of {kind}")


def _range(of: Sequence[RunningTotal | Holder], source: Input) -> tuple[int, int]:
    """Where, in a list sorted by inputs, that which belongs to an input begins and ends."""
    places = [place for place, one in enumerate(of) if one.source == source]
    return (places[0], places[-1] + 1) if places else (0, 0)


def _once(made: list[_Made], one: _Made) -> _Made:
    """Puts something into a list, unless it is there."""
    if one not in made:
        made.append(one)
    return one
