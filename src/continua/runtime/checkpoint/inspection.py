"""Checkpoints from outside: what is in one, whether it is whole, a copy of it, and what nobody needs in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.objects.urls import Place
from continua.runtime.checkpoint.files import make_folder
from continua.runtime.checkpoint.locks import lock, unlock
from continua.runtime.checkpoint.manifests import FOLDERS, INTENTS, SHOWN, Manifest, Manifests
from continua.runtime.checkpoint.opening import (
    NAME,
    corrected_folder,
    corrected_numbers,
    group_folder,
    group_names,
    reader_store,
)
from continua.runtime.checkpoint.partition_state import DurableState, PartitionState
from continua.runtime.checkpoint.registrations import registered_in, registrations_of
from continua.runtime.checkpoint.result_segments import INTAKE, intake_name
from continua.runtime.checkpoint.seals import seal
from continua.runtime.checkpoint.store import SealedStore, medium_at, newest
from continua.runtime.checkpoint.succession import EPOCHS, TERMS, Terms

_KEPT_BY_SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Inspected:
    """A checkpoint: its store, the last epoch that was finished, and how many bytes its files have."""

    store: SealedStore
    term: int
    """Of its last driver."""
    last: Manifest | None
    queries: tuple[str, ...]
    """Those that run in it."""
    files: int
    size: int


def with_parts(checkpoint: Place) -> list[Place]:
    """A checkpoint, and those in it of queries that were corrected, and of groups of live queries."""
    corrected = [corrected_folder(checkpoint, number) for number in corrected_numbers(checkpoint)]
    return [checkpoint, *corrected, *(group_folder(checkpoint, group) for group in group_names(checkpoint))]


def below(checkpoint: Place, part: Place) -> str:
    """Where a part of a checkpoint is within it."""
    return str(part)[len(str(checkpoint)) :].strip("/")


def found_at(place: Place) -> Inspected:
    """What is in a checkpoint; an error if there is none, or if it can not be understood."""
    store = _store(place)
    manifests = Manifests(store)
    manifest, damaged = manifests.last()
    if damaged is not None:
        raise damaged
    known = registrations_of(store, manifest)
    running = () if known is None else tuple(q.name for q in known.queries if not q.dropped)
    apart = [below(place, part) for part in with_parts(place)[1:]]
    sizes = [n for name, n in store.medium.sizes("").items() if not any(name.startswith(f"{part}/") for part in apart)]
    return Inspected(store, manifests.standing().term, manifest, running, len(sizes), sum(sizes))


def _store(place: Place) -> SealedStore:
    store = reader_store(place)
    if store is None:
        message = f"there is no checkpoint in {place}"
        raise CheckpointError(Diagnostic("NO_CHECKPOINT", message, parameters={"checkpoint": str(place)}))
    return store


def flaws(place: Place) -> Iterator[CheckpointError]:
    """Everything that is wrong with a checkpoint: what is needed is read, and so is what only looks as if it were."""
    store = _store(place)
    told: set[str] = set()
    needed: dict[str, str | None] = {}
    try:
        needed = needs(store)
    except CheckpointError as error:
        told |= {str(d.parameters.get("path")) for d in error.diagnostics}
        yield error
    for name in (*needed, *(n for n in _names(store) if n not in needed)):
        if f"{place}/{name}" in told:
            continue
        try:
            store.get(name, needed.get(name))
        except CheckpointError as error:
            yield error


def needs(store: SealedStore) -> dict[str, str | None]:
    """The files that a run would go on with, and the digests of those of which they are known."""
    found: dict[str, str | None] = {NAME: None}
    manifests = Manifests(store)
    last, damaged = manifests.last()
    if damaged is not None:
        raise damaged
    found |= {f"{folder}/{name}": None for name in store.numbers(TERMS) for folder in (TERMS, EPOCHS)}
    found |= {f"{SHOWN}/{name}": None for name in store.numbers(SHOWN)}
    registered = registered_in(store, last)
    if registered is not None:
        same = last is not None and registered[1].after != last.number
        found[registered[0]] = last.queries if same and last is not None else None
    first, number = (1, 0) if last is None else (last.past.last + 1, last.number)
    found |= dict.fromkeys(store.names("sinks"))
    found |= {f"{INTENTS}/{n}": None for n in store.numbers(INTENTS) if n.number >= number}
    found |= {intake_name(name): None for name in newest(store.numbers(INTAKE)).values()}
    if last is None:
        return found
    for epoch in range(min(first, number), number + 1):
        manifest = manifests.read(epoch)
        found[f"{EPOCHS}/{manifest.name}"] = None
        if epoch >= first:
            found |= manifest.files
    found |= {chapter.name: chapter.digest for chapter in last.past.chapters}
    for (level, partition), kept in last.kept.items():
        found |= _state(store, level, partition, kept, last.terms)
    return found


def _state(store: SealedStore, level: int, partition: int, kept: DurableState, terms: Terms) -> dict[str, str | None]:
    """The files of a partition's state; the digest of a log is known by the one behind it."""
    state = PartitionState(store, Path(), level, partition, terms)
    found: dict[str, str | None] = {}
    digest = kept.log
    for number in range(kept.last, kept.first - 1, -1):
        found[state.log_name(number)] = digest
        digest = state.read_log(number, digest)[2]
    for number, known in zip(kept.snapshots, kept.digests, strict=True):
        found[state.snapshot_name(number)] = known
        found |= {state.segment_name(s.number): s.digest for s in state.table(kept, number).segments}
    return found


def _names(store: SealedStore) -> list[str]:
    return [name for folder in FOLDERS for name in store.names(folder)]


def clean(place: Place) -> list[str]:
    """Removes what no run would go on with, of a checkpoint that nobody uses; the names of what is gone."""
    store = _store(place)
    lock(place)
    try:
        store.tidy(FOLDERS)
        needed = needs(store)
        gone = [name for name in _names(store) if name not in needed]
        store.delete(*gone)
        return gone
    finally:
        unlock(place)


def copy(place: Place, to: Place) -> int:
    """Copies what a run would go on with, of a checkpoint that nobody uses, to a new place; how many files."""
    store, new = _store(place), medium_at(to)
    if isinstance(to, Path):
        taken = (to.exists() and (not to.is_dir() or any(to.iterdir()))) or (
            isinstance(place, Path) and to.resolve().is_relative_to(place.resolve())
        )
    else:
        taken = bool(new.sizes("")) or f"{to}/".startswith(f"{place}/")
    if taken:
        message = f"{to} is not an empty folder of its own"
        raise CheckpointError(Diagnostic("NOT_EMPTY", message, hint="name a new folder", parameters={"path": str(to)}))
    if isinstance(place, Path) and (place / _KEPT_BY_SPARK).exists():
        message = f"{place} belongs to a run on streaming frames: Spark has its own files in it"
        raise CheckpointError(Diagnostic("NOT_SUPPORTED", message, parameters={"path": str(place)}))
    lock(place)
    try:
        if isinstance(to, Path):
            make_folder(to)
        names = needs(store)
        for name, digest in sorted(names.items(), key=lambda pair: pair[0] == NAME):
            found = store.sealed(name, digest)
            new.write(name, (found.content, seal(found.content, found.identity)[0]), durable=True)
        return len(names)
    finally:
        unlock(place)
