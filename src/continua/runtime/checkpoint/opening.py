"""Checkpoints: the folder of a run that outlives its process, with the format it is in and the run that it is of.

The file ``checkpoint`` is written once, when the folder is first used. Every file in the folder carries the name of the
run, and the term in which it was written: each opening by a driver begins a new one.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.files import numbered, read_file, safe_name, understood
from continua.runtime.checkpoint.store import FileStore

FORMAT = 3
"""The version of what is written. Another one is refused: its state can not be gone on from."""

_NAME, _TERMS, _CORRECTED = "checkpoint", "terms", "corrected"
GROUPS = "groups"
"""The folder with the checkpoints of groups of live queries."""
_SIGNS = ("epochs", "intents", "queries", "state")
"""What the folder of a run has in it."""


def corrected_folder(checkpoint: Path, number: int) -> Path:
    """The checkpoint of queries that were corrected, by its number, within the one of their run, which is number 0."""
    return checkpoint / _CORRECTED / str(number) if number else checkpoint


def corrected_numbers(checkpoint: Path) -> list[int]:
    """The numbers of those that there are."""
    return numbered(checkpoint / _CORRECTED)


def group_folder(checkpoint: Path, group: str) -> Path:
    """The checkpoint of a group of live queries, within the one of their run."""
    return checkpoint / GROUPS / safe_name(group)


def group_names(checkpoint: Path) -> list[str]:
    """The groups that have checkpoints."""
    return sorted(unquote(path.name) for path in (checkpoint / GROUPS).glob("*") if (path / _NAME).exists())


def driver_store(folder: Path) -> FileStore:
    """The store of a checkpoint for the run that holds its lock: a new one, or that of the run before.

    Nothing is written before the term begins.
    """
    found = reader_store(folder)
    run = uuid4().hex if found is None else found.address.run
    known = FileStore(folder, run).numbers(_TERMS)
    return FileStore(folder, run, (known[-1] if known else 0) + 1)


def begin_term(store: FileStore, durable: bool = False) -> None:
    """The run that holds the lock goes on with the checkpoint from now on."""
    run, term = store.address.run, store.address.term
    if not store.has(_NAME):
        store.put(_NAME, json.dumps({"format": FORMAT, "run": run}).encode(), durable)
    before = store.numbers(_TERMS)
    store.put(f"{_TERMS}/{term}", b"", durable)
    for other in before:
        store.delete(f"{_TERMS}/{other}")


def reader_store(folder: Path) -> FileStore | None:
    """The store of a checkpoint for somebody who only reads; None where there is none yet."""
    path = folder / _NAME
    if not path.exists():
        if any((folder / sign).exists() for sign in _SIGNS):
            raise other_format(folder, None)
        return None
    content = read_file(path).content
    with understood(path):
        told = json.loads(content)
        found, run = told["format"], str(told["run"])
    if found != FORMAT:
        raise other_format(folder, found)
    store = FileStore(folder, run)
    store.get(_NAME)
    return store


def other_format(folder: Path, found: object) -> CheckpointError:
    """Why a checkpoint of another version is refused."""
    path = folder / _NAME
    if found is None:
        message = f"{path} is missing: the checkpoint is one of an earlier version, or has lost it"
    else:
        message = f"{path} says that the checkpoint is in version {found} of the format, and this is version {FORMAT}"
    return CheckpointError(
        Diagnostic(
            "CHECKPOINT_FORMAT",
            message,
            hint="go on with the version that made it, or start with an empty folder",
            parameters={"path": str(path), "found": found, "wanted": FORMAT},
        )
    )
