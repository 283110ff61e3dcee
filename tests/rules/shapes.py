"""For each rule, queries of the shape that it fits, and some that it must not change."""

from __future__ import annotations

from tests.rules.random_plans import Draw, Shape


def _window_reduction(draw: Draw) -> str:
    window = draw.pick(("[RANGE UNBOUNDED]", "[ROWS UNBOUNDED]", "", draw.window()))
    source = draw.pick(("S", "S", "P", "L"))
    where = f" WHERE {draw.predicate('k', 'x')}" if draw.chance(60) else ""
    return f"SELECT ISTREAM(x, k + 1 AS n) FROM {source} {window}{where}"


def _filter_below_window(draw: Draw) -> str:
    window = draw.time_window() if draw.chance(80) else draw.window()
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    text = f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} {window} WHERE {draw.predicate('k', 'x')}"
    return f"{operator}({text})" if operator else text


SHAPES: dict[str, Shape] = {
    "window_reduction": _window_reduction,
    "filter_below_window": _filter_below_window,
    "filter_above_window": _filter_below_window,
}
