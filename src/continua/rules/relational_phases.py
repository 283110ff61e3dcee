"""The conventional rules of the optimizer, in the order in which they are tried."""

from __future__ import annotations

from continua.rules import (
    constant_folding,
    difference_intersection,
    duplicate_elimination,
    empty_plans,
    filter_below_aggregation,
    filter_below_duplicate_elimination,
    filter_below_join,
    filter_below_map,
    filter_below_outer_join,
    filter_below_set_operation,
    filter_below_top_k,
    filter_below_union,
    filter_window,
    implied_filters,
    mark_to_semijoin,
    merge_filters,
    merge_maps,
    projection_pruning,
    remove_identity_maps,
    remove_trivial_filters,
    subquery_decorrelation,
)
from continua.rules.driver import Phase

SUBQUERIES = Phase("subqueries", (subquery_decorrelation.RULE, mark_to_semijoin.RULE))
NORMAL_FORM = Phase(
    "normal form",
    (
        constant_folding.RULE,
        remove_trivial_filters.RULE,
        empty_plans.RULE,
        merge_filters.MERGE_FILTERS,
        merge_filters.SPLIT_NOW_FILTER,
        merge_maps.RULE,
        remove_identity_maps.RULE,
        difference_intersection.RULE,
        duplicate_elimination.RULE,
    ),
)
PUSHDOWN = Phase(
    "pushdown",
    (
        merge_filters.MERGE_FILTERS,
        filter_below_map.RULE,
        filter_below_outer_join.OUTER_TO_INNER,
        filter_below_join.RULE,
        filter_below_outer_join.FILTER_BELOW_OUTER_JOIN,
        filter_below_union.RULE,
        filter_below_set_operation.RULE,
        filter_below_aggregation.RULE,
        filter_below_duplicate_elimination.RULE,
        filter_below_top_k.RULE,
        implied_filters.RULE,
        filter_window.FILTER_BELOW_WINDOW,
    ),
)
PRUNING = Phase("pruning", (projection_pruning.RULE,))
"""After all rules that look for joins next to each other: it puts maps between them."""
CLEANING = Phase("cleaning", (merge_maps.RULE, remove_identity_maps.RULE))
