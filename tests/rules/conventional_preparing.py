"""Rules that come first, so that conventional rules find plans to which no query is bound."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Filter, Project, SetOperation, SetOperator, TopK
from continua.rules.laws import filter_below_join, filter_below_map, mark_to_semijoin
from continua.rules.rule import Facts, Rule

_ALL = ("1. None: the answers may change.",)


def _partitioned(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case TopK(partition=()):
            return replace(plan, partition=(plan.schema.fields[0].column,))
        case _:
            return None


PARTITIONED = Rule("partitioned", "the first rows, for each value of the first column", _ALL, _partitioned)

_OTHERS = {SetOperator.INTERSECTION: SetOperator.STRICT_DIFFERENCE, SetOperator.DIFFERENCE: SetOperator.MAX_UNION}


def _other_sets(plan: Plan, _: Facts) -> Plan | None:
    """Only some of them: those whose left side is a filter's."""
    match plan:
        case SetOperation(operator=operator, left=Project(input=Filter())) if operator in _OTHERS:
            return replace(plan, operator=_OTHERS[operator])
        case _:
            return None


OTHER_SETS = Rule("other_sets", "operations on sets that SQL does not have", _ALL, _other_sets)

CONVENTIONAL: dict[str, tuple[Rule, ...]] = {
    "merge_filters": (filter_below_map.RULE,),
    "remove_identity_maps": (mark_to_semijoin.RULE,),
    "filter_below_top_k": (PARTITIONED,),
    "filter_below_set_operation": (OTHER_SETS,),
    "implied_filters": (filter_below_join.RULE,),
}
