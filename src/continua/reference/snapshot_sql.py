"""Plans as plain SQL: what stands above the leaves of a plan, as one query over the leaves' contents.

The text is Spark's SQL; sqlglot's own translation turns it into DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from continua.algebra.base import Plan
from continua.algebra.expr import (
    AggregateCall,
    Call,
    Cast,
    Column,
    Exists,
    Expr,
    InSubquery,
    Literal,
    Quantified,
    ScalarSubquery,
    SortKey,
)
from continua.algebra.leaves import Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    TopK,
)
from continua.algebra.streaming import Coalesce, Complete, Split
from continua.functions.aggregate_sql import WrittenCall
from continua.functions.aggregates import AGGREGATES
from continua.recursion import room_to_recurse
from continua.sqltext.connections import by_time
from continua.sqltext.expression_sql import UNIT, ExpressionWriter, in_duckdb, literal, quoted, type_text, typed
from continua.types import BIGINT

_JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
}
_SETS = {SetOperator.UNION: "UNION", SetOperator.INTERSECTION: "INTERSECT", SetOperator.DIFFERENCE: "EXCEPT"}


class SqlWriter(ExpressionWriter):
    """Writes a plan as SQL. ``leaf`` names the table of a leaf, or None if a plan is no leaf."""

    def __init__(self, leaf: Callable[[Plan], str | None], user_aggregates: frozenset[str] = frozenset()) -> None:
        self._leaf = leaf
        self._user_aggregates = user_aggregates
        self._aliases = 0

    def duckdb(self, plan: Plan) -> str:
        """The query in DuckDB's SQL."""
        with room_to_recurse():
            return in_duckdb(self.plan(plan))

    def plan(self, plan: Plan) -> str:
        """The query in Spark's SQL."""
        table = self._leaf(plan)
        if table is not None:
            return f"SELECT * FROM {table}"
        match plan:
            case Filter(input=below, predicate=predicate):
                return f"SELECT * FROM {self._from(below)} WHERE {self.expr(predicate)}"
            case Project(input=below, outputs=outputs):
                items = ", ".join(f"{typed(e, self.expr(e))} AS {quoted(n)}" for n, e in outputs) or f"1 AS {UNIT}"
                return f"SELECT {items} FROM {self._from(below)}"
            case Join():
                return self._join(plan)
            case SetOperation():
                return self._set_operation(plan)
            case DuplicateElimination(input=below):
                return f"SELECT DISTINCT * FROM {self._from(below)}"
            case Aggregate():
                return self._aggregate(plan)
            case TopK():
                return self._top(plan)
            case Group(input=below, function=function, index=index):
                return f"SELECT * FROM {self._from(below)} WHERE {self.expr(function)} = {index}"
            case Values():
                return _values(plan)
            case Split(input=below) | Coalesce(input=below) | Complete(input=below):
                return self.plan(below)
            case _:
                raise TypeError(f"{type(plan).__name__} is a leaf of the reference, or no relation")

    def _from(self, plan: Plan) -> str:
        self._aliases += 1
        return f"({self.plan(plan)}) AS r{self._aliases}"

    def _join(self, plan: Join) -> str:
        left, right = self._from(plan.left), self._from(plan.right)
        predicate = "TRUE" if plan.predicate is None else self.expr(plan.predicate)
        match plan.join:
            case JoinKind.SEMI:
                return f"SELECT * FROM {left} WHERE EXISTS (SELECT 1 FROM {right} WHERE {predicate})"
            case JoinKind.ANTI:
                return f"SELECT * FROM {left} WHERE NOT EXISTS (SELECT 1 FROM {right} WHERE {predicate})"
            case JoinKind.NULL_AWARE_ANTI:
                pairs = [f"COALESCE({self.expr(a)} = {self.expr(b)}, TRUE)" for a, b in plan.null_aware]
                matches = " AND ".join([f"({predicate})", *pairs])
                return f"SELECT * FROM {left} WHERE NOT EXISTS (SELECT 1 FROM {right} WHERE {matches})"
            case JoinKind.MARK:
                again = self._from(plan.right)
                mark = (
                    f"CASE WHEN EXISTS (SELECT 1 FROM {right} WHERE {predicate}) THEN TRUE "
                    f"WHEN EXISTS (SELECT 1 FROM {again} WHERE ({predicate}) IS NULL) THEN NULL ELSE FALSE END"
                )
                return f"SELECT *, {mark} AS {quoted(plan.mark)} FROM {left}"
            case JoinKind.SINGLE:
                # DuckDB refuses a second row in a subquery that stands for a value
                values = [
                    f"(SELECT {quoted(n)} FROM {self._from(plan.right)} WHERE {predicate}) AS {quoted(n)}"
                    for n in plan.right.schema.names
                ]
                return f"SELECT *, {', '.join(values)} FROM {left}"
            case _:
                return f"SELECT * FROM {left} {_JOINS[plan.join]} {right} ON {predicate}"

    def _set_operation(self, plan: SetOperation) -> str:
        left, right = self.plan(plan.left), self.plan(plan.right)
        word = "" if plan.distinct else " ALL"
        match plan.operator:
            case SetOperator.MAX_UNION:
                rest = f"SELECT * FROM (({left}) EXCEPT ALL ({right})) AS m{self._aliases}"
                both = f"({rest}) UNION ALL ({right})"
                return f"SELECT DISTINCT * FROM ({both}) AS u{self._aliases}" if plan.distinct else both
            case SetOperator.STRICT_DIFFERENCE:
                self._aliases += 1
                theirs = zip(plan.left.schema.names, plan.right.schema.names, strict=True)
                same = " AND ".join(f"s.{quoted(a)} <=> t.{quoted(b)}" for a, b in theirs) or "TRUE"
                distinct = "DISTINCT " if plan.distinct else ""
                inner = f"SELECT 1 FROM ({right}) AS t WHERE {same}"
                return f"SELECT {distinct}* FROM ({left}) AS s WHERE NOT EXISTS ({inner})"
            case _:
                return f"({left}) {_SETS[plan.operator]}{word} ({right})"

    def _aggregate(self, plan: Aggregate) -> str:
        below = self._from(plan.input)
        computed = [f"{typed(e, self.expr(e))} AS {quoted(n)}" for n, e in plan.keys if not isinstance(e, Column)]
        if computed:
            self._aliases += 1
            below = f"(SELECT *, {', '.join(computed)} FROM {below}) AS r{self._aliases}"
        keys = [quoted(n) if not isinstance(e, Column) else f"{self.expr(e)} AS {quoted(n)}" for n, e in plan.keys]
        calls = [f"{self._aggregate_call(a)} AS {quoted(n)}" for n, a in plan.aggregates]
        tail = ""
        if plan.keys:
            tail = " GROUP BY " + ", ".join(self.expr(e) if isinstance(e, Column) else quoted(n) for n, e in plan.keys)
        elif not plan.empty_row:
            tail = " HAVING COUNT(*) > 0"
        items = ", ".join(keys + calls) or f"1 AS {UNIT}"
        if not plan.keys and not calls:
            items = f"COUNT(*) AS {UNIT}"
        return f"SELECT {items} FROM {below}{tail}"

    def _aggregate_call(self, call: AggregateCall) -> str:
        arguments = [self.expr(a) for a in call.arguments]
        if call.function in self._user_aggregates:
            where = f" FILTER (WHERE {self.expr(call.where)})" if call.where is not None else ""
            distinct = "DISTINCT " if call.distinct else ""
            if call.by_time:
                time = call.arguments[-1]
                in_micros = Call("UNIX_MICROS", (time,), BIGINT)
                arguments[-1] = self.expr(in_micros if time.type.is_temporal else Cast(time, BIGINT))
            lists = ", ".join(f"LIST({distinct}{a}){where}" for a in arguments)
            return f"{by_time(call.function) if call.by_time else call.function}({lists})"
        written = WrittenCall(
            call.function,
            tuple(arguments),
            tuple(a.type for a in call.arguments),
            tuple(isinstance(a, Literal) for a in call.arguments),
            call.type,
            call.distinct,
            None if call.where is None else self.expr(call.where),
        )
        return f"CAST({AGGREGATES[call.function].sql(written)} AS {type_text(call.type)})"

    def _top(self, plan: TopK) -> str:
        order = [self._sort_key(k) for k in plan.order] + [f"{quoted(n)} ASC NULLS FIRST" for n in plan.schema.names]
        ordered = ", ".join(order)
        if plan.partition:
            partition = ", ".join(self.expr(e) for e in plan.partition)
            number = f"ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {ordered})"
            columns = ", ".join(quoted(n) for n in plan.schema.names)
            last = "" if plan.limit is None else f" AND `#number` <= {plan.offset + plan.limit}"
            inner = f"SELECT *, {number} AS `#number` FROM {self._from(plan.input)}"
            return f"SELECT {columns} FROM ({inner}) AS n{self._aliases} WHERE `#number` > {plan.offset}{last}"
        limit = "" if plan.limit is None else f" LIMIT {plan.limit}"
        offset = f" OFFSET {plan.offset}" if plan.offset else ""
        return f"SELECT * FROM {self._from(plan.input)} ORDER BY {ordered}{limit}{offset}"

    def _sort_key(self, key: SortKey) -> str:
        direction = "DESC" if key.descending else "ASC"
        return f"{self.expr(key.expr)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"

    def subquery(self, expr: Expr) -> str:
        """A subquery inside an expression."""
        match expr:
            case Exists(plan=plan):
                return f"EXISTS ({self.plan(plan)})"
            case InSubquery(operands=operands, plan=plan) if len(operands) > 1:
                return self._in_rows(operands, plan)
            case InSubquery(operands=operands, plan=plan):
                return f"({self.expr(operands[0])} IN ({self.plan(plan)}))"
            case Quantified(comparison=comparison, quantifier=quantifier, operand=operand, plan=plan):
                return f"({self.expr(operand)} {comparison} {quantifier.value} ({self.plan(plan)}))"
            case ScalarSubquery(plan=plan):
                return f"({self.plan(plan)})"
            case _:
                return super().subquery(expr)

    def _in_rows(self, operands: Sequence[Expr], plan: Plan) -> str:
        """IN with several columns, spelled out: DuckDB has it only where nothing refers to the query around it."""

        def some(found: str) -> str:
            self._aliases += 1
            name = f"q{self._aliases}"
            pairs = zip(operands, plan.schema.names, strict=True)
            equal = " AND ".join(f"{self.expr(e)} = {name}.{quoted(n)}" for e, n in pairs)
            return f"EXISTS (SELECT 1 FROM ({self.plan(plan)}) AS {name} WHERE ({equal}) {found})"

        return f"CASE WHEN {some('')} THEN TRUE WHEN {some('IS NULL')} THEN NULL ELSE FALSE END"


def _values(plan: Values) -> str:
    if not plan.columns:
        return " UNION ALL ".join(f"SELECT 1 AS {UNIT}" for _ in plan.rows) or f"SELECT 1 AS {UNIT} WHERE FALSE"
    rows = []
    for row in plan.rows:
        pairs = zip(plan.columns, row, strict=True)
        items = [f"CAST({literal(Literal(v, f.type))} AS {type_text(f.type)}) AS {quoted(f.name)}" for f, v in pairs]
        rows.append(f"SELECT {', '.join(items)}")
    if not rows:
        items = [f"CAST(NULL AS {type_text(f.type)}) AS {quoted(f.name)}" for f in plan.columns]
        return f"SELECT {', '.join(items)} WHERE FALSE"
    return " UNION ALL ".join(rows)
