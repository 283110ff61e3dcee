"""Windows as written, to window descriptions in instants and positions."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from continua.algebra.schema import Field
from continua.binding.context import Context, UnbindableError
from continua.binding.window_formulas import FormulaBinder
from continua.errors import Span, WindowError, did_you_mean, listing
from continua.instants import INFINITY, TICK, UNITS, Duration, TimeDomain, instant_of, parse_timestamp
from continua.lang.statements import START, BoundSyntax, LoopSyntax, Name, RatesSyntax, RateSyntax, WindowSyntax
from continua.windows.formulas import Formula, stays_until
from continua.windows.kinds import KINDS
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.spec import WindowSpec


class WindowBinder:
    """Binds one window over a stream with the given columns and time domain: it is what its kind reads of it."""

    def __init__(
        self, context: Context, syntax: WindowSyntax, columns: tuple[tuple[str, Field], ...], domain: TimeDomain
    ) -> None:
        self.context = context
        self.syntax = syntax
        self.columns = columns
        self.domain = domain
        self.word = syntax.clauses[0][0] if syntax.clauses else ""
        self.chronon = context.settings.chronon if domain is TimeDomain.MICROSECONDS else 1
        self.start = context.settings.start_time
        self._clauses = dict(syntax.clauses)

    def bind(self) -> WindowSpec:
        """The description; mistakes are noted at the window."""
        try:
            name, kind = self.syntax.name, self.syntax.kind
            found = self._user_defined(name) if name is not None else kind.of(self)
            return replace(found, text=self.syntax.text)
        except WindowError as error:
            first = error.diagnostics[0]
            self.context.fail(first.condition, first.message, self.syntax.span, first.hint, **first.parameters)

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns behind PARTITION BY."""
        return tuple(self._column(name) for name in self.syntax.partition)

    def has(self, clause: str) -> bool:
        """Whether a clause is there."""
        return clause in self._clauses

    def covered(self, clause: str) -> int:
        """How many instants a range covers: CQL's closed range has one more than its length, PIPES' has not.

        A half-open range of no length covers none.
        """
        match self._clauses.get(clause):
            case Duration() as duration:
                length = self._instants(duration)
            case _:
                return INFINITY
        if self.syntax.form == "bracket" and self.context.settings.range_bounds == "closed":
            return length - length % self.chronon + self.chronon
        return length + -length % self.chronon

    def length(self, clause: str) -> int:
        """A length in instants; 0 where the clause is not there."""
        match self._clauses.get(clause):
            case Duration() as duration:
                return self._instants(duration)
            case _:
                return 0

    def rows(self, clause: str) -> int:
        """A number of rows: infinitely many where it is UNBOUNDED or not there."""
        match self._clauses.get(clause):
            case int(rows):
                return rows
            case _:
                return INFINITY

    def rate(self, clause: str) -> Rate | None:
        """How often the window moves, if that is said, and where the points lie at which it does."""
        match self._clauses.get(clause):
            case RatesSyntax():
                self.refuse("several rates are for bounds at t", "FROM t - 5 TO t EVERY CASE ...", "SLIDE CASE")
            case RateSyntax(amount=Duration() as duration):
                return Rate(self._instants(duration), origin=self.origin)
            case RateSyntax(amount=int(rows)):
                moves: Rate | None = Rate(rows, Axis.ROWS)
            case _:
                moves = None
        if self.has("ALIGNED"):
            self.refuse("only a slide over time is aligned", "SLIDE 5 ALIGNED TO START", "ALIGNED TO")
        return moves

    def instant(self, clause: str) -> int:
        """The instant that a constant names: an integer, or the text of a timestamp."""
        node = self._clauses.get(clause)
        inner = node.this if isinstance(node, exp.Cast | exp.Paren) else node
        if isinstance(inner, exp.Literal):
            try:
                if self.domain is TimeDomain.TICKS and not inner.is_string:
                    return int(inner.name)
                if self.domain is TimeDomain.MICROSECONDS and inner.is_string:
                    return instant_of(parse_timestamp(inner.name))
            except (ValueError, OverflowError):
                pass
        wanted = "an integer" if self.domain is TimeDomain.TICKS else "a timestamp such as '2024-01-01 00:00:00'"
        value = inner.name if isinstance(inner, exp.Expr) else ""
        self.context.fail("BAD_INSTANT", f"{clause} needs {wanted}", self.syntax.span, value=value)

    @property
    def origin(self) -> int:
        """The instant behind ALIGNED TO; 0 where it is START, or not there."""
        return self.instant("ALIGNED") if self.has("ALIGNED") and not self.to_start else 0

    @property
    def to_start(self) -> bool:
        """Whether it is ALIGNED TO START."""
        return self._clauses.get("ALIGNED") == START

    def bounds(self, first: str, last: str, rate: str) -> tuple[Linear, Linear, Axis]:
        """Two bounds of window j and what they count; where they have no unit, what the rate counts."""
        bounds = [b for b in (self._clauses.get(first), self._clauses.get(last)) if isinstance(b, BoundSyntax)]
        axes = {b.unit == "ROWS" for b in bounds if b.unit is not None}
        if len(axes) > 1:
            self.context.fail("WINDOW_BOUNDS", "one bound counts rows and the other time", bounds[-1].span)
        moves = self.rate(rate)
        rows = axes == {True} or (not axes and moves is not None and moves.axis is Axis.ROWS)
        alpha, beta = (self._bound(bound, rows) for bound in bounds)
        return alpha, beta, Axis.ROWS if rows else Axis.TIME

    def varies(self, clause: str) -> bool:
        """Whether a rate is one of several, by a CASE."""
        return isinstance(self._clauses.get(clause), RatesSyntax)

    def rates(self, clause: str) -> tuple[tuple[tuple[Formula, int], ...], int]:
        """The conditions of a CASE with the rates behind them, and the rate behind ELSE."""
        syntax = self._clauses[clause]
        assert isinstance(syntax, RatesSyntax)
        binder = self._binder(None)
        cases = tuple((binder.condition(c), self._instants(rate)) for c, rate in syntax.cases)
        return cases, self._instants(syntax.otherwise)

    def formulas(self, clause: str) -> tuple[Formula, ...]:
        """Bounds of the window at t."""
        match self._clauses.get(clause):
            case BoundSyntax() as bound:
                return (self._time(bound),)
            case (BoundSyntax() as first, BoundSyntax() as second):
                return self._time(first), self._time(second)
            case _:
                return ()

    def loop(self, clause: str) -> tuple[Formula, Formula, Formula]:
        """Where a loop begins, as long as what holds it goes on, and the point behind t."""
        syntax = self._clauses[clause]
        assert isinstance(syntax, LoopSyntax)
        begin = self._time(syntax.begin)
        if stays_until(begin, 0) < INFINITY:
            self.context.fail("WINDOW_BOUNDS", "a loop begins at one instant, which t is then", syntax.begin.span)
        return begin, self._binder(None).condition(syntax.condition), self._time(syntax.following)

    def _time(self, bound: BoundSyntax) -> Formula:
        if bound.unit is not None and (bound.unit == "ROWS" or self.domain is TimeDomain.TICKS):
            self._no_unit(bound.unit, bound.span)
        return self._binder(bound.unit).time(bound.expression)

    def _binder(self, unit: str | None) -> FormulaBinder:
        def refuse(message: str, node: exp.Expr) -> NoReturn:
            self.context.fail("WINDOW_BOUNDS", message, node)

        return FormulaBinder(self.domain, refuse, unit)

    def refuse(self, message: str, hint: str, feature: str) -> NoReturn:
        """Refuses clauses that do not go together."""
        self.context.fail("NOT_SUPPORTED", message, self.syntax.span, hint, feature=feature)

    def _instants(self, duration: Duration) -> int:
        instants = duration.instants(self.domain)
        if instants is None and duration.unit == TICK:
            self.context.fail(
                "TICKS_OF_TIMESTAMPS",
                f"{duration}: the stream is ordered by timestamps, whose lengths have another unit",
                self.syntax.span,
                f"write {duration.amount} SECONDS",
                unit=duration.unit,
            )
        if instants is None:
            self.context.fail(
                "UNIT_OF_TICKS",
                f"{duration}: the stream is ordered by integers, which have no unit",
                self.syntax.span,
                f"write {duration.amount}",
                unit=duration.unit,
            )
        if instants >= INFINITY // 2:
            self.context.fail(
                "TOO_LONG", f"{duration} is too long: UNBOUNDED has no end", self.syntax.span, amount=duration.amount
            )
        return instants

    def _column(self, name: Name) -> str:
        for short, column in self.columns:
            if short.casefold() == name.text.casefold():
                return column.name
        known = [short for short, _ in self.columns]
        self.context.fail(
            "UNKNOWN_COLUMN",
            f"the stream has no column {name} to partition by",
            name.span,
            did_you_mean(name.text, known) or f"there are {listing(known)}",
            column=name.text,
        )

    def _bound(self, bound: BoundSyntax, rows: bool) -> Linear:
        linear = _linear(bound.expression)
        if linear is None:
            self.context.fail(
                "WINDOW_BOUNDS",
                "a bound must be linear in j: a*j + b, or GREATEST(a*j + b, c)",
                bound.span,
                "other sequences are written in Python: CREATE WINDOW w LANGUAGE PYTHON AS 'module:function'",
            )
        if rows or self.domain is TimeDomain.TICKS:
            if bound.unit not in (None, "ROWS"):
                self._no_unit(bound.unit, bound.span)
            return linear
        factor = UNITS[bound.unit or "SECOND"]
        least = None if linear.least is None else linear.least * factor
        return Linear(linear.slope * factor, linear.start * factor, least)

    def _no_unit(self, unit: str, span: Span) -> None:
        self.context.fail(
            "UNIT_OF_TICKS", f"{unit}: the stream is ordered by integers, which have no unit", span, unit=unit
        )

    def _user_defined(self, name: Name) -> WindowSpec:
        s = self.syntax
        info = self.context.window(name.text)
        if info is None and name.text.casefold() in self.context.catalog.broken:
            raise UnbindableError
        if info is None:
            known = [*self.context.catalog.window_names(), *(s.word for kind in KINDS for s in kind.spellings)]
            self.context.fail(
                "UNKNOWN_WINDOW",
                f"there is no window {name}",
                name.span,
                did_you_mean(name.text, known),
                window=name.text,
            )
        if len(s.arguments) != len(info.parameters):
            self.context.fail(
                "ARGUMENT_COUNT",
                f"window {info.name} takes {len(info.parameters)} argument(s), not {len(s.arguments)}",
                s.span,
                function=info.name,
                given=len(s.arguments),
            )
        if isinstance(info.definition, WindowSyntax):
            inner = replace(info.definition, span=s.span)
            return WindowBinder(self.context, inner, self.columns, self.domain).bind()
        arguments = [self._instants(a) for a in s.arguments]
        try:
            made: object = info.definition(*arguments)
        except Exception as error:
            self.context.fail("BAD_WINDOW", f"window {info.name} fails: {error}", s.span, window=info.name)
        if not isinstance(made, WindowSpec):
            self.context.fail(
                "BAD_WINDOW",
                f"window {info.name} gives {type(made).__name__}, not a window",
                s.span,
                "return a continua.windows.spec.GenericWindow",
                window=info.name,
            )
        return made


