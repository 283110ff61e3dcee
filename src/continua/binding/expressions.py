"""Scalar expressions: from syntax to typed algebra, with every misfit told where it stands."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.expr import (
    Call,
    Case,
    Cast,
    Expr,
    Literal,
    Now,
    both,
    connected,
)
from continua.binding.calls import Aggregates, CallBinder
from continua.binding.context import Context, Scope, UnbindableError, resolve
from continua.binding.literals import bind_literal, interval_literal, time_literal
from continua.binding.operator_types import ARITHMETIC, COMPARISONS, arithmetic_type, operands_of
from continua.binding.subqueries import SubqueryExpressions
from continua.errors import did_you_mean
from continua.instants import TimeDomain
from continua.lang.data_types import data_type
from continua.types import (
    BIGINT,
    BOOLEAN,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
    common_type,
    comparable,
    decimal,
)

SubqueryBinder = Callable[[exp.Query, Scope], Plan]
ERROR = Literal(None, UNKNOWN)


class ExpressionBinder:
    """Binds expressions of one clause. ``aggregates`` collects aggregate calls; None where none may stand."""

    def __init__(
        self,
        context: Context,
        scope: Scope,
        subquery: SubqueryBinder,
        clause: str,
        aggregates: Aggregates | None = None,
    ) -> None:
        self.context = context
        self.scope = scope
        self.subquery = subquery
        self.clause = clause
        self.calls = CallBinder(self, aggregates)
        self.subqueries = SubqueryExpressions(self)

    def bind(self, node: exp.Expr) -> Expr:
        """The expression, or one of unknown type once its errors are noted."""
        try:
            return self.value(node)
        except UnbindableError:
            return ERROR

    def condition(self, node: exp.Expr) -> Expr:
        """An expression that must be a condition."""
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, NULL, UNKNOWN):
            self.context.error(
                "TYPE_MISMATCH",
                f"{self.clause} needs a condition, not {bound.type}",
                node,
                left="BOOLEAN",
                right=str(bound.type),
            )
            return ERROR
        return bound

    def value(self, node: exp.Expr) -> Expr:
        """The expression; raises :class:`UnbindableError` once a mistake is noted that leaves nothing to bind."""
        if node.args.get("negate"):
            # sqlglot writes some negations as a flag: NOT LIKE
            plain = node.copy()
            plain.set("negate", None)
            return _call("NOT", (self.value(plain),), BOOLEAN)
        match node:
            case exp.Paren() | exp.Alias():
                return self.value(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return self._constant(node)
            case exp.Boolean():
                return Literal(bool(node.this), BOOLEAN)
            case exp.Null():
                return Literal(None, NULL)
            case exp.CurrentTimestamp():
                return self._now()
            case exp.Neg():
                return self._negative(node)
            case exp.And() | exp.Or():
                return self._logical(node)
            case exp.Not():
                return _call("NOT", (self.condition(node.this),), BOOLEAN)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeNEQ():
                same = self.compare("<=>", node.this, node.args["expression"], node)
                return ERROR if same == ERROR else _call("NOT", (same,), BOOLEAN)
            case exp.Between():
                low = self.compare(">=", node.this, node.args["low"], node)
                return both(low, self.compare("<=", node.this, node.args["high"], node))
            case exp.In():
                return self.subqueries.membership(node)
            case exp.Exists():
                return self.subqueries.exists(node)
            case exp.Like() | exp.ILike() | exp.RegexpLike():
                return self._pattern(node)
            case exp.Case():
                return self._case(node)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
            case exp.Interval():
                return interval_literal(self.context, node)
            case exp.Extract():
                return self.calls.function(node.name.upper(), [node.args["expression"]], node)
            case exp.Trim():
                return self.calls.function("TRIM", [node.this], node)
            case exp.DPipe():
                return self.calls.function("CONCAT", [node.this, node.args["expression"]], node)
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                return self.subqueries.scalar(node)
            case exp.Array():
                return self.calls.function("ARRAY", node.expressions, node)
            case exp.Anonymous():
                return self.calls.function(str(node.name).upper(), node.expressions, node)
            case exp.Filter():
                return self.calls.filtered(node)
            case exp.Bracket():
                return self._subscript(node)
            case exp.Dot():
                return self._struct_field(node)
            case _ if type(node) in COMPARISONS:
                return self._comparison(node)
            case _ if type(node) in ARITHMETIC:
                return self._arithmetic(node)
            case _:
                self.context.fail(
                    "NOT_SUPPORTED", f"{node.key.upper()} is not supported here", node, feature=node.key.upper()
                )

    # Names and constants.

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            self.context.fail("MISPLACED_STAR", "* stands only in a select list and in COUNT(*)", node)
        if self._is_now(node):
            return self._now()
        if node.table and self._is_struct(node):
            return self._struct_field(exp.Dot(this=exp.column(node.args["table"].copy()), expression=node.this))
        found = resolve(self.context, self.scope, node)
        return ERROR if found is None else found.column

    def _constant(self, node: exp.Literal) -> Expr:
        found = bind_literal(node)
        if found is None:
            self.context.fail("BAD_NUMBER", f"'{node.name}' is not a number", node, value=node.name)
        return found

    def _is_now(self, node: exp.Column) -> bool:
        if node.table or node.name.upper() != "NOW":
            return False
        scope: Scope | None = self.scope
        while scope is not None:
            if any(item.find(node.name) for item in scope.items):
                return False
            scope = scope.outer
        return True

    def _is_struct(self, node: exp.Column) -> bool:
        """Whether ``a.b`` is field b of a struct column a rather than column b of table a."""
        scope: Scope | None = self.scope
        while scope is not None:
            if any(i.alias.casefold() == node.table.casefold() for i in scope.items):
                return False
            if any(f.type.name == "STRUCT" for i in scope.items for f in i.find(node.table)):
                return True
            scope = scope.outer
        return False

    def _now(self) -> Expr:
        return Now(TIMESTAMP if self.context.domain is TimeDomain.MICROSECONDS else BIGINT)

    # Operators.

    def _logical(self, node: exp.Expr) -> Expr:
        word = "AND" if isinstance(node, exp.And) else "OR"
        return connected(word, [self.condition(part) for part in operands_of(node)])

    def _negative(self, node: exp.Neg) -> Expr:
        operand = self.value(node.this)
        if isinstance(operand, Literal) and isinstance(operand.value, int | float | Decimal):
            return Literal(-operand.value, operand.type)
        if not operand.type.is_numeric and operand.type.name not in ("UNKNOWN", "NULL", "INTERVAL"):
            self.misfit(node, "-", "a number", operand.type)
        return _call("-", (operand,), operand.type)

    def _is(self, node: exp.Is) -> Expr:
        operand = self.value(node.this)
        match node.expression:
            case exp.Null():
                return Call("IS NULL", (operand,), BOOLEAN, nullable=False)
            case exp.Boolean() as truth:
                return Call("IS TRUE" if truth.this else "IS FALSE", (operand,), BOOLEAN, nullable=False)
            case _:
                self.context.fail("NOT_SUPPORTED", "IS takes NULL, TRUE or FALSE", node, feature="IS")

    def _comparison(self, node: exp.Expr) -> Expr:
        operator = COMPARISONS[type(node)]
        left, right = node.this, node.args["expression"]
        if isinstance(right, exp.Any | exp.All):
            return self.subqueries.quantified(operator, left, right, node)
        if operator in ("<", "<=", ">", ">=") and COMPARISONS.get(type(left)) in ("<", "<=", ">", ">="):
            # a < b <= c, as the papers write it
            middle = left.args["expression"]
            return both(self._comparison(left), self.compare(operator, middle, right, node))
        return self.compare(operator, left, right, node)

    def compare(self, operator: str, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Expr:
        """left operator right, of values or of tuples of values."""
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple) and operator in ("=", "<>"):
            if len(left.expressions) != len(right.expressions):
                self.context.fail(
                    "COLUMN_COUNT",
                    f"{len(left.expressions)} values are compared with {len(right.expressions)}",
                    node,
                    left=len(left.expressions),
                    right=len(right.expressions),
                )
            pairs = zip(left.expressions, right.expressions, strict=True)
            parts = [self.compare("=", a, b, node) for a, b in pairs]
            whole = parts[0]
            for part in parts[1:]:
                whole = both(whole, part)
            return whole if operator == "=" else _call("NOT", (whole,), BOOLEAN)
        a, b = self.comparable(self.value(left), self.value(right), node)
        if ERROR in (a, b):
            return ERROR
        return Call(operator, (a, b), BOOLEAN, operator != "<=>" and (a.nullable or b.nullable))

    def comparable(self, left: Expr, right: Expr, node: exp.Expr) -> tuple[Expr, Expr]:
        """Both sides as they are compared: text beside a date or timestamp is read as one."""
        if not comparable(left.type, right.type):
            self.context.error(
                "TYPE_MISMATCH",
                f"{left.type} and {right.type} cannot be compared",
                node,
                "CAST one side to the type of the other",
                left=str(left.type),
                right=str(right.type),
            )
            return ERROR, ERROR
        if left.type == STRING and right.type.is_temporal:
            return self._as_time(left, right.type, node), right
        if right.type == STRING and left.type.is_temporal:
            return left, self._as_time(right, left.type, node)
        return left, right

    def _arithmetic(self, node: exp.Expr) -> Expr:
        operator = ARITHMETIC[type(node)]
        left, right = self.value(node.this), self.value(node.args["expression"])
        result = arithmetic_type(operator, _operand_type(left, right), _operand_type(right, left))
        if result is None:
            hint = None
            if left.type.is_temporal and right.type.is_numeric:
                hint = f"write {operator} INTERVAL 5 SECONDS to move a timestamp"
            self.context.error(
                "TYPE_MISMATCH",
                f"{left.type} {operator} {right.type} makes no sense",
                node,
                hint,
                left=str(left.type),
                right=str(right.type),
            )
            return ERROR
        return _call(operator, (left, right), result)

    def _pattern(self, node: exp.Expr) -> Expr:
        name = {"like": "LIKE", "ilike": "ILIKE", "regexplike": "RLIKE"}[node.key]
        operands = [self.value(node.this), self.value(node.args["expression"])]
        for operand in operands:
            if operand.type not in (STRING, NULL, UNKNOWN):
                self.misfit(node, name, "a string", operand.type)
        return _call(name, tuple(operands), BOOLEAN)

    def misfit(self, node: exp.Expr, what: str, expected: str, got: DataType) -> None:
        self.context.error("TYPE_MISMATCH", f"{what} needs {expected}, not {got}", node, left=expected, right=str(got))

    def _case(self, node: exp.Case) -> Expr:
        branches: list[tuple[Expr, Expr]] = []
        for branch in node.args["ifs"]:
            test = branch.this
            condition = self.compare("=", node.this, test, branch) if node.this else self.condition(test)
            branches.append((condition, self.value(branch.args["true"])))
        default = node.args.get("default")
        otherwise = self.value(default) if default else None
        results = [r for _, r in branches] + ([otherwise] if otherwise else [])
        return Case(tuple(branches), otherwise, self.common([r.type for r in results], node))

    def common(self, types: list[DataType], node: exp.Expr) -> DataType:
        merged = types[0]
        for other in types[1:]:
            wider = common_type(merged, other)
            if wider is None:
                self.context.error(
                    "TYPE_MISMATCH",
                    f"{merged} and {other} have no common type",
                    node,
                    left=str(merged),
                    right=str(other),
                )
                return UNKNOWN
            merged = wider
        return merged

    def _cast(self, node: exp.Expr) -> Expr:
        target = data_type(node.args["to"])
        operand = self.value(node.this)
        if target is None:
            self.context.fail("UNKNOWN_TYPE", f"'{node.args['to']}' is not a type", node, type=str(node.args["to"]))
        if isinstance(node, exp.TryCast):
            return Call("TRY_CAST", (operand, Literal(None, target)), target)
        if operand.type == STRING and target.is_temporal:
            return self._as_time(operand, target, node)
        return Cast(operand, target)

    def _as_time(self, operand: Expr, target: DataType, node: exp.Expr) -> Expr:
        """Text read as a date or timestamp; a constant is read at once."""
        if not isinstance(operand, Literal):
            return Cast(operand, target)
        found = time_literal(str(operand.value), target)
        if found is None:
            self.context.fail(
                "BAD_TIME",
                f"'{operand.value}' is not a {target.name.lower()}",
                node,
                "write it as '2024-05-01 10:00:00'",
                value=operand.value,
            )
        return found

    # Nested values.

    def _subscript(self, node: exp.Bracket) -> Expr:
        operand = self.value(node.this)
        index = self.value(node.expressions[0])
        if operand.type.name == "ARRAY" and operand.type.element:
            return Call("SUBSCRIPT", (operand, index), operand.type.element)
        if operand.type.name == "MAP" and operand.type.element:
            return Call("SUBSCRIPT", (operand, index), operand.type.element)
        if operand.type != UNKNOWN:
            self.misfit(node, "[ ]", "an array or a map", operand.type)
        return ERROR

    def _struct_field(self, node: exp.Expr) -> Expr:
        operand = self.value(node.this)
        name = node.args["expression"].name
        for field_name, field_type in operand.type.fields:
            if field_name.casefold() == name.casefold():
                return Call("FIELD", (operand, Literal(field_name, STRING)), field_type)
        if operand.type != UNKNOWN:
            names = [n for n, _ in operand.type.fields]
            self.context.error(
                "UNKNOWN_COLUMN", f"{operand.type} has no field {name}", node, did_you_mean(name, names), column=name
            )
        return ERROR


def _call(function: str, arguments: tuple[Expr, ...], result: DataType) -> Expr:
    by_zero = function in ("/", "%", "DIV")
    return Call(function, arguments, result, by_zero or any(a.nullable for a in arguments))


def _operand_type(operand: Expr, other: Expr) -> DataType:
    """Beside a decimal, an integer constant is a decimal of just its digits."""
    match operand:
        case Literal(value=int() as value) if operand.type.is_integer and other.type.name == "DECIMAL":
            return decimal(len(str(abs(value))), 0)
        case _:
            return operand.type
