"""What benchmarks write to ``docs/benchmarks.md``: a section each between two marks, with machine and command."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.checkouts import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
PLOTS = ROOT / "docs" / "plots"


def write_section(name: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """Writes a section of the page anew, and leaves all others as they are."""
    begin, end = marks(name)
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise ValueError(f"{page} has no section {name}")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    content = "\n".join(lines)
    page.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", encoding="utf-8")


def section(name: str, page: Path = PAGE) -> list[str]:
    """The lines of a section as they are."""
    begin, end = marks(name)
    text = page.read_text(encoding="utf-8")
    return text.partition(begin)[2].partition(end)[0].strip().splitlines()


def marks(name: str) -> tuple[str, str]:
    """Between which lines a section stands."""
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"


def circumstances(module: str) -> str:
    """Where, when and by what command something was measured."""
    command = " ".join(["python", "-m", module, *sys.argv[1:]])
    load = os.getloadavg()[0]
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"`{command}`, {day}, commit {commit()}, {machine()}, load {load:.1f} at the end."


def commit() -> str:
    """The commit that is checked out."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def machine() -> str:
    """The processor, how many of its cores there are, and the memory."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{models[0] if models else platform.machine()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """A table."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *lines)]
