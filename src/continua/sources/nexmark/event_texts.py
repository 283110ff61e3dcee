"""The texts of NEXMark's events, as columns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.sources.nexmark.random_fields import Longs, RandomFields

FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_OTHER_CHANNELS = 10_000
_PIECES = 4_096
_SPREAD = 0.2


def picked(draws: RandomFields, field: str, values: tuple[str, ...]) -> pa.Array:
    """One of some texts, uniformly."""
    return pa.array(values).take(pa.array(draws.below(field, len(values))))


def joined(*parts: pa.Array | str) -> pa.Array:
    """Texts one after the other, event by event."""
    return pc.binary_join_element_wise(*parts, "")


def numbers(values: Longs, digits: int = 0) -> pa.Array:
    """Whole numbers as texts, with leading zeros up to a number of digits."""
    texts = pa.array(values).cast(pa.string())
    return pc.utf8_lpad(texts, width=digits, padding="0") if digits else texts


@cache
def _pieces(field: str, least: int, bound: int) -> pa.Array:
    """A stock of random lower-case texts, the same for every seed; lengths are from ``least`` to below ``bound``."""
    stock = RandomFields(0, np.arange(_PIECES, dtype=np.int64))
    lengths = least + stock.below(f"{field} length", max(bound - least, 1))
    letters = RandomFields(1, np.arange(int(lengths.sum()), dtype=np.int64)).below(field, 26) + ord("a")
    offsets = np.concatenate(([0], lengths.cumsum())).astype(np.int32)
    data = pa.py_buffer(letters.astype(np.uint8).tobytes())
    return pa.Array.from_buffers(pa.string(), _PIECES, [None, pa.py_buffer(offsets.tobytes()), data])


def padding(draws: RandomFields, field: str, average: int) -> pa.Array:
    """Random texts of an average length, a fifth longer or shorter.

    Two pieces of a stock make one, so that texts are hardly ever equal and cost little to make.
    """
    half = average / 2
    stock = _pieces(field, round(half * (1 - _SPREAD)), round(half * (1 + _SPREAD)) + 1)
    left, right = (stock.take(pa.array(draws.below(f"{field} {side}", _PIECES))) for side in ("left", "right"))
    return joined(left, right)


def names(draws: RandomFields) -> pa.Array:
    """The names of persons."""
    first, last = picked(draws, "first name", FIRST_NAMES), picked(draws, "last name", LAST_NAMES)
    return joined(first, " ", last)


def addresses(draws: RandomFields) -> pa.Array:
    """Where persons get their mail."""
    return joined(padding(draws, "mailbox", 7), "@", padding(draws, "host", 5), ".com")


def cards(draws: RandomFields) -> pa.Array:
    """The numbers of credit cards."""
    groups = [numbers(draws.below(f"card {i}", 10_000), digits=4) for i in range(4)]
    return pc.binary_join_element_wise(*groups, " ")


@cache
def _other_channels() -> tuple[pa.Array, pa.Array]:
    """The names of the many channels, and what they add to a URL: nine of ten their number."""
    every = np.arange(_OTHER_CHANNELS, dtype=np.int64)
    named = pa.array(RandomFields(0, every).below("channel in the URL", 10) > 0)
    return joined("channel-", numbers(every)), pc.if_else(named, joined("&channel_id=", numbers(every)), "")


def _known_channel(draws: RandomFields) -> pa.Array:
    """Whether a bid came by one of the four channels that everybody knows: every other one did."""
    return pa.array(draws.below("known channel", 2) == 0)


def _other_channel(draws: RandomFields) -> pa.Array:
    return pa.array(draws.below("other channel", _OTHER_CHANNELS))


def channels(draws: RandomFields) -> pa.Array:
    """Where bids came from: half by one of four channels, half by one of many."""
    others = _other_channels()[0].take(_other_channel(draws))
    return pc.if_else(_known_channel(draws), picked(draws, "channel", CHANNELS), others)


def urls(draws: RandomFields) -> pa.Array:
    """The pages on which bids were made."""
    folders = (padding(draws, f"folder {i}", 5) for i in range(3))
    page = pc.binary_join_element_wise("https://www.nexmark.com", *folders, "item.htm?query=1", "/")
    tails = _other_channels()[1].take(_other_channel(draws))
    return joined(page, pc.if_else(_known_channel(draws), "", tails))
