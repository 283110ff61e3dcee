"""A window over the time line, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from continua.explain.pictures.window_sample import COLUMNS, Content, WindowSample
from continua.instants import TimeDomain, show_instant, show_length

_ELEMENTS = ("●", "○")
"""Those of the first part of a partitioned stream, and of the second."""
_HELD, _HELD_IN_PART, _GONE, _PRESENT = "█", "▄", "·", "|"


def window_text(found: WindowSample, title: str, domain: TimeDomain) -> Iterator[str]:
    """The lines of the picture."""
    yield title
    labels = [str(show_instant(content.instant, domain)) for content in found.contents]
    width = max(map(len, (*labels, "elements")))
    elements = "".join(
        _ELEMENTS[found.part(column)] if found.has_elements(column) else " " for column in range(COLUMNS)
    )
    yield f"  {'elements':>{width}}  {elements}"
    for label, content in zip(labels, found.contents, strict=True):
        yield f"  {label:>{width}}  {_row(found, content)}".rstrip()
    yield f"  {column_text(found, domain)}; {_HELD} in the window, {_GONE} not, {_PRESENT} the instant"


def column_text(found: WindowSample, domain: TimeDomain) -> str:
    """What a column stands for."""
    many = "an element" if found.density == 1 else f"{found.density} elements"
    parts = ", of two keys in turn" if found.parts > 1 else ""
    step = show_length(found.step, domain)
    apart = f"{step} tick{'' if step == '1' else 's'}" if domain is TimeDomain.TICKS else step.lower()
    return f"a column is {apart}, with {many}{parts}"


def _row(found: WindowSample, content: Content) -> str:
    marks = [_mark(found, content, column) for column in range(COLUMNS)]
    now = found.column(content.instant)
    if now >= COLUMNS:
        marks += [" "] * (now - COLUMNS + 1)
    if marks[now] == " ":
        marks[now] = _PRESENT
    return "".join(marks)


def _mark(found: WindowSample, content: Content, column: int) -> str:
    if content.shares[column]:
        return _HELD if content.shares[column] == 1 else _HELD_IN_PART
    return _GONE if found.has_elements(column) and column <= found.column(content.instant) else " "
