"""SELECT: from FROM to LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr, SortKey, columns_of, rebuild
from continua.algebra.relational import Aggregate, DuplicateElimination, Filter, Project, TopK
from continua.binding.calls import Aggregates
from continua.binding.context import Context, Scope
from continua.binding.expressions import ExpressionBinder
from continua.binding.ordering import ordering_columns
from continua.binding.output_names import expand_stars, output_name, unique_names
from continua.binding.syntax import order_terms
from continua.catalog import AggregateInfo
from continua.functions.aggregates import AGGREGATES
from continua.lang.stream_nodes import StreamList

if TYPE_CHECKING:
    from continua.binding.queries import QueryBinder

Outputs = list[tuple[str, Expr]]
SelectItems = list[tuple[str, exp.Expr]]


class SelectBinder:
    """Binds one SELECT."""

    def __init__(self, queries: QueryBinder, node: exp.Select, outer: Scope | None, qualifier: str | None) -> None:
        self.queries = queries
        self.context: Context = queries.context
        self.node = node
        self.outer = outer
        self.qualifier = qualifier

    def bind(self) -> Plan:
        """FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY and LIMIT, in this order."""
        plan, scope = self.queries.from_items.from_clause(self.node, self.outer)
        if where := self.node.args.get("where"):
            plan = Filter(plan, self._binder(scope, "WHERE").condition(where.this))
        items = self._items(scope)
        if self._aggregates(items):
            return self._grouped(plan, scope, items)
        binder = self._binder(scope, "SELECT")
        outputs = [(name, binder.bind(item)) for name, item in items]
        order = sort_keys(self.queries, self.node, scope, outputs, None)
        return self._output(plan, outputs, order)

    def _binder(self, scope: Scope, clause: str, aggregates: Aggregates | None = None) -> ExpressionBinder:
        return ExpressionBinder(self.context, scope, self.queries.subquery, clause, aggregates)

    def _items(self, scope: Scope) -> SelectItems:
        """The select list with stars expanded, each item with the name that it gets."""
        found: SelectItems = []
        for item in _select_list(self.node):
            stars = expand_stars(self.context, scope, item)
            found += stars if stars is not None else [(output_name(item), item)]
        names = unique_names([name for name, _ in found])
        return [(name, item) for name, (_, item) in zip(names, found, strict=True)]

    def _aggregates(self, items: SelectItems) -> bool:
        if self.node.args.get("group") or self.node.args.get("having"):
            return True
        parts = [item for _, item in items] + [term.this for term in order_terms(self.node)]
        return any(self._has_aggregate(part) for part in parts)

    def _has_aggregate(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Query):
            return False
        if isinstance(node, exp.Anonymous):
            name = str(node.name).upper()
            user = self.context.catalog.function(name)
            if isinstance(user, AggregateInfo) or (name in AGGREGATES and user is None):
                return True
        return any(self._has_aggregate(child) for child in node.iter_expressions())

    # Grouping.

    def _grouped(self, plan: Plan, scope: Scope, items: SelectItems) -> Plan:
        keys, selected = self._keys(scope, items)
        aggregates = Aggregates(ordering_columns(plan))
        select = self._binder(scope, "SELECT", aggregates)
        outputs = [
            (name, selected[number] if number in selected else select.bind(item))
            for number, (name, item) in enumerate(items)
        ]
        having_node = self.node.args.get("having")
        having = None
        if having_node is not None:
            binder = self._binder(scope, "HAVING", aggregates)
            having = binder.condition(_dealiased(having_node.this, items, scope))
        order = sort_keys(self.queries, self.node, scope, outputs, aggregates)
        named = {
            key: key.name if isinstance(key, Column) else self.context.fresh(f"key{number}")
            for number, key in enumerate(keys, start=1)
        }
        grouped: Plan = Aggregate(
            plan,
            tuple((name, key) for key, name in named.items()),
            tuple((name, call) for call, name in aggregates.calls.items()),
            empty_row=self.context.settings.dialect != "pipes",
        )
        columns: dict[Expr, Expr] = {key: Column(name, key.type, key.nullable) for key, name in named.items()}

        def over_groups(expr: Expr, where: exp.Expr | None) -> Expr:
            result = _replaced(expr, columns)
            self._check_grouped(result, grouped, plan, where)
            return result

        if having is not None:
            assert having_node is not None
            grouped = Filter(grouped, over_groups(having, having_node))
        pairs = zip(outputs, items, strict=True)
        outputs = [(name, over_groups(expr, item)) for (name, expr), (_, item) in pairs]
        ordered = [SortKey(over_groups(k.expr, self.node), k.descending, k.nulls_first) for k in order]
        return self._output(grouped, outputs, ordered)

    def _keys(self, scope: Scope, items: SelectItems) -> tuple[list[Expr], dict[int, Expr]]:
        """The grouping keys, and which of them are select items, named by alias or position."""
        group = self.node.args.get("group")
        if group is None:
            return [], {}
        binder = self._binder(scope, "GROUP BY")
        keys: list[Expr] = []
        selected: dict[int, Expr] = {}
        for term in group.expressions:
            target = _at_position(self.context, term, [item for _, item in items])
            place = _selected_place(term, target, items, scope)
            if place is not None:
                target = items[place][1]
            bound = binder.bind(_dealiased(target, items, scope))
            if place is not None:
                selected[place] = bound
            if bound not in keys:
                keys.append(bound)
        return keys, selected

    def _check_grouped(self, expr: Expr, grouped: Plan, below: Plan, node: exp.Expr | None) -> None:
        for name in sorted(columns_of(expr) - set(grouped.schema.names)):
            column = below.schema.get(name)
            if column is None:
                continue
            short = column.short
            places = [c for c in node.find_all(exp.Column) if c.name.casefold() == short.casefold()] if node else []
            self.context.error(
                "NOT_GROUPED",
                f"column {short} is neither in GROUP BY nor in an aggregate",
                places[0] if places else node,
                f"add {short} to GROUP BY, or write MAX({short})",
                column=short,
            )

    # Output.

    def _output(self, plan: Plan, outputs: Outputs, order: list[SortKey]) -> Plan:
        prefix = f"{self.qualifier}." if self.qualifier else ""
        named = [(prefix + name, expr) for name, expr in outputs]
        places: dict[Expr, Expr] = {expr: Column(name, expr.type, expr.nullable) for name, expr in reversed(named)}
        hidden: list[tuple[str, Expr]] = []
        for key in order:
            if key.expr not in places:
                name = self.context.fresh("#sort")
                hidden.append((name, key.expr))
                places[key.expr] = Column(name, key.expr.type, key.expr.nullable)
        result: Plan = Project(plan, tuple(named + hidden))
        if _distinct(self.node):
            if hidden:
                self.context.fail(
                    "ORDER_NOT_SELECTED", "with DISTINCT, ORDER BY can use only what is selected", self.node
                )
            result = DuplicateElimination(result)
        sorted_by = [SortKey(places[k.expr], k.descending, k.nulls_first) for k in order]
        result = limited(self.context, self.node, result, sorted_by)
        if hidden:
            kept = result.schema.fields[: len(named)]
            result = Project(result, tuple((f.name, f.column) for f in kept))
        return result


def sort_keys(
    queries: QueryBinder, node: exp.Expr, scope: Scope, outputs: Outputs, aggregates: Aggregates | None
) -> list[SortKey]:
    """ORDER BY: by position, by output name, or by any expression over FROM."""
    context = queries.context
    binder = ExpressionBinder(context, scope, queries.subquery, "ORDER BY", aggregates)
    by_name = {name.casefold(): expr for name, expr in outputs}
    found: list[SortKey] = []
    for term in order_terms(node):
        descending = bool(term.args.get("desc"))
        nulls = term.args.get("nulls_first")
        target = _at_position(context, term.this, [expr for _, expr in outputs])
        expr: Expr
        if not isinstance(target, exp.Expr):
            expr = target
        elif isinstance(target, exp.Column) and not target.table and target.name.casefold() in by_name:
            expr = by_name[target.name.casefold()]
        else:
            expr = binder.bind(target)
        found.append(SortKey(expr, descending, not descending if nulls is None else bool(nulls)))
    return found


def limited(context: Context, node: exp.Expr, plan: Plan, order: list[SortKey]) -> Plan:
    """LIMIT and OFFSET. An order without them does not change a bag, so it is dropped, and the author told."""
    limit, offset = (_count(context, node.args.get(part)) for part in ("limit", "offset"))
    if limit is None and offset is None:
        if order:
            context.notice("ORDER_IGNORED", "ORDER BY without LIMIT has no effect: a relation has no order")
        return plan
    if not order:
        context.notice("LIMIT_WITHOUT_ORDER", "LIMIT without ORDER BY takes the smallest rows, column by column")
    return TopK(plan, tuple(order), limit, offset or 0)


def _count(context: Context, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    value = node.args.get("count") if isinstance(node, exp.Fetch) else node.args.get("expression")
    if isinstance(value, exp.Var) and value.name.upper() == "ALL":
        return None
    if isinstance(value, exp.Literal) and value.name.isdecimal() and len(value.name) < 19:
        return int(value.name)
    context.fail("BAD_LIMIT", "LIMIT and OFFSET take a whole number", value if isinstance(value, exp.Expr) else node)


def _select_list(node: exp.Select) -> list[exp.Expr]:
    expressions = node.expressions
    if len(expressions) == 1 and isinstance(expressions[0], StreamList):
        return expressions[0].expressions
    return expressions


def _distinct(node: exp.Select) -> bool:
    expressions = node.expressions
    inner = len(expressions) == 1 and isinstance(expressions[0], StreamList) and expressions[0].args.get("distinct")
    return bool(node.args.get("distinct") or inner)


def _at_position(context: Context, term: exp.Expr, items: list[exp.Expr] | list[Expr]) -> exp.Expr | Expr:
    """The select item that a number stands for; anything else as it is."""
    if not (isinstance(term, exp.Literal) and not term.is_string and term.name.isdigit()):
        return term
    position = int(term.name)
    if not 1 <= position <= len(items):
        context.fail(
            "BAD_POSITION", f"the select list has no item {position}", term, position=position, items=len(items)
        )
    return items[position - 1]


def _selected_place(term: exp.Expr, target: exp.Expr | Expr, items: SelectItems, scope: Scope) -> int | None:
    """The place of the select item that a term of GROUP BY is, by position or by alias."""
    for place, (name, item) in enumerate(items):
        if item is target and target is not term:
            return place
        if isinstance(term, exp.Column) and not term.table and term.name.casefold() == name.casefold():
            return None if any(i.find(term.name) for i in scope.items) else place
    return None


def _dealiased(node: exp.Expr | Expr, items: SelectItems, scope: Scope) -> exp.Expr:
    """The expression with names of select items replaced by them, where FROM has no such column."""
    assert isinstance(node, exp.Expr)
    aliases = {name.casefold(): item for name, item in items}
    result = node.copy()
    # a subquery has names of its own
    for part in list(result.walk(prune=lambda n: isinstance(n, exp.Query))):
        if not isinstance(part, exp.Column) or part.table or part.name.casefold() not in aliases:
            continue
        if any(item.find(part.name) for item in scope.items):
            continue
        target = aliases[part.name.casefold()]
        meaning = (target.this if isinstance(target, exp.Alias) else target).copy()
        if part is result:
            return meaning
        part.replace(meaning)
    return result


def _replaced(expr: Expr, places: dict[Expr, Expr]) -> Expr:
    """The expression with its largest parts that stand in ``places`` replaced."""
    if expr in places:
        return places[expr]
    return rebuild(expr, lambda part: _replaced(part, places))
