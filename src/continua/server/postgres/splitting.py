"""Several statements in one question."""

from __future__ import annotations

import re

_PART = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|;|[^;'\"`\-/$]+|.", re.DOTALL
)


def statements(sql: str) -> list[str]:
    """The statements of a text, apart; a semicolon in a literal, a name or a comment ends none."""
    found, parts = [], list[str]()
    for part in _PART.finditer(sql):
        if part[0] == ";":
            found.append("".join(parts))
            parts = []
        else:
            parts.append(part[0])
    found.append("".join(parts))
    return [statement for statement in found if statement.strip()]
