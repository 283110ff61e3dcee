"""What the checkpoint says of epochs: what they were going to read, and what they did when they were finished."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.chapters import Chapters
from continua.runtime.checkpoint.files import understood
from continua.runtime.checkpoint.offsets import Offsets
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.checkpoint.store import Store
from continua.sources.positions import Position
from continua.sources.split_readings import Reading
from continua.sources.splits import split_of

_REMEMBERED = 256
"""So many epochs' results are remembered."""
_EPOCHS, _INTENTS = "epochs", "intents"
SHOWN = "shown"
"""The name of the number of the last epoch whose answers were written to standard output."""
_OURS = (_EPOCHS, _INTENTS, "history", "intake", "late", "results", "sinks", "state", "terms")
"""The folders in which all files are written whole."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A finished epoch: what it closed, what is durable after it, and where its results are."""

    number: int
    until: int
    program: str
    partitions: int
    offsets: Offsets
    kept: dict[tuple[int, int], DurableState]
    """By level and partition."""
    results: dict[str, list[list[int]]]
    """For each query the levels and partitions that wrote a result segment."""
    late: dict[str, list[int]] = field(default_factory=dict)
    """For each source the tasks that kept rows apart, because they were too late."""
    functions: dict[str, str] = field(default_factory=dict)
    """The fingerprints of the user's functions."""
    positions: dict[str, Position] = field(default_factory=dict)
    """For each source whose rows are in files, up to where they have been read."""
    files: dict[str, str] = field(default_factory=dict)
    """The files with results and late rows of the epoch, and their digests."""
    queries: str = ""
    """The digest of what was written down of live queries, if anything was."""
    finished: int = 0
    """When it was finished, by the clock, in microseconds."""
    past: Chapters = field(default_factory=Chapters)
    """What is known of the epochs before."""
    staged: dict[str, dict[str, str]] = field(default_factory=dict)
    """By query, the files that tasks have written for its sink, and their digests."""

    def fits(self, checkpoint: str, program: str, partitions: int, functions: Mapping[str, str]) -> None:
        """Refuses a checkpoint of other queries or functions, or of another number of partitions."""
        if self.partitions != partitions:
            raise CheckpointError(
                Diagnostic(
                    "OTHER_PARTITIONS",
                    f"the checkpoint {checkpoint} was made with {self.partitions} partitions, not {partitions}",
                    hint=f"run with --partitions {self.partitions}, or start with an empty folder",
                    parameters={"found": self.partitions, "wanted": partitions},
                )
            )
        if self.program != program:
            self.same_functions(checkpoint, functions)
            raise CheckpointError(
                Diagnostic(
                    "OTHER_QUERIES",
                    f"the checkpoint {checkpoint} belongs to other queries: their state does not fit these",
                    hint="use the script with which it was made, or start with an empty folder",
                    parameters={"checkpoint": checkpoint},
                )
            )

    def same_functions(self, checkpoint: str, functions: Mapping[str, str]) -> None:
        """Refuses a checkpoint that was made with other definitions of the same functions."""
        changed = sorted(n for n, found in self.functions.items() if functions.get(n, found) != found)
        if changed:
            raise CheckpointError(
                Diagnostic(
                    "OTHER_FUNCTIONS",
                    f"the checkpoint {checkpoint} was made with another definition of {', '.join(changed)}",
                    hint="define the functions as they were, or start with an empty folder",
                    parameters={"checkpoint": checkpoint, "functions": changed},
                )
            )


@dataclass(frozen=True, slots=True)
class ResultPlaces:
    """Where the results of an epoch are: for each query the levels and partitions, and the files with their digests."""

    places: dict[str, list[list[int]]]
    files: dict[str, str]
    staged: dict[str, dict[str, str]]
    """By query, the files of its sink."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What an epoch is going to read, and from where."""

    after: int
    before: Offsets
    """Up to where the epochs before it have come: the instant, and the offsets."""
    until: int
    offsets: Offsets
    """Up to where it is going to come itself."""
    readings: tuple[Reading, ...] = ()
    """The splits of files that it reads."""
    frames: tuple[str, ...] = ()
    """The sources that Spark reads, all of each."""

    @staticmethod
    def of_json(content: dict[str, Any]) -> Intent:
        """The intent that plain data stands for."""
        before, offsets = (Offsets.of_json(content[name]) for name in ("before", "offsets"))
        readings = tuple(Reading(**{**found, "split": split_of(found["split"])}) for found in content["readings"])
        return Intent(content["after"], before, content["until"], offsets, readings, tuple(content["frames"]))


