"""Raw, logical and physical streams, the ways between them, and when two of them are the same.

No query runs by them: like :mod:`logical` they are what tests compare with. All streams here are small and finite. A
stream that goes on for ever is looked at up to a ``horizon``, the first instant that is no longer looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final, Generic, TypeAlias, TypeVar

INFINITY: Final = (1 << 63) - 1
"""The end of an interval that never ends, and the size of an unbounded window."""

Payload = TypeVar("Payload", bound=Hashable)
Held = TypeVar("Held", bound=Hashable, covariant=True)

RawStream: TypeAlias = Sequence[tuple[Payload, int]]
"""Elements ``(e, t)`` in the order of arrival, ``t`` never decreasing (PIPES 2009 definition 2.1)."""

PhysicalStream: TypeAlias = Sequence[tuple[Payload, int, int]]
"""Elements ``(e, start, end)``, valid during ``[start, end)`` (PIPES 2009 definition 2.3)."""


@dataclass(frozen=True, slots=True)
class LogicalStream(Generic[Held]):
    """Instant to multiset of payloads, given as multiplicities (PIPES 2009 definition 2.2).

    Instants without payloads are left out, so two streams are equal exactly when they are equivalent.
    """

    snapshots: Mapping[int, Mapping[Held, int]]

    def __post_init__(self) -> None:
        for t, snapshot in self.snapshots.items():
            if t < 0:
                raise ValueError(f"instant {t} lies before 0, the earliest instant")
            for e, n in snapshot.items():
                if n <= 0:
                    raise ValueError(f"multiplicity {n} of {e!r} at instant {t}: must be positive")
        present = {t: MappingProxyType(dict(m)) for t, m in sorted(self.snapshots.items()) if m}
        object.__setattr__(self, "snapshots", MappingProxyType(present))

    def __hash__(self) -> int:
        return hash(frozenset(self.elements()))

    def elements(self) -> Iterator[tuple[Held, int, int]]:
        """The elements ``(e, t, n)``, by instant."""
        return ((e, t, n) for t, snapshot in self.snapshots.items() for e, n in snapshot.items())


LogicalPlan: TypeAlias = Callable[..., LogicalStream[Payload]]
"""A plan over logical streams: one positional argument per input."""

PhysicalPlan: TypeAlias = Callable[..., PhysicalStream[Payload]]
"""A plan over physical streams: one positional argument per input."""


def logical_stream(*elements: tuple[Payload, int, int]) -> LogicalStream[Payload]:
    """The stream of the elements ``(e, t, n)``, no two of which share payload and instant."""
    for (e, t), times in Counter((e, t) for e, t, _ in elements).items():
        if times > 1:
            raise ValueError(f"{times} elements for {e!r} at instant {t}: must be one, with its multiplicity")
    return accumulate(elements)


def accumulate(elements: Iterable[tuple[Payload, int, int]]) -> LogicalStream[Payload]:
    """The logical stream in which the multiplicities of equal payloads at one instant are summed."""
    totals: dict[int, Counter[Payload]] = defaultdict(Counter)
    for e, t, n in elements:
        totals[t][e] += n
    return LogicalStream({t: {e: n for e, n in total.items() if n} for t, total in totals.items()})


def timeslice(stream: LogicalStream[Payload], instant: int) -> Counter[Payload]:
    """τ_t: the multiset of payloads valid at an instant (PIPES 2009 eq. 6, PIPES 2005 eq. 12)."""
    return Counter(stream.snapshots.get(instant, {}))


def multiplicity(stream: LogicalStream[Payload], payload: Payload, instant: int) -> int:
    """How often a payload occurs at an instant, 0 where it does not."""
    return timeslice(stream, instant)[payload]


def instants_within(start: int, end: int, horizon: int | None = None) -> range:
    """The instants of ``[start, end)`` before the horizon, which an endless interval cannot do without."""
    if horizon is None:
        if end >= INFINITY:
            raise ValueError(f"the interval from {start} never ends: give a horizon")
        return range(start, end)
    return range(start, min(end, horizon))


def check_order(raw: RawStream[Payload]) -> None:
    """Raises ValueError where a timestamp of a raw stream is smaller than the one before it."""
    for (_, before), (_, after) in pairwise(raw):
        if after < before:
            raise ValueError(f"timestamp {after} follows {before}: a raw stream is ordered by timestamps")


def raw_to_physical(raw: RawStream[Payload], *, endless: bool = False) -> PhysicalStream[Payload]:
    """φ^{r→p}: ``[t, t + 1)`` for each element (PIPES 2009 2.5.1), ``[t, ∞)`` if endless (PIPES 2005 2.5)."""
    check_order(raw)
    return [(e, t, INFINITY if endless else t + 1) for e, t in raw]


def raw_to_logical(raw: RawStream[Payload]) -> LogicalStream[Payload]:
    """φ^{r→l}: equal payloads at one instant are counted (PIPES 2009 eq. 1)."""
    check_order(raw)
    return accumulate((e, t, 1) for e, t in raw)


def physical_to_logical(
    stream: PhysicalStream[Payload],
    horizon: int | None = None,
) -> LogicalStream[Payload]:
    """φ^{p→l}: how many intervals of a payload hold each instant (PIPES 2009 eq. 2, PIPES 2005 3.1.1)."""
    _check_intervals(stream)
    return accumulate((e, t, 1) for e, start, end in stream for t in instants_within(start, end, horizon))


def logical_to_physical(stream: LogicalStream[Payload]) -> PhysicalStream[Payload]:
    """ι, then ζ: one chronon for each occurrence, then coalesced (PIPES 2005 4.1, eq. 11)."""
    return coalesce([(e, t, t + 1) for e, t, n in stream.elements() for _ in range(n)])


def is_chronon_stream(stream: PhysicalStream[Payload]) -> bool:
    """Whether every interval lasts one time unit (PIPES 2009 definition 2.4)."""
    return all(end == start + 1 for _, start, end in stream)


def value_equivalent(
    left: tuple[Hashable, *tuple[int, ...]],
    right: tuple[Hashable, *tuple[int, ...]],
) -> bool:
    """Whether two elements of any representation have equal payloads (PIPES 2009 definition 2.5)."""
    return left[0] == right[0]


def coalesce(stream: PhysicalStream[Payload], max_length: int | None = None) -> PhysicalStream[Payload]:
    """ζ: value-equivalent elements with adjacent intervals become one (PIPES 2005 eq. 11 and 4.2.5).

    Of the maximal results that eq. 11 allows, the one where an element, in order of start and end,
    continues the oldest one that it can. With ``max_length`` no merger makes an interval longer than that;
    elements that are longer already stay as they are.
    """
    _check_intervals(stream)
    _check_length(max_length)
    merged: list[tuple[Payload, int, int]] = []
    ending: dict[tuple[Payload, int], list[int]] = defaultdict(list)
    for e, start, end in sorted(stream, key=_by_interval):
        candidates = ending[e, start]
        fitting = [i for i in candidates if max_length is None or end - merged[i][1] <= max_length]
        if fitting:
            place = fitting[0]
            candidates.remove(place)
            merged[place] = (e, merged[place][1], end)
        else:
            place = len(merged)
            merged.append((e, start, end))
        ending[e, end].append(place)
    return sorted(merged, key=_by_interval)


def split(stream: PhysicalStream[Payload], length: int = 1) -> PhysicalStream[Payload]:
    """Each interval in pieces of a length, the last one maybe shorter (PIPES 2005 4.2.5, PIPES 2009 8.2)."""
    _check_intervals(stream)
    _check_length(length)
    for e, start, end in stream:
        if end >= INFINITY:
            raise ValueError(f"{e!r} is valid from {start} for ever: no number of pieces is enough")
    cuts = ((e, start, end) for e, begin, end in stream for start in range(begin, end, length))
    pieces = [(e, start, min(start + length, end)) for e, start, end in cuts]
    return sorted(pieces, key=_by_interval)


def equivalent(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> bool:
    """Whether all snapshots are equal (PIPES 2009 eq. 7, PIPES 2005 eq. 13)."""
    instants = left.snapshots.keys() | right.snapshots.keys()
    return all(timeslice(left, t) == timeslice(right, t) for t in instants)


def physically_equivalent(
    left: PhysicalStream[Payload], right: PhysicalStream[Payload], horizon: int | None = None
) -> bool:
    """Whether the logical streams are equivalent (PIPES 2009 eq. 16, PIPES 2005 eq. 14)."""
    return equivalent(physical_to_logical(left, horizon), physical_to_logical(right, horizon))


def plans_equivalent(
    plan1: LogicalPlan[Payload], plan2: LogicalPlan[Payload], inputs: Sequence[LogicalStream[Hashable]]
) -> bool:
    """Whether two logical plans answer alike on these inputs (PIPES 2009 eq. 8)."""
    return equivalent(plan1(*inputs), plan2(*inputs))


def physical_plans_equivalent(
    plan1: PhysicalPlan[Payload],
    plan2: PhysicalPlan[Payload],
    inputs: Sequence[PhysicalStream[Hashable]],
    horizon: int | None = None,
) -> bool:
    """Whether two physical plans answer alike on these inputs (PIPES 2009 definition 8.2)."""
    return physically_equivalent(plan1(*inputs), plan2(*inputs), horizon)


def _by_interval(element: tuple[Hashable, int, int]) -> tuple[int, int]:
    return element[1:]


def _check_intervals(stream: PhysicalStream[Payload]) -> None:
    for e, start, end in stream:
        if start >= end:
            raise ValueError(f"interval [{start}, {end}) of {e!r} holds no instant")


def _check_length(length: int | None) -> None:
    if length is not None and length < 1:
        raise ValueError(f"length {length}: an interval lasts one time unit at least")
