"""Plans of queries over a small auction (CQL 3, NEXMark), for the examples in the documentation of rules."""

from __future__ import annotations

from functools import cache

from continua.algebra.base import Plan
from continua.algebra.printer import tree
from continua.binding.context import Context
from continua.binding.defaults import bind_query
from continua.binding.definitions import define
from continua.catalog import Catalog
from continua.lang.parse import parse_script
from continua.lang.places import Positions
from continua.lang.statements import CreateSource, QueryStatement
from continua.rules.driver import Phase, rewrite
from continua.rules.rule import Facts, Rule
from continua.rules.statistics import Statistics

AUCTION = """
CREATE STREAM Open (item_id INT, seller_id INT, start_price INT, ts BIGINT) ORDERED BY ts KEY item_id;
CREATE STREAM Close (item_id INT, ts BIGINT) ORDERED BY ts KEY item_id;
CREATE STREAM Bid (item_id INT, bidder_id INT, price INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM Person (id INT, name STRING, state STRING, ts BIGINT) ORDERED BY ts KEY id;
CREATE TABLE Category (item_id INT, label STRING);
"""


def plan_of(query: str, nested: bool = False) -> Plan:
    """The logical plan of a query over the auction; ``nested``: with its subqueries inside expressions."""
    catalog = Catalog()
    catalog.restore(_catalog())
    (statement,) = parse_script(query).statements
    assert isinstance(statement.body, QueryStatement)
    bound = bind_query(Context(catalog, Positions(query)), statement.body.query)
    return bound.plan if nested else bound.logical


def shown(rule: Rule, query: str, statistics: Statistics | None = None, first: tuple[Rule, ...] = ()) -> str:
    """What a rule makes of a query: the part of the plan before and after its first step.

    ``first``: rules that are applied before, so that there is something to rewrite.
    """
    return shown_plan(rule, plan_of(query, rule.required), statistics, first)


def shown_plan(rule: Rule, plan: Plan, statistics: Statistics | None = None, first: tuple[Rule, ...] = ()) -> str:
    """The same for a plan: there are plans that come from no query."""
    facts = Facts(1, statistics or Statistics())
    plan = rewrite(plan, [Phase("first", first)], facts).plan
    steps = rewrite(plan, [Phase("example", (rule,))], facts).steps
    if not steps:
        return "unchanged"
    return f"{tree(steps[0].before)}\nbecomes\n{tree(steps[0].after)}"


@cache
def _catalog() -> Catalog:
    catalog = Catalog()
    for statement in parse_script(AUCTION).statements:
        context = Context(catalog, Positions(AUCTION))
        assert isinstance(statement.body, CreateSource)
        define(context, statement.body)
        context.raise_errors()
    return catalog
