"""Random plain SQL: text that means the same to every SQL system, over three small tables of integers and NULLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]
Row = tuple[int | None, ...]

TABLES: dict[str, tuple[str, str]] = {"t": ("a", "b"), "u": ("b", "c"), "v": ("a", "c")}
_VALUES = st.sampled_from((None, 0, 1, 2))
SAMPLE: dict[str, list[Row]] = {
    "t": [(1, None), (1, 2), (None, 2), (2, 2), (1, 2), (0, 0)],
    "u": [(1, None), (2, 1), (2, 1), (None, 0)],
    "v": [(1, 1), (2, None), (0, 2)],
}
"""Tables with NULLs and duplicates, in which most conditions hold for some rows and not for others."""
CONTENTS: st.SearchStrategy[dict[str, list[Row]]] = st.just(SAMPLE) | st.fixed_dictionaries(
    {name: st.lists(st.tuples(_VALUES, _VALUES), min_size=0, max_size=5) for name in TABLES}
)
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Scope:
    """The columns of FROM, qualified, and those of the enclosing query."""

    columns: tuple[str, ...]
    outer: tuple[str, ...] = ()


@dataclass
class Grammar:
    """Draws queries. Simple alternatives come first, so that failing examples shrink to them."""

    draw: Draw  # type: ignore[type-arg]
    aliases: int = 0

    def pick(self, options: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(options))
        return chosen

    def chance(self, percent: int) -> bool:
        return int(self.draw(st.integers(0, 99))) >= 100 - percent

    def alias(self) -> str:
        self.aliases += 1
        return f"x{self.aliases}"

    # Queries.

    def query(self, depth: int, width: int, outer: tuple[str, ...] = ()) -> str:
        """A query with a number of integer columns, that may name columns of the query around it."""
        if depth > 0 and self.chance(20):
            word = self.pick(("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"))
            sides = [self.select(depth - 1, width, outer) for _ in range(2)]
            text = f"({sides[0]}) {word} ({sides[1]})"
        else:
            text = self.select(depth, width, outer)
        return text + self.limit(width) if self.chance(12) else text

    def limit(self, width: int) -> str:
        """An order over all columns, so that the answer is determined, and a limit."""
        keys = [f"{i + 1} {self.pick(('ASC', 'DESC'))} NULLS {self.pick(('FIRST', 'LAST'))}" for i in range(width)]
        offset = f" OFFSET {self.pick((0, 1))}" if self.chance(30) else ""
        return f" ORDER BY {', '.join(keys)} LIMIT {self.pick((1, 2, 3))}{offset}"

    def select(self, depth: int, width: int, outer: tuple[str, ...]) -> str:
        source, columns = self.from_clause(depth)
        scope = Scope(tuple(columns), outer)
        where = self.where(scope, depth, 60)
        if self.chance(25):
            return self.grouped(source + where, scope, depth, width)
        items = [self.integer(scope, depth - 1) for _ in range(width)]
        distinct = "DISTINCT " if self.chance(15) else ""
        return f"SELECT {distinct}{self.listed(items)} FROM {source}{where}"

    def where(self, scope: Scope, depth: int, percent: int) -> str:
        """WHERE, in a subquery often with a condition that connects it with the query around it."""
        parts = []
        if scope.outer and self.chance(55):
            parts.append(f"{self.pick(scope.columns)} {self.pick(('=', '=', '<=', '<>'))} {self.pick(scope.outer)}")
        if self.chance(percent):
            parts.append(self.predicate(scope, depth))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def listed(self, items: Sequence[str]) -> str:
        return ", ".join(f"{item} AS k{i}" for i, item in enumerate(items))

    def grouped(self, body: str, scope: Scope, depth: int, width: int) -> str:
        keys = list(dict.fromkeys(self.pick(scope.columns) for _ in range(self.pick((1, 0, 2)))))
        items = [self.group_value(scope, keys) for _ in range(width)]
        having = ""
        if self.chance(40):
            having = f" HAVING {self.group_predicate(scope, keys, depth)}"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        if not keys and not any("(" in item for item in items):
            items[0] = "COUNT(*)"
        return f"SELECT {self.listed(items)} FROM {body}{group}{having}"

    def group_value(self, scope: Scope, keys: Sequence[str]) -> str:
        if keys and self.chance(40):
            return self.pick(keys)
        name = self.pick(("COUNT(*)", "COUNT({})", "SUM({})", "MIN({})", "MAX({})", "COUNT(DISTINCT {})"))
        return name.format(self.pick(scope.columns))

    def group_predicate(self, scope: Scope, keys: Sequence[str], depth: int) -> str:
        value = self.group_value(scope, keys)
        if depth > 0 and self.chance(50):
            outer = (*keys, *scope.outer)
            return f"{value} {self.pick(('IN', 'NOT IN'))} ({self.query(depth - 1, 1, outer)})"
        return f"{value} {self.pick(_COMPARISONS)} {self.pick((1, 0, 2))}"

    # FROM.

    def from_clause(self, depth: int) -> tuple[str, list[str]]:
        text, columns = self.item(depth)
        for _ in range(self.pick((0, 0, 1, 1, 2)) if depth > 0 else self.pick((0, 0, 1))):
            other, added = self.item(depth)
            kind = self.pick((" CROSS JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "))
            common = sorted({c.split(".")[1] for c in columns[-2:]} & {c.split(".")[1] for c in added})
            on = ""
            if kind in (" JOIN ", " LEFT JOIN ") and len(columns) == 2 and common and self.chance(20):
                on = f" USING ({common[0]})"
            elif kind != " CROSS JOIN ":
                scope = Scope(tuple(columns + added))
                inner = kind == " JOIN " and self.chance(25)
                on = f" ON {self.predicate(scope, 1) if inner else self.join_predicate(columns, added)}"
            text, columns = f"{text}{kind}{other}{on}", columns + added
        return text, columns

    def join_predicate(self, left: Sequence[str], right: Sequence[str]) -> str:
        equality = f"{self.pick(left)} = {self.pick(right)}"
        if self.chance(70):
            return equality
        return f"{equality} AND {self.pick([*left, *right])} {self.pick(_COMPARISONS)} {self.pick((0, 1, 2))}"

    def item(self, depth: int) -> tuple[str, list[str]]:
        alias = self.alias()
        if depth > 0 and self.chance(20):
            width = self.pick((1, 2))
            return f"({self.query(depth - 1, width)}) AS {alias}", [f"{alias}.k{i}" for i in range(width)]
        table = self.pick(tuple(TABLES))
        return f"{table} AS {alias}", [f"{alias}.{c}" for c in TABLES[table]]

    # Expressions.

    def column(self, scope: Scope) -> str:
        if scope.outer and self.chance(35):
            return self.pick(scope.outer)
        return self.pick(scope.columns)

    def integer(self, scope: Scope, depth: int) -> str:
        choice = self.pick(range(10))
        if choice <= 4:
            return self.column(scope)
        if choice == 5:
            return self.pick(("0", "1", "2", "NULL"))
        if choice == 6:
            return f"{self.column(scope)} {self.pick(('+', '-', '*'))} {self.column(scope)}"
        if choice == 7:
            return f"COALESCE({self.column(scope)}, {self.pick((0, 1))})"
        if choice == 8 or depth < 0:
            return f"CASE WHEN {self.predicate(scope, depth)} THEN {self.column(scope)} ELSE {self.column(scope)} END"
        return self.scalar(scope, depth)

    def scalar(self, scope: Scope, depth: int) -> str:
        """A subquery that has one row, or none or one."""
        source, columns = self.from_clause(max(depth - 1, 0))
        inner = Scope(tuple(columns), (*scope.columns, *scope.outer))
        where = self.where(inner, depth - 1, 50)
        if scope.outer or self.chance(70):
            call = self.pick(("COUNT(*)", "MAX({})", "MIN({})", "SUM({})", "COUNT({})")).format(self.pick(columns))
            extra = self.pick(("", "", " + 1"))
            return f"(SELECT {call}{extra} FROM {source}{where})"
        return f"(SELECT {self.pick(columns)} AS k0 FROM {source}{where} ORDER BY 1 ASC NULLS LAST LIMIT 1)"

    def predicate(self, scope: Scope, depth: int) -> str:
        choice = self.pick(range(12)) if depth > 0 else self.pick(range(7))
        if choice <= 2:
            return f"{self.integer(scope, depth - 1)} {self.pick(_COMPARISONS)} {self.integer(scope, -1)}"
        if choice == 3:
            return f"{self.column(scope)} IS {self.pick(('', 'NOT '))}NULL"
        if choice == 4:
            return f"{self.column(scope)} {self.pick(('', 'NOT '))}IN ({self.pick(('1', '0, 1', '1, NULL'))})"
        if choice == 5:
            sides = [self.predicate(scope, depth - 1) for _ in range(2)]
            return f"({sides[0]} {self.pick(('AND', 'OR'))} {sides[1]})"
        if choice == 6:
            return f"NOT ({self.predicate(scope, depth - 1)})"
        return self.nested_predicate(scope, depth)

    def nested_predicate(self, scope: Scope, depth: int) -> str:
        """A condition with a subquery."""
        subquery = self.query(depth - 1, 1, (*scope.columns, *scope.outer))
        operand = self.column(scope)
        match self.pick(range(7)):
            case 0 | 1:
                return f"{self.pick(('', 'NOT '))}EXISTS ({subquery})"
            case 2:
                return f"{operand} IN ({subquery})"
            case 3 | 4:
                return f"{operand} NOT IN ({subquery})"
            case _:
                return f"{operand} {self.pick(_COMPARISONS)} {self.pick(('ANY', 'ALL'))} ({subquery})"


@st.composite
def queries(draw: Draw) -> str:  # type: ignore[type-arg]
    """A query of one or two integer columns; a filter by a subquery; or a condition in the select list."""
    grammar = Grammar(draw)
    form = grammar.pick(("any", "any", "any", "filter", "filter", "condition"))
    if form == "any":
        return grammar.query(2, grammar.pick((1, 2)))
    source, columns = grammar.from_clause(0)
    scope = Scope(tuple(columns))
    condition = grammar.nested_predicate(scope, 2)
    if form == "filter":
        return f"SELECT {', '.join(columns)} FROM {source} WHERE {condition}"
    other = grammar.predicate(scope, 1)
    return f"SELECT {columns[0]} AS k0, ({condition} {grammar.pick(('AND', 'OR'))} {other}) AS k1 FROM {source}"
