"""Queries of the shapes that the rules about windows and streams fit, and some that they must not change."""

from __future__ import annotations

from tests.rules.random_plans import Draw, Shape

_UNBOUNDED = ("[RANGE UNBOUNDED]", "[ROWS UNBOUNDED]", "")


def _where(draw: Draw, percent: int = 50) -> str:
    return f" WHERE {draw.predicate('k', 'x')}" if draw.chance(percent) else ""


def _told(draw: Draw, item: str) -> str:
    """A query over an item with columns k and x, as a relation, or as what enters or leaves it."""
    text = draw.pick(
        (
            f"SELECT k, x FROM {item}",
            f"SELECT x, k FROM {item}{_where(draw, 100)}",
            f"SELECT k, COUNT(*) AS n, MAX(x) AS m FROM {item} GROUP BY k",
            f"SELECT DISTINCT x FROM {item}",
        )
    )
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    return f"{operator}({text})" if operator else text


def _columns(draw: Draw) -> str:
    return draw.pick(("k, x", "x, k", "x AS k, k AS x", "k, x, k IS NULL AS y", "k, 1 AS x"))


def _window_reduction(draw: Draw) -> str:
    def part() -> str:
        window = draw.pick((*_UNBOUNDED, *_UNBOUNDED, draw.window()))
        return f"{draw.pick(('S', 'S', 'P', 'L'))} {window}"

    match draw.number(0, 5):
        case 0 | 1:
            return f"SELECT ISTREAM(x, k + 1 AS n) FROM {part()}{_where(draw)}"
        case 2:
            return f"ISTREAM((SELECT k, x FROM {part()}{_where(draw)}) UNION ALL (SELECT x, k FROM {part()}))"
        case 3:
            kind = draw.pick(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"))
            other = draw.pick(("C", "C", "C", "(SELECT DISTINCT k, x FROM C WHERE x > 0)", "R"))
            return f"SELECT ISTREAM(a.x, c.k, c.x AS y) FROM {part()} AS a {kind} {other} AS c ON a.k = c.k"
        case 4:
            kind = draw.pick(("SEMI JOIN", "ANTI JOIN"))
            return f"SELECT ISTREAM(a.x, a.k) FROM {part()} AS a {kind} C AS c ON a.k = c.k AND a.x < c.x + 1"
        case _:
            word = draw.pick(("IN", "NOT IN"))
            return f"SELECT ISTREAM(x) FROM {part()} WHERE k {word} (SELECT k FROM {draw.pick(('C', 'C', 'R'))})"


def _istream_of_disjoint(draw: Draw) -> str:
    """What enters a relation without duplicates that only grows has a key for the whole stream."""
    below = draw.pick(("SELECT DISTINCT k, x", "SELECT DISTINCT k, x", "SELECT k, x"))
    window = draw.pick((*_UNBOUNDED, "[RANGE UNBOUNDED]", "[RANGE UNBOUNDED]", "[RANGE 3]"))
    stream = f"(ISTREAM({below} FROM {draw.pick(('S', 'P', 'L'))} {window}{_where(draw)})) AS d [NOW]"
    match draw.number(0, 5):
        case 0 | 1:
            return f"SELECT ISTREAM({draw.pick(('k, x', 'x, k', 'x, k, x + 1 AS y', 'k'))}) FROM {stream}{_where(draw)}"
        case 2:
            kind = draw.pick(("JOIN", "LEFT JOIN", "FULL JOIN"))
            other = f"{draw.pick(('S', 'P'))} {draw.time_window()}"
            return f"SELECT ISTREAM(d.k, d.x, p.x AS y) FROM {stream} {kind} {other} AS p ON d.k = p.k"
        case 3:
            return f"SELECT ISTREAM(k, x, COUNT(*) AS n) FROM {stream} GROUP BY {draw.pick(('k, x', 'x, k'))}"
        case 4:
            return f"ISTREAM((SELECT k, x FROM {stream}) EXCEPT ALL (SELECT k, x FROM C))"
        case _:
            return f"SELECT ISTREAM(d.x, d.k) FROM {stream} WHERE k NOT IN (SELECT x FROM P {draw.time_window()})"


def _age(draw: Draw, present: str, timestamp: str) -> str:
    """Conditions on how long before an instant a row came."""
    length = draw.number(1, 6)
    least = draw.number(-1, 3)
    return draw.pick(
        (
            f"{present} - {length} < {timestamp} AND {timestamp} <= {present}",
            f"{present} - {length} <= {timestamp} AND {timestamp} <= {present}",
            f"{timestamp} + {length} > {present} AND {present} >= {timestamp}",
            f"{present} - {timestamp} < {length}",
            f"{present} - {timestamp} BETWEEN {least} AND {length}",
            f"{timestamp} + {least} <= {present} AND {timestamp} > {present} - {length}",
            f"{timestamp} = {present} - {length}",
            f"{timestamp} < {present} - {length}",
        )
    )


def _view(draw: Draw) -> str:
    """A view of a stream's elements, perhaps with a key, or at points of a synchronization stream."""
    sync = draw.pick(("", "", ", Every")) if "VIEW Every" in draw.world.definitions else ""
    return f"RELATION({draw.pick(('S', 'P', 'P', 'ByKey', 'L'))}{sync})"


def _predicate_window(draw: Draw) -> str:
    condition = _age(draw, "NOW", "a.TS")
    if draw.chance(60):
        where = f"{condition} AND {draw.predicate('k', 'x')}" if draw.chance(40) else condition
        return _told(draw, f"(SELECT a.k, a.x FROM {_view(draw)} a WHERE {where}) AS v")
    other = draw.pick((f"{_view(draw)} b", "C b"))
    further = f" AND {_age(draw, 'NOW', 'b.TS')}" if other.startswith("RELATION") and draw.chance(60) else ""
    text = f"SELECT a.k, b.x FROM {_view(draw)} a, {other} WHERE a.k = b.k AND {condition}{further}"
    return _told(draw, f"({text}) AS v")


def _band_join_window(draw: Draw) -> str:
    sides = [f"RELATION({draw.pick(('S', 'P', 'L', 'ByKey'))}) {name}" for name in "ab"]
    least, most = draw.number(-1, 3), draw.number(-1, 3)
    where = f"a.TS - b.TS <= {least} AND b.TS - {most} <= a.TS"
    where += " AND a.k = b.k" if draw.chance(60) else ""
    where += f" AND {draw.predicate('a.k', 'b.x')}" if draw.chance(40) else ""
    outputs = draw.pick(("a.k, b.x", "a.k, b.TS AS x", "a.k, a.TS - b.TS AS x", "b.k, COUNT(*) AS x"))
    grouped = " GROUP BY b.k" if "COUNT" in outputs else ""
    return _told(draw, f"(SELECT {outputs} FROM {', '.join(sides)} WHERE {where}{grouped}) AS v")


def _now_view_window(draw: Draw) -> str:
    step = draw.number(1, 4)
    points = "" if draw.chance(50) else f" WHERE c.Timepoint % {step} = {draw.number(0, step - 1)}"
    clock = f"(SELECT MAX(c.Timepoint) AS t FROM RELATION(clockStr) c{points}) n"
    condition = _age(draw, "n.t", "a.TS")
    if draw.chance(60):
        where = f" AND {draw.predicate('a.k', 'a.x')}" if draw.chance(40) else ""
        return _told(draw, f"(SELECT a.k, a.x FROM {_view(draw)} a, {clock} WHERE {condition}{where}) AS v")
    further = f" AND {_age(draw, 'n.t', 'b.TS')}" if draw.chance(60) else ""
    text = f"SELECT a.k, b.x FROM {_view(draw)} a, {clock}, {_view(draw)} b WHERE a.k = b.k AND {condition}{further}"
    return _told(draw, f"({text}) AS v")


def _now_window(draw: Draw) -> str:
    if draw.chance(40):
        below = draw.pick(
            (
                f"SELECT {_columns(draw)} FROM {draw.pick(('S', 'P', 'L'))} {draw.window()}{_where(draw)}",
                f"SELECT DISTINCT k, x FROM S {draw.time_window()}",
                f"SELECT k, COUNT(*) AS x FROM S {draw.time_window()} GROUP BY k",
                "SELECT k, x FROM R",
            )
        )
        window = "[NOW]" if draw.chance(80) else "[RANGE 2]"
        return _told(draw, f"(RSTREAM({below})) AS r {window}")
    now = "[NOW]" if draw.chance(90) else draw.window()
    below = f"SELECT {_columns(draw)} FROM {draw.pick(('S', 'P', 'L'))} {now}{_where(draw)}"
    window = draw.time_window() if draw.chance(60) else draw.pick((draw.window(), "[ROWS 1]", "[ROWS 2]"))
    return _told(draw, f"(RSTREAM({below})) AS r {window}")


def _window_below_union(draw: Draw) -> str:
    now = "[NOW]" if draw.chance(95) else "[RANGE 1]"
    parts = [
        f"(SELECT {_columns(draw)} FROM {draw.pick(('S', 'P', 'L'))} {now}{_where(draw)})"
        for _ in range(draw.pick((2, 2, 3)))
    ]
    operator = "UNION ALL" if draw.chance(90) else "UNION"
    window = draw.time_window() if draw.chance(80) else draw.window()
    return _told(draw, f"(RSTREAM({f' {operator} '.join(parts)})) AS u {window}")


def _window_above_union(draw: Draw) -> str:
    window = draw.time_window() if draw.chance(85) else draw.window()
    windows = [window if draw.chance(95) else draw.window() for _ in range(draw.pick((2, 2, 3)))]
    parts = [
        f"(SELECT {draw.pick(('k, x', 'x, k'))} FROM {draw.pick(('S', 'P', 'L'))} {w}{_where(draw)})" for w in windows
    ]
    return _told(draw, f"({' UNION ALL '.join(parts)}) AS u")


def _map_window(draw: Draw) -> str:
    window = draw.window() if draw.chance(70) else draw.time_window()
    columns = draw.pick(("x", "k", "x, k", "x AS y, k AS x", "k, x + 1 AS y", "k, k IS NULL AS n", "x, 1 AS one"))
    item = draw.pick(("S", "S", "P", "L", f"(DSTREAM(SELECT k, x, s FROM S {draw.time_window()})) AS d"))
    where = _where(draw, 20)
    text = f"SELECT {columns} FROM {item} {window}{where}"
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    return f"{operator}({text})" if operator else text


def _relation_round_trip(draw: Draw) -> str:
    window = draw.pick((*_UNBOUNDED, *_UNBOUNDED, "[LANDMARK 3]", "[RANGE 2]", "[ROWS 2]", draw.window()))
    source = draw.pick(("S", "P", "L"))
    below = draw.pick(
        (
            f"SELECT DISTINCT {_columns(draw)} FROM {source} {window}",
            f"SELECT k, x FROM {source} {window}{_where(draw)}",
            f"SELECT a.k, b.x FROM {source} {window} AS a JOIN C AS b ON a.k = b.k",
            f"SELECT a.k, b.x FROM S {window} AS a JOIN P {draw.pick(_UNBOUNDED)} AS b ON a.k = b.x",
            f"SELECT k, x FROM {source} {window} WHERE k IN (SELECT x FROM P)",
            f"SELECT k, COUNT(*) AS x FROM {source} {window} GROUP BY k",
            "SELECT k, x FROM C",
        )
    )
    outer = draw.pick((*_UNBOUNDED, *_UNBOUNDED, draw.window()))
    return _told(draw, f"(ISTREAM({below})) AS i {outer}")


def _stream_round_trip(draw: Draw) -> str:
    below = draw.pick(
        (
            f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} {draw.window()}{_where(draw)}",
            f"SELECT DISTINCT k, x FROM S {draw.time_window()}",
            f"SELECT k, COUNT(*) AS x FROM S {draw.time_window()} GROUP BY k",
        )
    )
    if draw.chance(25):
        below = f"SELECT k, x FROM S {draw.pick(('[NOW]', '[RANGE 3 SLIDE 2]', '[RANGE 2]'))}"
        stream = f"(RSTREAM({below})) AS r"
    else:
        stream = f"({draw.pick(('ISTREAM', 'DSTREAM'))}({below})) AS r"
    columns = draw.pick(("k, x", "x, k", "x, k", "k, x AS y, x, 1 AS one", "x", "k, x + 1 AS y"))
    if draw.chance(50):
        text = f"SELECT ISTREAM({columns}) FROM {stream} {draw.pick((*_UNBOUNDED, '[RANGE 4]'))}{_where(draw)}"
    else:
        window = draw.pick(("[NOW]", "[NOW]", "[RANGE 1 SLIDE 1]"))
        text = f"SELECT RSTREAM({columns}) FROM {stream} {window}{_where(draw)}"
    return text if columns != "x, k" or draw.chance(60) else f"SELECT x, k FROM ({text}) AS o {draw.window()}"


