"""Windows as written, to window descriptions in instants and positions."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from continua.algebra.schema import Field
from continua.binding.context import Context, UnbindableError
from continua.errors import Span, WindowError, did_you_mean, listing
from continua.instants import INFINITY, UNITS, Duration, TimeDomain, instant_of, parse_timestamp
from continua.lang.statements import BoundSyntax, Name, WindowSyntax
from continua.windows.spec import (
    Axis,
    FixedWindow,
    LandmarkWindow,
    Linear,
    Rate,
    RowsWindow,
    SequenceWindow,
    TimeWindow,
    WindowSpec,
)


class WindowBinder:
    """Binds one window over a stream with the given columns and time domain."""

    def __init__(
        self, context: Context, syntax: WindowSyntax, columns: tuple[tuple[str, Field], ...], domain: TimeDomain
    ) -> None:
        self.context = context
        self.syntax = syntax
        self.columns = columns
        self.domain = domain
        self.chronon = context.settings.chronon if domain is TimeDomain.MICROSECONDS else 1

    def bind(self) -> WindowSpec:
        """The description; mistakes are noted at the window."""
        try:
            return replace(self._bind(), text=self.syntax.text)
        except WindowError as error:
            first = error.diagnostics[0]
            self.context.fail(first.condition, first.message, self.syntax.span, first.hint, **first.parameters)

    def _bind(self) -> WindowSpec:
        s = self.syntax
        match s.kind:
            case "NOW":
                return TimeWindow(self.chronon)
            case "RANGE":
                if self._partition() and s.slide_rows is not None:
                    self.context.fail(
                        "NOT_SUPPORTED",
                        "a partitioned time window cannot slide by rows",
                        s.span,
                        "PARTITION BY ... ROWS n RANGE x SLIDE m does",
                        feature="PARTITION BY RANGE SLIDE ROWS",
                    )
                # the union of the same time window over all partitions is the window itself (CQL 6.1.3)
                return TimeWindow(self._size(s.range), self._slide(), self._lag())
            case "FIXED":
                assert s.range is not None
                return FixedWindow(self._length(s.range))
            case "LANDMARK":
                assert s.landmark is not None
                return LandmarkWindow(self._instant(s.landmark))
            case "ROWS":
                rows = INFINITY if s.rows is None else s.rows
                size = INFINITY if s.range is None else self._size(s.range)
                return RowsWindow(rows, self._partition(), size, self._slide(), self._lag())
            case "SEQUENCE":
                return self._sequence()
            case _:
                return self._user_defined()

    def _size(self, duration: Duration | None) -> int:
        """How many instants a range covers: CQL's closed range has one more than its length, PIPES' has not."""
        if duration is None:
            return INFINITY
        length = self._length(duration)
        if self.syntax.form == "bracket" and self.context.settings.range_bounds == "closed":
            return length - length % self.chronon + self.chronon
        return max(length + -length % self.chronon, self.chronon)

    def _length(self, duration: Duration) -> int:
        instants = duration.instants(self.domain)
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

    def _slide(self) -> Rate | None:
        if self.syntax.slide_rows is not None:
            return Rate(self.syntax.slide_rows, Axis.ROWS)
        return Rate(self._length(self.syntax.slide)) if self.syntax.slide is not None else None

    def _lag(self) -> int:
        return self._length(self.syntax.lag) if self.syntax.lag is not None else 0

    def _partition(self) -> tuple[str, ...]:
        return tuple(self._column(name) for name in self.syntax.partition)

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

    def _instant(self, node: exp.Expr) -> int:
        """The instant that a constant names: an integer, or the text of a timestamp."""
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
        self.context.fail("BAD_INSTANT", f"LANDMARK needs {wanted}", self.syntax.span, value=inner.name)

    def _sequence(self) -> SequenceWindow:
        s = self.syntax
        assert s.alpha is not None and s.beta is not None
        axes = {b.unit == "ROWS" for b in (s.alpha, s.beta) if b.unit is not None}
        if len(axes) > 1:
            self.context.fail("WINDOW_BOUNDS", "one bound counts rows and the other time", s.beta.span)
        rows = axes == {True} or (not axes and s.slide_rows is not None)
        rate = Rate(s.slide_rows, Axis.ROWS) if s.slide_rows is not None else self._slide()
        assert rate is not None
        return SequenceWindow(
            self._bound(s.alpha, rows),
            self._bound(s.beta, rows),
            rate,
            Axis.ROWS if rows else Axis.TIME,
            self._partition(),
            self._lag(),
            self.context.settings.start_time,
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

    def _user_defined(self) -> WindowSpec:
        s = self.syntax
        assert s.name is not None
        info = self.context.window(s.name.text)
        if info is None and s.name.text.casefold() in self.context.catalog.broken:
            raise UnbindableError
        if info is None:
            known = [*self.context.catalog.window_names(), "NOW", "RANGE", "ROWS", "FIXED", "LANDMARK"]
            self.context.fail(
                "UNKNOWN_WINDOW",
                f"there is no window {s.name}",
                s.name.span,
                did_you_mean(s.name.text, known),
                window=s.name.text,
            )
        if len(s.arguments) != len(info.parameters):
            self.context.fail(
                "ARGUMENT_COUNT",
                f"window {info.name} takes {len(info.parameters)} argument(s), not {len(s.arguments)}",
                s.span,
                function=info.name,
                given=len(s.arguments),
            )
        if info.window is not None:
            inner = replace(info.window, span=s.span)
            return WindowBinder(self.context, inner, self.columns, self.domain).bind()
        assert info.python is not None
        arguments = [self._length(a) for a in s.arguments]
        try:
            made: object = info.python(*arguments)
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
