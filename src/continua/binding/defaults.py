"""Whole queries: the defaults of the dialect (CQL 6.2, PIPES 3.2.2, SyncSQL 2.1), and what the author is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.streaming import Complete
from continua.algebra.traverse import domain_of
from continua.algebra.unnest import unnest
from continua.binding.context import Context
from continua.binding.output_points import with_output_points
from continua.binding.queries import QueryBinder, apply_operator, tagged
from continua.binding.renaming import renamed
from continua.errors import Diagnostic, NotSupportedError
from continua.instants import TimeDomain
from continua.lang.dialect import render_query
from continua.lang.stream_nodes import StreamList, StreamQuery


@dataclass(frozen=True)
class BoundQuery:
    """A query that makes sense.

    ``plan`` keeps subqueries inside expressions, as the query was written; ``logical`` has them unnested into joins.
    ``tree`` is its syntax with all defaults written out.
    """

    plan: Plan
    logical: Plan
    domain: TimeDomain
    notices: tuple[Diagnostic, ...]
    tree: exp.Query = field(compare=False, repr=False)

    @cached_property
    def expanded(self) -> str:
        """Its text with all defaults written out."""
        return render_query(self.tree)

    @property
    def kind(self) -> Kind:
        """Whether the answer is a stream, a relation or a tagged stream."""
        return kind_of(self.plan)


def bind_query(context: Context, query: exp.Query) -> BoundQuery:
    """Binds a query statement; the outermost operator is the dialect's default where none is written."""
    tree = query.copy()
    plan = QueryBinder(context).query(tree, None, None)
    operator = _default_operator(context, plan)
    if operator is not None:
        plan = apply_operator(operator, plan)
        tree = _with_operator(tree, operator)
    context.raise_errors()
    plan = with_output_points(context, plan, query)
    tell_expanded(context, tree)
    domain = context.domain or domain_of(plan) or TimeDomain.TICKS
    try:
        logical = unnest(plan)
    except NotSupportedError as error:
        first = error.diagnostics[0]
        raise NotSupportedError(replace(first, span=context.positions.of(query))) from None
    return BoundQuery(plan, logical, domain, tuple(context.notices), tree)


def tell_expanded(context: Context, tree: exp.Query) -> None:
    """Tells the author the text of a query with all defaults written out, if there were any."""
    if any(n.condition.startswith("DEFAULT_") for n in context.notices):
        expanded = render_query(tree)
        context.notice("EXPANDED_QUERY", f"the query in full: {expanded}", query=expanded)


def _default_operator(context: Context, plan: Plan) -> str | None:
    if kind_of(plan) is not Kind.RELATION or isinstance(plan, Complete) or context.errors:
        return None
    match context.settings.dialect:
        case "cql":
            if not is_monotonic(plan):
                return None
            operator, reason = "ISTREAM", "the result only grows"
        case "pipes":
            operator, reason = "RSTREAM", "the result is a stream"
        case _:
            operator, reason = "STREAMED", "the result is a stream of changes"
    context.notice("DEFAULT_OPERATOR", f"{reason}: {operator} is used", operator=operator)
    return operator


def _with_operator(tree: exp.Query, operator: str) -> exp.Query:
    if isinstance(tree, exp.Select):
        distinct = tree.args.get("distinct")
        tree.set("distinct", None)
        tree.set(
            "expressions",
            [StreamList(this=operator, expressions=tree.expressions, distinct=distinct is not None)],
        )
        return tree
    return StreamQuery(this=tree, operator=operator)


def bind_view(
    context: Context, query: exp.Query, kind: str, qualifier: str | None, columns: tuple[str, ...]
) -> tuple[Plan, exp.Query]:
    """A named query (CREATE STREAM, CREATE [STREAMED | COMPLETE] VIEW): its plan, and its syntax with the defaults."""
    tree = query.copy()
    plan = QueryBinder(context).query(tree, None, qualifier)
    if kind == "STREAM" and kind_of(plan) is Kind.RELATION:
        operator = _stream_operator(context, plan, query)
        plan, tree = apply_operator(operator, plan), _with_operator(tree, operator)
    elif kind == "STREAMED" and kind_of(plan) is Kind.RELATION:
        plan = tagged(plan)
    elif kind != "STREAM" and kind_of(plan) is Kind.STREAM:
        context.fail(
            "STREAM_AS_VIEW",
            "a view is a relation, and this query is a stream",
            query,
            "CREATE STREAM ... AS, or leave the stream operator out",
        )
    if columns:
        if len(columns) != len(plan.schema):
            context.fail(
                "COLUMN_COUNT",
                f"{len(columns)} names for {len(plan.schema)} columns",
                query,
                left=len(columns),
                right=len(plan.schema),
            )
        plan = renamed(plan, qualifier, columns)
    return plan, tree


def _stream_operator(context: Context, plan: Plan, query: exp.Query) -> str:
    operator = _default_operator(context, plan)
    if operator is None:
        context.fail(
            "NON_MONOTONIC_WINDOW",
            "the query of a stream is a relation that does not only grow: which stream is meant?",
            query,
            "write ISTREAM for what enters it, DSTREAM for what leaves it, or RSTREAM for all that is in it",
            operators=["ISTREAM", "DSTREAM", "RSTREAM"],
        )
    return operator
