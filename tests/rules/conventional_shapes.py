"""Queries for the conventional rules: of the shape that each one fits, and some that it must not change."""

from __future__ import annotations

from tests.rules.random_plans import Draw, Shape

_ALL_SETS = ("UNION ALL", "EXCEPT ALL", "INTERSECT ALL", "EXCEPT", "INTERSECT", "UNION")
_STREAMS = ("ISTREAM", "DSTREAM", "RSTREAM", "STREAMED")


def _answer(draw: Draw, text: str) -> str:
    """The query, sometimes as a stream."""
    return f"{draw.pick(_STREAMS)}({text})" if draw.chance(40) else text


def _from(draw: Draw, alias: str = "") -> str:
    """Something with integer columns k and x."""
    window = draw.time_window() if draw.chance(60) else draw.window()
    item = draw.pick((f"S {window}", f"S {window}", f"P {window}", f"L {window}", "R", "K", "C"))
    return f"{item} AS {alias}" if alias else item


def _condition(draw: Draw, *columns: str) -> str:
    """A condition; sometimes two, sometimes one that can fail or that the parts of others follow from."""
    parts = [draw.predicate(*columns) for _ in range(draw.pick((1, 1, 2)))]
    if draw.chance(15):
        parts.append(f"{columns[0]} + 2147483645 > {draw.number(0, 3)}")
    if draw.chance(10):
        parts.append(f"{columns[0]} / 2 > {columns[-1]}")
    return " AND ".join(parts)


def _derived(draw: Draw, where: str = "") -> str:
    """Columns a and b of a derived table q."""
    items = draw.pick(
        ("k AS a, x AS b", "x AS a, k AS b", "k AS a, x + 1 AS b", "k AS a, 7 AS b", "CAST(k AS BIGINT) AS a, -x AS b",
         "k AS a, COALESCE(x, k) AS b", "k * 1.5 AS a, x AS b", "k AS a, CASE WHEN x > 1 THEN 2 END AS b")
    )  # fmt: skip
    return f"(SELECT {items} FROM {_from(draw)}{where}) AS q"


def _merge_filters(draw: Draw) -> str:
    inner = _derived(draw, f" WHERE {_condition(draw, 'k', 'x')}" if draw.chance(90) else "")
    return _answer(draw, f"SELECT q.a FROM {inner} WHERE {_condition(draw, 'q.a', 'q.b')}")


def _split_now_filter(draw: Draw) -> str:
    clocked = draw.pick(("x < NOW", "x >= NOW", "x <> NOW", "NOT (x < NOW)"))
    # of one column, and without other numbers: each is an instant near which an answer may change
    plain = draw.pick(("x > 1", "x IS NOT NULL", "NOT (x < 1)", "x <> 1", "COALESCE(x, 1) = 1"))
    others = f" AND {plain}" if draw.chance(85) else ""
    return f"SELECT k, x FROM {draw.pick(('S', 'P', 'L'))} {draw.time_window()} WHERE {clocked}{others}"


def _merge_maps(draw: Draw) -> str:
    items = draw.pick(("q.a AS c", "q.a + 1 AS c, q.b AS d", "q.b AS c, q.a * 2 AS d", "q.b AS c, q.b AS d", "1 AS c"))
    where = f" WHERE {draw.predicate('q.a')}" if draw.chance(10) else ""
    return _answer(draw, f"SELECT {items} FROM {_derived(draw)}{where}")


