"""What is compiled is used again only as long as no kernel has changed."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import numba
import pytest
from numba.core import caching

from continua.kernels import first_calls, jit
from continua.kernels.aggregate import sums
from continua.kernels.store import rowstore


@pytest.mark.parametrize("function", [sums.read_sum, rowstore._probe])
def test_the_cache_of_a_function_depends_on_all_kernels(function: object) -> None:
    assert function._cache._cache_file._source_stamp == jit.sources()  # type: ignore[attr-defined]


@pytest.mark.parametrize("changed", ["jit.py", "store/rowstore.py", "aggregate/sums.py"])
def test_a_change_of_any_kernel_is_another_fingerprint(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(Path(jit.__file__).parent, kernels, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(kernels / "jit.py"))
    assert jit.sources.__wrapped__() == jit.sources()
    with (kernels / changed).open("a") as file:
        file.write("# changed\n")
    assert jit.sources.__wrapped__() != jit.sources()


def test_a_kernel_that_cannot_be_put_on_the_disk_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(first_calls.VARIABLE, first_calls.COMPILED)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    tried = []

    def full(_: object, *__: object, **___: object) -> None:
        tried.append(True)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_data", full)
    assert jit.compiled(doubled)(21) == 42
    assert tried


def doubled(number: int) -> int:
    """A kernel of the test above."""
    return number * 2
