"""Typed values and conditions over the columns in scope."""

from __future__ import annotations

import random
from abc import abstractmethod
from dataclasses import dataclass

from tests.square.drawing import Chooser

_COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")
_KINDS = {
    "INT": "int",
    "BIGINT": "int",
    "DOUBLE": "double",
    "FLOAT": "double",
    "STRING": "string",
    "BOOLEAN": "bool",
    "TIMESTAMP": "time",
    "DATE": "time",
    "ARRAY<INT>": "list",
}
KINDS = ("int", "int", "double", "decimal", "string", "bool", "time")
_LITERALS: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "-1", "3"),
    "double": ("0.5D", "1e0", "3.0D", "CAST(1 AS DOUBLE)"),
    "decimal": ("1.25", "0.0", "-3.1", "CAST(2 AS DECIMAL(5,1))"),
    "string": ("'a'", "'b'", "''", "'ab'"),
    "bool": ("TRUE", "FALSE"),
    "time": ("TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1971-01-01 12:00:00'"),
    "list": ("ARRAY(1, 2)", "ARRAY(2)"),
}
_SIMPLE: dict[str, tuple[str, ...]] = {
    "int": ("{0} + {1}", "{0} - {1}", "{0} * 2", "ABS({0})", "COALESCE({0}, 0)", "{0} % 2", "NULLIF({0}, {1})"),
    "double": ("{0} + {1}", "{0} * 0.1D", "{0} / {1}", "-({0})", "COALESCE({0}, 0.5D)", "GREATEST({0}, {1})"),
    "decimal": ("{0} + {1}", "{0} - {1}", "{0} * 2", "ABS({0})", "COALESCE({0}, 0.5)"),
    "string": ("UPPER({0})", "CONCAT({0}, {1})", "SUBSTRING({0}, 1, 1)", "COALESCE({0}, 'none')", "REVERSE({0})"),
    "bool": ("NOT ({0})", "({0} OR {1})", "({0} AND {1})"),
    "time": ("{0} + INTERVAL 1 DAY", "COALESCE({0}, {1})", "{0} - INTERVAL 90 SECONDS"),
    "list": ("COALESCE({0}, {1})",),
}
_AGGREGATES: dict[str, tuple[str, ...]] = {
    "int": (
        *("SUM({int})", "MIN({int})", "MAX({int})", "SUM(DISTINCT {int})", "ANY_VALUE({int})", "COUNT({any})"),
        *("MIN_BY({int}, {any})", "MAX_BY({int}, {other})", "FIRST({int})", "LAST({int})", "MODE({int})"),
    ),
    "double": (
        *("SUM({double})", "AVG({double})", "AVG({int})", "MIN({double})", "MAX({double})", "AVG(DISTINCT {int})"),
        *("VAR_POP({double})", "VAR_SAMP({int})", "STDDEV({double})", "STDDEV_POP({decimal})", "MEDIAN({int})"),
        *("MIN_BY({double}, {any})", "MAX_BY({double}, {int})", "MODE({double})"),
        *("MEDIAN({double})", "PERCENTILE({double}, 0.25)", "PERCENTILE({int}, 0.9)", "SUM(DISTINCT {double})"),
        *("MEDIAN(DISTINCT {double})", "MEDIAN({decimal})", "PERCENTILE({decimal}, 0.75)"),
    ),
    "decimal": (
        *("SUM({decimal})", "AVG({decimal})", "MIN({decimal})", "MAX({decimal})", "SUM(DISTINCT {decimal})"),
        *("MIN_BY({decimal}, {any})", "MAX_BY({decimal}, {string})", "MODE({decimal})"),
    ),
    "string": (
        *("MIN({string})", "MAX({string})", "ANY_VALUE({string})", "MODE({string})", "MODE(DISTINCT {string})"),
        *("MIN_BY({string}, {any})", "MAX_BY({string}, {int})", "FIRST({string})", "LAST({string})"),
    ),
    "bool": (
        *("BOOL_AND({bool})", "BOOL_OR({bool})", "EVERY({bool})", "MIN({bool})", "MAX({bool})"),
        *("MAX_BY({bool}, {any})", "MODE({bool})"),
    ),
    "time": ("MIN({time})", "MAX({time})", "MIN_BY({time}, {any})", "MODE({time})"),
    "list": (
        *("COLLECT_LIST({int})", "COLLECT_SET({int})", "MIN({list})", "MAX({list})"),
        *("MIN_BY({list}, {any})", "MAX_BY({list}, {any})", "MODE({list})"),
    ),
}
_OWN_VALUES = ("twice({0})", "or_seven({0})")
_OWN_AGGREGATES = ("spread({int})", "products({int}, {number})", "spread(DISTINCT {int})")
_COUNTS = ("COUNT(*)", "COUNT({any})", "COUNT(DISTINCT {any})", "COUNT_IF({bool})", "COUNT(DISTINCT {any}, {other})")
_LISTS = ("COLLECT_LIST({any})", "COLLECT_SET({any})", "ARRAY_AGG(DISTINCT {any})")


def kind_of(data_type: str) -> str:
    """The kind of values that a type has."""
    return _KINDS.get(data_type, "decimal" if data_type.startswith("DECIMAL") else "int")


