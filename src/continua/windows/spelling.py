"""How windows are written: the words of each kind and what stands behind them, as data that the grammar reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn, Protocol

from continua.windows.formulas import Formula
from continua.windows.measures import Axis, Linear, Rate


class Takes(Enum):
    """What stands behind a word of a window."""

    NOTHING = auto()
    RANGE = auto()
    """A length of time whose bounds are those of the dialect, or UNBOUNDED."""
    LENGTH = auto()
    """A length of at least one instant."""
    DELAY = auto()
    """A length that may be none."""
    ROWS = auto()
    """A number of rows, or UNBOUNDED."""
    TIME_RATE = auto()
    """A length of time, a number with ROWS, or CASE WHEN ... THEN a length ... ELSE a length END."""
    ROW_RATE = auto()
    """The same, but a bare number counts rows."""
    INSTANT = auto()
    ALIGNMENT = auto()
    """TO and an instant, or START, the query's start."""
    BOUND = auto()
    """A bound of window j, or of the window at t: an expression, and its unit."""
    TWO_BOUNDS = auto()
    """Two of them in parentheses."""
    LOOP = auto()
    """(t = its begin; a condition; t = the point behind t)."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A word of a window and what it takes; ``also`` is another word for the same."""

    word: str
    takes: Takes
    required: bool = True
    also: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it can begin with."""
        return (self.word,) if self.also is None else (self.word, self.also)


ALIGNED = Clause("ALIGNED", Takes.ALIGNMENT, required=False)
LAG = Clause("LAG", Takes.DELAY, required=False, also="DELAY")
FULL = Clause("FULL", Takes.NOTHING, required=False)
"""What may stand behind windows that move."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The clauses of a window in their order; those of ``PARTITION BY`` may stand before or behind all others.

    ``options`` stand behind the clauses, in any order, each once or not at all.
    """

    clauses: tuple[Clause, ...]
    partitioned: bool = False
    options: tuple[Clause, ...] = ()

    @property
    def word(self) -> str:
        """The word that it begins with."""
        return self.clauses[0].word

    @property
    def words(self) -> list[str]:
        """All words that may stand in it."""
        return [word for clause in (*self.clauses, *self.options) for word in clause.words]

    def option(self, word: str) -> Clause | None:
        """The option that a word begins."""
        return next((clause for clause in self.options if word in clause.words), None)

    def following(self, place: int) -> list[str]:
        """The words that may come at a place: optional clauses up to the next required one."""
        words: list[str] = []
        for clause in self.clauses[place:]:
            words.append(clause.word)
            if clause.required:
                break
        return words

    def place_of(self, word: str, place: int) -> int | None:
        """Which clause a word begins that comes at a place; None if none may."""
        words = self.following(place)
        return place + words.index(word) if word in words else None

    def is_whole(self, place: int) -> bool:
        """Whether no required clause is missing behind a place."""
        return not any(clause.required for clause in self.clauses[place:])


class Written(Protocol):
    """A window as it was written over a stream, with its lengths as instants of that stream."""

    word: str
    """The word that it begins with."""
    chronon: int
    start: int
    """The query's start t0."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns behind PARTITION BY."""

    def has(self, clause: str) -> bool:
        """Whether a clause is there."""

    def covered(self, clause: str) -> int:
        """How many instants a range covers: infinitely many where it is UNBOUNDED or not there."""

    def length(self, clause: str) -> int:
        """A length in instants; 0 where the clause is not there."""

    def rows(self, clause: str) -> int:
        """A number of rows: infinitely many where it is UNBOUNDED or not there."""

    def rate(self, clause: str) -> Rate | None:
        """How often the window moves, if that is said."""

    def instant(self, clause: str) -> int:
        """An instant."""

    @property
    def origin(self) -> int:
        """The instant behind ALIGNED TO; 0 where it is START, or not there."""

    @property
    def to_start(self) -> bool:
        """Whether it is ALIGNED TO START."""

    def bounds(self, first: str, last: str, rate: str) -> tuple[Linear, Linear, Axis]:
        """Two bounds of window j and what they count; where they have no unit, what the rate counts."""

    def varies(self, clause: str) -> bool:
        """Whether a rate is one of several, by a CASE."""

    def rates(self, clause: str) -> tuple[tuple[tuple[Formula, int], ...], int]:
        """The conditions of a CASE with the rates behind them, and the rate behind ELSE."""

    def formulas(self, clause: str) -> tuple[Formula, ...]:
        """Bounds of the window at t."""

    def loop(self, clause: str) -> tuple[Formula, Formula, Formula]:
        """Where a loop begins, as long as what holds it goes on, and the point behind t."""

    def refuse(self, message: str, hint: str, feature: str) -> NoReturn:
        """Refuses clauses that do not go together."""
