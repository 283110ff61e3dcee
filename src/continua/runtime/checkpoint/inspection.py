"""Checkpoints from outside: what is in one, whether it is whole, a copy of it, and what nobody needs in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.files import make_folder, read_file, write_file
from continua.runtime.checkpoint.locks import lock, unlock
from continua.runtime.checkpoint.manifests import SHOWN, Manifest, Manifests
from continua.runtime.checkpoint.opening import (
    corrected_folder,
    corrected_numbers,
    group_folder,
    group_names,
    reader_store,
)
from continua.runtime.checkpoint.partition_state import DurableState, PartitionState
from continua.runtime.checkpoint.registrations import registrations_of
from continua.runtime.checkpoint.result_segments import INTAKE, intake_name
from continua.runtime.checkpoint.store import FileStore

_FOLDERS = ("epochs", "history", "intake", "intents", "late", "results", "sinks", "state", "terms")
_KEPT_BY_SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Inspected:
    """A checkpoint: its store, the last epoch that was finished, and how many bytes its files have."""

    store: FileStore
    last: Manifest | None
    queries: tuple[str, ...]
    """Those that run in it."""
    files: int
    size: int


def with_parts(checkpoint: Path) -> list[Path]:
    """A checkpoint, and those in it of queries that were corrected, and of groups of live queries."""
    corrected = [corrected_folder(checkpoint, number) for number in corrected_numbers(checkpoint)]
    return [checkpoint, *corrected, *(group_folder(checkpoint, group) for group in group_names(checkpoint))]


def found_at(folder: Path) -> Inspected:
    """What is in a checkpoint; an error if there is none, or if it can not be understood."""
    store = _store(folder)
    manifest, damaged = Manifests(store).last()
    if damaged is not None:
        raise damaged
    known = registrations_of(store)
    running = () if known is None else tuple(q.name for q in known.queries if not q.dropped)
    apart = with_parts(folder)[1:]
    paths = [p for p in folder.rglob("*") if p.is_file() and not any(map(p.is_relative_to, apart))]
    return Inspected(store, manifest, running, len(paths), sum(p.stat().st_size for p in paths))


def _store(folder: Path) -> FileStore:
    store = reader_store(folder)
    if store is None:
        message = f"there is no checkpoint in {folder}"
        raise CheckpointError(Diagnostic("NO_CHECKPOINT", message, parameters={"checkpoint": str(folder)}))
    return store


def flaws(folder: Path) -> Iterator[CheckpointError]:
    """Everything that is wrong with a checkpoint: what is needed is read, and so is what only looks as if it were."""
    store = _store(folder)
    told: set[str] = set()
    needed: dict[str, str | None] = {}
    try:
        needed = needs(store)
    except CheckpointError as error:
        told |= {str(d.parameters.get("path")) for d in error.diagnostics}
        yield error
    for name in (*needed, *(n for n in _names(store) if n not in needed)):
        if str(folder / name) in told:
            continue
        try:
            store.get(name, needed.get(name))
        except CheckpointError as error:
            yield error


def needs(store: FileStore) -> dict[str, str | None]:
    """The files that a run would go on with, and the digests of those of which they are known."""
    found: dict[str, str | None] = {"checkpoint": None}
    manifests = Manifests(store)
    last, damaged = manifests.last()
    if damaged is not None:
        raise damaged
    found |= {f"terms/{n}": None for n in store.numbers("terms")[-1:]}
    found |= {SHOWN: None} if store.has(SHOWN) else {}
    if store.has("queries"):
        known = registrations_of(store)
        same = last is not None and known is not None and known.after != last.number
        found["queries"] = last.queries if same and last is not None else None
    first, number = (1, 0) if last is None else (last.past.last + 1, last.number)
    found |= dict.fromkeys(store.names("sinks"))
    found |= {f"intents/{n}": None for n in store.numbers("intents") if n >= number}
    found |= {intake_name(n): None for n in store.numbers(INTAKE)}
    if last is None:
        return found
    for epoch in range(min(first, number), number + 1):
        found[f"epochs/{epoch}"] = None
        if epoch >= first:
            found |= manifests.read(epoch).files
    found |= {chapter.name: chapter.digest for chapter in last.past.chapters}
    for (level, partition), kept in last.kept.items():
        found |= _state(store, level, partition, kept)
    return found


def _state(store: FileStore, level: int, partition: int, kept: DurableState) -> dict[str, str | None]:
    """The files of a partition's state; the digest of a log is known by the one behind it."""
    state = PartitionState(store, Path(), level, partition)
    found: dict[str, str | None] = {}
    digest = kept.log
    for number in range(kept.last, kept.first - 1, -1):
        found[state.log_name(number)] = digest
        digest = state.read_log(number, digest)[2]
    for number, known in zip(kept.snapshots, kept.digests, strict=True):
        found[state.snapshot_name(number)] = known
    return found


def _names(store: FileStore) -> list[str]:
    return [name for folder in _FOLDERS for name in store.names(folder)]


def clean(folder: Path) -> list[str]:
    """Removes what no run would go on with, of a checkpoint that nobody uses; the names of what is gone."""
    store = _store(folder)
    lock(folder)
    try:
        Manifests(store).tidy()
        needed = needs(store)
        gone = [name for name in _names(store) if name not in needed]
        for name in gone:
            store.delete(name)
        return gone
    finally:
        unlock(folder)


def copy(folder: Path, to: Path) -> int:
    """Copies what a run would go on with, of a checkpoint that nobody uses, to a new folder; how many files."""
    store = _store(folder)
    if (to.exists() and (not to.is_dir() or any(to.iterdir()))) or to.resolve().is_relative_to(folder.resolve()):
        message = f"{to} is not an empty folder of its own"
        raise CheckpointError(Diagnostic("NOT_EMPTY", message, hint="name a new folder", parameters={"path": str(to)}))
    if (folder / _KEPT_BY_SPARK).exists():
        message = f"{folder} belongs to a run on streaming frames: Spark has its own files in it"
        raise CheckpointError(Diagnostic("NOT_SUPPORTED", message, parameters={"path": str(folder)}))
    lock(folder)
    try:
        make_folder(to)
        names = needs(store)
        for name, digest in sorted(names.items(), key=lambda pair: pair[0] == "checkpoint"):
            content = store.get(name, digest)
            write_file(to / name, content, read_file(folder / name).identity, durable=True)
        return len(names)
    finally:
        unlock(folder)
