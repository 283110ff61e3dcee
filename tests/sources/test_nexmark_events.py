"""NEXMark's events: the same in whatever pieces they are made, and as its definition says they are."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from continua.sources.nexmark.event_texts import CHANNELS, CITIES, STATES
from continua.sources.nexmark.events import COLUMNS, KINDS, START, Events

END = 20_000


def made(kind: str, first: int = 0, end: int = END, *names: str, seed: int = 1) -> pa.Table:
    """Columns of the events of a kind among those from ``first`` to below ``end``; without names, all."""
    events = Events(kind, seed=seed)
    numbers = events.numbers(events.rows_below(first), events.rows_below(end))
    return events.make(numbers, names or tuple(COLUMNS[kind]))


def long(table: pa.Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    column = table[name].combine_chunks()
    return np.asarray((column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_numpy())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_any_cut_gives_the_same_events(kind: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.sort(chance.integers(0, END, chance.integers(1, 40))), [END]])
    pieces = [made(kind, int(a), int(b), seed=seed) for a, b in pairwise(bounds)]
    assert pa.concat_tables(pieces).combine_chunks().equals(made(kind, seed=seed).combine_chunks()), seed


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_is_the_same_whichever_others_are_made(kind: str) -> None:
    whole = made(kind, 0, 500)
    for name in COLUMNS[kind]:
        assert made(kind, 0, 500, name)[name].equals(whole[name])


def test_another_seed_gives_other_events() -> None:
    assert not made("bid", 0, 1_000).equals(made("bid", 0, 1_000, seed=2))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    assert [made(kind).num_rows for kind in KINDS] == [END // 50 * n for n in (1, 3, 46)]
    assert [made(kind, 50, 100).num_rows for kind in KINDS] == [1, 3, 46]
    numbers = [set(Events(kind).numbers(0, Events(kind).rows_below(1_000)).tolist()) for kind in KINDS]
    assert numbers[0] == {n for n in range(1_000) if n % 50 == 0}
    assert numbers[1] == {n for n in range(1_000) if n % 50 in (1, 2, 3)}
    assert set.union(*numbers) == set(range(1_000))
    for kind, mine in zip(KINDS, numbers, strict=True):
        assert all(Events(kind).rows_below(n) == sum(m < n for m in mine) for n in range(200))


def _share(hits: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(np.mean(hits))


def test_hot_keys() -> None:
    bids, auctions = made("bid", 0, 200_000, "auction", "bidder"), made("auction", 0, 200_000, "seller")
    # the other bids hit a hot auction now and then too
    assert _share((long(bids, "auction") - 1_000) % 100 == 0) == pytest.approx(0.505, abs=0.01)
    assert _share((long(bids, "bidder") - 1_000) % 100 == 1) == pytest.approx(0.7525, abs=0.01)
    assert _share((long(auctions, "seller") - 1_000) % 100 == 0) == pytest.approx(0.7525, abs=0.02)


def test_ids_count_up_and_what_is_spoken_of_is_near() -> None:
    events = 100_000
    assert made("person", 0, events, "id")["id"].to_pylist() == list(range(1_000, 1_000 + events // 50))
    assert made("auction", 0, events, "id")["id"].to_pylist() == list(range(1_000, 1_000 + events // 50 * 3))
    bids = made("bid", events, events + 50)
    auction, person = 1_000 + events // 50 * 3 + 2, 1_000 + events // 50
    assert auction - 200 <= long(bids, "auction").min() <= long(bids, "auction").max() <= auction + 10
    assert person - 1_000 < long(bids, "bidder").min() <= long(bids, "bidder").max() <= person + 10
    early = made("bid", 0, 200)
    assert long(early, "auction").min() >= 1_000
    assert long(early, "bidder").min() >= 1_000


@pytest.mark.parametrize("rate", [10_000, 300, 7, 1_000_000])
def test_times_follow_from_numbers(rate: int) -> None:
    events = Events("bid", rate)
    numbers = events.numbers(0, 5_000)
    expected = START + numbers * (1_000_000 // rate) // 1_000 * 1_000
    found = long(events.make(numbers, ("dateTime",)), "dateTime")
    assert (found == expected).all()
    assert [events.instant(int(n)) for n in numbers[:100]] == expected[:100].tolist()
    for number in (0, 1, 17, 4_999):
        there = START + number * (1_000_000 // rate)
        assert (events.due(there - 1), events.due(there)) == (number, number + 1)


def test_prices_lives_and_categories() -> None:
    prices, auctions = long(made("bid"), "price"), made("auction")
    assert (prices.min() >= 100, prices.max() <= 100_000_000) == (True, True)
    assert np.median(prices) == pytest.approx(100_000, rel=0.2)
    life = (long(auctions, "expires") - long(auctions, "dateTime")) // 1_000
    assert (life.min() >= 1, life.max() <= 332) == (True, True)
    assert life.mean() == pytest.approx(166, rel=0.1)
    assert (long(auctions, "reserve") >= long(auctions, "initialBid") + 100).all()
    shares = Counter(auctions["category"].to_pylist())
    assert shares.keys() == {10, 11, 12, 13, 14}
    assert min(shares.values()) > 0.8 * max(shares.values())


def test_texts() -> None:
    persons, bids = made("person", 0, 200_000), made("bid")
    assert set(persons["city"].to_pylist()) == set(CITIES)
    assert set(persons["state"].to_pylist()) == set(STATES)
    assert len(set(persons["name"].to_pylist())) == 99
    assert len(set(zip(persons["city"].to_pylist(), persons["state"].to_pylist(), strict=True))) == 60
    known = pc.is_in(bids["channel"], pa.array(CHANNELS)).to_numpy(zero_copy_only=False)
    assert _share(known) == pytest.approx(0.5, abs=0.02)
    named = pc.match_substring(bids["url"], "channel_id=").to_numpy(zero_copy_only=False)
    assert not (named & known).any()
    assert _share(named[~known]) == pytest.approx(0.9, abs=0.03)


def test_the_sizes_of_padded_events() -> None:
    lengths = {kind: [len(str(t)) for t in made(kind, 0, END, "extra")["extra"].to_pylist()] for kind in KINDS}
    assert np.mean(lengths["bid"]) == pytest.approx(68, rel=0.05)
    assert np.mean(lengths["auction"]) > np.mean(lengths["person"]) > np.mean(lengths["bid"])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_about_as_wide_as_they_are_taken_for(kind: str) -> None:
    for names in (tuple(COLUMNS[kind]), ("dateTime",)):
        assert made(kind, 0, END, *names).nbytes / END == pytest.approx(Events(kind).width(names), rel=0.15)
