"""Long conditions are deep trees: Python's usual limit stops at some 150 ANDs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 10_000
"""More would be more than a thread's stack has room for, where C code stands between the calls."""


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """A higher limit for as long as a statement is bound or planned."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
