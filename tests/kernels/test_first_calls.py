"""Few rows are worked on by Python itself, with the same results; what there is more of is compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from continua.kernels import first_calls, jit
from continua.kernels.aggregate import exact_sum, sums
from continua.kernels.store import interner, keytable
from continua.kernels.words import doubles


def total(numbers: jit.Int64s) -> int:
    """A kernel of these tests."""
    found = 0
    for number in numbers:
        found += number
    return found


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[jit.Int64s], int]:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(first_calls.VARIABLE, raising=False)
    return jit.compiled(total)


def compiled(kernel: object) -> int:
    return len(kernel.overloads)  # type: ignore[attr-defined]


def test_few_rows_need_no_compiler(kernel: Callable[[jit.Int64s], int]) -> None:
    found = kernel(np.arange(5))
    assert (found, type(found), compiled(kernel)) == (10, int, 0)


def test_many_rows_are_worth_compiling(kernel: Callable[[jit.Int64s], int]) -> None:
    assert kernel(np.arange(first_calls._FEW + 1)) == first_calls._FEW * (first_calls._FEW + 1) // 2
    assert compiled(kernel) == 1


def test_what_python_has_spent_a_while_on_is_compiled(
    kernel: Callable[[jit.Int64s], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_calls, "_PATIENCE", 1e-9)
    assert [kernel(np.arange(5)), compiled(kernel)] == [10, 0]
    assert [kernel(np.arange(5)), compiled(kernel)] == [10, 1]


def test_what_is_on_the_disk_is_used_for_few_rows_too(
    kernel: Callable[[jit.Int64s], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(first_calls.VARIABLE, first_calls.COMPILED)
    kernel(np.arange(5))
    monkeypatch.delenv(first_calls.VARIABLE)
    again = jit.compiled(total)
    assert (again(np.arange(5)), compiled(again)) == (10, 1)


def test_what_is_recorded_can_be_compiled_ahead() -> None:
    with first_calls.recorded() as found:
        _unknown(np.arange(6))
    (one,) = found
    one.compile()
    assert compiled(_unknown) == 1


@jit.compiled
def _unknown(numbers: jit.Int64s) -> int:
    return int(numbers[0])


def test_compiling_is_told_once(
    kernel: Callable[[jit.Int64s], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(first_calls, "_MOMENT", 0.0)
    monkeypatch.setattr(first_calls, "_told", bytearray(1))
    monkeypatch.setenv(first_calls.VARIABLE, first_calls.COMPILED)
    kernel(np.arange(5))
    kernel(np.arange(10)[::2])
    assert compiled(kernel) == 2
    assert capsys.readouterr().err == f"{first_calls.NOTE}\n"


WORDS = [0, 1, -1, 5, -(1 << 63), (1 << 63) - 1, 0x7FF8 << 48, 1 << 52, 123_456_789_012_345]


@pytest.mark.parametrize("word", WORDS)
def test_numbers_wrap_around_in_python_as_they_do_in_machine_code(word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which partition a row goes to must not depend on who asks."""
    monkeypatch.setenv(first_calls.VARIABLE, first_calls.COMPILED)
    both = [np.array([[word], [7]]), np.array([[word], [word]])]
    for words in both:
        assert _by_python(keytable.hash_words, words, 0) == keytable.hash_all(words)[0]
    data = np.frombuffer(word.to_bytes(8, "little", signed=True) + b"abc", np.uint8)
    assert _by_python(interner.hash_bytes, data, 0, 11) == interner.hash_bytes(data, 0, 11)
    assert _by_python(exact_sum.is_special, word) == exact_sum.is_special(word)
    exact_sum.limb_of(0, word, 1)
    assert exact_sum.limb_of.overloads, "it has machine code in memory, and Python does without"  # type: ignore[attr-defined]
    for other in WORDS:
        assert _by_python(sums._product, word, other) == sums._product(word, other)
    assert _by_python(doubles.float_to_word, float(word)) == doubles.float_to_word(float(word))


def _by_python(kernel: object, *arguments: object) -> object:
    return first_calls.FirstCalls(kernel)._interpreted((), *arguments)


@jit.compiled
def mixed(number: int) -> int:
    """A function of these tests: what it returns as machine code are numbers of Python, which do not wrap around."""
    return number * 31 + 7


@jit.compiled
def mixed_up(numbers: jit.Int64s) -> int:
    """A kernel that calls it."""
    found = numbers[0] * 0
    for number in numbers:
        found = mixed(found) * 31 + number
    return int(found)


def test_a_thread_that_meets_a_function_in_the_making_has_it_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.array([9_000_000_000_000_000_000, 3], np.int64)
    mixed.compile((numba.int64,))  # type: ignore[attr-defined]
    monkeypatch.setattr(first_calls, "_by_python", {})
    seen, met = first_calls._seen_by_python, list[object]()
    first = threading.current_thread()

    def meanwhile() -> None:
        with np.errstate(all="ignore"):
            met.append(first_calls._in_python(mixed_up)(numbers))

    def interleaved(*arguments: Any) -> object:
        if threading.current_thread() is first and not met:
            other = threading.Thread(target=meanwhile)
            other.start()
            other.join()
        return seen(*arguments)

    monkeypatch.setattr(first_calls, "_seen_by_python", interleaved)
    with np.errstate(all="ignore"):
        alone = first_calls._in_python(mixed_up)(numbers)
    assert met == [alone]
    assert -(2**63) <= int(alone) < 2**63
