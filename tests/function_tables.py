"""The tables of functions in the user's documents, as the declarations have them.

``python -m tests.function_tables`` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from continua.functions.aggregates import AGGREGATES, AggregateFunction
from continua.functions.scalars import SCALARS, ScalarFunction

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
TABLES: dict[str, Mapping[str, ScalarFunction | AggregateFunction]] = {
    "| function | value |": SCALARS,
    "| aggregate | value |": AGGREGATES,
}
"""What is declared, by the first line of its table."""


def table(head: str) -> str:
    """A table by its first line: a line for each declaration, by the names."""
    declared = {function.name: function for function in TABLES[head].values()}
    lines = []
    for name in sorted(declared):
        function = declared[name]
        calls = ", ".join(f"`{call}`" for call in (function.usage, *function.aliases))
        lines.append(f"| {calls} | {function.doc} |")
    return "\n".join([head, "| --- | --- |", *lines])


def written(page: str, head: str) -> str:
    """A table by its first line, as it stands in a page."""
    return head + page.split(head)[1].split("\n\n")[0]


def main() -> None:
    """Writes the tables."""
    page = PAGE.read_text(encoding="utf-8")
    for head in TABLES:
        page = page.replace(written(page, head), table(head))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
