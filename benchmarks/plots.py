"""Plots of measured points and of the power law that fits them best, as SVG on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 560, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 50

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y = factor * x ** exponent, and how much of the logarithms' variance that explains."""

    factor: float
    exponent: float
    explained: float

    def at(self, x: float) -> float:
        """What it says of a place."""
        return float(self.factor * x**self.exponent)


def fitted(points: Sequence[Point]) -> PowerLaw | None:
    """The power law that fits points best; None for fewer than two places, or what is not above zero."""
    if len({x for x, _ in points}) < 2 or any(min(point) <= 0 for point in points):
        return None
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    exponent = sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / spread
    whole = sum((y - height) ** 2 for y in ys)
    explained = exponent**2 * spread / whole if whole else 1.0
    return PowerLaw(math.exp(height - exponent * middle), exponent, explained)


def plot(title: str, across: str, up: str, points: Sequence[Point]) -> str:
    """The points, the law that fits them, and the axes with their powers of ten."""
    first, last = _decades([x for x, _ in points])
    least, most = _decades([y for _, y in points])

    def place(x: float, y: float) -> Point:
        right = (math.log10(x) - first) / (last - first)
        above = (math.log10(y) - least) / (most - least)
        wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return round(_LEFT + wide * right, 1), round(_TOP + high * (1 - above), 1)

    parts = [
        _text(_WIDTH / 2, 22, title, 15),
        _text(_WIDTH / 2, _HEIGHT - 10, across),
        _text(12, 30, up, anchor="start"),
    ]
    for power in range(first, last + 1):
        x, foot = place(10.0**power, 10.0**least)
        parts += [_line(x, _TOP, x, foot, "#ddd"), _text(x, foot + 16, _power(power))]
    for power in range(least, most + 1):
        x, y = place(10.0**first, 10.0**power)
        parts += [_line(x, y, _WIDTH - _RIGHT, y, "#ddd"), _text(x - 6, y + 4, _power(power), anchor="end")]
    law = fitted(points)
    if law is not None:
        ends = [(x, law.at(x)) for x in (min(x for x, _ in points), max(x for x, _ in points))]
        shown = [place(x, min(max(y, 10.0**least), 10.0**most)) for x, y in ends]
        parts.append(_line(*shown[0], *shown[1], "#b55"))
    for x, y in points:
        across_, up_ = place(x, y)
        parts.append(f'<circle cx="{across_}" cy="{up_}" r="4" fill="#246"/>')
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    style = 'font-family="sans-serif" font-size="12"'
    ground = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{ground}{"".join(parts)}</svg>\n'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten between which values lie."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return first, max(last, first + 1)


def _power(power: int) -> str:
    return f"{10**power:,}" if 0 <= power <= 3 else (f"{10.0**power:g}" if -3 <= power < 0 else f"1e{power}")


def _text(x: float, y: float, what: str, size: int = 12, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">{escape(what)}</text>'


def _line(x: float, y: float, to_x: float, to_y: float, color: str) -> str:
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{color}" stroke-width="1.5"/>'
