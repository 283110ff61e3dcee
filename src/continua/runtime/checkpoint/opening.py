"""Checkpoints: the place of a run that outlives its process, with the format it is in and the run that it is of.

The file ``checkpoint`` is written once, when the place is first used. Every file there carries the name of the run, and
the term in which it was written: each opening by a driver begins a new one (:mod:`succession`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4

from continua.errors import CheckpointError, Diagnostic, MachineError
from continua.objects.urls import Place
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.seals import understood, unsealed
from continua.runtime.checkpoint.store import SealedStore, medium_at
from continua.runtime.checkpoint.succession import Succession

FORMAT = 5
"""The version of what is written. Another one is refused: its state can not be gone on from."""

NAME = "checkpoint"
_CORRECTED = "corrected"
GROUPS = "groups"
"""The folder with the checkpoints of groups of live queries."""
_SIGNS = ("epochs", "intents", "queries", "state")
"""What the folder of a run has in it."""


def corrected_folder(checkpoint: Place, number: int) -> Place:
    """The checkpoint of queries that were corrected, by its number, within the one of their run, which is number 0."""
    return checkpoint / _CORRECTED / str(number) if number else checkpoint


def corrected_numbers(checkpoint: Place) -> list[int]:
    """The numbers of those that there are."""
    return sorted({int(name) for name in _parts(checkpoint, _CORRECTED) if name.isdigit()})


def group_folder(checkpoint: Place, group: str) -> Place:
    """The checkpoint of a group of live queries, within the one of their run."""
    return checkpoint / GROUPS / safe_name(group)


def group_names(checkpoint: Place) -> list[str]:
    """The groups that have checkpoints."""
    return sorted(unquote(name) for name in _parts(checkpoint, GROUPS))


def _parts(checkpoint: Place, folder: str) -> set[str]:
    """The names in a folder of a checkpoint that are of checkpoints themselves."""
    if isinstance(checkpoint, Path):
        return {path.parent.name for path in (checkpoint / folder).glob(f"*/{NAME}")}
    split = (name.split("/") for name in medium_at(checkpoint / folder).sizes(""))
    return {name[0] for name in split if name[1:] == [NAME]}


def remove(checkpoint: Place) -> None:
    """Removes a checkpoint with all that is in it."""
    if isinstance(checkpoint, Path):
        shutil.rmtree(checkpoint, ignore_errors=True)
    else:
        medium = medium_at(checkpoint)
        medium.delete(medium.sizes(""))


def driver_store(place: Place, standing: Succession | None = None) -> SealedStore:
    """The store of a checkpoint for the run that holds it: a new one, or that of the run before, in the next term.

    Nothing is written before the term begins.
    """
    found = reader_store(place)
    run = uuid4().hex if found is None else found.address.run
    return SealedStore(medium_at(place), run, (0 if standing is None else standing.term) + 1)


def mark(store: SealedStore, durable: bool = False) -> None:
    """Writes down of which run a new checkpoint is. A store that would let two be the first is refused."""
    content = json.dumps({"format": FORMAT, "run": store.address.run}).encode()
    if store.has(NAME):
        return
    if store.create(NAME, content, durable) is None:
        raise CheckpointError(
            Diagnostic(
                "CHECKPOINT_IN_USE",
                f"the checkpoint {store.url} is in use: another run has begun it just now",
                hint="wait until that run has ended, stop it, or use another folder",
                parameters={"checkpoint": store.url, "holder": ""},
            )
        )
    if store.create(NAME, content + b" ", durable) is not None:
        store.delete(NAME)
        raise MachineError(
            Diagnostic(
                "STORE_NOT_CONDITIONAL",
                f"{store.url} cannot hold a checkpoint: it replaces what is there although it is told not to",
                hint="a store is needed that honours If-None-Match: * of a PUT, so that two drivers exclude each other",
                parameters={"url": store.url},
            )
        )


def reader_store(place: Place) -> SealedStore | None:
    """The store of a checkpoint for somebody who only reads; None where there is none yet."""
    medium = medium_at(place)
    path = f"{place}/{NAME}"
    if not medium.has(NAME):
        if any(medium.sizes(sign) for sign in _SIGNS):
            raise other_format(place, None)
        return None
    content = unsealed(medium.read(NAME), path).content
    with understood(path):
        told = json.loads(content)
        found, run = told["format"], str(told["run"])
    if found != FORMAT:
        raise other_format(place, found)
    store = SealedStore(medium, run)
    store.get(NAME)
    return store


def other_format(place: Place, found: object) -> CheckpointError:
    """Why a checkpoint of another version is refused."""
    path = f"{place}/{NAME}"
    if found is None:
        message = f"{path} is missing: the checkpoint is one of an earlier version, or has lost it"
    else:
        message = f"{path} says that the checkpoint is in version {found} of the format, and this is version {FORMAT}"
    return CheckpointError(
        Diagnostic(
            "CHECKPOINT_FORMAT",
            message,
            hint="go on with the version that made it, or start with an empty folder",
            parameters={"path": path, "found": found, "wanted": FORMAT},
        )
    )