@dataclass(frozen=True)
class Scope:
    """Columns by name with their kinds: those of FROM, and those of the query around it."""

    columns: dict[str, str]
    outer: dict[str, str]

    def of(self, kind: str) -> list[str]:
        """The columns of a kind."""
        return [n for n, t in self.columns.items() if t == kind]

    @property
    def inside(self) -> dict[str, str]:
        """What a subquery may name."""
        return {**self.outer, **self.columns}


class Expressions(Chooser):
    """Draws expressions; subqueries are left to who can draw queries."""

    def __init__(self, rng: random.Random, clock: bool, functions: bool) -> None:
        super().__init__(rng)
        self._functions = functions
        """Whether there are functions and aggregates of the user."""
        self._clock = clock
        """Whether instants are numbers, so that they can be compared with columns."""

    @abstractmethod
    def subquery_condition(self, scope: Scope, depth: int) -> str:
        """A condition with a subquery."""

    @abstractmethod
    def scalar(self, scope: Scope, kind: str, depth: int) -> str:
        """A subquery that is a value."""

    def kind(self, scope: Scope) -> str:
        """A kind of values, mostly one that some column has."""
        return self.pick(KINDS) if self.chance(8) else self.pick(list(scope.columns.values()))

    def column(self, scope: Scope, kind: str) -> str:
        """A column of a kind, or a constant where there is none."""
        outer = [n for n, t in scope.outer.items() if t == kind]
        if outer and self.chance(30):
            return self.pick(outer)
        found = scope.of(kind)
        if found:
            return self.pick(found)
        if kind == "double" and scope.of("int"):
            return f"CAST({self.pick(scope.of('int'))} AS DOUBLE)"
        return self.pick(_LITERALS[kind])

    def value(self, scope: Scope, kind: str, depth: int = 0) -> str:
        """A value of a kind."""
        choice = self.number(0, 9)
        if choice <= 5:
            return self.column(scope, kind)
        if choice == 6:
            return self.pick(_LITERALS[kind]) if self.chance(80) else "NULL"
        if choice == 7:
            condition = self.comparison(scope)
            return f"CASE WHEN {condition} THEN {self.column(scope, kind)} ELSE {self.column(scope, kind)} END"
        if choice == 8 and depth > 0:
            return self.scalar(scope, kind, depth - 1)
        if kind == "bool" and self.chance(50):
            return f"({self.comparison(scope)})"
        own = _OWN_VALUES if self._functions and kind == "int" else ()
        return self.pick(_SIMPLE[kind] + own).format(self.column(scope, kind), self.column(scope, kind))

    def comparison(self, scope: Scope) -> str:
        """Two values of one kind, or numbers of two kinds."""
        kind = self.kind(scope)
        other = self.pick(("int", "double", "decimal")) if kind in ("int", "double", "decimal") else kind
        other = kind if self.chance(70) else other
        return f"{self.column(scope, kind)} {self.pick(_COMPARISONS)} {self.value_without_case(scope, other)}"

    def value_without_case(self, scope: Scope, kind: str) -> str:
        """A column or a constant."""
        return self.column(scope, kind) if self.chance(55) else self.pick(_LITERALS[kind])

    def condition(self, scope: Scope, depth: int) -> str:
        """A condition."""
        if self._clock and self.chance(4):
            return f"{self.column(scope, 'int')} + {self.number(0, 20)} {self.pick(_COMPARISONS)} NOW"
        choice = self.number(0, 14 if depth > 0 else 8)
        kind = self.kind(scope)
        match choice:
            case 0 | 1 | 2:
                return self.comparison(scope)
            case 3:
                return f"{self.column(scope, kind)} IS {self.pick(('', 'NOT '))}NULL"
            case 4:
                items = ", ".join(self.pick((*_LITERALS[kind], "NULL")) for _ in range(self.number(1, 3)))
                return f"{self.column(scope, kind)} {self.pick(('', 'NOT '))}IN ({items})"
            case 5:
                low, high = self.value_without_case(scope, kind), self.value_without_case(scope, kind)
                return f"{self.column(scope, kind)} BETWEEN {low} AND {high}"
            case 6:
                word = self.pick(("AND", "OR"))
                return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
            case 7:
                return f"NOT ({self.condition(scope, depth - 1)})"
            case 8:
                return self.pick((f"{self.column(scope, 'string')} LIKE 'a%'", self.column(scope, "bool")))
            case _:
                return self.subquery_condition(scope, depth - 1)

    def aggregate(self, scope: Scope, kind: str) -> str:
        """An aggregate with a result of a kind, sometimes with FILTER."""
        forms = _AGGREGATES[kind] + (_COUNTS * 2 if kind == "int" else ())
        forms += _OWN_AGGREGATES * 2 if self._functions and kind == "int" else ()
        return self._aggregate(scope, self.pick(forms))

    def list_aggregate(self, scope: Scope) -> str:
        """An aggregate whose result is an array."""
        return self._aggregate(scope, self.pick(_LISTS))

    def _aggregate(self, scope: Scope, form: str) -> str:
        arguments = {kind: self._argument(scope, kind) for kind in _LITERALS}
        others = {name: self._argument(scope, self.kind(scope)) for name in ("any", "other")}
        others["number"] = self._argument(scope, "int")
        found = form.format(**others, **arguments)
        return f"{found} FILTER (WHERE {self.comparison(scope)})" if self.chance(12) else found

    def _argument(self, scope: Scope, kind: str) -> str:
        own = Scope(scope.columns, {})
        return self.column(own, kind) if self.chance(85) else self.value(own, kind)
