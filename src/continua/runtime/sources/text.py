"""Text files, line by line, with every byte accounted for.

Bytes that are no UTF-8 travel as lone surrogates, so that one bad byte costs its own record and no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_ESCAPED = re.compile("[\udc80-\udcff]")


def text_lines(path: Path) -> Iterator[str]:
    """The physical lines with their line ends; a leading byte order mark is dropped."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield from file


def flaw(text: str) -> str | None:
    """Why no text may look like this, or None."""
    if "\0" in text:
        return "a NUL byte"
    if not text.isascii() and _ESCAPED.search(text):
        return "bytes that are not UTF-8"
    return None


def readable(text: str) -> str:
    """A raw record as text that can be written again: no line end, odd bytes as ``\\xNN``."""
    raw = text.rstrip("\r\n").encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