class Manifests:
    """The epochs of a checkpoint; ``durable``: a finished one is on the disk itself."""

    def __init__(self, store: Store, durable: bool = False) -> None:
        self._store = store
        self._durable = durable
        self._results: dict[int, ResultPlaces] = {}

    def write(self, manifest: Manifest) -> None:
        """Finishes an epoch: from now on it has happened."""
        content: dict[str, Any] = asdict(replace(manifest, results={}))
        content["results"] = manifest.results
        content["kept"] = {f"{level}/{part}": asdict(kept) for (level, part), kept in manifest.kept.items()}
        content["positions"] = {name: found.as_json() for name, found in manifest.positions.items()}
        content["past"] = manifest.past.as_json()
        self._store.put(f"{_EPOCHS}/{manifest.number}", json.dumps(content).encode(), self._durable)

    def read(self, number: int) -> Manifest:
        """What a finished epoch did."""
        name = f"{_EPOCHS}/{number}"
        content = self._store.get(name)
        with understood(f"{self._store.url}/{name}"):
            return _manifest_of(json.loads(content))

    def results(self, number: int) -> ResultPlaces:
        """Where the results of a finished epoch are; what was asked for lately is remembered."""
        if number not in self._results:
            found = self.read(number)
            self._results[number] = ResultPlaces(found.results, found.files, found.staged)
            if len(self._results) > _REMEMBERED:
                self._results.pop(next(iter(self._results)))
        return self._results[number]

    @property
    def some(self) -> bool:
        """Whether any epoch was finished."""
        return bool(self._store.numbers(_EPOCHS))

    def last(self) -> tuple[Manifest | None, CheckpointError | None]:
        """The last finished epoch.

        If what is written of it is damaged it is the one before, and the error is given: the epoch has to be run again,
        and just so, since its results may have been seen.
        """
        numbers = self._store.numbers(_EPOCHS)
        if not numbers:
            return None, None
        last = numbers[-1]
        try:
            return self.read(last), None
        except CheckpointError as error:
            try:
                self._store.get(f"{_INTENTS}/{last}")
                return self.read(last - 1) if last > 1 else None, error
            except CheckpointError as other:
                raise CheckpointError(*error.diagnostics, *other.diagnostics) from None

    def intend(self, number: int, intent: Intent) -> None:
        """Writes down what an epoch is going to read: after a crash it reads the same.

        It need not be on the disk: where it is lost nothing of its epoch has been seen.
        """
        self._store.put(f"{_INTENTS}/{number}", json.dumps(asdict(intent)).encode())

    def intended(self, number: int, after: int, before: Offsets) -> Intent | None:
        """What an epoch was going to read that goes on from there; None if that was not decided.

        A damaged intent is none: nothing of its epoch has been seen yet, so that it may as well be another one.
        """
        try:
            content = self._store.get(f"{_INTENTS}/{number}")
            with understood(f"{self._store.url}/{_INTENTS}/{number}"):
                found = Intent.of_json(json.loads(content))
        except CheckpointError:
            return None
        return found if (found.after, found.before) == (after, before) else None

    def withdraw(self, number: int) -> None:
        """Gives up what an epoch was going to read."""
        self._store.delete(f"{_INTENTS}/{number}")

    def forget(self, number: int) -> None:
        """Removes intents that are not needed after an epoch; its own is, should its manifest turn out damaged."""
        for other in self._store.numbers(_INTENTS):
            if other < number:
                self._store.delete(f"{_INTENTS}/{other}")

    def tidy(self) -> None:
        """Removes what a crash has left of files that were being written."""
        self._store.tidy(_OURS)


def _manifest_of(content: dict[str, Any]) -> Manifest:
    kept = {}
    for name, files in content.pop("kept").items():
        level, part = name.split("/")
        digests = {key: tuple(files[key]) for key in ("snapshots", "digests")}
        kept[int(level), int(part)] = DurableState(**{**files, **digests})
    positions = {name: Position.of_json(found) for name, found in content.pop("positions").items()}
    past = Chapters.of_json(content.pop("past"))
    offsets = Offsets.of_json(content.pop("offsets"))
    return Manifest(**content, kept=kept, positions=positions, past=past, offsets=offsets)


def partitions_of(checkpoint: Path | None) -> int | None:
    """Into how many partitions the work of a checkpoint is divided; None where nothing has been done yet."""
    store = None if checkpoint is None else reader_store(checkpoint)
    last = None if store is None else Manifests(store).last()[0]
    return None if last is None else last.partitions
