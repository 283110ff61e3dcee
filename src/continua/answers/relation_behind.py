"""The relation behind a stream: what an Istream or Dstream tells the changes of, for those who ask for its content."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.instant_rows import is_momentary, is_written_as_intervals
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.streaming import StreamOperator, ToStream
from continua.algebra.unnest import unnest
from continua.answers.query import Query
from continua.answers.query_names import BEHIND
from continua.rules.order import optimize


def behind_name(query: str) -> str:
    """The name of the query that keeps the relation behind a stream; no other has such a name."""
    return BEHIND + query


def is_behind(name: str) -> bool:
    """Whether a query keeps the relation behind another."""
    return name.startswith(BEHIND)


def helped(name: str) -> str:
    """The query for which another works: that whose relation it keeps; others work for themselves."""
    return name.removeprefix(BEHIND)


def only_grows(query: Query) -> bool:
    """Whether the relation behind a query is all that its stream has had so far."""
    plan = query.bound.plan
    return isinstance(plan, ToStream) and plan.operator is StreamOperator.ISTREAM and is_monotonic(plan.input)


def relation_behind(query: Query) -> Query | None:
    """A query for the relation behind a stream; None where the answers of the query itself tell what that holds."""
    plan = query.bound.plan
    if not isinstance(plan, ToStream) or only_grows(query) or is_written_as_intervals(plan, query.chronon):
        return None
    if plan.operator is StreamOperator.RSTREAM and is_momentary(plan.input, query.chronon):
        return None
    bound = replace(query.bound, plan=plan.input, logical=unnest(plan.input), notices=())
    done = query.rewritten
    rewritten = None if done is None else optimize(plan.input, done.facts, done.disabled)
    return replace(query, name=behind_name(query.name), bound=bound, sink=None, rewritten=rewritten)
