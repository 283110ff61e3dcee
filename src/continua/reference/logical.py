"""The logical operators of PIPES over small streams, each as its equation says it.

No query runs by them: tests hold the semantics of queries, and that of the engine, against these equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import TypeVar, overload

from continua.reference.streams import (
    LogicalStream,
    RawStream,
    accumulate,
    check_order,
    instants_within,
    multiplicity,
    timeslice,
)

Left = TypeVar("Left", bound=Hashable)
Right = TypeVar("Right", bound=Hashable)
Result = TypeVar("Result", bound=Hashable)
Key = TypeVar("Key", bound=Hashable)
Payload = TypeVar("Payload", bound=Hashable)


def concatenate(left: Hashable, right: Hashable) -> Hashable:
    """∘: tuples are joined end to end, anything else is paired. Associative over tuples only."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    return (left, right)


def monus(n1: int, n2: int) -> int:
    """⊖: subtraction that stops at 0 (PIPES 2005 eq. 5)."""
    return n1 - n2 if n1 > n2 else 0


def filter_(
    stream: LogicalStream[Payload],
    predicate: Callable[[Payload, int], bool],
) -> LogicalStream[Payload]:
    """σ: the elements whose payload and instant satisfy the predicate (PIPES 2005 eq. 1)."""
    return accumulate((e, t, n) for e, t, n in stream.elements() if predicate(e, t))


def map_(stream: LogicalStream[Payload], function: Callable[[Payload], Result]) -> LogicalStream[Result]:
    """μ: the function on each payload; multiplicities of equal results add up (PIPES 2005 eq. 2)."""
    return accumulate((function(e), t, n) for e, t, n in stream.elements())


@overload
def product(left: LogicalStream[Left], right: LogicalStream[Right]) -> LogicalStream[Hashable]: ...
@overload
def product(
    left: LogicalStream[Left], right: LogicalStream[Right], combine: Callable[[Left, Right], Result]
) -> LogicalStream[Result]: ...
def product(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    combine: Callable[[Left, Right], Hashable] = concatenate,
) -> LogicalStream[Hashable]:
    """×: what is valid at one instant is combined, multiplicities multiply (PIPES 2009 eq. 3, 2005 eq. 3)."""
    pairs = ((e1, n1, e2, n2, t) for e1, t, n1 in left.elements() for e2, n2 in timeslice(right, t).items())
    return accumulate((combine(e1, e2), t, n1 * n2) for e1, n1, e2, n2, t in pairs)


