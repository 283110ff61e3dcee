"""The events of NEXMark by number: of every 50 one is a person, three are auctions, and the others are bids.

An event depends on its number and the seed alone: whatever ranges the events are made in, they are the same. What kind
an event is of follows from its number too, so that the kinds with the same seed, rate and start are of one world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from continua.sources.nexmark import event_texts as texts
from continua.sources.nexmark.random_fields import Longs, RandomFields
from continua.types import BIGINT, STRING, TIMESTAMP, DataType

ROUND = 50
PLACES = {"person": (0, 1), "auction": (1, 4), "bid": (4, 50)}
"""Which places of a round the events of a kind have, from the first to below the last."""
KINDS = tuple(PLACES)
EXTRA = "extra"
"""The column that makes rows longer, and means nothing."""
RATE, SEED = 10_000, 1
START = 1_704_067_200_000_000
"""When event 0 happens where nobody says: 2024 begins."""
MOST_RATE = 1_000_000
_PERSONS, _AUCTIONS = 1, 3
_FIRST_ID = 1_000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_HOT = 100
"""Every so manieth id is hot."""
_ACTIVE, _AHEAD = 1_000, 10
"""Who sells and bids: so many of the last persons, and some that are still to come."""
_IN_FLIGHT = 100
"""So many of the last auctions get bids."""
_HORIZON = 1_666
"""An auction is open for the time of so many events on average."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Events of one kind, and what chance says of them."""

    numbers: Longs
    draws: RandomFields
    start: int
    period: int

    @property
    def last_person(self) -> Longs:
        """The number of the last person up to an event."""
        return self.numbers // ROUND

    @property
    def last_auction(self) -> Longs:
        """The number of the last auction up to an event; before the first it is -1."""
        return _AUCTIONS * (self.numbers // ROUND) + np.clip(self.numbers % ROUND - _PERSONS, -1, _AUCTIONS - 1)

    @property
    def millis(self) -> Longs:
        """When events happen, in milliseconds."""
        return self.start // 1_000 + self.numbers * self.period // 1_000

    def prices(self, field: str) -> Longs:
        """From 100 to 100,000,000, as many of each order of magnitude."""
        return np.rint(100 * 10 ** (6 * self.draws.unit(field))).astype(np.int64)

    def active_person(self) -> Longs:
        """One of the last persons, or one of the next."""
        persons = self.last_person + 1
        active = np.minimum(persons, _ACTIVE)
        return persons - active + self.draws.below("active person", active + _AHEAD)


def _times(millis: Longs) -> pa.Array:
    return pa.array(millis * 1_000).view(pa.timestamp("us"))


def _hot_or(usual: Longs, hot: Longs, is_hot: NDArray[np.bool_]) -> pa.Array:
    return pa.array(np.where(is_hot, hot, usual) + _FIRST_ID)


def _seller(events: _Drawn) -> pa.Array:
    hot = _HOT * (events.last_person // _HOT)
    return _hot_or(events.active_person(), hot, events.draws.below("hot seller", 4) > 0)


def _bidder(events: _Drawn) -> pa.Array:
    hot = _HOT * (events.last_person // _HOT) + 1
    return _hot_or(events.active_person(), hot, events.draws.below("hot bidder", 4) > 0)


def _auction(events: _Drawn) -> pa.Array:
    last = events.last_auction
    oldest = np.maximum(last - _IN_FLIGHT, 0)
    usual = oldest + events.draws.below("auction", last + _AHEAD + 1 - oldest)
    return _hot_or(usual, _HOT * (last // _HOT), events.draws.below("hot auction", 2) > 0)


def _expiry(events: _Drawn) -> pa.Array:
    horizon = max(_HORIZON * events.period // 1_000, 1)
    return _times(events.millis + 1 + events.draws.below("life", 2 * horizon))


def _reserve(events: _Drawn) -> pa.Array:
    return pa.array(events.prices("initial bid") + events.prices("reserve"))


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a kind of events."""

    type: DataType
    make: Callable[[_Drawn], pa.Array]
    width: int = 8
    """How many bytes its values have, about."""


def _number(make: Callable[[_Drawn], pa.Array]) -> _Column:
    return _Column(BIGINT, make)


def _text(width: int, make: Callable[[RandomFields], pa.Array]) -> _Column:
    return _Column(STRING, lambda events: make(events.draws), width + 4)


def _padding(field: str, average: int) -> _Column:
    return _text(average, lambda draws: texts.padding(draws, field, average))


_HAPPENS = _Column(TIMESTAMP, lambda events: _times(events.millis))
COLUMNS: Mapping[str, Mapping[str, _Column]] = {
    "person": {
        "id": _number(lambda events: pa.array(events.last_person + _FIRST_ID)),
        "name": _text(11, texts.names),
        "emailAddress": _text(17, texts.addresses),
        "creditCard": _text(19, texts.cards),
        "city": _text(8, lambda draws: texts.picked(draws, "city", texts.CITIES)),
        "state": _text(2, lambda draws: texts.picked(draws, "state", texts.STATES)),
        "dateTime": _HAPPENS,
        EXTRA: _padding("person extra", 130),
    },
    "auction": {
        "id": _number(lambda events: pa.array(events.last_auction + _FIRST_ID)),
        "itemName": _padding("item", 10),
        "description": _padding("description", 50),
        "initialBid": _number(lambda events: pa.array(events.prices("initial bid"))),
        "reserve": _number(_reserve),
        "dateTime": _HAPPENS,
        "expires": _Column(TIMESTAMP, _expiry),
        "seller": _number(_seller),
        "category": _number(lambda e: pa.array(_FIRST_CATEGORY + e.draws.below("category", _CATEGORIES))),
        EXTRA: _padding("auction extra", 392),
    },
    "bid": {
        "auction": _number(_auction),
        "bidder": _number(_bidder),
        "price": _number(lambda events: pa.array(events.prices("price"))),
        "channel": _text(10, texts.channels),
        "url": _text(62, texts.urls),
        "dateTime": _HAPPENS,
        EXTRA: _padding("bid extra", 68),
    },
}
"""The columns of each kind, in the order of NEXMark."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a kind: how many of all kinds happen a second, by which seed, and when the first happens."""

    kind: str
    rate: int = RATE
    seed: int = SEED
    start: int = START
    extra: bool = False
    """Whether they have the column that makes them longer."""

    time_column = "dateTime"

    @property
    def columns(self) -> dict[str, DataType]:
        """The columns that there are, with their types."""
        return {name: c.type for name, c in COLUMNS[self.kind].items() if self.extra or name != EXTRA}

    @property
    def period(self) -> int:
        """Microseconds from event to event."""
        return MOST_RATE // self.rate

    def width(self, names: tuple[str, ...]) -> float:
        """How many bytes some columns have for each event of any kind, about."""
        first, end = PLACES[self.kind]
        return sum(COLUMNS[self.kind][name].width for name in names) * (end - first) / ROUND

    def instant(self, number: int) -> int:
        """When an event happens, in microseconds."""
        return (self.start // 1_000 + number * self.period // 1_000) * 1_000

    def due(self, now: int) -> int:
        """How many events there are at a moment: each is there from its own moment on."""
        return max((now - self.start) // self.period + 1, 0)

    def rows_below(self, number: int) -> int:
        """How many events of the kind have lower numbers."""
        first, end = PLACES[self.kind]
        return number // ROUND * (end - first) + min(max(number % ROUND - first, 0), end - first)

    def numbers(self, first: int, end: int) -> Longs:
        """The numbers of events of the kind, of which those from ``first`` to below ``end`` are meant."""
        place, until = PLACES[self.kind]
        rounds, places = np.divmod(np.arange(first, end, dtype=np.int64), until - place)
        return rounds * ROUND + place + places

    def make(self, numbers: Longs, names: tuple[str, ...]) -> pa.Table:
        """Some columns of the events of these numbers."""
        drawn = _Drawn(numbers, RandomFields(self.seed, numbers), self.start, self.period)
        return pa.table({name: COLUMNS[self.kind][name].make(drawn) for name in names})
