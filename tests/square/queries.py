"""Random queries of all forms over a world."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.square.expressions import KINDS, Expressions, Scope, kind_of
from tests.square.leaves import Columns, Leaves, NestedSql
from tests.square.worlds import World

_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")
_SETS = ("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN")
_OFTEN = ("int", "int", "int", "double", "string", "list", *KINDS)
_TYPES = {
    "int": "BIGINT",
    "double": "DOUBLE",
    "decimal": "DECIMAL(20,4)",
    "string": "STRING",
    "bool": "BOOLEAN",
    "list": "ARRAY<INT>",
}


class Queries(Expressions):
    """Draws queries with typed columns c0, c1, ... over windows, relations and subqueries."""

    def __init__(self, rng: random.Random, world: World) -> None:
        super().__init__(rng, not world.timestamps, world.functions)
        self._leaves = Leaves(rng, world)
        self._aliases = 0

    # Queries.

    def kinds(self, most: int = 3) -> list[str]:
        """The kinds of some output columns."""
        return [self.pick(_OFTEN) for _ in range(self.number(1, most))]

    def query(self, depth: int, kinds: Sequence[str], outer: dict[str, str] | None = None) -> str:
        """A query with columns of these kinds."""
        around = outer or {}
        if depth > 0 and self.chance(15):
            sides = [self._select(depth - 1, kinds, around) for _ in range(2)]
            text = f"({sides[0]}) {self.pick(_SETS)} ({sides[1]})"
        else:
            text = self._select(depth, kinds, around)
        return text + self._limit(len(kinds)) if self.chance(10) else text

    def _limit(self, width: int) -> str:
        keys = [f"{i + 1} {self.pick(('ASC', 'DESC'))}{self._nulls()}" for i in range(width) if self.chance(70)]
        order = f" ORDER BY {', '.join(keys)}" if keys else ""
        offset = f" OFFSET {self.number(0, 2)}" if self.chance(40) else ""
        return f"{order} LIMIT {self.number(0, 4)}{offset}"

    def _nulls(self) -> str:
        return self.pick(("", "", " NULLS FIRST", " NULLS LAST"))

    def _select(self, depth: int, kinds: Sequence[str], outer: dict[str, str]) -> str:
        source, columns = self._from(depth)
        scope = Scope(columns, outer)
        where = self._where(scope, depth)
        if self.chance(35):
            return self._grouped(f"{source}{where}", scope, depth, kinds)
        items = [self.value(scope, kind, depth) for kind in kinds]
        distinct = "DISTINCT " if self.chance(12) else ""
        return f"SELECT {distinct}{_listed(items, kinds)} FROM {source}{where}"

    def _where(self, scope: Scope, depth: int) -> str:
        parts = []
        common = [(a, b) for a, t in scope.columns.items() for b, u in scope.outer.items() if t == u]
        if common and self.chance(60):
            inner, around = self.pick(common)
            parts.append(f"{inner} {self.pick(('=', '=', '=', '<=', '<>'))} {around}")
        if self.chance(40):
            parts.append(self.condition(scope, depth))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _grouped(self, body: str, scope: Scope, depth: int, kinds: Sequence[str]) -> str:
        """Groups by some columns; the items are keys or aggregates."""
        keys = list(dict.fromkeys(self.pick(list(scope.columns)) for _ in range(self.pick((0, 1, 1, 2)))))
        items = []
        for kind in kinds:
            usable = [k for k in keys if scope.columns[k] == kind]
            items.append(self.pick(usable) if usable and self.chance(60) else self.aggregate(scope, kind))
        having = f" HAVING {self._having(scope, keys, depth)}" if self.chance(35) else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {_listed(items, kinds)} FROM {body}{group}{having}"

    def _having(self, scope: Scope, keys: Sequence[str], depth: int) -> str:
        kind = self.pick(("int", "double", "decimal"))
        value = self.aggregate(scope, kind)
        if depth > 0 and self.chance(25):
            around = {**scope.outer, **{k: scope.columns[k] for k in keys}}
            return f"{value} {self.pick(('IN', 'NOT IN'))} ({self.query(depth - 1, [kind], around)})"
        return f"{value} {self.pick(('>', '>=', '<', '<>'))} {self.pick(('0', '1', '2'))}"

    # FROM.

    def _alias(self) -> str:
        self._aliases += 1
        return f"a{self._aliases}"

    def _from(self, depth: int) -> tuple[str, dict[str, str]]:
        text, columns = self._item(depth)
        for _ in range(self.pick((0, 0, 1, 1, 2)) if depth > 0 else self.pick((0, 0, 1))):
            other, added = self._item(depth)
            kind = self.pick(_JOINS)
            on = "" if kind == "CROSS JOIN" else f" ON {self._on(columns, added)}"
            text = f"{text} {kind} {other}{on}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                columns = {**columns, **added}
        return text, columns

    def _on(self, left: dict[str, str], right: dict[str, str]) -> str:
        """An equality, a comparison, or both; numbers of different types too."""
        numbers = ("int", "double", "decimal")
        pairs = [(a, b) for a, t in left.items() for b, u in right.items() if t == u or (t in numbers and u in numbers)]
        both = Scope({**left, **right}, {})
        if not pairs or self.chance(8):
            return self.condition(both, 0)
        parts = [f"{a} {self.pick(('=', '=', '=', '=', '<', '<='))} {b}" for a, b in [self.pick(pairs)]]
        if self.chance(30):
            a, b = self.pick(pairs)
            parts.append(f"{a} {self.pick(('=', '<=>', '<>', '<='))} {b}")
        if self.chance(20):
            parts.append(self.comparison(both))
        return " AND ".join(parts)

    def _item(self, depth: int) -> tuple[str, dict[str, str]]:
        alias = self._alias()
        if depth > 0 and self.chance(25):
            kinds = self.kinds()
            columns = {f"{alias}.c{i}": kind for i, kind in enumerate(kinds)}
            return f"({self.query(depth - 1, kinds)}) AS {alias}", columns
        leaf = self._leaves.leaf()
        return f"{leaf.text} AS {alias}", {f"{alias}.{c}": kind_of(t) for c, t in leaf.columns.items()}

    # Subqueries.

    def subquery_condition(self, scope: Scope, depth: int) -> str:
        """EXISTS, IN, ANY, ALL, or a comparison with a scalar subquery."""
        kind = self.kind(scope)
        operand = self.column(replace(scope, outer={}), kind)
        inner = self.query(depth, [kind], scope.inside)
        match self.number(0, 8):
            case 0 | 1:
                return f"{self.pick(('', 'NOT '))}EXISTS ({inner})"
            case 2 | 3:
                return f"{operand} IN ({inner})"
            case 4 | 5:
                return f"{operand} NOT IN ({inner})"
            case 6 | 7:
                return f"{operand} {self.pick(('=', '<>', '<', '>='))} {self.pick(('ANY', 'ALL'))} ({inner})"
            case _:
                return f"{operand} {self.pick(('=', '<', '>='))} {self.scalar(scope, kind, depth)}"

    def scalar(self, scope: Scope, kind: str, depth: int) -> str:
        """A subquery of one row: an aggregate, or the first row in an order."""
        source, columns = self._from(max(depth, 0))
        inner = Scope(columns, scope.inside)
        where = self._where(inner, depth)
        if self.chance(75):
            return f"(SELECT {self.aggregate(inner, kind)} AS c0 FROM {source}{where})"
        value = self.value(Scope(columns, {}), kind)
        return f"(SELECT {value} AS c0 FROM {source}{where} ORDER BY 1 LIMIT 1)"

    # Forms.

    def windowed(self) -> str:
        """A query of the grammar of windows."""
        return self._leaves.windows.query()

    def nested(self) -> str:
        """Deep SQL over windows."""
        return NestedSql(self.rng, self._leaves).query(self.pick((1, 1, 2)), self.pick((1, 2)))

    def reports(self) -> str:
        """Many aggregates of one group, some of them lists."""
        source, columns = self._from(0)
        scope = Scope(columns, {})
        kinds = [self.kind(scope) for _ in range(self.number(3, 8))]
        items = [self.aggregate(scope, kind) for kind in kinds]
        if self.chance(30):
            items.append(self.list_aggregate(scope))
        keys = list(dict.fromkeys(self.pick(list(columns)) for _ in range(self.pick((0, 1, 1, 2)))))
        listed = ", ".join([*keys, *(f"{item} AS c{i}" for i, item in enumerate(items))])
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = f" HAVING {self._having(scope, keys, 0)}" if self.chance(30) else ""
        return f"SELECT {listed} FROM {source}{self._where(scope, 0)}{group}{having}"

    def view(self, name: str) -> tuple[str, Columns]:
        """The definition of a view, of a stream (D1, ...) or of a tagged stream (T1, ...); columns k, x and others."""
        kinds = ["int", "int", *self.kinds(2)]
        columns = dict(zip(("k", "x", "y", "z"), kinds, strict=False))
        query, names = self.query(1, kinds), ", ".join(columns)
        types = {c: _TYPES.get(kind, "TIMESTAMP") for c, kind in columns.items()}
        if name.startswith("D"):
            return f"CREATE STREAM {name} ({names}) AS {self.pick(_OPERATORS)}({query})", types
        return f"CREATE {'STREAMED ' if name.startswith('T') else ''}VIEW {name} ({names}) AS {query}", types

    def statement(self) -> str:
        """A query of any form, often with a relation-to-stream operator."""
        form = self.pick(("typed", "typed", "typed", "windowed", "windowed", "nested", "reports"))
        match form:
            case "typed":
                text = self.query(self.pick((0, 1, 1, 1, 2)), self.kinds())
            case "windowed":
                text = self.windowed()
            case "nested":
                text = self.nested()
            case _:
                text = self.reports()
        operator = self.pick((*_OPERATORS, "STREAMED")) if self.chance(35) else ""
        return f"{operator}({text})" if operator else text


def _listed(items: Sequence[str], kinds: Sequence[str]) -> str:
    """The items under the names c0, c1, ...; a bare NULL as a value of its kind."""
    texts = [
        f"CAST(NULL AS {_TYPES.get(k, 'TIMESTAMP')})" if i == "NULL" else i for i, k in zip(items, kinds, strict=True)
    ]
    return ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
