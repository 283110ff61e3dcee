"""Which live queries a checkpoint is of: since when each runs, and which have left.

The file ``queries`` is written before the graph changes, after an epoch in which every partition took a snapshot. It
says after which epoch that was and which program comes next. So a crash before it leaves the queries as they were, and
one after it leaves the new ones, whose first epoch goes on from the snapshots.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.files import read_file, write_file


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs, or one that has left."""

    name: str
    meaning: str
    """A fingerprint of what it does, whatever its start."""
    declared: int
    """Its start as it was declared."""
    start: int
    """Its start t0: what was declared, or later if it joined later."""
    generation: str = ""
    """Whose stored relations it reads: those of the first queries, or those it was fed when it joined."""
    dropped: bool = False

    @property
    def since(self) -> int:
        """The first epoch that can hold results of it."""
        return int(self.generation.removeprefix("@") or 1)


@dataclass(frozen=True, slots=True)
class Registrations:
    """The queries whose graph runs after an epoch."""

    after: int
    program: str
    queries: tuple[Registered, ...] = ()

    def write(self, checkpoint: Path, lasting: bool = False) -> None:
        """Makes them those of a checkpoint."""
        write_file(_file(checkpoint), json.dumps(asdict(self)).encode(), lasting)


def registrations_of(checkpoint: Path) -> Registrations | None:
    """The queries of a checkpoint; None where nothing was written down."""
    if not _file(checkpoint).exists():
        return None
    content = json.loads(read_file(_file(checkpoint)))
    queries = tuple(Registered(**q) for q in content.pop("queries"))
    return Registrations(**content, queries=queries)


def other_queries(checkpoint: Path, missing: Iterable[str], changed: Iterable[str]) -> CheckpointError:
    """Why a checkpoint is refused: queries that run in it are not there, or are others."""
    gone, new = sorted(missing), sorted(changed)
    parts = [f"{', '.join(gone)} runs in it and is not defined"] if gone else []
    parts += [f"{', '.join(new)} is not what it was"] if new else []
    return CheckpointError(
        Diagnostic(
            "OTHER_QUERIES",
            f"the checkpoint {checkpoint} belongs to other queries: {'; '.join(parts)}",
            hint="define all its queries as they were before starting, or start with an empty folder",
            parameters={"checkpoint": str(checkpoint), "missing": gone, "changed": new},
        )
    )


def _file(checkpoint: Path) -> Path:
    return checkpoint / "queries"
