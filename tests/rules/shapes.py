"""For each rule, queries of the shape that it fits, and some that it must not change."""

from __future__ import annotations

from tests.rules import conventional_shapes, cost_shapes
from tests.rules.random_plans import Draw, Shape
from tests.rules.stream_shapes import STREAM_SHAPES


def _filter_below_window(draw: Draw) -> str:
    window = draw.time_window() if draw.chance(80) else draw.window()
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    text = f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} {window} WHERE {draw.predicate('k', 'x')}"
    return f"{operator}({text})" if operator else text


def _filter_below_partitioned_window(draw: Draw) -> str:
    partition = draw.pick(("k", "k, x"))
    window = f"PARTITION BY {partition} {draw.pick(('ROWS 1', 'ROWS 3', 'SESSION GAP 2'))}"
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM"))
    condition = draw.predicate("k") + (f" AND {draw.predicate('k', 'x')}" if draw.chance(40) else "")
    text = f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} [{window}] WHERE {condition}"
    return f"{operator}({text})" if operator else text


SHAPES: dict[str, Shape] = {
    "filter_below_window": _filter_below_window,
    "filter_above_window": _filter_below_window,
    "filter_below_partitioned_window": _filter_below_partitioned_window,
    **conventional_shapes.SHAPES,
    **cost_shapes.SHAPES,
    **STREAM_SHAPES,
}
