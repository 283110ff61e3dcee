"""Formulas of the instant t in windows: from syntax to :mod:`continua.windows.formulas`.

Over timestamps a number beside a time is a number of seconds, or of the unit that the bound says; beside other numbers
it is what it is. Over integers both are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from continua.binding.operator_types import ARITHMETIC, COMPARISONS
from continua.instants import UNITS, TimeDomain, instant_of, parse_timestamp, unit_named
from continua.windows.formulas import Choice, Constant, Formula, Instant, Operation, Start

_PARTS = {"SECOND": ("SECOND", 60), "MINUTE": ("MINUTE", 60), "HOUR": ("HOUR", 24)}
_DAY = UNITS["DAY"]
_THURSDAY = 4
"""Days since a Sunday at instant 0."""

Refuse = Callable[[str, exp.Expr], NoReturn]


@dataclass(frozen=True, slots=True)
class _Measured:
    """A formula, and whether it is an instant or a length of time rather than a number."""

    formula: Formula
    timed: bool


@dataclass(frozen=True, slots=True)
class FormulaBinder:
    """Binds formulas of a window over a time domain. ``unit`` is what numbers beside times count."""

    domain: TimeDomain
    refuse: Refuse
    unit: str | None = None

    def time(self, node: exp.Expr) -> Formula:
        """A formula that gives an instant."""
        return self._as_time(self._formula(node)).formula

    def condition(self, node: exp.Expr) -> Formula:
        """A formula that holds or does not."""
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.Boolean():
                return Constant(int(bool(node.this)))
            case exp.And() | exp.Or():
                sides = self.condition(node.this), self.condition(node.expression)
                return Operation("AND" if isinstance(node, exp.And) else "OR", sides)
            case exp.Not():
                return Operation("NOT", (self.condition(node.this),))
            case exp.Between():
                low = self._comparison(">=", node.this, node.args["low"])
                return Operation("AND", (low, self._comparison("<=", node.this, node.args["high"])))
            case exp.In() if node.expressions and not node.args.get("query"):
                alike = tuple(self._comparison("=", node.this, item) for item in node.expressions)
                return alike[0] if len(alike) == 1 else Operation("OR", alike)
            case _ if COMPARISONS.get(type(node)) in ("=", "<>", "<", "<=", ">", ">="):
                return self._comparison(COMPARISONS[type(node)], node.this, node.args["expression"])
            case _:
                self.refuse("a condition of a window compares formulas of t", node)

    def _comparison(self, operator: str, left: exp.Expr, right: exp.Expr) -> Formula:
        one, other = self._alike(self._formula(left), self._formula(right))
        if isinstance(one.formula, Constant):
            turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            one, other, operator = other, one, turned.get(operator, operator)
        return Operation(operator, (one.formula, other.formula))

    def _formula(self, node: exp.Expr) -> _Measured:
        match node:
            case exp.Paren():
                return self._formula(node.this)
            case exp.Literal() if not node.is_string and node.name.isdigit():
                return _Measured(Constant(int(node.name)), False)
            case exp.Literal() | exp.Cast() | exp.Interval():
                return _Measured(Constant(self._moment(node)), True)
            case exp.Column() if not node.table and node.name.upper() in ("T", "NOW"):
                return _Measured(Instant(), True)
            case exp.Column() if not node.table and node.name.upper() == "START":
                return _Measured(Start(), True)
            case exp.CurrentTimestamp():
                return _Measured(Instant(), True)
            case exp.Neg():
                inner = self._formula(node.this)
                if isinstance(inner.formula, Constant):
                    return _Measured(Constant(-inner.formula.value), inner.timed)
                return _Measured(Operation("NEG", (inner.formula,)), inner.timed)
            case exp.Case() if node.this is None and node.args.get("default") is not None:
                return self._choice(node)
            case exp.Extract() if self.domain is TimeDomain.MICROSECONDS:
                return self._part(node.name.upper(), node.args["expression"], node)
            case exp.Anonymous():
                return self._call(node)
            case _ if ARITHMETIC.get(type(node)) in ("+", "-", "*", "DIV", "%"):
                return self._arithmetic(ARITHMETIC[type(node)], node)
            case _:
                self.refuse("a window is given by formulas of t: numbers, + - * DIV %, GREATEST, LEAST, CASE", node)

    def _moment(self, node: exp.Expr) -> int:
        """A timestamp or an interval."""
        if isinstance(node, exp.Interval):
            length = self._interval(node)
            if length is not None and self.domain is TimeDomain.MICROSECONDS:
                return length
        inner = node.this if isinstance(node, exp.Cast) else node
        if self.domain is TimeDomain.MICROSECONDS and isinstance(inner, exp.Literal) and inner.is_string:
            try:
                return instant_of(parse_timestamp(inner.name))
            except (ValueError, OverflowError):
                pass
        wanted = "a whole number" if self.domain is TimeDomain.TICKS else "a timestamp, or INTERVAL 5 MINUTES"
        self.refuse(f"here stands {wanted}", node)

    @staticmethod
    def _interval(node: exp.Interval) -> int | None:
        text, unit = node.this.name if node.this is not None else "", node.args.get("unit")
        if unit is None:
            text, _, word = text.strip().partition(" ")
        else:
            word = unit.name
        named = unit_named(word)
        return int(text) * UNITS[named] if named and text.lstrip("-").isdigit() else None

    def _arithmetic(self, operator: str, node: exp.Expr) -> _Measured:
        left, right = self._formula(node.this), self._formula(node.args["expression"])
        match operator:
            case "+" | "-":
                left, right = self._alike(left, right)
                return _Measured(_sum(operator, left.formula, right.formula), left.timed)
            case "*":
                if left.timed and right.timed and self.domain is TimeDomain.MICROSECONDS:
                    self.refuse("two times cannot be multiplied", node)
                return _Measured(_folded("*", left.formula, right.formula), left.timed or right.timed)
            case "%":
                left, right = self._alike(left, right)
                return _Measured(self._divided("%", left, right, node), left.timed)
            case _:
                timed = left.timed and not right.timed
                return _Measured(self._divided("DIV", left, right, node), timed)

    def _divided(self, operator: str, left: _Measured, right: _Measured, node: exp.Expr) -> Formula:
        if not isinstance(right.formula, Constant) or right.formula.value <= 0:
            self.refuse("what divides is a number above 0", node)
        return _folded(operator, left.formula, right.formula)

    def _choice(self, node: exp.Case) -> _Measured:
        results = [self._formula(branch.args["true"]) for branch in node.args["ifs"]]
        results.append(self._formula(node.args["default"]))
        if any(found.timed for found in results):
            results = [self._as_time(found) for found in results]
        conditions = [self.condition(branch.this) for branch in node.args["ifs"]]
        branches = tuple((c, r.formula) for c, r in zip(conditions, results, strict=False))
        return _Measured(Choice(branches, results[-1].formula), results[-1].timed)

    def _call(self, node: exp.Anonymous) -> _Measured:
        name = node.name.upper()
        if name in ("GREATEST", "LEAST") and node.expressions:
            parts = [self._formula(part) for part in node.expressions]
            timed = any(part.timed for part in parts)
            parts = [self._as_time(part) for part in parts] if timed else parts
            return _Measured(Operation(name, tuple(part.formula for part in parts)), timed)
        if name == "ABS" and len(node.expressions) == 1:
            inner = self._formula(node.expressions[0])
            return _Measured(Operation("ABS", (inner.formula,)), inner.timed)
        if len(node.expressions) == 1 and self.domain is TimeDomain.MICROSECONDS:
            return self._part(name, node.expressions[0], node)
        self.refuse(f"{name} is not for formulas of t", node)

    def _part(self, name: str, of: exp.Expr, node: exp.Expr) -> _Measured:
        """HOUR(t) and its like, by arithmetic on microseconds."""
        instant = self._as_time(self._formula(of)).formula
        if name in _PARTS:
            unit, count = _PARTS[name]
            whole = Operation("DIV", (instant, Constant(UNITS[unit])))
            return _Measured(Operation("%", (whole, Constant(count))), False)
        if name == "DAYOFWEEK":
            days = Operation("DIV", (instant, Constant(_DAY)))
            since_sunday = Operation("%", (_sum("+", days, Constant(_THURSDAY)), Constant(7)))
            return _Measured(_sum("+", since_sunday, Constant(1)), False)
        self.refuse(f"{name} is not for formulas of t: there are HOUR, MINUTE, SECOND and DAYOFWEEK", node)

    def _alike(self, left: _Measured, right: _Measured) -> tuple[_Measured, _Measured]:
        if left.timed == right.timed:
            return left, right
        return self._as_time(left), self._as_time(right)

    def _as_time(self, found: _Measured) -> _Measured:
        """A number as a length of time."""
        if found.timed:
            return found
        factor = 1 if self.domain is TimeDomain.TICKS else UNITS[self.unit or "SECOND"]
        return _Measured(_folded("*", found.formula, Constant(factor)), True)


def _sum(operator: str, left: Formula, right: Formula) -> Formula:
    """A sum or a difference; what is added to t is a part of it."""
    match left, right:
        case Constant(value=a), Constant(value=b):
            return Constant(a + b if operator == "+" else a - b)
        case ((Instant() | Start()), Constant(value=b)):
            return type(left)(left.later + (b if operator == "+" else -b))
        case Constant(value=a), (Instant() | Start()) if operator == "+":
            return type(right)(right.later + a)
        case _:
            return Operation(operator, (left, right))


def _folded(operator: str, left: Formula, right: Formula) -> Formula:
    match left, right:
        case Constant(value=a), Constant(value=b):
            return Constant(a * b if operator == "*" else a // b if operator == "DIV" else a % b)
        case _, Constant(value=1) if operator in ("*", "DIV"):
            return left
        case _:
            return Operation(operator, (left, right))