def _dstream_of_monotonic(draw: Draw) -> str:
    window = draw.pick((*_UNBOUNDED, *_UNBOUNDED, "[LANDMARK 3]", "[RANGE 3]"))
    source = draw.pick(("S", "P", "L"))
    return draw.pick(
        (
            f"DSTREAM(SELECT {_columns(draw)} FROM {source} {window}{_where(draw)})",
            f"DSTREAM(SELECT DISTINCT {_columns(draw)} FROM {source} {window})",
            f"DSTREAM(SELECT a.k, b.x FROM {source} {window} AS a JOIN C AS b ON a.k = b.k)",
            f"SELECT k, COUNT(*) AS n FROM (DSTREAM(SELECT k, x FROM {source} {window})) AS d [RANGE 4] GROUP BY k",
        )
    )


def _merge_windows(draw: Draw) -> str:
    lag = draw.pick((1, 2, 2, 3, 4, 4, 0))
    late = f"[RANGE {draw.pick((0, 0, 0, 0, 1))} LAG {lag}]" if lag else "[NOW]"
    below = f"SELECT {_columns(draw)} FROM {draw.pick(('S', 'P', 'L'))} {late}{_where(draw)}"
    size = draw.pick(("RANGE UNBOUNDED", *(f"RANGE {n}" for n in range(5))))
    slide = draw.pick(("", "", " SLIDE 2", " SLIDE 4", " SLIDE 2 ROWS", " SLIDE 3"))
    own = f" LAG {draw.number(1, 3)}" if draw.chance(30) else ""
    window = f"[{size}{slide}{own}]" if draw.chance(90) else draw.window()
    return _told(draw, f"(RSTREAM({below})) AS r {window}")


