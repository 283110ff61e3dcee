"""Interners: exact, growing, kept in arenas, and cleaned of what is not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import Interner, compare_strings

MANY = 200_000


def fresh() -> Interner:
    return Interner(Arena(), "strings")


def names(begin: int, end: int) -> pa.Array:
    return pa.array([f"name {i}" for i in range(begin, end)])


def texts(interner: Interner, ids: Int64s) -> list[str]:
    return [b.decode() for b in interner.lookup(ids).to_pylist()]


def test_equal_strings_have_one_id() -> None:
    interner = fresh()
    ids = interner.intern(pa.array(["a", "", "b", "a", ""]))
    assert ids[0] == ids[3] and ids[1] == ids[4]
    assert len(set(ids.tolist())) == interner.count == 3
    assert texts(interner, ids) == ["a", "", "b", "a", ""]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_types_and_slices_give_the_same_ids(kind: pa.DataType) -> None:
    interner = fresh()
    expected = interner.intern(pa.array(["x", "yy", "zzz"]))
    values = pa.array(["before", "x", "yy", "zzz", "behind"]).cast(kind)
    assert interner.intern(values[1:4]).tolist() == expected.tolist()
    assert interner.count == 3


def test_prefixes_and_zero_bytes_differ() -> None:
    interner = fresh()
    values = [b"", b"\0", b"\0\0", b"12345678", b"12345678\0", b"123456781234567", b"1234567812345678"]
    ids = interner.intern(pa.array(values))
    assert len(set(ids.tolist())) == len(values)
    assert interner.lookup(ids).to_pylist() == values


def test_nothing_to_intern() -> None:
    interner = fresh()
    assert interner.intern(pa.array([], pa.string())).size == 0
    assert len(interner.lookup(np.empty(0, np.int64))) == 0
    assert interner.lookup(np.empty(0, np.int64), large=True).type == pa.large_binary()
    assert interner.intern(pa.array(["", ""])).tolist() == [0, 0]


def test_what_cannot_be_interned() -> None:
    with pytest.raises(ValueError, match="NULL"):
        fresh().intern(pa.array(["a", None]))
    with pytest.raises(TypeError, match="int64"):
        fresh().intern(pa.array([1]))


@pytest.mark.parametrize("unused", [-1, 1, 2, 600, 1 << 40])
def test_an_id_that_is_not_in_use(unused: int) -> None:
    interner = fresh()
    ids = interner.intern(pa.array(["kept", "freed"]))
    interner.collect([ids[:1]])
    with pytest.raises(KeyError):
        interner.lookup(np.array([0, unused]))


def test_growth_keeps_ids() -> None:
    interner = fresh()
    values = names(0, MANY)
    first = interner.intern(values[:1000])
    ids = interner.intern(values)
    assert interner.count == MANY
    assert ids[:1000].tolist() == first.tolist()
    assert interner.lookup(ids).equals(values.cast(pa.binary()))
    assert interner.intern(values).tolist() == ids.tolist()


def test_a_string_larger_than_all_room() -> None:
    interner = fresh()
    values = pa.array([b"small", b"x" * 1_000_000, b"small", b"y" * 3_000_000])
    assert interner.lookup(interner.intern(values)).equals(values)


def test_a_file_is_opened_again(tmp_path: Path) -> None:
    arena = Arena(tmp_path / "state")
    interner = Interner(arena, "strings")
    ids = interner.intern(names(0, 5000))
    interner.collect([ids[1000:]])
    arena.save()
    again = Interner(Arena(tmp_path / "state"), "strings")
    assert again.count == 4000
    assert again.lookup(ids[1000:]).equals(names(1000, 5000).cast(pa.binary()))
    assert again.intern(names(1000, 5000)).tolist() == ids[1000:].tolist()
    assert set(again.intern(names(5000, 6000)).tolist()) == set(ids[:1000].tolist())


def test_a_packed_arena_goes_on() -> None:
    arena = Arena()
    ids = Interner(arena, "strings").intern(names(0, 3000))
    again = Interner(Arena.unpack(arena.pack()), "strings")
    assert again.intern(names(0, 3000)).tolist() == ids.tolist()
    assert again.intern(names(0, 9000))[:3000].tolist() == ids.tolist()
    assert again.count == 9000


def test_two_interners_share_an_arena() -> None:
    arena = Arena()
    a, b = Interner(arena, "a"), Interner(arena, "b")
    a.intern(names(0, 2000))
    assert b.intern(names(1000, 1002)).tolist() == [0, 1]
    assert (a.count, b.count) == (2000, 2)


def test_collect_frees_and_reuses() -> None:
    interner = fresh()
    ids = interner.intern(names(0, 10_000))
    kept = np.concatenate([ids[:100], ids[9000:]])
    interner.collect([ids[:100], ids[9000:]])
    assert interner.count == 1100
    assert interner.lookup(kept).equals(pa.concat_arrays([names(0, 100), names(9000, 10_000)]).cast(pa.binary()))
    assert interner.intern(names(0, 100)).tolist() == ids[:100].tolist()
    assert interner.intern(names(9000, 10_000)).tolist() == ids[9000:].tolist()
    new = interner.intern(names(20_000, 28_900))
    assert set(new.tolist()) == set(ids[100:9000].tolist())
    assert texts(interner, new[:2]) == ["name 20000", "name 20001"]
    assert texts(interner, kept[-1:]) == ["name 9999"]


def test_collect_takes_ids_that_mean_nothing() -> None:
    interner = fresh()
    interner.collect([np.zeros(3, np.int64)])
    assert interner.count == 0
    interner.intern(pa.array(["a"]))
    interner.collect([np.array([[-1, 1 << 50], [7, 1]])])
    assert interner.count == 0


def test_the_room_of_dead_strings_is_used_again() -> None:
    interner = fresh()
    kept = interner.intern(pa.array(["kept"]))
    for i in range(50):
        interner.intern(names(1000 * i, 1000 * i + 1000))
        interner.collect([kept])
    assert texts(interner, kept) == ["kept"]
    start, length, data = interner.strings()
    assert max(start.size, length.size) < 4096
    assert data.size < 1 << 16


def test_when_to_collect() -> None:
    interner = fresh()
    ids = interner.intern(names(0, 4096))
    assert not interner.should_collect
    interner.intern(names(0, 4097))
    assert interner.should_collect
    interner.collect([ids])
    assert not interner.should_collect
    interner.intern(names(0, 3 * 4096))
    assert not interner.should_collect
    interner.intern(names(0, 3 * 4096 + 1))
    assert interner.should_collect


@given(st.lists(st.tuples(st.lists(st.binary(max_size=10), max_size=40), st.sets(st.integers(0, 60)))))
@settings(deadline=None)
def test_it_is_a_dictionary(steps: list[tuple[list[bytes], set[int]]]) -> None:
    interner = fresh()
    known: dict[bytes, int] = {}
    for values, keep in steps:
        ids = interner.intern(pa.array(values, pa.binary())).tolist()
        for value, one in zip(values, ids, strict=True):
            assert known.setdefault(value, one) == one
        assert len(set(known.values())) == len(known) == interner.count
        assert interner.lookup(np.array(list(known.values()), np.int64)).to_pylist() == list(known)
        known = {value: one for value, one in known.items() if one in keep}
        interner.collect([np.array([one], np.int64) for one in keep])
        assert interner.count == len(known)


@given(st.binary(max_size=20), st.binary(max_size=20))
@settings(deadline=None)
def test_strings_compare_bytewise(a: bytes, b: bytes) -> None:
    interner = fresh()
    x, y = interner.intern(pa.array([a, b])).tolist()
    assert compare_strings(x, y, *interner.strings()) == (a > b) - (a < b)
    assert compare_strings(y, x, *interner.strings()) == (b > a) - (b < a)