def _marked(draw: Draw) -> str:
    """A subquery in a place where it becomes a mark."""
    inner = f"SELECT {draw.pick(('k', 'x'))} FROM {_from(draw, 'i')}"
    where = draw.pick(("", "", f" WHERE i.k = o.x AND {draw.predicate('i.x')}", " WHERE i.x < o.k"))
    test = draw.pick(
        (f"o.k IN ({inner}{where})", f"o.x = ANY ({inner}{where})", f"o.x > ANY ({inner}{where})",
         f"o.k < ALL ({inner}{where})", f"EXISTS ({inner}{where})", f"(o.k, o.x) IN (SELECT k, x FROM {_from(draw)})")
    )  # fmt: skip
    return draw.pick(
        (f"({test}) IS TRUE", f"NOT ({test})", f"({test}) IS FALSE", f"({test}) IS NOT TRUE", f"({test}) IS NOT FALSE",
         f"NOT (NOT ({test}))", f"({test}) IS NULL", f"({test}) OR o.x = 2")
    )  # fmt: skip


def _mark_to_semijoin(draw: Draw) -> str:
    also = f" AND {draw.predicate('o.k', 'o.x')}" if draw.chance(30) else ""
    return _answer(draw, f"SELECT o.k, o.x FROM {_from(draw, 'o')} WHERE {_marked(draw)}{also}")


def _semijoin_to_join(draw: Draw) -> str:
    keyed = f"(SELECT k, {draw.pick(('MAX(x)', 'MIN(x)', 'COUNT(*)', 'SUM(x)'))} AS n FROM {_from(draw)} GROUP BY k)"
    extreme = f"SELECT {draw.pick(('MAX', 'MIN'))}(i.x) FROM {_from(draw, 'i')} WHERE i.k = o.{draw.pick(('k', 'x'))}"
    more = draw.pick(("", "", " AND i.x < 3"))
    test = draw.pick(
        (f"o.x {draw.pick(('<', '>=', '<>', '='))} ({extreme}{more})",
         f"EXISTS (SELECT 1 FROM {keyed} AS g WHERE g.k = o.k AND g.n {draw.pick(('<', '>', '<>'))} o.x)",
         f"o.x <= (SELECT MIN(t.x) FROM (SELECT x FROM {_from(draw, 'i')} WHERE i.k = o.k{more}"
         " ORDER BY x DESC LIMIT 2) AS t)")
    )  # fmt: skip
    return _answer(draw, f"SELECT o.k, o.x FROM {_from(draw, 'o')} WHERE {test}")


def _remove_identity_maps(draw: Draw) -> str:
    outer = draw.pick(("R", "C", "K", "(SELECT k, x FROM S [RANGE 4])"))
    return f"SELECT o.k, o.x FROM {outer} AS o WHERE {_marked(draw)}"


def _remove_trivial_filters(draw: Draw) -> str:
    one = draw.predicate("k", "x")
    where = draw.pick(("TRUE", f"TRUE AND {one}", f"{one} AND {one}", f"{one} AND TRUE AND {one}", one))
    return _answer(draw, f"SELECT k FROM {_from(draw)} WHERE {where}")


def _constant(draw: Draw) -> str:
    a, b = draw.number(-3, 4), draw.number(-3, 4)
    number = draw.pick((f"({a} + {b} * 2)", f"({a} - {b})", "CAST('7' AS INT)", "CAST(NULL AS INT)", "(2147483647 + 0)",
                        f"CASE WHEN {a} < {b} THEN 1 WHEN NULL THEN 2 ELSE x END", "CAST(2 AS DOUBLE)",
                        f"CASE WHEN x > 1 THEN 1.5 WHEN {a} = {b} THEN 2 ELSE 3 END", "7 % 3", "1 / 2"))  # fmt: skip
    truth = draw.pick((f"{a} < {b}", f"{a} IN ({b}, 2, NULL)", f"NOT ({a} = 1)", "NULL IS NULL", "(1 = 1) IS TRUE",
                       f"'a' < '{draw.pick(('b', 'A', ''))}'", "NULL = 1", f"1.50 = {a}", "NULL <=> NULL"))  # fmt: skip
    return draw.pick(
        (f"x > {number}", f"{number} + k > 1", f"({truth} AND x > 1)", f"({truth} OR x > 1)", f"NOT ({truth})", truth)
    )


