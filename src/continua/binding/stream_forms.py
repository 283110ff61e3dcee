"""COALESCE STREAM and SPLIT STREAM: a stream in other intervals, which stands for the same (PIPES 2005, 4.2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.instant_rows import has_moments, is_written_as_intervals
from continua.algebra.relational import Project, Window
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.traverse import domain_of
from continua.binding.context import Scope
from continua.instants import Duration, TimeDomain
from continua.lang.stream_nodes import StreamForm, StreamTable
from continua.windows.over_time import TimeWindow

if TYPE_CHECKING:
    from continua.binding.queries import QueryBinder


def formed(queries: QueryBinder, node: StreamForm, outer: Scope | None, qualifier: str | None) -> Plan:
    """The stream: an Rstream of the relation that holds its elements, in intervals of at most the length."""
    context, operator = queries.context, node.args["operator"]
    stream = _stream(queries, node, outer, qualifier)
    in_ticks = domain_of(stream) is not TimeDomain.MICROSECONDS
    chronon = 1 if in_ticks else context.settings.chronon
    longest = _longest(queries, node, stream, chronon)
    content = _content(stream, qualifier, chronon)
    if operator == "SPLIT" and has_moments(stream, chronon):
        message = "every element is of one instant already: SPLIT STREAM changes nothing"
        context.notice("NOTHING_TO_SPLIT", message, context.positions.of(node))
        return stream if isinstance(stream, ToStream) else ToStream(StreamOperator.RSTREAM, content)
    if not (isinstance(stream, ToStream) and is_written_as_intervals(stream, chronon)):
        return ToStream(StreamOperator.RSTREAM, content, as_intervals=True, longest=longest)
    if operator == "SPLIT" and stream.longest is not None:
        longest = stream.longest if longest is None else min(stream.longest, longest)
    return ToStream(StreamOperator.RSTREAM, stream.input, as_intervals=True, longest=longest)


def _stream(queries: QueryBinder, node: StreamForm, outer: Scope | None, qualifier: str | None) -> Plan:
    context, operator = queries.context, node.args["operator"]
    if isinstance(node.this, StreamTable):
        return queries.from_items.stream_named(node.this)
    plan = queries.query(node.this, outer, qualifier)
    if kind_of(plan) is Kind.RELATION and context.settings.dialect == "pipes":
        return ToStream(StreamOperator.RSTREAM, plan)
    if kind_of(plan) is not Kind.STREAM:
        context.fail(
            "NOT_A_STREAM",
            f"{operator} STREAM takes a stream, and this query is {_said(kind_of(plan))}",
            node.this,
            "write ISTREAM(...) for what enters it, DSTREAM(...) for what leaves it, or RSTREAM(...) for all that is "
            "in it",
            operator=operator,
        )
    return plan


def _said(kind: Kind) -> str:
    return "a tagged stream" if kind is Kind.TAGGED else "a relation"


def _longest(queries: QueryBinder, node: StreamForm, stream: Plan, chronon: int) -> int | None:
    """So many instants an element has at most; a split without a length is into chronons."""
    context, operator = queries.context, node.args["operator"]
    given: Duration | None = node.args.get("length")
    place = context.positions.of(node.this)
    if given is None and operator == "SPLIT" and domain_of(stream) is TimeDomain.MICROSECONDS and chronon == 1:
        context.fail(
            "SPLIT_LENGTH",
            "SPLIT STREAM without a length cuts elements into instants, which are microseconds here",
            place,
            "write INTO 1 SECOND, or SET chronon = '1 second'",
            length=1,
        )
    if given is None:
        return chronon if operator == "SPLIT" else None
    length = given.instants(domain_of(stream) or TimeDomain.TICKS)
    if length is None:
        context.fail(
            "UNIT_OF_TICKS",
            f"{operator} STREAM ... {given}: the stream is ordered by integers, which have no unit",
            place,
            f"write {given.amount}",
            unit=given.unit,
        )
    if length % chronon:
        context.fail(
            "SPLIT_LENGTH",
            f"{operator} STREAM ... {given}: an element has whole chronons",
            place,
            "SET chronon says how long one is",
            length=length,
        )
    return length


def _content(stream: Plan, qualifier: str | None, chronon: int) -> Plan:
    """The relation that holds the elements of a stream while they are valid."""
    window = Window(stream, TimeWindow(chronon))
    prefix = f"{qualifier}." if qualifier else ""
    return Project(window, tuple((prefix + f.short, f.column) for f in window.schema if not f.hidden))
