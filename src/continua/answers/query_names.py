"""How queries are called that have no name of their own: q1, q2 and so on, in the order of their script.

Those that a live run keeps for itself have names of other forms, which nobody else may give.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

BEHIND = "relation behind "
"""So begins the name of a query that keeps the relation behind a stream."""
CONTENT = "content of "
"""So begins the name of one that keeps what a leaf holds, for those that join later."""
VIEW = "view "
"""So begins the name of one that keeps a view."""
KEPT = (BEHIND, CONTENT, VIEW)


class QueryNames:
    """Counts how many queries have such names."""

    def __init__(self, known: Iterable[str]) -> None:
        self._numbered = sum(map(_is_numbered, known))

    def free(self, known: Container[str]) -> str:
        """A name that none of the known queries has."""
        number = 1 + self._numbered
        while f"q{number}" in known:
            number += 1
        return f"q{number}"

    def taken(self, name: str) -> None:
        """A query has a name."""
        self._numbered += _is_numbered(name)


def _is_numbered(name: str) -> bool:
    return name.startswith("q") and name[1:].isdigit()