def _constant_folding(draw: Draw) -> str:
    item = draw.pick(
        (f"CASE WHEN {_constant(draw)} THEN 1 ELSE 2 END", f"SUM(x) FILTER (WHERE {_constant(draw)})", "x")
    )
    keys = " GROUP BY k" if item.startswith("SUM") else ""
    return _answer(draw, f"SELECT k, {item} AS c FROM {_from(draw)} WHERE {_constant(draw)}{keys}")


def _empty_plans(draw: Draw) -> str:
    nothing = f"(SELECT k, x FROM {_from(draw)} WHERE {draw.pick(('FALSE', 'NULL', 'k > 1 AND FALSE'))}) AS o"
    other = f"(SELECT k, x FROM {_from(draw)}) AS i"
    left, right = (nothing, other) if draw.chance(50) else (other, nothing)
    join = draw.pick(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"))
    sets = draw.pick(_ALL_SETS)
    return _answer(draw, draw.pick(
        (f"SELECT * FROM {left} {join} {right} ON i.k = o.k",
         f"SELECT k, COUNT(*) AS c FROM {nothing} GROUP BY k",
         f"SELECT COUNT(*) AS c, SUM(x) AS s FROM {nothing}",
         f"SELECT COUNT(x) AS c, COLLECT_LIST(x) AS l FROM {nothing}",
         f"SELECT * FROM {left} {sets} SELECT * FROM {right}",
         f"SELECT CAST(k AS BIGINT) AS k FROM {left} {sets} SELECT x FROM {right}",
         f"SELECT * FROM {other} JOIN {_from(draw, 'j')} ON i.k = j.k AND FALSE",
         f"SELECT k FROM {other} WHERE k NOT IN (SELECT k FROM {nothing})",
         f"SELECT k, k IN (SELECT k FROM {nothing}) AS m FROM {other}",
         f"SELECT k, (SELECT MAX(x) FROM {nothing}) AS m FROM {other}",
         f"SELECT DISTINCT k FROM {nothing}",
         f"SELECT k FROM {_from(draw)} ORDER BY k LIMIT 0"))
    )  # fmt: skip


def _filter_below_map(draw: Draw) -> str:
    return _answer(draw, f"SELECT q.a, q.b FROM {_derived(draw)} WHERE {_condition(draw, 'q.a', 'q.b')}")


def _joined(draw: Draw, joins: tuple[str, ...]) -> str:
    """A join of o and i, with conditions on both and above."""
    on = [draw.pick(("o.k = i.k", "o.x = i.k", "o.k < i.x"))]
    if draw.chance(50):
        on.append(_condition(draw, draw.pick(("o.k", "i.k")), draw.pick(("o.x", "i.x"))))
    if draw.chance(30):
        on.append(_condition(draw, "i.k", "i.x"))
    join = draw.pick(joins)
    text = f"{_from(draw, 'o')} {join} {_from(draw, 'i')} ON {' AND '.join(on)}"
    alone = join in ("SEMI JOIN", "ANTI JOIN")
    columns = draw.pick((("o.k", "o.x"), ("i.k", "i.x"), ("o.k", "i.x"))) if not alone else ("o.k", "o.x")
    where = f" WHERE {_condition(draw, *columns)}" if draw.chance(80) else ""
    return f"SELECT o.k, o.x{'' if alone else ', i.x AS y'} FROM {text}{where}"


def _filter_below_join(draw: Draw) -> str:
    if draw.chance(15):
        return _answer(
            draw, f"SELECT o.k, i.x FROM {_from(draw, 'o')}, {_from(draw, 'i')} WHERE {_condition(draw, 'i.x')}"
        )
    return _answer(draw, _joined(draw, ("JOIN", "SEMI JOIN", "ANTI JOIN", "JOIN", "LEFT JOIN")))


def _outer_joins(draw: Draw) -> str:
    return _answer(draw, _joined(draw, ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN", "RIGHT JOIN")))


def _outer_to_inner(draw: Draw) -> str:
    join = draw.pick(("LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
    side = draw.pick(("o", "i"))
    one, two = f"{side}.k", draw.pick(("o.x", "i.x"))
    where = draw.pick(
        (draw.predicate(one, two), f"{one} > 1", f"{one} IS NOT NULL", f"NOT ({one} = {two})", f"{one} IN (1, 2)",
         f"{one} > 1 OR {two} = 1", f"{one} + 1 > {two}", f"({one} = 1) IS FALSE", f"COALESCE({one}, 1) = 1",
         f"NOT ({one} > 1 AND {two} > 1)", f"{one} <=> 1")
    )  # fmt: skip
    text = f"{_from(draw, 'o')} {join} {_from(draw, 'i')} ON o.k = i.k"
    return _answer(draw, f"SELECT o.k, o.x, i.x AS y FROM {text} WHERE {where}")


def _sides(draw: Draw, sets: tuple[str, ...]) -> str:
    """Two queries of two columns, sometimes of different types."""
    left, right = draw.pick(
        (("k", "k"), ("k", "k"), ("k", "x"), ("v", "v"), ("k", "k * 1.5"), ("CAST(k AS BIGINT)", "x"))
    )
    items = [f"S {draw.time_window()}" if "v" in (left, right) else _from(draw) for _ in range(2)]
    wheres = [f" WHERE {draw.predicate('k', 'x')}" if draw.chance(40) else "" for _ in range(2)]
    both = (f"SELECT {c} AS a, x AS b FROM {i}{w}" for c, i, w in zip((left, right), items, wheres, strict=True))
    return f" {draw.pick(sets)} ".join(both)


def _filter_below_union(draw: Draw) -> str:
    sets = _sides(draw, ("UNION ALL", "UNION ALL", "UNION", "EXCEPT"))
    return _answer(draw, f"SELECT q.a, q.b FROM ({sets}) AS q WHERE {_condition(draw, 'q.a', 'q.b')}")


def _filter_below_set_operation(draw: Draw) -> str:
    sets = _sides(draw, (*_ALL_SETS[1:5], "UNION ALL"))
    return _answer(draw, f"SELECT q.a, q.b FROM ({sets}) AS q WHERE {_condition(draw, 'q.a', 'q.b')}")


def _filter_below_aggregation(draw: Draw) -> str:
    keys = draw.pick(("k", "k, x", "k + 1", "COALESCE(k, 0)", ""))
    key = "k" if keys == "k, x" else keys or "COUNT(x)"
    having = draw.pick((f"{key} > 1", f"{key} IN (1, 2) AND COUNT(*) > 1", f"{key} IS NULL", "COUNT(*) > 1"))
    group = f" GROUP BY {keys}" if keys else ""
    return _answer(draw, f"SELECT {key} AS a, COUNT(*) AS n, MAX(x) AS m FROM {_from(draw)}{group} HAVING {having}")


def _filter_below_duplicate_elimination(draw: Draw) -> str:
    item = draw.pick((f"S {draw.time_window()}", f"S {draw.window()}"))
    inner = f"SELECT DISTINCT {draw.pick(('k AS a, x AS b', 'v AS a, x AS b'))} FROM {item}"
    where = _condition(draw, "q.a", "q.b") if draw.chance(80) else "CAST(q.a AS STRING) = '0.0'"
    return _answer(draw, f"SELECT q.a, q.b FROM ({inner}) AS q WHERE {where}")


def _filter_below_top_k(draw: Draw) -> str:
    order = draw.pick(("x", "x DESC", "k, x"))
    inner = f"SELECT k AS a, x AS b FROM {_from(draw)} ORDER BY {order} LIMIT {draw.number(1, 3)}"
    columns = draw.pick((("q.a",), ("q.a",), ("q.a", "q.b")))
    return _answer(draw, f"SELECT q.a, q.b FROM ({inner}) AS q WHERE {_condition(draw, *columns)}")


def _implied_filters(draw: Draw) -> str:
    join = draw.pick(("JOIN", "JOIN", "SEMI JOIN", "LEFT JOIN", "RIGHT JOIN", "ANTI JOIN", "FULL JOIN"))
    bound = f"{draw.pick(('=', '<', '>='))} {draw.number(0, 2)}"
    known = draw.pick((0, 1, 0, 1, 2))
    wheres = [f" WHERE k {bound}" if number == known else "" for number in range(2)]
    sides = [f"(SELECT k, x FROM {_from(draw)}{where}) AS {n}" for where, n in zip(wheres, "oi", strict=True)]
    if draw.chance(15):
        sides[0] = f"(SELECT k, x FROM {_from(draw)} WHERE k {bound} UNION ALL SELECT k, x FROM {_from(draw)}) AS o"
    text = f"{sides[0]} {join} {sides[1]} ON o.k = i.{draw.pick(('k', 'k', 'x'))}"
    return _answer(draw, f"SELECT o.k, o.x FROM {text}")


def _projection_pruning(draw: Draw) -> str:
    window = draw.window()
    item = draw.pick(("k", "x + 1", "COUNT(*) AS c", "k, MAX(x) AS m"))
    group = " GROUP BY k" if item.startswith("k,") else ""
    inner = f"SELECT k, x, v, s FROM S {window}"
    return _answer(draw, draw.pick(
        (_joined(draw, ("JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")),
         f"SELECT {item} FROM {_from(draw)}{group}",
         f"SELECT {item} FROM (SELECT k, x, k + 1 AS z FROM {_from(draw)} WHERE x > 0) AS q{group}",
         f"SELECT {item} FROM ({inner} {draw.pick(_ALL_SETS)} SELECT k, x, v, s FROM P {draw.window()}) AS q{group}",
         f"SELECT {item} FROM (SELECT DISTINCT k, x, s FROM S {window}) AS q{group}",
         f"SELECT {item} FROM (SELECT k, x, s FROM S {window} ORDER BY x LIMIT 2) AS q{group}",
         f"SELECT q.k FROM (SELECT k, x, COUNT(*) AS n, MIN(s) AS m FROM S {window} GROUP BY k, x) AS q",
         f"SELECT {item} FROM (ISTREAM(SELECT k, x, s FROM S {window})) [ROWS 2]{group}",
         f"SELECT k FROM {_from(draw, 'o')} WHERE x NOT IN (SELECT x FROM {_from(draw, 'i')} WHERE i.k = o.k)",
         f"SELECT k FROM {_from(draw, 'o')} WHERE x > (SELECT MAX(x) FROM {_from(draw, 'i')} WHERE i.k = o.k)"))
    )  # fmt: skip


def _duplicate_elimination(draw: Draw) -> str:
    one, two = _from(draw, "o"), _from(draw, "i")
    wide = f"SELECT k, x FROM {_from(draw)}"
    return _answer(draw, draw.pick(
        (f"SELECT DISTINCT k, COUNT(*) AS n FROM {one} GROUP BY k",
         f"SELECT DISTINCT q.a, q.b FROM (SELECT DISTINCT k AS a, x AS b FROM {one}) AS q",
         f"SELECT DISTINCT q.a, q.b FROM (SELECT k AS a, x AS b FROM {one} INTERSECT ALL {wide}) AS q",
         f"SELECT DISTINCT q.a, q.b FROM (SELECT k AS a, x AS b FROM {one} EXCEPT ALL {wide}) AS q",
         f"SELECT DISTINCT k, x FROM {one} UNION SELECT DISTINCT k, x FROM {two}",
         f"SELECT DISTINCT a, b, c FROM (SELECT k AS a, x AS b FROM {one}) JOIN (SELECT x AS c FROM {two}) ON a = c",
         f"SELECT DISTINCT a, b FROM (SELECT k AS a, x AS b FROM {one}) SEMI JOIN {two} ON a = i.k",
         f"SELECT k FROM {one} WHERE x IN (SELECT DISTINCT x FROM {two})",
         f"SELECT k FROM {one} WHERE x NOT IN (SELECT DISTINCT x FROM {two})",
         "SELECT DISTINCT k, x FROM K", f"SELECT DISTINCT x FROM {one}"))
    )  # fmt: skip


def _difference_intersection(draw: Draw) -> str:
    item = _from(draw)
    conditions = [f" WHERE {draw.predicate('k', 'x')}" if draw.chance(60) else "" for _ in range(2)]
    columns = draw.pick(("k, x", "k, x", "x, k", "k"))
    one, two = (f"SELECT {columns} FROM {item}{c}" for c in conditions)
    other = f"SELECT {columns} FROM {_from(draw)}"
    sets = draw.pick(_ALL_SETS[1:5])
    minus = draw.pick(("EXCEPT ALL", "EXCEPT"))
    return _answer(draw, draw.pick(
        (f"{one} {sets} {two}", f"{one} {sets} {one}", f"({one} {minus} {other}) {draw.pick((minus, 'EXCEPT'))} {two}",
         f"({one} UNION ALL {other}) {minus} {one}", f"({other} UNION ALL {two}) {minus} {two}",
         f"{one} {sets} {other}"))
    )  # fmt: skip


def _subquery_decorrelation(draw: Draw) -> str:
    inner = f"SELECT {draw.pick(('i.k', 'i.x'))} FROM {_from(draw, 'i')}"
    where = draw.pick(("", "", " WHERE i.k = o.x", " WHERE i.x < o.k AND i.k > 0"))
    test = draw.pick(
        (f"o.k IN ({inner}{where})", f"o.k NOT IN ({inner}{where})", f"EXISTS ({inner}{where})",
         f"NOT EXISTS ({inner}{where})", f"o.x > ANY ({inner}{where})", f"o.x >= ALL ({inner}{where})",
         f"o.x > (SELECT MAX(i.x) FROM {_from(draw, 'i')}{where})",
         f"o.x <= (SELECT COUNT(*) FROM {_from(draw, 'i')}{where})", draw.predicate("o.k", "o.x"))
    )  # fmt: skip
    item = f", (SELECT MIN(j.x) FROM {_from(draw, 'j')} WHERE j.k = o.k) AS m" if draw.chance(30) else ""
    return _answer(draw, f"SELECT o.k, o.x{item} FROM {_from(draw, 'o')} WHERE {test}")


SHAPES: dict[str, Shape] = {
    "merge_filters": _merge_filters,
    "split_now_filter": _split_now_filter,
    "merge_maps": _merge_maps,
    "remove_identity_maps": _remove_identity_maps,
    "remove_trivial_filters": _remove_trivial_filters,
    "constant_folding": _constant_folding,
    "empty_plans": _empty_plans,
    "filter_below_map": _filter_below_map,
    "filter_below_join": _filter_below_join,
    "filter_below_outer_join": _outer_joins,
    "outer_to_inner": _outer_to_inner,
    "filter_below_union": _filter_below_union,
    "filter_below_set_operation": _filter_below_set_operation,
    "filter_below_aggregation": _filter_below_aggregation,
    "filter_below_duplicate_elimination": _filter_below_duplicate_elimination,
    "filter_below_top_k": _filter_below_top_k,
    "implied_filters": _implied_filters,
    "projection_pruning": _projection_pruning,
    "duplicate_elimination": _duplicate_elimination,
    "difference_intersection": _difference_intersection,
    "subquery_decorrelation": _subquery_decorrelation,
    "mark_to_semijoin": _mark_to_semijoin,
    "semijoin_to_join": _semijoin_to_join,
}
