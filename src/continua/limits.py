"""How large a statement and a value may be: what is beyond is refused, and told by name.

The limits are far from what people write, and near what programs write that went wrong.
"""

from __future__ import annotations

from continua.errors import Diagnostic, Span

MOST_NESTED = 200
"""So deep may expressions and parentheses stand in each other; conditions joined by AND or OR stand side by side."""
MOST_NESTED_QUERIES = 100
"""So deep may queries stand in each other: subqueries, views, queries of WITH, and those that these are made of."""
MOST_ITEMS = 1000
"""So many items may the FROMs of a query have together, views being counted by what they are made of."""
MOST_JOINED = 64
"""So many items may one FROM have."""
MOST_BYTES = 64 << 20
"""So many bytes may a text have that a function makes."""
MOST_SQL = 4 << 20
"""So many characters may an expression have as SQL: some parts are written several times, those within them too."""


def too_complex(what: str, limit: int, span: Span | None, hint: str | None = None) -> Diagnostic:
    """A statement that is beyond a limit; ``what`` is counted by it."""
    parameters: dict[str, object] = {"what": what, "limit": limit}
    return Diagnostic("TOO_COMPLEX", f"the limit is {limit} {what}", span, hint, parameters)
