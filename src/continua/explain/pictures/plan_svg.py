"""A plan as SVG: lanes one below the other, in each an operator below those whose rows it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from continua.explain.pictures.plan_picture import Arrow, Box, Lane, PlanPicture
from continua.explain.pictures.svg import LETTER, LINE, curve, document, rectangle, text

_WIDEST = 44
"""So many letters a line of a box has at most."""
_GAP = 34.0
_MARGIN = 16.0


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A box with its lines of text and its place."""

    box: Box
    titles: tuple[str, ...]
    notes: tuple[str, ...]
    x: float
    y: float

    @property
    def width(self) -> float:
        return max(map(len, (*self.titles, *self.notes))) * LETTER + 16

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def height(self) -> float:
        return (len(self.titles) + len(self.notes)) * LINE + 10


def plan_svg(picture: PlanPicture) -> str:
    """The picture as a document."""
    places: dict[int, _Drawn] = {}
    shapes: list[str] = []
    y, width = _MARGIN, 0.0
    for lane in picture.lanes:
        drawn = _placed(picture, lane, y + LINE + 14, places)
        places |= {d.box.number: d for d in drawn}
        bottom = max(d.y + d.height for d in drawn) + 12
        right = max(max(d.x + d.width for d in drawn) + _MARGIN, len(lane.title) * LETTER + 3 * _MARGIN)
        shapes += [rectangle(_MARGIN, y, right - _MARGIN, bottom - y, "lane"), text(_MARGIN + 8, y + LINE, lane.title)]
        width, y = max(width, right), bottom + _GAP
    for arrow in picture.arrows:
        a, b = places[arrow.source], places[arrow.target]
        shapes.append(curve(a.middle, a.y + a.height, b.middle, b.y))
    for d in places.values():
        shapes += _box(picture, d)
    return document(width + _MARGIN, y, "A physical plan", shapes)


def _placed(picture: PlanPicture, lane: Lane, top: float, known: Mapping[int, _Drawn]) -> list[_Drawn]:
    """The boxes of a lane in rows: each below those of the lane that it takes rows of, and if it can right below."""
    here = {box.number for box in lane.boxes}
    below = {box.number: [a for a in picture.arrows if a.target == box.number] for box in lane.boxes}
    rows: dict[int, int] = {}
    for box in lane.boxes:
        rows[box.number] = max((rows[a.source] + 1 for a in below[box.number] if a.source in here), default=0)
    found: dict[int, _Drawn] = {}
    y = top
    for row in range(max(rows.values(), default=-1) + 1):
        wanted: list[tuple[float, Box]] = []
        for box in lane.boxes:
            if rows[box.number] == row:
                inputs = [(found.get(a.source) or known[a.source]).x for a in below[box.number]]
                wanted.append((sum(inputs) / len(inputs) if inputs else 0.0, box))
        x, height = 2 * _MARGIN, 0.0
        for place, box in sorted(wanted, key=lambda pair: (pair[0], pair[1].number)):
            drawn = _drawn(picture, box, below[box.number], max(x, place), y)
            found[box.number] = drawn
            x, height = drawn.x + drawn.width + _MARGIN, max(height, drawn.height)
        y += height + _GAP
    return list(found.values())


def _drawn(picture: PlanPicture, box: Box, taken: Sequence[Arrow], x: float, y: float) -> _Drawn:
    moved = dict.fromkeys(arrow.label for arrow in taken if arrow.label)
    notes = (*(f"rows come {label}" for label in moved), *picture.notes(box))
    lines = tuple(part for note in notes for part in wrap(note, _WIDEST))
    return _Drawn(box, tuple(wrap(box.head, _WIDEST)), lines, x, y)


def _box(picture: PlanPicture, d: _Drawn) -> Iterator[str]:
    kind = "shared" if picture.sharing and d.box.is_shared else "box"
    yield rectangle(d.x, d.y, d.width, d.height, kind)
    for number, content in enumerate((*d.titles, *d.notes), start=1):
        yield text(d.x + 8, d.y + number * LINE, content, "" if number <= len(d.titles) else "note")
