"""The rules of the optimizer, as they are tried: phase by phase, and within a phase in the order of its list."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.rules.driver import Phase, Rewritten, rewrite
from continua.rules.laws import (
    aggregation_below_join,
    band_join_window,
    coalesce_split,
    constant_folding,
    difference_intersection,
    dstream_of_monotonic,
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
    filter_order,
    filter_partitioned_window,
    filter_window,
    group_window,
    implied_filters,
    istream_of_disjoint,
    join_reordering,
    map_window,
    mark_to_semijoin,
    merge_filters,
    merge_maps,
    merge_slides,
    merge_windows,
    now_view_window,
    now_window,
    predicate_window,
    projection_pruning,
    remove_identity_maps,
    remove_trivial_filters,
    round_trips,
    semijoin_to_join,
    subquery_decorrelation,
    window_reduction,
    window_union,
)
from continua.rules.rule import Facts, Rule

PHASES: tuple[Phase, ...] = (
    Phase("subqueries", (subquery_decorrelation.RULE, mark_to_semijoin.RULE)),
    Phase(
        "normal form",
        (
            now_view_window.RULE,
            predicate_window.RULE,
            band_join_window.RULE,
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
    ),
    Phase(
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
            filter_partitioned_window.RULE,
        ),
    ),
    Phase(
        "windows",
        (
            coalesce_split.RULE,
            dstream_of_monotonic.RULE,
            round_trips.RELATION_ROUND_TRIP,
            round_trips.STREAM_ROUND_TRIP,
            window_reduction.RULE,
            istream_of_disjoint.RULE,
            now_window.RULE,
            merge_windows.RULE,
            merge_slides.RULE,
            window_union.WINDOW_BELOW_UNION,
            group_window.RULE,
            map_window.MAP_BELOW_WINDOW,
        ),
    ),
    Phase("cost", (semijoin_to_join.RULE, join_reordering.RULE, aggregation_below_join.RULE, filter_order.RULE)),
    # Behind all rules that look for joins next to each other: it puts maps between them.
    Phase("pruning", (projection_pruning.RULE,)),
    Phase("cleaning", (merge_maps.RULE, remove_identity_maps.RULE)),
)
"""What queries are rewritten by. A rule may stand in several phases, where others leave something to do for it."""

ALL: dict[str, Rule] = {rule.name: rule for phase in PHASES for rule in phase.rules}
"""The rules by their names."""

EVERYTHING = "all"
"""The word for all names, in SET disabled_rules."""
LIGHT_SIDE_EVERYWHERE = "light_side_everywhere"
"""The choice of where the rows of a join go: no rewriting, but it is switched off like a rule."""
QUERY_MATCHING = "query_matching"
"""The choice to answer a query from another one: no rewriting either."""
TRANSPOSITION = "transposition"
"""The choice to go on with the operators of a query that started earlier: no rewriting either."""
PLAN_MIGRATION = "plan_migration"
"""The choice of another plan while a query runs: no rewriting either."""
NAMES = (*ALL, LIGHT_SIDE_EVERYWHERE, QUERY_MATCHING, TRANSPOSITION, PLAN_MIGRATION)
"""What SET disabled_rules can switch off. A required rule is applied all the same."""


def optimize(
    plan: Plan, facts: Facts | None = None, disabled: frozenset[str] = frozenset(), known: Rewritten | None = None
) -> Rewritten:
    """The plan that is run instead of the one that was written. ``disabled`` has some of the names, or EVERYTHING.

    ``known``: as in ``rewrite``.
    """
    switched_off = frozenset(NAMES) if EVERYTHING in disabled else disabled
    return rewrite(plan, PHASES, facts or Facts(), switched_off, known)
