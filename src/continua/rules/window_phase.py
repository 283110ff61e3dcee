"""The rules about windows and streams that the optimizer applies, in the order in which they are tried."""

from __future__ import annotations

from continua.rules import (
    coalesce_split,
    dstream_of_monotonic,
    group_window,
    istream_of_disjoint,
    map_window,
    merge_slides,
    merge_windows,
    now_window,
    round_trips,
    window_reduction,
    window_union,
)
from continua.rules.rule import Rule

WINDOW_RULES: tuple[Rule, ...] = (
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
)
