"""Instants: the discrete, ordered time domain that all of Continua lives in.

An instant is an int64. A timestamp column gives microseconds since 1970-01-01 (UTC), an integer column gives
ticks (CQL 4, PIPES 2.1, Astral definition 1 through the chronon). The earliest instant of a query is its start
t0 (Astral definition 3), 0 unless the session says otherwise; nothing exists before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from numbers import Integral

from continua.errors import BindError, Diagnostic, EvaluationError

INFINITY = (1 << 63) - 1
"""The end of an interval that never ends."""

_EPOCH = datetime(1970, 1, 1)

UNITS: dict[str, int] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Microseconds of each unit."""

_SHORT = {
    "US": "MICROSECOND",
    "MICROS": "MICROSECOND",
    "MS": "MILLISECOND",
    "MSEC": "MILLISECOND",
    "MILLIS": "MILLISECOND",
    "S": "SECOND",
    "SEC": "SECOND",
    "M": "MINUTE",
    "MIN": "MINUTE",
    "H": "HOUR",
    "HR": "HOUR",
    "D": "DAY",
    "W": "WEEK",
}


TICK = "TICK"
"""The unit of integers, where it must be said that they count time."""


class TimeDomain(Enum):
    """What the int64 counts."""

    TICKS = "ticks"
    MICROSECONDS = "microseconds"


def unit_named(word: str) -> str | None:
    """The unit that a word means: singular, plural or short form; None when it is no unit of fixed length."""
    upper = word.upper()
    for name in (upper, upper.removesuffix("S")):
        if name in UNITS:
            return name
        if name in _SHORT:
            return _SHORT[name]
    return _SHORT.get(upper)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as written: a number and its unit, ``None`` for none (seconds, or ticks), or ``TICK``."""

    amount: int
    unit: str | None = None

    def instants(self, domain: TimeDomain) -> int | None:
        """The length in instants of a domain; None where a unit is not one of it."""
        if domain is TimeDomain.TICKS:
            return self.amount if self.unit in (None, TICK) else None
        return None if self.unit == TICK else self.amount * UNITS[self.unit or "SECOND"]

    def __str__(self) -> str:
        if self.unit is None:
            return str(self.amount)
        return f"{self.amount} {self.unit}{'' if self.amount == 1 else 'S'}"


def instant_of(value: int | datetime) -> int:
    """The instant of a value of an ordering column."""
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (naive - _EPOCH) // timedelta(microseconds=1)
    return int(value)


def asked_instant(value: int | datetime, domain: TimeDomain) -> int:
    """The instant that somebody asks for: a number of the domain, or a datetime where that counts microseconds."""
    if isinstance(value, datetime) and domain is TimeDomain.TICKS:
        message = f"{value} is a datetime, and time is counted in ticks here"
        raise BindError(Diagnostic("NOT_AN_INSTANT", message, hint="name a whole number", parameters={"value": value}))
    if not isinstance(value, Integral | datetime) or isinstance(value, bool):
        message = f"{value!r} is not an instant"
        hint = "an instant is a whole number, or a datetime where streams are ordered by timestamps"
        raise BindError(Diagnostic("NOT_AN_INSTANT", message, hint=hint, parameters={"value": value}))
    return instant_of(value)


def value_of(instant: int, domain: TimeDomain) -> int | datetime:
    """The value of the ordering column at an instant: the inverse of :func:`instant_of`."""
    if domain is TimeDomain.TICKS:
        return instant
    return _EPOCH + timedelta(microseconds=instant)


def show_instant(instant: int, domain: TimeDomain) -> int | str:
    """An instant as the command line prints it: an integer, or ISO 8601 in UTC."""
    if domain is TimeDomain.TICKS:
        return instant
    return show_timestamp(_EPOCH + timedelta(microseconds=instant))


_IN_WORDS = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""The units in which lengths are told, the largest first."""


def show_length(length: int, domain: TimeDomain) -> str:
    """A length of time as it could be written: in the largest unit up to days that divides it, or in ticks."""
    if domain is TimeDomain.TICKS:
        return str(length)
    unit = next(u for u in _IN_WORDS if length % UNITS[u] == 0) if length else "SECOND"
    return str(Duration(length // UNITS[unit], unit))


def length_in_parts(length: int) -> str:
    """A length of time in words: as many of each unit as there is room for, the largest first."""
    parts: list[str] = []
    for unit in _IN_WORDS:
        count, length = divmod(length, UNITS[unit])
        parts += [f"{count} {unit.lower()}{'' if count == 1 else 's'}"] if count else []
    return " ".join(parts)


def timestamp_text(moment: datetime) -> str:
    """Date and time, with fractions of a second only where there are any."""
    return moment.isoformat(" ", "microseconds").rstrip("0") if moment.microsecond else moment.isoformat(" ", "seconds")


def show_timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC, with fractions of a second only where there are any."""
    if moment.microsecond:
        return moment.isoformat(timespec="microseconds").rstrip("0") + "Z"
    return moment.isoformat(timespec="seconds") + "Z"


def parse_timestamp(text: str) -> datetime:
    """A timestamp from ISO 8601 text; without an offset it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text.strip())
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def embed_batch(instant: int, batch: int, bits: int) -> int:
    """Astral's batch identifier (t, i) as an instant of a finer, still discrete and totally ordered domain."""
    if not 0 <= batch < 1 << bits:
        raise ValueError(f"batch {batch} does not fit {bits} bits")
    return (instant << bits) + batch


def split_batch(embedded: int, bits: int) -> tuple[int, int]:
    """The batch identifier (t, i) of an embedded instant."""
    return embedded >> bits, embedded & ((1 << bits) - 1)


def floor_to(instant: int, chronon: int) -> int:
    """The start of the chronon that holds an instant."""
    return instant - instant % chronon


def ceil_to(instant: int, step: int, offset: int = 0) -> int:
    """The first synchronization point at or after an instant: multiples of ``step`` shifted by ``offset``."""
    return instant + (offset - instant) % step


_FEWER_INSTANTS = (
    "fewer instants come of a start_time nearer to the data and, where timestamps give the time, of a coarser chronon: "
    "SET chronon = '1 second'"
)
_NO_END = "an RSTREAM has at every instant all that its relation holds; an ISTREAM has each row once, when it comes"


def too_many(what: str, hint: str = _FEWER_INSTANTS) -> EvaluationError:
    """An answer has too many instants to be written down one by one."""
    message = f"the answer changes at too many instants: {what}"
    return EvaluationError(Diagnostic("TOO_MANY_INSTANTS", message, hint=hint, parameters={"what": what}))


def goes_on_for_ever() -> EvaluationError:
    """A window is to hold more and more of a stream whose elements never end."""
    return too_many("a window over a stream that goes on for ever", _NO_END)
