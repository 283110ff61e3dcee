"""The order of a stream: heartbeats from a bound on the delay (CQL 7.3, the third way).

A heartbeat τ promises that no row with an instant at or before τ is still to come. Rows come in the order of
their files, delayed by at most the slack D: after a row, with m the largest instant so far, the heartbeat is
m - D - 1, so a row may lie exactly D behind and is late from D + 1 on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from continua.errors import DataError, Diagnostic
from continua.runtime.sources.show import show_values
from continua.runtime.sources.spec import Reject, SourceRow


@dataclass(frozen=True, slots=True)
class Arrival:
    """An accepted row, its instant, and its place in the stream's order."""

    instant: int
    position: int
    row: SourceRow


@dataclass(frozen=True, slots=True)
class Late:
    """A row that broke the promise of a heartbeat: ``instant <= heartbeat``."""

    row: SourceRow
    instant: int
    heartbeat: int


def order_rows(
    rows: Sequence[SourceRow],
    instant_of_row: Callable[[SourceRow], int | None],
    slack: int,
    skip: bool = False,
) -> tuple[list[Arrival], list[Late], list[Reject]]:
    """The rows by instant, those of one instant as they came; apart from them the late rows, and the rejects.

    A row is late iff its instant is less than the largest instant before it minus the slack. A row without an
    instant raises DataError, or is a reject where ``skip`` says so.
    """
    accepted: list[tuple[int, SourceRow]] = []
    late: list[Late] = []
    rejects: list[Reject] = []
    heartbeat: int | None = None
    for row in rows:
        instant = instant_of_row(row)
        if instant is None:
            if not skip:
                raise _null_timestamp(row)
            text = json.dumps(show_values(row.values), ensure_ascii=False)
            rejects.append(Reject(row.file, row.line, "the timestamp is NULL", text))
        elif heartbeat is not None and instant <= heartbeat:
            late.append(Late(row, instant, heartbeat))
        else:
            accepted.append((instant, row))
            promised = instant - slack - 1
            heartbeat = promised if heartbeat is None else max(heartbeat, promised)
    accepted.sort(key=lambda pair: pair[0])
    arrivals = [Arrival(instant, position, row) for position, (instant, row) in enumerate(accepted)]
    return arrivals, late, rejects


def late_diagnostic(name: str, late: Sequence[Late], show: Callable[[int], str] = str, path: str = "") -> Diagnostic:
    """What to tell of late rows, of which there must be at least one. ``show`` writes a length of time."""
    first, count = late[0].row, len(late)
    behind = max(x.heartbeat + 1 - x.instant for x in late)
    rows = "1 row was" if count == 1 else f"{count} rows were"
    return Diagnostic(
        "TIMESTAMP_OUT_OF_ORDER",
        f"{rows} too late for {name} and kept apart{f' in {path}' if path else ''}, "
        f"the first at {first.file}:{first.line}",
        hint=f"a SLACK larger by {show(behind)} takes in every row",
        parameters={"source": name, "count": count, "file": first.file, "line": first.line, "behind": behind},
    )


def _null_timestamp(row: SourceRow) -> DataError:
    return DataError(
        Diagnostic(
            "NULL_TIMESTAMP",
            f"{row.file}:{row.line}: the timestamp is NULL, so the row has no place in time",
            hint="correct the row, or declare the source with ON ERROR SKIP to keep such rows apart",
            parameters={"file": row.file, "line": row.line},
        )
    )