def _merge_slides(draw: Draw) -> str:
    size = draw.pick(("RANGE 0", "RANGE 1", "RANGE 2", "RANGE 3", "RANGE 5", "ROWS 2", "ROWS 3 RANGE 4"))
    partition = "PARTITION BY k " if size.startswith("ROWS") and draw.chance(40) else ""
    slide = f" SLIDE {draw.number(1, 4)}" if draw.chance(95) else ""
    lag = f" LAG {draw.number(1, 3)}" if draw.chance(30) else ""
    return _told(draw, f"{draw.pick(('S', 'P', 'L'))} [{partition}{size}{slide}{lag}]")


def _group_window(draw: Draw) -> str:
    window = draw.time_window() if draw.chance(80) else draw.window()
    value = draw.pick(("x", "k", "x + 1", "COALESCE(x, 1)", "k % 3"))
    text = f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} {window} WHERE {value} = {draw.number(1, 3)}"
    operator = draw.pick(("", "", "ISTREAM", "DSTREAM", "RSTREAM"))
    return f"{operator}({text})" if operator else text


def _coalesce_split(draw: Draw) -> str:
    if draw.chance(50):
        return _told(draw, f"{draw.pick(('S', 'P', 'L'))} {draw.window()}")
    below = f"SELECT k, x FROM S {draw.window()}{_where(draw)}"
    return _told(draw, f"({draw.pick(('ISTREAM', 'DSTREAM'))}({below})) AS d {draw.window()}")


STREAM_SHAPES: dict[str, Shape] = {
    "window_reduction": _window_reduction,
    "istream_of_disjoint": _istream_of_disjoint,
    "now_window": _now_window,
    "predicate_window": _predicate_window,
    "band_join_window": _band_join_window,
    "now_view_window": _now_view_window,
    "window_below_union": _window_below_union,
    "window_above_union": _window_above_union,
    "map_below_window": _map_window,
    "map_above_window": _map_window,
    "relation_round_trip": _relation_round_trip,
    "stream_round_trip": _stream_round_trip,
    "dstream_of_monotonic": _dstream_of_monotonic,
    "merge_windows": _merge_windows,
    "merge_slides": _merge_slides,
    "group_window": _group_window,
    "coalesce_split": _coalesce_split,
}
