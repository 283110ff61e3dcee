"""Calls: built-in and user-defined functions, and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from continua.algebra.expr import AggregateCall, Call, Cast, Column, Expr, columns_of, transform
from continua.algebra.schema import Field
from continua.binding.context import Context, Item, Scope, UnbindableError
from continua.binding.ordering import Times
from continua.binding.output_names import expand_stars
from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import did_you_mean
from continua.functions.aggregates import AGGREGATES, AggregateFunction, OfNothing
from continua.functions.refused import REFUSED
from continua.functions.scalars import SCALARS, NullWhen, ScalarFunction
from continua.functions.signatures import arity, misfit
from continua.lang.dialect import render_query
from continua.types import NULL, UNKNOWN, common_type

if TYPE_CHECKING:
    from continua.binding.expressions import ExpressionBinder


@dataclass
class Aggregates:
    """The aggregate calls met while binding a select list, each under a name of its own."""

    times: Times = ()
    """The ordering columns of the streams in FROM."""
    calls: dict[AggregateCall, str] = field(default_factory=dict)

    def name(self, context: Context, call: AggregateCall) -> str:
        """The column in which the value of an aggregate call will stand."""
        if call not in self.calls:
            self.calls[call] = context.fresh(call.function.lower())
        return self.calls[call]


class CallBinder:
    """Binds the calls in expressions. ``aggregates`` collects aggregate calls; None where none may stand."""

    def __init__(self, outer: ExpressionBinder, aggregates: Aggregates | None) -> None:
        self.outer = outer
        self.context = outer.context
        self.aggregates = aggregates
        self._in_aggregate = False

    def function(self, name: str, arguments: list[exp.Expr], node: exp.Expr) -> Expr:
        """A call by name: user-defined first, then aggregates, then built-in functions."""
        user = self.context.function(name)
        if isinstance(user, FunctionInfo):
            return self._user_function(user, arguments, node)
        if isinstance(user, AggregateInfo) or name in AGGREGATES:
            return self._aggregate(name, arguments, node, where=None)
        function = SCALARS.get(name)
        if function is None:
            self._unknown_function(name, node)
        bound = [self.outer.value(a) for a in arguments]
        self._check_arguments(name, function, bound, arguments, node)
        if function.of_one_type:
            self.outer.common([b.type for b in bound] or [NULL], node)
        result = function.result([b.type for b in bound]) if UNKNOWN not in [b.type for b in bound] else UNKNOWN
        return Call(function.name_in_plans, tuple(bound), result, _is_nullable(function, bound))

    def _unknown_function(self, name: str, node: exp.Expr) -> NoReturn:
        if name.casefold() in self.context.catalog.broken:
            raise UnbindableError
        if name in REFUSED:
            self.context.fail("NOT_SUPPORTED", f"{name} is not supported: {REFUSED[name]}", node, feature=name)
        known = [*SCALARS, *AGGREGATES, *self.context.catalog.function_names()]
        self.context.fail(
            "UNKNOWN_FUNCTION", f"there is no function {name}", node, did_you_mean(name, known), function=name
        )

    def _check_arguments(
        self,
        name: str,
        function: ScalarFunction | AggregateFunction,
        bound: list[Expr],
        arguments: list[exp.Expr],
        node: exp.Expr,
    ) -> None:
        """Refuses arguments that do not fit; the function is told by the name under which it was called."""
        least, most = arity(function.signature)
        if len(bound) < least or (most is not None and len(bound) > most):
            wanted = str(least) if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            self.context.fail(
                "ARGUMENT_COUNT",
                f"{name} takes {wanted} argument(s), not {len(bound)}",
                node,
                function=name,
                given=len(bound),
            )
        wrong = misfit(function.signature, [b.type for b in bound])
        if wrong is not None:
            index, expected = wrong
            self.outer.misfit(arguments[index], name, expected, bound[index].type)

    def _check_count(self, info: FunctionInfo | AggregateInfo, bound: Sequence[Expr], node: exp.Expr) -> None:
        """Refuses a call of a function of the user with more or fewer arguments than it has parameters."""
        if len(bound) != len(info.parameters):
            self.context.fail(
                "ARGUMENT_COUNT",
                f"{info.name} takes {len(info.parameters)} argument(s), not {len(bound)}",
                node,
                function=info.name,
                given=len(bound),
            )

    def _user_function(self, info: FunctionInfo, arguments: list[exp.Expr], node: exp.Expr) -> Expr:
        bound = [self.outer.value(a) for a in arguments]
        self._check_count(info, bound, node)
        values: list[Expr] = []
        for argument, where, (parameter, wanted) in zip(bound, arguments, info.parameters, strict=True):
            if argument.type != UNKNOWN and common_type(argument.type, wanted) is None:
                self.outer.misfit(where, f"parameter {parameter} of {info.name}", str(wanted), argument.type)
            values.append(argument if argument.type == wanted else Cast(argument, wanted))
        if info.body is None:
            return Call(info.name, tuple(values), info.returns or UNKNOWN)
        return self._inlined(info, values)

    def _inlined(self, info: FunctionInfo, values: list[Expr]) -> Expr:
        """The body with the arguments in place of the parameters."""
        marks = {f"{info.name}${name}": value for (name, _), value in zip(info.parameters, values, strict=True)}
        fields = tuple((name, Field(f"{info.name}${name}", wanted)) for name, wanted in info.parameters)
        inner = type(self.outer)(
            self.context, Scope((Item(info.name, fields),)), self.outer.subquery, f"function {info.name}"
        )
        assert info.body is not None
        body = inner.bind(info.body)
        result = transform(body, lambda e: marks.get(e.name, e) if isinstance(e, Column) else e)
        if info.returns is not None and result.type not in (info.returns, UNKNOWN):
            return Cast(result, info.returns)
        return result

    def filtered(self, node: exp.Filter) -> Expr:
        """aggregate(...) FILTER (WHERE condition)."""
        call = node.this
        if not isinstance(call, exp.Anonymous):
            self.context.fail("NOT_SUPPORTED", "FILTER stands after an aggregate", node, feature="FILTER")
        where = node.expression.this
        return self._aggregate(str(call.name).upper(), call.expressions, call, where)

    def _aggregate(self, name: str, arguments: list[exp.Expr], node: exp.Expr, where: exp.Expr | None) -> Expr:
        if self.aggregates is None or self._in_aggregate:
            place = "another aggregate" if self._in_aggregate else self.outer.clause
            self.context.fail(
                "AGGREGATE_NOT_ALLOWED",
                f"aggregate {name} cannot stand in {place}",
                node,
                "use HAVING to filter groups" if place == "WHERE" else None,
                function=name,
                clause=place,
            )
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = arguments[0].expressions
        self._in_aggregate = True
        try:
            stars = [a for a in arguments if isinstance(a, exp.Star)]
            if stars and distinct:
                arguments = [item for _, item in expand_stars(self.context, self.outer.scope, stars[0]) or []]
                stars = []
            of_rows = bool(stars) and self._counts_rows(name)
            bound = [] if of_rows else [self.outer.value(a) for a in arguments]
            condition = self.outer.condition(where) if where is not None else None
        finally:
            self._in_aggregate = False
        self._check_level(name, bound, node)
        call = self._aggregate_call(name, bound, arguments, node, distinct, condition)
        return Column(self.aggregates.name(self.context, call), call.type, call.nullable)

    def _counts_rows(self, name: str) -> bool:
        """Whether a built-in aggregate takes a star."""
        return self.context.function(name) is None and AGGREGATES[name].counts_rows

    def _check_level(self, name: str, bound: list[Expr], node: exp.Expr) -> None:
        """SQL takes an aggregate of outer columns alone as one of the enclosing query: that is refused."""
        used = {column for argument in bound for column in columns_of(argument)}
        here = {field.name for item in self.outer.scope.items for _, field in item.fields}
        if used and not used & here:
            self.context.fail(
                "NOT_SUPPORTED",
                f"{name} is of columns of the enclosing query alone",
                node,
                "aggregate them there",
                feature="outer aggregate",
            )

    def _aggregate_call(
        self,
        name: str,
        bound: list[Expr],
        arguments: list[exp.Expr],
        node: exp.Expr,
        distinct: bool,
        where: Expr | None,
    ) -> AggregateCall:
        user = self.context.function(name)
        if isinstance(user, AggregateInfo):
            self._check_count(user, bound, node)
            values = tuple(b if b.type == t else Cast(b, t) for b, (_, t) in zip(bound, user.parameters, strict=True))
            assert self.aggregates is not None
            times = [time for time in self.aggregates.times if time is not None]
            by_time = not (user.order_free or distinct) and len(times) == len(self.aggregates.times) == 1
            given = (*values, times[0]) if by_time else values
            return AggregateCall(user.name, given, user.returns, distinct, where, by_time=by_time)
        function = AGGREGATES[name]
        self._check_arguments(name, function, bound, arguments, node)
        if function.counts_rows and not bound and not any(isinstance(a, exp.Star) for a in arguments):
            self.context.fail("ARGUMENT_COUNT", f"{name} needs * or a value", node, function=name, given=0)
        if function.by_time is not None:
            bound = [*bound, self._time(name, function.by_time, arguments, node)]
            function = AGGREGATES[function.by_time]
        types = [b.type for b in bound]
        result = UNKNOWN if UNKNOWN in types else function.result(types)
        nullable = function.of_nothing is OfNothing.NULL
        return AggregateCall(function.name, tuple(bound), result, distinct, where, nullable)

    def _time(self, name: str, by: str, arguments: list[exp.Expr], node: exp.Expr) -> Column:
        """The column that elements are ordered by: that of the one stream in FROM."""
        assert self.aggregates is not None
        times = self.aggregates.times
        if len(times) == 1 and times[0] is not None:
            return times[0]
        found = "there is none whose ordering column can be named"
        if times:
            found = f"there are {len(times)}" if len(times) > 1 else "it has no ordering column"
        value = render_query(arguments[0])
        self.context.fail(
            "NO_ORDERING_COLUMN",
            f"{name} goes by the instants of one stream in FROM, and {found}",
            node,
            f"say by which column: {by}({value}, column)",
            function=name,
            streams=len(times),
        )


def _is_nullable(function: ScalarFunction, arguments: list[Expr]) -> bool:
    """Whether a call of a built-in function may be NULL."""
    match function.null_when:
        case NullWhen.AN_ARGUMENT_IS:
            return any(a.nullable for a in arguments)
        case NullWhen.ALL_ARGUMENTS_ARE:
            return all(a.nullable for a in arguments)
        case NullWhen.AT_ANY_TIME:
            return True
