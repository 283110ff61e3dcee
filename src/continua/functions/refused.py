"""Functions that people look for and that are refused, with the reason."""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "FIRST_VALUE": "the value of the earliest element is FIRST(x)",
    "LAST_VALUE": "the value of the latest element is LAST(x)",
    "RAND": "its value is not determined by the snapshot",
    "RANDOM": "its value is not determined by the snapshot",
    "UUID": "its value is not determined by the snapshot",
}
