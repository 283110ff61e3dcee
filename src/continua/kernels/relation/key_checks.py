"""Which rows of a source break what it says of its keys, in their order.

A row that is rejected leaves no trace: the rows behind it are judged as if it had not come.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.kernels.jit import Int64s, compiled

FINE, THERE, MISSING = 0, 1, 2
"""What may be found of a row: nothing is wrong, its key is there already, or its key is not there."""
INSERT, DELETE = 0, 1
Found = NDArray[np.int8]


@compiled
def tagged(slots: Int64s, op: NDArray[np.int8], keyed: bool, counts: Int64s) -> Found:
    """Which modifications do not fit; ``counts`` has for each slot how many rows there are.

    With a key there is at most one row of it. Without one a slot stands for equal rows, of which there may be several.
    """
    found = np.zeros(slots.size, np.int8)
    for i in range(slots.size):
        slot = slots[i]
        if op[i] == INSERT:
            if keyed and counts[slot] > 0:
                found[i] = THERE
            else:
                counts[slot] += 1
        elif counts[slot] == 0:
            found[i] = MISSING
        elif op[i] == DELETE:
            counts[slot] -= 1
    return found


@compiled
def within(slots: Int64s, start: Int64s, length: int, until: Int64s) -> Found:
    """Which rows have the key of another one that came at most so long before.

    ``until`` has for each slot whether there was a row, and then the instant behind the last one at which another is
    rejected.
    """
    found = np.zeros(slots.size, np.int8)
    for i in range(slots.size):
        at = 2 * slots[i]
        if until[at] and start[i] < until[at + 1]:
            found[i] = THERE
        else:
            until[at], until[at + 1] = 1, start[i] + length + 1
    return found


@compiled
def disjoint(slots: Int64s, start: Int64s, end: Int64s, infinity: int, until: Int64s) -> Found:
    """Which elements begin while another one of their key lasts; what never ends is updated by what never ends.

    ``until`` has for each slot whether there was an element, and then when it ends.
    """
    found = np.zeros(slots.size, np.int8)
    for i in range(slots.size):
        at = 2 * slots[i]
        both = until[at + 1] == infinity and end[i] == infinity
        if until[at] and start[i] < until[at + 1] and not both:
            found[i] = THERE
        else:
            until[at], until[at + 1] = 1, end[i]
    return found
