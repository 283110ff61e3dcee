"""What a window holds of a stream that is made for the purpose: its definition, at work.

The stream has an element in every column of the picture but some in the middle, so that it shows what time alone does
to the window. How far apart columns are follows from the lengths in the window's description; how many elements a
column has, from whether anything leaves the window before the stream ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from continua.errors import ContinuaError
from continua.instants import UNITS
from continua.windows.occurrences import Element, Timeline
from continua.windows.spec import GenericWindow, WindowSpec

COLUMNS = 36
SILENT = range(15, 22)
"""The columns without elements."""
_ROWS = 18
"""So many contents are shown at most."""
_LOOKED_AT = 400
"""So many instants at which the content can change are looked at, at most."""
_DENSITIES = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000)
_COUNTED = [
    count * UNITS[unit]
    for unit, counts in {
        "SECOND": (1, 2, 5, 10, 15, 20, 30),
        "MINUTE": (1, 2, 5, 10, 15, 20, 30),
        "HOUR": (1, 2, 3, 4, 6, 8, 12),
        "DAY": (1, 2, 5, 7, 10, 14, 30, 60, 90, 180, 365),
    }.items()
    for count in counts
]
"""Lengths of time that a column may have."""
_END = 1 << 60
"""What takes longer, or comes later, is for ever."""
_WIDEST = 24
"""The longest length of a window takes about so many columns at most."""


@dataclass(frozen=True, slots=True)
class Content:
    """What the window holds from an instant on: how much of each column's elements, and of which part of the stream."""

    instant: int
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WindowSample:
    """A window's contents over a stream whose columns are so many instants apart."""

    origin: int
    step: int
    density: int
    parts: int
    contents: tuple[Content, ...]

    def column(self, instant: int) -> int:
        """The column of an instant."""
        return (instant - self.origin) // self.step

    def part(self, column: int) -> int:
        """The part of a partitioned stream that the elements of a column belong to."""
        return column % self.parts

    def has_elements(self, column: int) -> bool:
        """Whether the stream has elements in a column."""
        return column not in SILENT


def sample(spec: WindowSpec, chronon: int, tick: int) -> WindowSample:
    """The window over a stream that shows what it does; its elements are a ``tick`` apart unless lengths say more."""
    lengths = sorted(length for length in spec.lengths if 0 < length < _END)
    step = max(_rhythm(spec, chronon) // 4, tick)
    if lengths:
        step = max(lengths[0] // (6 if lengths[0] == lengths[-1] else 2), lengths[-1] // _WIDEST)
    step = max(_round(step, tick) // chronon * chronon, chronon)
    begins = _opening(spec, chronon) if spec.begins is None else spec.begins
    origin = max(begins // step * step - 4 * step, 0)
    found = _contents(spec, origin, step, 1, chronon)
    for density in _DENSITIES[1:]:
        if spec.never_forgets or spec.holds_everything or _shows_leaving(found):
            break
        # elements of a column are at instants of their own
        step = max(step, density * tick)
        found = _contents(spec, origin, step, density, chronon)
    return found


def _round(step: int, tick: int) -> int:
    """So long or a little less, so that times in the picture are ones that people count in."""
    if tick < UNITS["SECOND"]:
        return step
    return max((unit for unit in _COUNTED if unit <= step), default=step)


def _opening(spec: WindowSpec, chronon: int) -> int:
    """Where the window opens, if not at the beginning of time: its first evaluation, or the first element in it."""
    if isinstance(spec, GenericWindow):
        first = spec.next_step(-chronon, _END, chronon)
        return 0 if first is None else first
    if not spec.knows_ends or any(spec.validity(t) for t in range(COLUMNS)):
        return 0
    low, high = 0, _END
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if spec.validity(middle) else (middle, high)
    return high if spec.validity(high) else 0


def _rhythm(spec: WindowSpec, chronon: int) -> int:
    """How far evaluations are apart where the window has any rhythm of its author's."""
    if not isinstance(spec, GenericWindow):
        return chronon
    steps, now = [], 0
    for _ in range(4):
        following = spec.next_step(now, _END, chronon)
        if following is None:
            break
        steps.append(now := following)
    return min((b - a for a, b in pairwise(steps)), default=chronon)


def _shows_leaving(found: WindowSample) -> bool:
    """Whether some element has left the window when the last elements come."""
    last = [c for c in found.contents if found.column(c.instant) < COLUMNS]
    return bool(last) and any(
        a > b for one, other in pairwise(last) for a, b in zip(one.shares, other.shares, strict=True)
    )


def _contents(spec: WindowSpec, origin: int, step: int, density: int, chronon: int) -> WindowSample:
    parts = 2 if spec.partition else 1
    apart = max(step // density // chronon * chronon, chronon)
    elements = [
        Element((number, column % parts), at, at + chronon, number)
        for number, (column, at) in enumerate(
            (column, origin + column * step + place * apart)
            for column in range(COLUMNS)
            if column not in SILENT
            for place in range(density)
        )
    ]
    stream = Timeline(elements, 0, chronon)
    columns = {e.position: (e.start - origin) // step for e in elements}
    found: list[Content] = []
    for instant in _looked_at(spec, stream, origin, step):
        held = spec.content(stream, instant, lambda _: 1)
        counts = [0] * COLUMNS
        for occurrence in held:
            number = occurrence.row[0]
            counts[columns[number if isinstance(number, int) else 0]] += 1
        shares = tuple(min(count / density, 1.0) for count in counts)
        if not found or found[-1].shares != shares:
            found.append(Content(instant, shares))
    return WindowSample(origin, step, density, parts, _some(found))


def _looked_at(spec: WindowSpec, stream: Timeline, origin: int, step: int) -> list[int]:
    """The instants at which its content can change, until it has forgotten the stream or nobody would look on."""
    until = origin + 2 * COLUMNS * step
    try:
        points = {t for t in spec.change_points(stream) if origin <= t <= until}
    except ContinuaError:
        points = {origin + column * step for column in range(2 * COLUMNS)}
    found = sorted(points)
    return found[:: -(-len(found) // _LOOKED_AT)] if found else []


def _some(contents: list[Content]) -> tuple[Content, ...]:
    """So few of them that they fit a screen, spread evenly, the first and the last among them."""
    if len(contents) <= _ROWS:
        return tuple(contents)
    return tuple(contents[round(n * (len(contents) - 1) / (_ROWS - 1))] for n in range(_ROWS))
