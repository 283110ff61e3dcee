"""SHOW QUERIES: what is registered, and how those are doing that are live."""

from __future__ import annotations

from collections.abc import Mapping

from continua.answers.query import Query
from continua.explain.moves_text import moved_text
from continua.explain.show import Table
from continua.instants import TimeDomain, show_instant
from continua.physical.ordered_operators import FINAL
from continua.runs.live_groups import LiveGroups
from continua.sources.intervals import NEVER

HEADER = ("name", "answer", "state", "rows", "heartbeat", "lag", "plan", "query")


def show_queries(queries: Mapping[str, Query], live: LiveGroups | None) -> Table:
    """Name, kind and text of each; of those that are live how many rows of answers they have had, up to where they
    have answered, by how much the latest row of their sources is ahead of that, and whether their plans have moved.
    """
    return HEADER, tuple((q.name, q.kind.value, *_state(q.name, live), q.bound.expanded) for q in queries.values())


def _state(name: str, live: LiveGroups | None) -> tuple[str, str, str, str, str]:
    """The state of a query, its rows, heartbeat and lag, and its plan."""
    query = None if live is None else live.queries.get(name)
    if live is None or query is None:
        failed = live is not None and name in live.failed
        return "failed" if failed else "not live", "", "", "", ""
    run = live.run_of(name)
    until = run.engine.until
    lags = run.live.lag(until)
    behind = [lags[s.name.casefold()] for s in query.sources if s.name.casefold() in lags]
    lag = show_lag(max(behind), query.domain) if behind else ""
    plan = moved_text(run.move_of(name), run.watch.why(name), query.domain)
    return "live", f"{run.totals.answers[name]:,}", show_heartbeat(until, query.domain), lag, plan


def show_heartbeat(until: int, domain: TimeDomain) -> str:
    """Up to where instants are closed."""
    if until <= NEVER:
        return "nothing yet"
    return "the end" if until >= FINAL else str(show_instant(until, domain))


def show_lag(lag: int, domain: TimeDomain) -> str:
    """By how much the latest row is ahead."""
    return f"{lag:,}" if domain is TimeDomain.TICKS else f"{lag / 1e6:,.2f} s"
