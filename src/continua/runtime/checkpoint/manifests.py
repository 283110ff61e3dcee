"""What the checkpoint says of epochs: what they were going to read, and what they did when they were finished."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.chapters import Chapters
from continua.runtime.checkpoint.offsets import Offsets
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.checkpoint.seals import damaged, missing, understood
from continua.runtime.checkpoint.store import Numbered, Store, newest
from continua.runtime.checkpoint.succession import EPOCHS, TERMS, Succession, Terms, succession, taken_over
from continua.sources.positions import Position
from continua.sources.split_readings import Reading
from continua.sources.splits import split_of

_REMEMBERED = 256
"""So many epochs' results are remembered."""
INTENTS = "intents"
SHOWN = "shown"
"""The folder with the number of the last epoch whose answers were written to standard output."""
FOLDERS = (EPOCHS, "history", "intake", INTENTS, "late", "queries", "results", SHOWN, "sinks", "state", "terms")
"""The folders of a checkpoint: in them all files are written whole."""


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
    terms: Terms = field(default_factory=Terms)
    """The terms of this epoch and of those before of which something is kept."""

    @property
    def name(self) -> Numbered:
        """The number of the epoch, and its term."""
        return Numbered(self.number, self.terms.of(self.number))

    def fits(self, checkpoint: str, program: str, functions: Mapping[str, str]) -> None:
        """Refuses a checkpoint of other queries or functions."""
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
    term: int
    """In which the epoch was finished."""


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
        self._names: dict[int, Numbered] = {}
        self._intents: set[Numbered] | None = None
        self._terms = Terms()
        """As the last manifest says that was read."""

    def write(self, manifest: Manifest) -> None:
        """Finishes an epoch: from now on it has happened. An error if another driver has the checkpoint by now."""
        content: dict[str, Any] = asdict(replace(manifest, results={}))
        content["results"] = manifest.results
        content["kept"] = {f"{level}/{part}": asdict(kept) for (level, part), kept in manifest.kept.items()}
        content["positions"] = {name: found.as_json() for name, found in manifest.positions.items()}
        content["past"] = manifest.past.as_json()
        name, told = f"{EPOCHS}/{manifest.name}", json.dumps(content).encode()
        if not manifest.name.term:
            self._store.put(name, told, self._durable)
        elif self._store.create(name, told, self._durable) is None:
            raise taken_over(self._store, manifest.name)
        self._names[manifest.number] = manifest.name
        self._remember(manifest)

    def read(self, number: int) -> Manifest:
        """What a finished epoch did."""
        if number not in self._names:
            self._look()
        if number not in self._names:
            raise missing(f"{self._store.url}/{EPOCHS}/{Numbered(number, self._terms.of(number))}")
        name = f"{EPOCHS}/{self._names[number]}"
        content = self._store.get(name)
        with understood(f"{self._store.url}/{name}"):
            found = _manifest_of(json.loads(content))
        self._terms = found.terms
        return found

    def _look(self) -> list[Numbered]:
        """Sees which epochs there are, and handovers among them."""
        names = self._store.numbers(EPOCHS)
        handovers = set(self._store.numbers(TERMS))
        self._names = dict(newest(name for name in names if name not in handovers))
        return sorted({*names, *handovers})

    def results(self, number: int) -> ResultPlaces:
        """Where the results of a finished epoch are; what was asked for lately is remembered."""
        if number not in self._results:
            self._remember(self.read(number))
        return self._results[number]

    def _remember(self, found: Manifest) -> None:
        self._results[found.number] = ResultPlaces(found.results, found.files, found.staged, found.name.term)
        if len(self._results) > _REMEMBERED:
            self._results.pop(next(iter(self._results)))

    def has(self, number: int) -> bool:
        """Whether the manifest of a finished epoch is kept."""
        if number not in self._names:
            self._look()
        return number in self._names and self._store.has(f"{EPOCHS}/{self._names[number]}")

    def is_there(self, name: Numbered) -> bool:
        """Whether an epoch was finished in a term; another driver's handover under that name is none."""
        return name in set(self._look()) and self._names.get(name.number) == name

    def are_gone(self, before: int) -> None:
        """The manifests of epochs before one are removed, and nobody asks for them."""
        for number in [number for number in self._names if number < before]:
            del self._names[number]

    def paths(self, numbers: Collection[int]) -> list[str]:
        """The names of the manifests of some epochs, as far as they are kept."""
        return [f"{EPOCHS}/{name}" for number, name in self._names.items() if number in numbers]

    @property
    def some(self) -> bool:
        """Whether any epoch was finished."""
        return self.standing().last is not None

    def standing(self) -> Succession:
        """Where the checkpoint stands."""
        return succession(self._store, self._look())

    def last(self) -> tuple[Manifest | None, CheckpointError | None]:
        """The last finished epoch.

        If what is written of it is damaged it is the one before, and the error is given: the epoch has to be run again,
        and just so, since its results may have been seen.
        """
        found = self.standing()
        if found.last is None:
            return None, damaged(found.damaged) if found.damaged else None
        self._names[found.last.number] = found.last
        number = found.last.number
        try:
            return self.read(number), damaged(found.damaged) if found.damaged else None
        except CheckpointError as error:
            try:
                self._store.get(f"{INTENTS}/{found.last}")
                return self.read(number - 1) if number > 1 else None, error
            except CheckpointError as other:
                raise CheckpointError(*error.diagnostics, *other.diagnostics) from None

    def intend(self, number: int, intent: Intent) -> None:
        """Writes down what an epoch is going to read: after a crash it reads the same.

        It need not be on the disk: where it is lost nothing of its epoch has been seen.
        """
        name = Numbered(number, self._store.address.term)
        self._store.put(f"{INTENTS}/{name}", json.dumps(asdict(intent)).encode())
        self._intended().add(name)

    def intended(self, number: int, after: int, before: Offsets) -> Intent | None:
        """What an epoch was going to read that goes on from there; None if that was not decided.

        A damaged intent is none: nothing of its epoch has been seen yet, so that it may as well be another one.
        """
        for name in sorted(self._intended(), reverse=True):
            if name.number != number:
                continue
            try:
                content = self._store.get(f"{INTENTS}/{name}")
                with understood(f"{self._store.url}/{INTENTS}/{name}"):
                    found = Intent.of_json(json.loads(content))
            except CheckpointError:
                continue
            if (found.after, found.before) == (after, before):
                return found
        return None

    def withdraw(self, number: int) -> None:
        """Gives up what an epoch was going to read."""
        self._forget_intents(name for name in self._intended() if name.number == number)

    def forget(self, number: int) -> None:
        """Removes intents that are not needed after an epoch; its own is, should its manifest turn out damaged."""
        own = self._names.get(number)
        self._forget_intents(n for n in self._intended() if n.number < number or (n.number == number and n != own))

    def _forget_intents(self, names: Iterable[Numbered]) -> None:
        gone = sorted(n for n in names if n.term <= self._store.address.term)
        self._intended().difference_update(gone)
        self._store.delete(*(f"{INTENTS}/{name}" for name in gone))

    def _intended(self) -> set[Numbered]:
        """The names of the intents that are kept."""
        if self._intents is None:
            self._intents = set(self._store.numbers(INTENTS))
        return self._intents

    def tidy(self) -> None:
        """Removes what a crash has left of files that were being written."""
        self._intents = None
        self._store.tidy(FOLDERS)


def _manifest_of(content: dict[str, Any]) -> Manifest:
    kept = {}
    for name, files in content.pop("kept").items():
        level, part = name.split("/")
        several = {key: tuple(files[key]) for key in ("snapshots", "digests")}
        several["segments"] = tuple(tuple(some) for some in files["segments"])
        kept[int(level), int(part)] = DurableState(**{**files, **several})
    positions = {name: Position.of_json(found) for name, found in content.pop("positions").items()}
    past = Chapters.of_json(content.pop("past"))
    offsets, terms = Offsets.of_json(content.pop("offsets")), Terms.of_json(content.pop("terms"))
    return Manifest(**content, kept=kept, positions=positions, past=past, offsets=offsets, terms=terms)
