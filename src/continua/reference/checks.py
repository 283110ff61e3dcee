"""What the sources of a plan give of their rows: those that keep to what is said of their keys.

Rows are judged one by one in the order of time. One that is rejected leaves no trace: the rows behind it are judged as
if it had not come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from continua.algebra.base import Plan
from continua.algebra.leaves import Check, Rule, Sample, Source, TaggedSource
from continua.errors import Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.reference.elements import Inputs, Modification, Places
from continua.reference.leaf_names import input_name, used_inputs
from continua.reference.sampling import is_sampled
from continua.windows.occurrences import Element, Row

Item = TypeVar("Item", Element, Modification)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that a check has rejected: of which input it is, and its place among the rows there."""

    check: Check
    name: str
    place: int
    row: Row
    instant: int


def checked(inputs: Inputs, plan: Plan) -> tuple[Inputs, list[Rejected]]:
    """What the leaves of a plan read, each under its own name, and what was rejected of it, in the order of time."""
    streams, relations, tagged = dict(inputs.streams), dict(inputs.relations), dict(inputs.tagged)
    for name in {leaf.name.casefold() for leaf in used_inputs(plan) if isinstance(leaf, Source | TaggedSource)}:
        streams.pop(name, None)
        tagged.pop(name, None)
    rejected: dict[tuple[Check, str, int], Rejected] = {}
    for leaf in used_inputs(plan):
        if not isinstance(leaf, Source | TaggedSource):
            continue
        name, names = leaf.name.casefold(), [f.short for f in leaf.columns]
        found: list[Rejected] = []
        if isinstance(leaf, Source):
            elements = _through(inputs.streams.get(name, ()), leaf.checks, name, names, found)
            if leaf.sample is not None:
                elements = _sampled(elements, leaf.sample, inputs.places.get(name), name)
            streams[input_name(leaf)] = elements
        else:
            tagged[input_name(leaf)] = _through(inputs.tagged.get(name, ()), leaf.checks, name, names, found)
        rejected.update({(r.check, r.name, r.place): r for r in found})
    in_time = sorted(rejected.values(), key=lambda r: (r.instant, r.name, r.place))
    return Inputs(streams, relations, tagged), in_time


def _through(
    rows: Sequence[Item], checks: Sequence[Check], name: str, names: list[str], rejected: list[Rejected]
) -> tuple[Item, ...]:
    """The rows that pass all checks, one after the other."""
    kept = list(enumerate(rows))
    for check in checks:
        passes = _passes(check, names)
        judged = [(place, row, passes(row)) for place, row in kept]
        rejected += [
            Rejected(check, name, place, _whole(row), _instant(row)) for place, row, fine in judged if not fine
        ]
        kept = [(place, row) for place, row, fine in judged if fine]
    return tuple(row for _, row in kept)


def _sampled(elements: tuple[Element, ...], sample: Sample, places: Places | None, name: str) -> tuple[Element, ...]:
    """The elements that a sample has, by where they stand."""
    if places is None or any(places[1][e.position] < 0 for e in elements):
        message = f"the rows of {name} come without offsets to sample by"
        hint = "declare the source with PARTITIONED BY column OFFSET column"
        raise EvaluationError(Diagnostic("NO_OFFSETS", message, hint=hint))
    origins, offsets = places
    return tuple(e for e in elements if is_sampled(sample, int(origins[e.position]), int(offsets[e.position])))


def _passes(check: Check, names: list[str]) -> Callable[[Element | Modification], bool]:
    """Judges rows in their order."""
    places = [names.index(k) for k in check.key]
    present: dict[Row, int] = {}

    def key_of(row: Row) -> Row:
        return tuple(_comparable(row[p]) for p in places) if places else tuple(map(_comparable, row))

    def fits(item: Element | Modification) -> bool:
        key, row = key_of(item.row), item
        assert isinstance(row, Modification)
        count = present.get(key, 0)
        if row.op == "+":
            fine = not (check.key and count)
            present[key] = count + fine
            return fine
        if count and row.op == "-":
            present[key] = count - 1
        return count > 0

    def is_alone(item: Element | Modification) -> bool:
        key = key_of(item.row)
        fine = key not in present or _instant(item) - present[key] > check.within
        if fine:
            present[key] = _instant(item)
        return fine

    def is_disjoint(item: Element | Modification) -> bool:
        assert isinstance(item, Element)
        key = key_of(item.row)
        end = present.get(key)
        fine = end is None or end <= item.start or (end >= INFINITY and item.end >= INFINITY)
        if fine:
            present[key] = item.end
        return fine

    return {Rule.TAGS: fits, Rule.WITHIN: is_alone, Rule.DISJOINT: is_disjoint}[check.rule]


def _comparable(value: object) -> object:
    """A value that is equal to itself, NaN too."""
    return "not a number" if isinstance(value, float) and value != value else value


def _instant(item: Element | Modification) -> int:
    return item.start if isinstance(item, Element) else item.instant


def _whole(item: Element | Modification) -> Row:
    """The values of a row, and behind them its tag."""
    return item.row if isinstance(item, Element) else (*item.row, item.op)