def duplicate_elimination(stream: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """δ: every multiplicity becomes 1 (PIPES 2005 eq. 4)."""
    return accumulate((e, t, 1) for e, t, _ in stream.elements())


def difference(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """−: n1 ⊖ n2 at each instant (PIPES 2005 eq. 5)."""
    return accumulate((e, t, monus(n1, multiplicity(right, e, t))) for e, t, n1 in left.elements())


def group(
    stream: LogicalStream[Payload], function: Callable[[Payload, int], int], k: int
) -> tuple[LogicalStream[Payload], ...]:
    """γ: k streams, the j-th with the elements for which the function gives j in 1..k (PIPES 2005 eq. 6)."""
    for e, t, _ in stream.elements():
        if not 1 <= function(e, t) <= k:
            raise ValueError(f"{e!r} at instant {t} belongs to group {function(e, t)}, not to one of 1..{k}")

    def nth(j: int) -> LogicalStream[Payload]:
        return filter_(stream, lambda e, t: function(e, t) == j)

    return tuple(nth(j) for j in range(1, k + 1))


def project(groups: Sequence[LogicalStream[Payload]], j: int) -> LogicalStream[Payload]:
    """π: the j-th group, counted from 1 (PIPES 2005 3.2.6)."""
    if not 1 <= j <= len(groups):
        raise ValueError(f"group {j} of {len(groups)}")
    return groups[j - 1]


def aggregate(
    stream: LogicalStream[Payload],
    function: Callable[[Counter[Payload]], Result],
) -> LogicalStream[Result]:
    """α: one value over each snapshot that is not empty (PIPES 2009 eq. 4, PIPES 2005 eq. 7)."""
    return accumulate((function(timeslice(stream, t)), t, 1) for t in stream.snapshots)


def union(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """∪+: multiplicities add up (PIPES 2005 eq. 8)."""
    return accumulate([*left.elements(), *right.elements()])


def grouped_aggregate(
    stream: LogicalStream[Payload],
    key: Callable[[Payload], Key],
    function: Callable[[Counter[Payload]], Result],
) -> LogicalStream[tuple[Key, Result]]:
    """Group, aggregate each group, unite: ``(key, value)`` (PIPES 2005 5.3, PIPES 2009 4.1.2)."""
    keys = list(dict.fromkeys(key(e) for e, _, _ in stream.elements()))
    groups = group(stream, lambda e, _: keys.index(key(e)) + 1, len(keys))

    def aggregate_of(j: int) -> LogicalStream[tuple[Key, Result]]:
        return map_(aggregate(project(groups, j), function), lambda value: (keys[j - 1], value))

    return reduce(union, (aggregate_of(j) for j in range(1, len(keys) + 1)), LogicalStream({}))


@overload
def theta_join(
    left: LogicalStream[Left], right: LogicalStream[Right], predicate: Callable[[Left, Right], bool]
) -> LogicalStream[Hashable]: ...
@overload
def theta_join(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    predicate: Callable[[Left, Right], bool],
    combine: Callable[[Left, Right], Result],
) -> LogicalStream[Result]: ...
def theta_join(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    predicate: Callable[[Left, Right], bool],
    combine: Callable[[Left, Right], Hashable] = concatenate,
) -> LogicalStream[Hashable]:
    """⋈: μ_f(σ_p(S1 × S2)) (PIPES 2005 eq. 15)."""
    pairs = product(left, right, lambda e1, e2: (e1, e2))
    return map_(filter_(pairs, lambda pair, _: predicate(*pair)), lambda pair: combine(*pair))


def semijoin(
    left: LogicalStream[Left], right: LogicalStream[Right], predicate: Callable[[Left, Right], bool]
) -> LogicalStream[Left]:
    """⋉: the elements of the left stream with a partner on the right (PIPES 2005 A.2).

    Eq. 16 says the same where an element has at most one distinct partner, as under equality; with more it
    would count the element once for each, which its own description and the relational semijoin do not.
    """
    return filter_(left, lambda e1, t: any(predicate(e1, e2) for e2 in timeslice(right, t)))


def antijoin(
    left: LogicalStream[Left], right: LogicalStream[Right], predicate: Callable[[Left, Right], bool]
) -> LogicalStream[Left]:
    """▷: the elements of the left stream without a partner on the right (PIPES 2009 5.3)."""
    return difference(left, semijoin(left, right, predicate))


def intersection(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """∩: S1 − (S1 − S2), the smaller multiplicity (PIPES 2005 eq. 17)."""
    return difference(left, difference(left, right))


def max_union(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """∪max: (S1 − S2) ∪+ (S2 − S1) ∪+ (S1 ∩ S2), the greater multiplicity (PIPES 2005 eq. 18)."""
    return union(union(difference(left, right), difference(right, left)), intersection(left, right))


def strict_difference(left: LogicalStream[Payload], right: LogicalStream[Payload]) -> LogicalStream[Payload]:
    """−strict: S1 − (S1 ⋉= S2), all occurrences of what is on the right go (PIPES 2005 eq. 19)."""
    return difference(left, semijoin(left, right, lambda e1, e2: e1 == e2))


def left_outer_join(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    predicate: Callable[[Left, Right], bool],
    combine: Callable[[Left, Right], Result],
    absent: Right,
) -> LogicalStream[Result]:
    """The join, and what has no partner combined with ``absent``."""
    alone = map_(antijoin(left, right, predicate), lambda e1: combine(e1, absent))
    return union(theta_join(left, right, predicate, combine), alone)


def right_outer_join(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    predicate: Callable[[Left, Right], bool],
    combine: Callable[[Left, Right], Result],
    absent: Left,
) -> LogicalStream[Result]:
    """The left outer join seen from the other side."""
    return left_outer_join(
        right,
        left,
        lambda e2, e1: predicate(e1, e2),
        lambda e2, e1: combine(e1, e2),
        absent,
    )


def full_outer_join(
    left: LogicalStream[Left],
    right: LogicalStream[Right],
    predicate: Callable[[Left, Right], bool],
    combine: Callable[[Left, Right], Result],
    absent_left: Left,
    absent_right: Right,
) -> LogicalStream[Result]:
    """The left outer join, and what has no partner on the right side combined with ``absent_left``."""
    alone = map_(antijoin(right, left, lambda e2, e1: predicate(e1, e2)), lambda e2: combine(absent_left, e2))
    return union(left_outer_join(left, right, predicate, combine, absent_right), alone)


def time_window(
    stream: LogicalStream[Payload],
    size: int,
    horizon: int | None = None,
) -> LogicalStream[Payload]:
    """ω^time: at t̂, what occurred at max(t̂ − w + 1, 0) to t̂ (PIPES 2009 eq. 5).

    Seen from an occurrence at t, these t̂ are t to t + w − 1. A size of INFINITY is the unbounded window.
    """
    _check_size(size)
    seen = ((e, n, instants_within(t, t + size, horizon)) for e, t, n in stream.elements())
    return accumulate((e, t, n) for e, n, instants in seen for t in instants)


def sliding_window(stream: LogicalStream[Payload], size: int) -> LogicalStream[Payload]:
    """ω^s over a stream of infinite validity: less what was there w instants before (PIPES 2005 eq. 9)."""
    _check_size(size)
    _check_endless(stream)
    return accumulate((e, t, n - multiplicity(stream, e, t - size)) for e, t, n in stream.elements())


def fixed_window(stream: LogicalStream[Payload], size: int) -> LogicalStream[Payload]:
    """ω^f over a stream of infinite validity: less what was there before this section (PIPES 2005 eq. 10)."""
    _check_size(size)
    _check_endless(stream)

    def before_section(e: Payload, t: int) -> int:
        return multiplicity(stream, e, t // size * size - 1)

    return accumulate((e, t, n - before_section(e, t)) for e, t, n in stream.elements())


def count_window(raw: RawStream[Payload], rows: int, horizon: int) -> LogicalStream[Payload]:
    """ω^count: at t̂, the last N elements up to t̂, in the order of the raw stream (PIPES 2009 4.2)."""
    _check_size(rows)
    check_order(raw)
    first = raw[0][1] if raw else horizon

    def last_rows(instant: int) -> list[Payload]:
        return [e for e, t in raw if t <= instant][-rows:]

    return accumulate((e, instant, 1) for instant in range(first, horizon) for e in last_rows(instant))


def partitioned_window(
    raw: RawStream[Payload], key: Callable[[Payload], Hashable], rows: int, horizon: int
) -> LogicalStream[Payload]:
    """ω^partition: the union of the count-based windows over the elements of each key (PIPES 2009 4.2)."""
    _check_size(rows)
    check_order(raw)
    keys = dict.fromkeys(key(e) for e, _ in raw)
    parts = ([(e, t) for e, t in raw if key(e) == value] for value in keys)
    return reduce(union, (count_window(part, rows, horizon) for part in parts), LogicalStream({}))


def _check_size(size: int) -> None:
    if size < 1:
        raise ValueError(f"window size {size}: must be positive")


def _check_endless(stream: LogicalStream[Payload]) -> None:
    """Infinite validity: no multiplicity decreases up to the last instant that the stream is known at."""
    last = max(stream.snapshots, default=0)
    for e, t, n in stream.elements():
        if t < last and multiplicity(stream, e, t + 1) < n:
            raise ValueError(f"{e!r} ends at instant {t + 1}: the window needs a stream of infinite validity")
