"""How the sweep of aggregation is compiled: without counting references to arrays, which costs more than the sums.

Such functions make no arrays, and nobody else holds those that they get while they run.
"""

from __future__ import annotations

from typing import Any, cast

import numba

from continua.kernels.jit import F

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def lean(function: F) -> F:
    """The function as machine code that counts no references."""
    return cast(F, numba.njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """The same, as part of the functions that call it: a call with arrays costs as much as a few additions."""
    return cast(F, numba.njit(forceinline=True, **_OPTIONS)(function))
