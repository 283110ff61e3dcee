"""How kernels are compiled: by numba, cached on disk, once per signature, and not before it pays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from continua.kernels.first_calls import FirstCalls

F = TypeVar("F", bound=Callable[..., object])
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def compiled(function: F) -> F:
    """The function as machine code. It takes plain arrays and integers, so that few signatures exist."""
    return compiled_with(function)


def compiled_with(function: F, **options: Any) -> F:
    """The same with options of numba's.

    What is on disk is used as long as no kernel has changed: the code of a function has in it that of those it calls,
    also from other files, while numba by itself looks at the function's own file.
    """
    dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = sources()
        file.save = _saved_if_possible(file.save)
        dispatcher._compile_for_args = FirstCalls(dispatcher)
    return cast(F, dispatcher)


def _saved_if_possible(save: Callable[..., None]) -> Callable[..., None]:
    """What cannot be put on the disk is compiled again by the next process: no query has to fail of it."""

    def saved(*arguments: object) -> None:
        with suppress(OSError):
            save(*arguments)

    return saved


@cache
def sources() -> str:
    """A fingerprint of all kernels."""
    found = sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()
