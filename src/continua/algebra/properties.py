"""What can be told of a plan without running it. Where an answer is not sure, it is the weaker one."""

from __future__ import annotations

from continua.algebra.keys import Keys, keys
from continua.algebra.monotonicity import is_monotonic, uses_now
from continua.algebra.reducibility import is_snapshot_reducible, snapshot_reducible_subplans
from continua.algebra.state_bounds import state, unbounded_state
from continua.algebra.synchronization import Both, PointSet, Synchronization, synchronization
from continua.windows.points import EVERY_INSTANT, EventPoints, Points
from continua.windows.state import State

__all__ = [
    "EVERY_INSTANT",
    "Both",
    "EventPoints",
    "Keys",
    "PointSet",
    "Points",
    "State",
    "Synchronization",
    "is_monotonic",
    "is_snapshot_reducible",
    "keys",
    "snapshot_reducible_subplans",
    "state",
    "synchronization",
    "unbounded_state",
    "uses_now",
]
