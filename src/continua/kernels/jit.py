"""How kernels are compiled: by numba, cached on disk, once per signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def compiled(function: F) -> F:
    """The function as machine code. It takes plain arrays and integers, so that few signatures exist."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
