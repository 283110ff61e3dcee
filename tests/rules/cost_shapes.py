"""For each rule that goes by cost, queries of the shape that it fits, over inputs of random rates and sizes."""

from __future__ import annotations

from continua.rules.statistics import Statistics
from tests.rules.random_plans import Draw, Shape

_SOURCES = ("s", "p", "l", "r", "k", "c")
_CALLS = (
    "COUNT(*)", "COUNT({x})", "SUM({x})", "MIN({x})", "MAX({x})", "COUNT(*) FILTER (WHERE {x} > 1)", "AVG({x})",
    "COUNT_IF({x} = 1)", "SUM({x}) FILTER (WHERE {x} <> 2)", "MAX({y})", "MIN({y}) FILTER (WHERE {y} > 0)",
    "COUNT(DISTINCT {x})", "MAX(DISTINCT {x})",
)  # fmt: skip


def _statistics(draw: Draw) -> Statistics:
    numbers = (0.01, 0.5, 1.0, 20.0, 1000.0)
    return Statistics(
        {source: draw.pick(numbers) for source in _SOURCES},
        {source: draw.pick((1.0, 50.0, 20_000.0)) for source in _SOURCES},
        {(source, column): draw.pick((2.0, 30.0, 5000.0)) for source in _SOURCES for column in ("k", "x")},
    )


def _input(draw: Draw, alias: str) -> str:
    """An input with the integer columns k and x."""
    return draw.pick(
        (f"S {draw.window()} {alias}", f"P {draw.window()} {alias}", f"L {draw.time_window()} {alias}",
         f"S {draw.time_window()} {alias}", f"R {alias}", f"K {alias}", f"C {alias}",
         f"(SELECT k, x FROM S {draw.time_window()} WHERE {draw.predicate('k', 'x')}) {alias}")
    )  # fmt: skip


def _unique(draw: Draw, alias: str) -> str:
    """An input of which k is a key."""
    return draw.pick(
        (f"K {alias}", f"(SELECT k, MAX(x) AS x FROM S {draw.time_window()} GROUP BY k) {alias}",
         f"(SELECT k, COUNT(*) AS x FROM P {draw.time_window()} GROUP BY k) {alias}",
         f"(SELECT k, x FROM P [PARTITION BY k ROWS 1]) {alias}")
    )  # fmt: skip


def _in_stream(draw: Draw, text: str) -> str:
    operator = draw.pick(("", "", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    return f"{operator}({text})" if operator else text


def _join_reordering(draw: Draw) -> str:
    draw.statistics = _statistics(draw)
    aliases = [f"t{i}" for i in range(draw.number(3, 4))]
    inputs = [_input(draw, alias) for alias in aliases]
    conditions = []
    for number, alias in enumerate(aliases[1:], 1):
        other = draw.pick(aliases[:number])
        columns = draw.pick(("k", "x")), draw.pick(("k", "x"))
        operator = draw.pick(("=", "=", "=", "<=>", "<"))
        if draw.chance(90):
            conditions.append(f"{other}.{columns[0]} {operator} {alias}.{columns[1]}")
    if draw.chance(40):
        conditions.append(draw.predicate(*(f"{alias}.x" for alias in aliases)))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text = f"SELECT t0.k, t1.x, {aliases[-1]}.x AS z FROM {', '.join(inputs)}{where}"
    return _in_stream(draw, text)


def _aggregation_below_join(draw: Draw) -> str:
    draw.statistics = _statistics(draw)
    unique = draw.chance(60)
    sides = [_input(draw, "t"), _unique(draw, "u") if unique else _input(draw, "u")]
    if draw.chance(50):
        sides.reverse()
    calls = [draw.pick(_CALLS).format(x="t.x", y="u.x") for _ in range(draw.number(1, 2))]
    keys = draw.pick(("t.k", "u.k", "t.k, u.k", "t.k, u.x", "u.k, u.x", "u.x", "t.x", "t.k % 2", "u.x, t.k", ""))
    conditions = [f"t.k {draw.pick(('=', '=', '=', '=', '<=>', '<'))} u.k"]
    if draw.chance(30):
        conditions.append(draw.predicate(draw.pick(("t.x", "t.k")), draw.pick(("u.x", "t.x"))))
    if draw.chance(25):
        sides.append(_unique(draw, "z") if draw.chance(70) else _input(draw, "z"))
        conditions.append(f"{draw.pick(('u.k', 't.k', 'u.x'))} = z.k")
    chosen = [f"{key} AS k{i}" for i, key in enumerate(filter(None, keys.split(", ")))]
    items = chosen + [f"{call} AS c{i}" for i, call in enumerate(calls)]
    group = f" GROUP BY {keys}" if keys else ""
    text = f"SELECT {', '.join(items)} FROM {', '.join(sides)} WHERE {' AND '.join(conditions)}{group}"
    return _in_stream(draw, text)


def _filter_order(draw: Draw) -> str:
    draw.statistics = _statistics(draw)
    conditions = [draw.predicate("k", "x") for _ in range(draw.number(2, 4))]
    if draw.chance(40):
        conditions.append("s LIKE '%a%'")
    if draw.chance(20):
        conditions.append("k + x > 1")
    if draw.world.functions and draw.chance(60):
        conditions.append("or_seven(x) > 1")
    draw.rng.shuffle(conditions)
    source = draw.pick((f"S {draw.window()}", f"P {draw.window()}", "R", "C"))
    return _in_stream(draw, f"SELECT k, x FROM {source} WHERE {' AND '.join(conditions)}")


SHAPES: dict[str, Shape] = {
    "join_reordering": _join_reordering,
    "aggregation_below_join": _aggregation_below_join,
    "filter_order": _filter_order,
}
