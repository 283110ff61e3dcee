"""NEXMark's events: the same in whatever pieces they are made, and as often of each kind as they should be."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
from benchmarks.nexmark.generator import KINDS, Settings, table, write

FULL = Settings(full=True)
END = 20_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [Settings(), FULL])
@pytest.mark.parametrize("cuts", [(1,), (7_919,), (49, 50, 51, 54, 12_345)])
def test_any_split_gives_the_same_events(kind: str, settings: Settings, cuts: tuple[int, ...]) -> None:
    bounds = [0, *cuts, END]
    pieces = [table(kind, a, b, settings) for a, b in pairwise(bounds)]
    assert pa.concat_tables(pieces).equals(table(kind, 0, END, settings))


def test_another_seed_gives_other_events() -> None:
    assert not table("bid", 0, 1_000).equals(table("bid", 0, 1_000, Settings(seed=2)))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    assert [table(kind, 0, END).num_rows for kind in KINDS] == [END // 50 * n for n in (1, 3, 46)]
    assert [table(kind, 50, 100).num_rows for kind in KINDS] == [1, 3, 46]


def _share(hits: np.ndarray) -> float:
    return float(np.mean(hits))


def test_hot_keys() -> None:
    bids, auctions = table("bid", 0, 200_000), table("auction", 0, 200_000)
    hot_auctions = (bids["auction"].to_numpy() - 1_000) % 100 == 0
    hot_bidders = (bids["bidder"].to_numpy() - 1_000) % 100 == 1
    hot_sellers = (auctions["seller"].to_numpy() - 1_000) % 100 == 0
    # the other bids hit a hot auction now and then too
    assert _share(hot_auctions) == pytest.approx(0.505, abs=0.01)
    assert _share(hot_bidders) == pytest.approx(0.7525, abs=0.01)
    assert _share(hot_sellers) == pytest.approx(0.7525, abs=0.02)


def test_ids_count_up_and_bids_are_near_the_last_auctions() -> None:
    events = 10_000
    assert table("person", 0, events)["id"].to_pylist() == list(range(1_000, 1_000 + events // 50))
    assert table("auction", 0, events)["id"].to_pylist() == list(range(1_000, 1_000 + events // 50 * 3))
    bids = table("bid", events, events + 50)["auction"].to_numpy()
    last = 1_000 + events // 50 * 3 + 2
    assert bids.min() >= last - 200
    assert bids.max() <= last + 10


def test_times_prices_and_lives() -> None:
    bids, auctions = table("bid", 0, END), table("auction", 0, END)
    times = bids["dateTime"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) >= 0).all()
    assert times[-1] - times[0] == (END - 1) // 10
    prices = bids["price"].to_numpy()
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    assert np.median(prices) == pytest.approx(100_000, rel=0.2)
    life = auctions["expires"].cast(pa.int64()).to_numpy() - auctions["dateTime"].cast(pa.int64()).to_numpy()
    assert life.min() >= 1
    assert life.max() <= 332
    assert life.mean() == pytest.approx(166, rel=0.1)
    assert set(auctions["category"].to_pylist()) == {10, 11, 12, 13, 14}


def test_the_sizes_of_padded_events() -> None:
    lengths = {kind: [len(str(t)) for t in table(kind, 0, END, FULL)["extra"].to_pylist()] for kind in KINDS}
    assert np.mean(lengths["bid"]) == pytest.approx(68, rel=0.05)
    assert np.mean(lengths["auction"]) > np.mean(lengths["person"]) > np.mean(lengths["bid"])


@pytest.mark.parametrize("settings", [Settings(), FULL])
def test_all_formats_hold_the_same(tmp_path: Path, settings: Settings) -> None:
    for form in ("csv", "jsonl", "parquet"):
        write(tmp_path, form, 100, 1_100, settings)
    for kind in KINDS:
        expected = table(kind, 100, 1_100, settings)
        assert pyarrow.parquet.read_table(tmp_path / f"{kind}.parquet").equals(expected)
        read = (pyarrow.csv.read_csv(tmp_path / f"{kind}.csv"), pyarrow.json.read_json(tmp_path / f"{kind}.jsonl"))
        for found in read:
            assert found.cast(expected.schema).equals(expected)