def _linear(node: exp.Expr) -> Linear | None:
    """The expression as a linear function of j, if it is one."""
    match node:
        case exp.Paren():
            return _linear(node.this)
        case exp.Literal() if not node.is_string and node.name.isdigit():
            return Linear(0, int(node.name))
        case exp.Column() if node.name.lower() in ("j", "i") and not node.table:
            return Linear(1, 0)
        case exp.Neg():
            inner = _linear(node.this)
            return Linear(-inner.slope, -inner.start) if inner and inner.least is None else None
        case exp.Add() | exp.Sub() | exp.Mul():
            return _combined(node, _linear(node.this), _linear(node.expression))
        case exp.Anonymous() if node.name.upper() == "GREATEST" and len(node.expressions) == 2:
            first, second = (_linear(part) for part in node.expressions)
            if first and second and first.slope == 0:
                first, second = second, first
            if first and second and second.slope == 0 and first.least is None and second.least is None:
                return Linear(first.slope, first.start, second.start)
            return None
        case _:
            return None


def _combined(node: exp.Expr, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if left.least is not None or right.least is not None:
        return _shifted(node, left, right)
    match node:
        case exp.Add():
            return Linear(left.slope + right.slope, left.start + right.start)
        case exp.Sub():
            return Linear(left.slope - right.slope, left.start - right.start)
        case _:
            if left.slope and right.slope:
                return None
            slope = left.slope * right.start + right.slope * left.start
            return Linear(slope, left.start * right.start)


def _shifted(node: exp.Expr, left: Linear, right: Linear) -> Linear | None:
    """GREATEST(a*j + b, c) with a constant added or subtracted."""
    if isinstance(node, exp.Add) and left.least is None:
        left, right = right, left
    if left.least is None or right.least is not None or right.slope or isinstance(node, exp.Mul):
        return None
    by = right.start if isinstance(node, exp.Add) else -right.start
    return Linear(left.slope, left.start + by, left.least + by)
