"""Long conditions are deep trees: Python's usual limit stops at some 150 ANDs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DEEPEST = 10_000
"""More would be more than a thread's stack has room for, where C code stands between the calls."""


_guard = threading.Lock()
_inside: list[int] = []
"""The limits that were found by all who want the higher one now: the first of them found the usual one."""


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """A higher limit for as long as a statement is bound or planned, in whichever threads."""
    with _guard:
        _inside.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_inside[0], DEEPEST))
    try:
        yield
    finally:
        with _guard:
            usual = _inside[0]
            _inside.pop()
            if not _inside:
                sys.setrecursionlimit(usual)
