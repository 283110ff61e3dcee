"""Segments: what is valid per key, as output rows.

While a key's result changes within an epoch its segments are closed and written with both ends. The last one is
written as open; when it ends in a later epoch it is taken back from there on by a row of negative weight.
"""

from __future__ import annotations

NONE, WRITTEN, FRESH = 0, 1, 2
"""A key has no result; one that an earlier epoch wrote as open; one that began in this epoch."""
