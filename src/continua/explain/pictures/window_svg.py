"""Windows over the time line, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from continua.explain.pictures.drawn_window import DrawnWindow
from continua.explain.pictures.svg import LETTER, LINE, document, line, rectangle, text
from continua.explain.pictures.window_sample import COLUMNS, Content, WindowSample
from continua.explain.pictures.window_text import column_text
from continua.instants import show_instant

_COLUMN = 14.0
_ROW = 18.0
_MARGIN = 16.0


def windows_svg(windows: Sequence[DrawnWindow]) -> str:
    """All windows, one below the other."""
    labels = [str(show_instant(c.instant, w.domain)) for w in windows for c in w.sample.contents]
    left = 2 * _MARGIN + max(map(len, (*labels, "elements"))) * LETTER
    shapes: list[str] = []
    y = _MARGIN
    for window in windows:
        found, domain = window.sample, window.domain
        shapes.append(text(_MARGIN, y + LINE, window.title))
        shapes.append(text(_MARGIN, y + 2 * LINE, column_text(found, domain), "note"))
        y += 2 * LINE + 8
        shapes += _elements(found, left, y)
        for content in found.contents:
            y += _ROW
            shapes += _content(found, content, str(show_instant(content.instant, domain)), left, y)
        y += 2 * _ROW
    last = max((f.column(c.instant) for f in (w.sample for w in windows) for c in f.contents), default=COLUMNS)
    width = left + (max(last, COLUMNS) + 1) * _COLUMN + _MARGIN
    return document(width, y, "Windows over the time line", shapes)


def _elements(found: WindowSample, left: float, y: float) -> Iterator[str]:
    yield text(left - 8, y + 12, "elements", anchor="end")
    for column in filter(found.has_elements, range(COLUMNS)):
        yield rectangle(left + column * _COLUMN + 3, y + 3, 8, 8, _kind(found, column), 4)


def _content(found: WindowSample, content: Content, label: str, left: float, y: float) -> Iterator[str]:
    yield text(left - 8, y + 12, label, anchor="end")
    now = left + (content.instant - found.origin) / found.step * _COLUMN
    for column in filter(found.has_elements, range(COLUMNS)):
        x, share = left + column * _COLUMN, content.shares[column]
        if share:
            yield rectangle(x, y, _COLUMN * share - 1, 14, _kind(found, column), 1)
        elif x <= now:
            yield rectangle(x + 4, y + 5, 4, 4, "out", 2)
    yield line(now, y, now, y + 14, "now")


def _kind(found: WindowSample, column: int) -> str:
    return "in" if found.part(column) == 0 else "other"
