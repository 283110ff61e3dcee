"""What is known of the inputs: how fast they are, how large, and how many different values a column has.

It is declared (STATISTICS in CREATE STREAM and CREATE RELATION), observed while queries run, or estimated from a
sample; what is declared is believed first, then what was observed, then the sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from continua.catalog import Entry, RelationInfo, StreamInfo
from continua.instants import INFINITY, UNITS, TimeDomain

DEFAULT_RATE = 1.0
"""Elements of a stream per instant, where nothing is known."""
DEFAULT_RATE_PER_SECOND = 1000.0
"""The same for streams that are ordered by timestamps, whose instants are microseconds."""
DEFAULT_ROWS = 1000.0
"""Rows of a stored relation, where nothing is known."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """By the name of a source, in lower case; columns by their short names."""

    rates: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[tuple[str, str], float] = field(default_factory=dict)
    conditions: Mapping[str, float] = field(default_factory=dict)
    """The part of rows, or of pairs, that conditions of a query were seen to let through, by their identity."""

    def rate(self, source: str) -> float:
        """Elements per instant."""
        return self.rates.get(source.casefold(), DEFAULT_RATE)

    def size(self, source: str) -> float:
        """Rows of a stored relation."""
        return self.rows.get(source.casefold(), DEFAULT_ROWS)

    def values(self, source: str, column: str) -> float | None:
        """Different values of a column, if that is known."""
        return self.distinct.get((source.casefold(), column.casefold()))

    def or_else(self, other: Statistics) -> Statistics:
        """These, and what only the other ones know.

        >>> Statistics({"bid": 5.0}).or_else(Statistics({"bid": 1.0, "open": 2.0})).rates
        {'bid': 5.0, 'open': 2.0}
        """
        return Statistics(
            {**other.rates, **self.rates},
            {**other.rows, **self.rows},
            {**other.distinct, **self.distinct},
            {**other.conditions, **self.conditions},
        )

    def of(self, sources: Iterable[str]) -> Statistics:
        """What they say of some sources.

        >>> Statistics({"bid": 5.0, "open": 1.0}).of(["Bid"]).rates
        {'bid': 5.0}
        """
        names = {s.casefold() for s in sources}
        return Statistics(
            {source: rate for source, rate in self.rates.items() if source in names},
            {source: count for source, count in self.rows.items() if source in names},
            {place: count for place, count in self.distinct.items() if place[0] in names},
            self.conditions,
        )


def statistics_of(
    entries: Iterable[Entry], sampled: Statistics | None = None, observed: Statistics | None = None
) -> Statistics:
    """All that is known of the entries of a catalog: declared, else observed, else sampled, else the default."""
    known = list(entries)
    result = declared(known)
    for other in (observed, sampled, _defaults(known)):
        result = result if other is None else result.or_else(other)
    return result


def declared(entries: Iterable[Entry]) -> Statistics:
    """What STATISTICS say; a rate is of elements per second where the source is ordered by timestamps.

    >>> columns = ()
    >>> bid = StreamInfo("Bid", columns, TimeDomain.MICROSECONDS, statistics=(("rate", 2e6), ("item_id", 500.0)))
    >>> found = declared([bid])
    >>> found.rate("bid"), found.values("Bid", "item_id")
    (2.0, 500.0)
    """
    rates: dict[str, float] = {}
    rows: dict[str, float] = {}
    distinct: dict[tuple[str, str], float] = {}
    for entry in entries:
        if not isinstance(entry, StreamInfo | RelationInfo):
            continue
        source = entry.name.casefold()
        if isinstance(entry, RelationInfo) and entry.rows is not None:
            rows[source] = float(len(entry.rows))
        for name, value in entry.statistics:
            match name:
                case "rate":
                    rates[source] = value / _second(entry.domain)
                case "rows":
                    rows[source] = value
                case _:
                    distinct[source, name.casefold()] = value
    return Statistics(rates, rows, distinct)


def _second(domain: TimeDomain) -> int:
    """The instants of a second; of a tick, one."""
    return UNITS["SECOND"] if domain is TimeDomain.MICROSECONDS else 1


def _defaults(entries: Iterable[Entry]) -> Statistics:
    """The rates of streams that are ordered by timestamps; all other defaults are everywhere the same."""
    timed = (e for e in entries if isinstance(e, StreamInfo) and e.domain is TimeDomain.MICROSECONDS)
    return Statistics({e.name.casefold(): DEFAULT_RATE_PER_SECOND / UNITS["SECOND"] for e in timed})


def sampled(source: str, rows: pa.Table, instants: str | None = None) -> Statistics:
    """An estimate from some rows of a source, the first ones for example.

    ``instants`` names the column of a stream that orders it: integers, or timestamps. Without it the rows are those
    of a stored relation, all of them.

    >>> table = pa.table({"item": [1, 1, 2, 2], "ts": [10, 11, 12, 13]})
    >>> sampled("Bid", table, "ts")
    Statistics(rates={'bid': 1.0}, rows={}, distinct={('bid', 'item'): 2.0}, conditions={})
    >>> sampled("Category", table.select(["item"])).rows
    {'category': 4.0}
    """
    name = source.casefold()
    whole = instants is None
    columns = [c for c in rows.column_names if c != instants]
    distinct = {(name, c.casefold()): _different(rows[c], whole) for c in columns if rows.num_rows}
    if instants is None:
        return Statistics({}, {name: float(rows.num_rows)}, distinct)
    if not rows.num_rows:
        return Statistics()
    times = rows[instants]
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("us", times.type.tz))
    ends = pc.min_max(times.cast(pa.int64())).as_py()
    return Statistics({name: rows.num_rows / (ends["max"] - ends["min"] + 1)}, {}, distinct)


def _different(column: pa.ChunkedArray, whole: bool) -> float:
    """How many different values a column has: counted, or by what a sample shows once and twice (Chao)."""
    try:
        counts = pc.value_counts(column.combine_chunks()).field("counts").to_numpy(zero_copy_only=False)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and the like
        return float(len(column))
    seen, once, twice = float(len(counts)), float((counts == 1).sum()), float((counts == 2).sum())
    return seen if whole else seen + once * max(once - 1, 0) / (2 * (twice + 1))


class Epoch(Protocol):
    """What an epoch of the engine told: how far it went, and how many rows came from each source."""

    until: int
    rows_in: dict[str, int]


def observed(epochs: Iterable[Epoch]) -> Statistics:
    """The rates of streams since the epoch that first had rows of them.

    When the rows of that first epoch began is not known, so that they do not count; the epochs before the first
    heartbeat and the one that ends the input have no length. A stream that was silent ever since counts as one row.

    >>> from types import SimpleNamespace as Done
    >>> observed([Done(until=10, rows_in={"Bid": 7}), Done(until=110, rows_in={"Bid": 200})]).rates
    {'bid': 2.0}
    """
    counts: dict[str, int] = {}
    begins: dict[str, int] = {}
    last = -INFINITY
    for epoch in epochs:
        ends = epoch.until >= INFINITY - 1
        for source, count in epoch.rows_in.items():
            name = source.casefold()
            if name not in begins:
                counts[name] = 0
            elif not ends:
                counts[name] += count
        if epoch.until > -INFINITY and not ends:
            last = max(last, epoch.until)
            begins = {**dict.fromkeys(counts, epoch.until), **begins}
    return Statistics(_rates(counts, begins, last))


def _rates(counts: Mapping[str, int], begins: Mapping[str, int], last: int) -> dict[str, float]:
    known = (name for name in counts if begins.get(name, last) < last)
    return {name: max(counts[name], 1) / (last - begins[name]) for name in known}
