"""The side file of a source: what was left out, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from continua.errors import Diagnostic
from continua.sources.shown_values import show_values
from continua.sources.source_spec import Late, Reject

_UNFIT = re.compile(r"[/\\\0]")
_LONGEST = 200
"""Of longer names only the beginning is that of a file."""
"""What a quoted name may hold and a file name may not."""


def write_rejects(folder: Path, name: str, rejects: Iterable[Reject], late: Iterable[Late]) -> Path | None:
    """Writes ``<folder>/<name>.rejected.jsonl``, a JSON object a row left out; None when there are none."""
    lines = _lines(rejects, late)
    if not lines:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = rejects_path(folder, name)
    _write(path, "w", lines)
    return path


def rejects_path(folder: Path, name: str) -> Path:
    """The side file of a source; one whose name is not fit for a file's has a name like it and some digits."""
    fit = _UNFIT.sub("_", name)[:_LONGEST]
    if fit != name:
        fit = f"{fit}-{sha256(name.encode()).hexdigest()[:8]}"
    return folder / f"{fit}.rejected.jsonl"


def add_rejects(path: Path, rejects: Iterable[Reject], late: Iterable[Late]) -> None:
    """Writes more rows to the end of such a file."""
    _write(path, "a", _lines(rejects, late))


def _lines(rejects: Iterable[Reject], late: Iterable[Late]) -> list[str]:
    lines = [_line(r.file, r.line, r.reason, text=r.text) for r in rejects]
    return lines + [_line(x.row.file, x.row.line, "late", values=show_values(x.row.values)) for x in late]


def _write(path: Path, mode: str, lines: Iterable[str]) -> None:
    # A file name that is not UTF-8 comes as lone surrogates, and a backslash escape of those is JSON.
    with path.open(mode, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(lines)


def _line(file: str, line: int, reason: str, **content: object) -> str:
    return json.dumps({"file": file, "line": line, "reason": reason, **content}, ensure_ascii=False) + "\n"


def late_diagnostic(name: str, late: Sequence[Late], show: Callable[[int], str] = str, path: str = "") -> Diagnostic:
    """What to tell of late rows, of which there must be at least one. ``show`` writes a length of time."""
    first, count = late[0].row, len(late)
    behind = max(x.heartbeat + 1 - x.instant for x in late)
    rows = "1 row was" if count == 1 else f"{count} rows were"
    return Diagnostic(
        "TIMESTAMP_OUT_OF_ORDER",
        f"{rows} too late for {name} and kept apart{f' in {path}' if path else ''}, "
        f"the first at {first.file}:{first.line}",
        hint=f"a SLACK larger by {show(behind)} takes in every row",
        parameters={"source": name, "count": count, "file": first.file, "line": first.line, "behind": behind},
    )
