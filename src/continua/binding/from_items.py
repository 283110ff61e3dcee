"""FROM: streams, relations, views and subqueries, with their windows, and joins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Literal
from continua.algebra.leaves import BaseRelation, Check, Clock, Rule, Source, TaggedSource, Values
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.relational import Project, Window
from continua.algebra.schema import Field
from continua.algebra.streaming import RelationalView, StreamOperator, Tag, ToStream
from continua.algebra.traverse import domain_of
from continua.binding.context import Context, Item, Scope, UnbindableError
from continua.binding.expressions import ExpressionBinder
from continua.binding.groups import group
from continua.binding.join_clauses import JoinBinder
from continua.binding.named_queries import rebound
from continua.binding.renaming import renamed
from continua.binding.samples import sampled
from continua.binding.window_clauses import WindowBinder
from continua.catalog import RelationInfo, StreamInfo, TaggedInfo, ViewInfo
from continua.errors import Span, did_you_mean, listing
from continua.instants import TimeDomain
from continua.lang.statements import UNBOUNDED, Name, WindowSyntax
from continua.lang.stream_nodes import StreamGroup, StreamQuery, StreamSubquery, StreamTable
from continua.windows.over_time import TimeWindow

if TYPE_CHECKING:
    from continua.binding.queries import CTEs, QueryBinder

CLOCK = "clockStr"
_HERE = Span(1, 1)
_DEFAULT_WINDOWS = {
    "cql": WindowSyntax(TimeWindow, "bracket", _HERE, (("RANGE", UNBOUNDED),), text="[RANGE UNBOUNDED]"),
    "pipes": WindowSyntax(TimeWindow, "bracket", _HERE, (("NOW", None),), text="[NOW]"),
}


class FromBinder:
    """Binds the items of FROM."""

    def __init__(self, context: Context, queries: QueryBinder) -> None:
        self.context = context
        self.queries = queries
        self.joins = JoinBinder(context, self, queries.subquery)

    def from_clause(self, node: exp.Select, outer: Scope | None) -> tuple[Plan, Scope]:
        """FROM with its joins: one plan, and the scope of its names."""
        from_ = node.args.get("from_")
        if from_ is None:
            return Values((), ((),)), Scope((), outer)
        joins = node.args.get("joins") or []
        self.context.check_joined(from_.this, len(joins))
        plan, scope = self.item(from_.this, outer)
        for join in joins:
            plan, scope = self.joins.join(plan, scope, join)
        seen: set[str] = set()
        for item in scope.items:
            if item.alias and item.alias.casefold() in seen:
                self.context.error(
                    "DUPLICATE_ALIAS",
                    f"{item.alias} stands twice in FROM",
                    _last_named(node, item.alias) or from_,
                    "give each its own alias",
                    alias=item.alias,
                )
            seen.add(item.alias.casefold())
        return plan, scope

    def item(self, node: exp.Expr, outer: Scope | None) -> tuple[Plan, Scope]:
        """One item of FROM, with the joins that are parenthesised with it."""
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            return self.item(node.this, outer)
        self.context.count_item(node, len(node.args.get("joins") or []))
        match node:
            case StreamTable():
                plan, item = self._table(node)
            case exp.Values():
                alias = node.alias or "values"
                plan = self.values(node, self.context.fresh(alias))
                item = _item_of(alias, plan)
            case StreamGroup():
                plan, item = group(self, node, outer)
            case exp.Subquery():
                plan, item = self._derived(node, outer)
            case _:
                self.context.fail(
                    "NOT_SUPPORTED", f"{node.key.upper()} is not supported in FROM", node, feature=node.key
                )
        columns = node.args["alias"].columns if node.args.get("alias") else []
        if columns:
            if len(columns) != len([f for _, f in item.fields if not f.hidden]):
                self.context.fail(
                    "COLUMN_COUNT",
                    f"{item.alias} has {len(item.fields)} columns, and {len(columns)} names are given",
                    node,
                    left=len(item.fields),
                    right=len(columns),
                )
            visible = [f for _, f in item.fields if not f.hidden]
            item = Item(item.alias, tuple((c.name, f) for c, f in zip(columns, visible, strict=True)))
        scope = Scope((item,), outer)
        for join in node.args.get("joins") or []:
            plan, scope = self.joins.join(plan, scope, join)
        return plan, scope

    # Tables.

    def _table(self, node: StreamTable) -> tuple[Plan, Item]:
        if not isinstance(node.this, exp.Identifier):
            self.context.fail(
                "NOT_SUPPORTED",
                f"{node.this.name}(...) is not something to select from",
                node,
                f"a window is written in brackets: {node.this.name} [RANGE 5]",
                feature="table function",
            )
        if node.args.get("db"):
            self.context.fail("NOT_SUPPORTED", "a name in FROM has one part", node, feature="qualified name")
        name, alias = node.name, node.alias or node.name
        known = self.queries.ctes.get(name.casefold())
        if known is not None:
            return self._cte(node, *known, alias)
        info = self.context.table(name)
        unique = self.context.fresh(alias)
        match info:
            case StreamInfo():
                return self._stream(node, self._source(info, unique, node), alias, info.name)
            case RelationInfo():
                return self._relation(node, info, unique, alias)
            case TaggedInfo():
                return self._view(node, self._tagger(info, unique, node), unique, alias)
            case ViewInfo():
                return self._named_query(node, info, unique, alias)
            case None if name.casefold() == CLOCK.casefold():
                return self._view(node, Clock(unique, self._clock_domain()), unique, alias)
            case None:
                self._unknown(node, name)

    def stream_named(self, node: StreamTable) -> Plan:
        """A stream that is read as it is, without a window."""
        info = self.context.table(node.name)
        unique = self.context.fresh(node.name)
        match info:
            case StreamInfo():
                return self._source(info, unique, node)
            case ViewInfo() if kind_of(info.plan) is Kind.STREAM:
                return rebound(self.context, info, unique, node)
            case None:
                self._unknown(node, node.name)
            case _:
                self.context.fail("NOT_A_STREAM", f"{node.name} is no stream", node, name=node.name)

    def _clock_domain(self) -> TimeDomain:
        """The domain of the query's other inputs; before any is known, the one that all streams have."""
        if self.context.domain is not None:
            return self.context.domain
        tables = map(self.context.catalog.table, self.context.catalog.table_names())
        domains = {table.domain for table in tables if isinstance(table, StreamInfo)}
        return domains.pop() if len(domains) == 1 else TimeDomain.TICKS

    def _unknown(self, node: exp.Expr, name: str) -> NoReturn:
        if name.casefold() in self.context.catalog.broken:
            raise UnbindableError
        known = self.context.catalog.table_names()
        self.context.fail(
            "UNKNOWN_STREAM",
            f"there is no stream or relation {name}",
            node,
            did_you_mean(name, known) or (f"there are {listing(known)}" if known else "CREATE STREAM comes first"),
            name=name,
        )

    def _source(self, info: StreamInfo, unique: str, node: exp.Expr) -> Source:
        self.context.note_domain(info.domain, node)
        columns = tuple(replace(f, name=f"{unique}.{f.name}") for f in info.columns)
        key = tuple(f"{unique}.{k}" for k in info.key)
        checks: tuple[Check, ...] = ()
        if info.within is not None:
            checks = (Check(Rule.WITHIN, info.name, info.key, info.within, info.domain, info.skip_errors),)
        position, batch = (None if name is None else f"{unique}.{name}" for name in (info.position, info.batch))
        lasts = info.valid is not None
        return Source(info.name, unique, columns, info.domain, key, lasts, checks, position=position, batch=batch)

    def _tagger(self, info: TaggedInfo, unique: str, node: exp.Expr) -> Plan:
        raw = self.context.table(info.over)
        if not isinstance(raw, StreamInfo):
            self.context.fail("UNKNOWN_STREAM", f"source {info.over} of {info.name} is gone", node, name=info.over)
        source = self._source(raw, unique, node)
        if info.key and raw.valid is not None and not info.upsert:
            check = Check(Rule.DISJOINT, info.name, info.key, skips=raw.skip_errors)
            source = replace(source, checks=(*source.checks, check))
        return Tag(source, tuple(f"{unique}.{k}" for k in info.key))

    def _stream(self, node: exp.Expr, stream: Plan, alias: str, name: str) -> tuple[Plan, Item]:
        """A stream with its window, or with the default window of the dialect."""
        syntax: WindowSyntax | None = node.args.get("window")
        if isinstance(node, StreamTable) and node.args.get("view"):
            return self._view(node, Tag(stream), alias, alias)
        if syntax is None:
            default = _DEFAULT_WINDOWS.get(self.context.settings.dialect)
            if default is None:
                message = f"{name} has no window: its relational view ℜ({name}) is used"
                place = self.context.positions.of(node)
                self.context.notice("DEFAULT_WINDOW", message, place, stream=name, window=f"ℜ({name})")
                node.set("view", True)
                return self._view(node, Tag(stream), _qualifier(stream, alias), alias)
            syntax = default
            node.set("window", syntax)
            self.context.notice(
                "DEFAULT_WINDOW",
                f"{name} has no window: {syntax.text} is used",
                self.context.positions.of(node),
                stream=name,
                window=syntax.text,
            )
        item = _item_of(alias, stream)
        domain = domain_of(stream) or TimeDomain.TICKS
        window = WindowBinder(self.context, syntax, item.fields, domain).bind()
        if syntax.sample is not None:
            stream = sampled(self.context, node, stream, name, syntax.sample)
        return Window(stream, window), item

    def _relation(self, node: StreamTable, info: RelationInfo, unique: str, alias: str) -> tuple[Plan, Item]:
        self._no_window(node, info.name)
        columns = tuple(replace(f, name=f"{unique}.{f.name}") for f in info.columns)
        key = tuple(f"{unique}.{k}" for k in info.key)
        if info.order_by is None:
            if node.args.get("view"):
                self._not_tagged(node, info.name)
            plan: Plan = BaseRelation(info.name, unique, columns, key)
            return plan, _item_of(alias, plan)
        self.context.note_domain(info.domain, node)
        visible = tuple(c for c in columns if not c.hidden)
        checks: tuple[Check, ...] = ()
        if info.tagged_by is not None and not info.upsert:
            checks = (Check(Rule.TAGS, info.name, info.key, skips=info.skip_errors),)
        tagged = TaggedSource(info.name, unique, visible, info.domain, key, checks)
        if node.args.get("view") or self.context.settings.dialect == "sync":
            return self._view(node, tagged, unique, alias)
        plan = RelationalView(tagged)
        return plan, _item_of(alias, plan)

    def _view(self, node: exp.Expr, tagged: Plan, unique: str, alias: str) -> tuple[Plan, Item]:
        """ℜ(S), synchronized where that is asked for."""
        self._no_window(node, alias)
        sync_name: Name | None = node.args.get("sync")
        sync = self._synchronization(sync_name) if sync_name is not None else None
        has_time = any(f.short.upper() == "TS" for f in tagged.schema)
        timestamp = None if has_time else f"{unique}.TS"
        plan = RelationalView(tagged, sync, timestamp)
        return plan, _item_of(alias, plan)

    def _synchronization(self, name: Name) -> Plan:
        """The relation of time points of a synchronization stream."""
        reference = StreamTable(this=exp.to_identifier(name.text), view=True)
        try:
            plan, _ = self._table(reference)
        except UnbindableError:
            self.context.place_last(name.span)
            raise
        outputs = [f for f in plan.schema if f.short != "TS"] or list(plan.schema)
        if len(outputs) != 1 or not outputs[0].type.is_time_domain:
            self.context.fail(
                "SYNC_COLUMNS",
                f"{name} is no synchronization stream: it needs one attribute, the time point",
                name.span,
                columns=[f.short for f in outputs],
            )
        return Project(plan, ((outputs[0].name, outputs[0].column),))

    def _not_tagged(self, node: exp.Expr, name: str) -> NoReturn:
        self.context.fail("NOT_TAGGED", f"ℜ takes a tagged stream, and {name} is a relation already", node, name=name)

    def _no_window(self, node: exp.Expr, name: str) -> None:
        window: WindowSyntax | None = node.args.get("window")
        if window is not None:
            self.context.fail(
                "WINDOW_OVER_RELATION",
                f"{window.text} stands after {name}, which is a relation: only streams have windows",
                window.span,
                f"leave the window out, or make a stream of it: (RSTREAM(SELECT * FROM {name})) {window.text}",
                relation=name,
            )

    # Named and nested queries.

    def _named_query(self, node: StreamTable, info: ViewInfo, unique: str, alias: str) -> tuple[Plan, Item]:
        plan = rebound(self.context, info, unique, node)
        if kind_of(plan) is Kind.STREAM:
            return self._stream(node, plan, alias, info.name)
        tagged = isinstance(plan, Tag)
        if node.args.get("view") or (tagged and self.context.settings.dialect == "sync"):
            if not tagged:
                self._not_tagged(node, info.name)
            return self._view(node, plan, unique, alias)
        if tagged:
            plan = plan.inputs[0]
        self._no_window(node, info.name)
        return plan, _item_of(alias, plan)

    def _cte(self, node: exp.Expr, cte: exp.Expr, before: CTEs, alias: str) -> tuple[Plan, Item]:
        columns = [c.name for c in cte.args["alias"].columns] if cte.args.get("alias") else []
        name = cte.alias
        here, self.queries.ctes = self.queries.ctes, before
        try:
            unique = self.context.fresh(alias)
            plan = self.queries.query(cte.this, None, unique)
        finally:
            self.queries.ctes = here
        if columns and len(columns) != len(plan.schema):
            self.context.fail(
                "COLUMN_COUNT",
                f"{name} has {len(plan.schema)} columns, and {len(columns)} names are given",
                node,
                left=len(plan.schema),
                right=len(columns),
            )
        if columns:
            plan = renamed(plan, unique, tuple(columns))
        return self._windowed(node, plan, alias, name)

    def _derived(self, node: exp.Subquery, outer: Scope | None) -> tuple[Plan, Item]:
        """A subquery in FROM. It sees the enclosing queries; a stream does not, its elements are what they are."""
        alias = node.alias
        seen = None if node.args.get("window") else outer
        plan = self.queries.query(node.this, seen, self.context.fresh(alias or "derived"))
        return self._windowed(node, plan, alias, alias or "the subquery")

    def _windowed(self, node: exp.Expr, plan: Plan, alias: str, name: str) -> tuple[Plan, Item]:
        """A query in FROM: a stream gets its window, a relation with a window becomes a stream first."""
        window: WindowSyntax | None = node.args.get("window")
        kind = kind_of(plan)
        if kind is Kind.TAGGED:
            return self._view(node, plan, _qualifier(plan, alias), alias)
        if kind is Kind.STREAM:
            return self._stream(node, plan, alias, name)
        if window is None:
            return plan, _item_of(alias, plan)
        stream = self._as_stream(plan, window, name)
        if isinstance(stream, ToStream):
            _write_operator(node, stream.operator.name, alias)
        return self._stream(node, stream, alias, name)

    def _as_stream(self, plan: Plan, window: WindowSyntax, name: str) -> Plan:
        """CQL 6.2.2, second case: ISTREAM by default if the relation only grows, else the author must say."""
        if self.context.settings.dialect == "pipes":
            message = f"{name} is a stream and has a window: RSTREAM is used"
            self.context.notice("DEFAULT_OPERATOR", message, window.span, operator="RSTREAM")
            return ToStream(StreamOperator.RSTREAM, plan)
        if not is_monotonic(plan):
            self.context.fail(
                "NON_MONOTONIC_WINDOW",
                f"{window.text} stands after {name}, a relation that does not only grow: which stream is meant?",
                window.span,
                "write ISTREAM(...) for what enters it, DSTREAM(...) for what leaves it, "
                "or RSTREAM(...) for all that is in it",
                operators=["ISTREAM", "DSTREAM", "RSTREAM"],
            )
        self.context.notice(
            "DEFAULT_OPERATOR",
            f"{name} only grows and has a window: ISTREAM is used",
            window.span,
            operator="ISTREAM",
        )
        return ToStream(StreamOperator.ISTREAM, plan)

    # Constants.

    def values(self, node: exp.Values, unique: str | None) -> Plan:
        """VALUES (...), (...)."""
        binder = ExpressionBinder(self.context, Scope(()), self.queries.subquery, "VALUES")
        rows = [
            [binder.bind(v) for v in (r.expressions if isinstance(r, exp.Tuple) else [r])] for r in node.expressions
        ]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            self.context.fail("COLUMN_COUNT", "the rows of VALUES differ in length", node, left=width, right=-1)
        names = [c.name for c in node.args["alias"].columns] if node.args.get("alias") else []
        names = names if len(names) == width else [f"col{i + 1}" for i in range(width)]
        types = [binder.common([row[i].type for row in rows], node) for i in range(width)]
        constants = all(isinstance(v, Literal) for row in rows for v in row)
        if not constants:
            self.context.fail("NOT_SUPPORTED", "VALUES takes constants", node, feature="VALUES")
        data = tuple(tuple(v.value for v in row if isinstance(v, Literal)) for row in rows)
        prefix = f"{unique}." if unique else ""
        return Values(tuple(Field(prefix + n, t) for n, t in zip(names, types, strict=True)), data)


def _write_operator(node: exp.Expr, operator: str, alias: str) -> None:
    """Writes a default operator into the syntax tree, for the expanded query."""
    if isinstance(node, exp.Subquery):
        node.set("this", StreamQuery(this=node.this, operator=operator))
    elif isinstance(node, StreamTable):
        inner = exp.select("*").from_(StreamTable(this=node.this.copy()))
        window = node.args.get("window")
        name = exp.TableAlias(this=exp.to_identifier(alias))
        node.replace(StreamSubquery(this=StreamQuery(this=inner, operator=operator), window=window, alias=name))


def _last_named(node: exp.Expr, alias: str) -> exp.Expr | None:
    """The last item of FROM that goes by a name, or its alias where it has one."""
    joined = [join.this for join in node.args.get("joins") or []]
    named = [item for item in joined if item.alias_or_name.casefold() == alias.casefold()]
    return (named[-1].args.get("alias") or named[-1]) if named else None


def _item_of(alias: str, plan: Plan) -> Item:
    return Item(alias, tuple((f.short, f) for f in plan.schema))


def _qualifier(plan: Plan, alias: str) -> str:
    name = plan.schema.names[0] if len(plan.schema) else alias
    return name.rpartition(".")[0] or alias
