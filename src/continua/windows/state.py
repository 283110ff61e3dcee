"""What must be remembered, and what bounds it, in words for the author of a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """Whether what is remembered is bounded, and by what; if it is not, what piles up."""

    bounded: bool
    by: str


NOTHING = State(True, "nothing")


def last_instants(instants: int, stream: str) -> State:
    """The latest instants of a stream."""
    return State(True, f"the last {instants} instants of {stream}")


def everything(stream: str) -> State:
    """All that a stream ever had."""
    return State(False, f"everything since the start of {stream}")


def some_rows(rows: int, stream: str, partition: tuple[str, ...] = ()) -> State:
    """A number of rows of a stream, or of each of its partitions."""
    return State(True, f"{count(rows)} per {', '.join(partition)}" if partition else f"{count(rows)} of {stream}")


def count(rows: int) -> str:
    """A number of rows in words."""
    return f"{rows} row" if rows == 1 else f"{rows} rows"
