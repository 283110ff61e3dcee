"""How the sweep of aggregation is compiled: without counting references to arrays, which costs more than the sums.

Such functions make no arrays, and nobody else holds those that they get while they run.
"""

from __future__ import annotations

from continua.kernels.jit import F, compiled_with


def lean(function: F) -> F:
    """The function as machine code that counts no references."""
    return compiled_with(function, _nrt=False)


def inlined(function: F) -> F:
    """The same, as part of the functions that call it: a call with arrays costs as much as a few additions."""
    return compiled_with(function, _nrt=False, forceinline=True)
