"""What transactions do to one table, in their order, as modifications of a relation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from continua.sources.postgres.declared import DeclaredTable
from continua.sources.postgres.pgoutput import (
    Begin,
    Commit,
    Deleted,
    Described,
    Inserted,
    Texts,
    Truncated,
    Unchanged,
    Updated,
    understood,
)
from continua.sources.postgres.shape import Shape

Row = tuple[str | None, ...]


@dataclass
class Part:
    """Modifications one after the other."""

    rows: list[Row] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    instants: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Emptied:
    """All rows are gone at an instant."""

    instant: int


class TableFollower:
    """Reads messages, and knows what they do to a table."""

    def __init__(
        self,
        table: DeclaredTable,
        shape: Shape,
        after: int,
        stamp: int,
        places_of: Callable[[Described], Sequence[int]],
    ) -> None:
        """``after``: where the log was read up to. ``stamp``: the instant of the last transaction.

        ``places_of`` finds the declared columns among those of a message.
        """
        self._table, self._shape, self._after = table, shape, after
        self.stamp = stamp
        self.end = after
        """Where the last transaction ends."""
        self.transactions = 0
        """How many there were that had not been read."""
        self.parts: list[Part | Emptied] = []
        self._places_of = places_of
        self._number: int | None = None
        """That of the table."""
        self._places: Sequence[int] = ()
        self._read = True
        """Whether the transaction that is open was read before."""
        keys = {name.casefold() for name in table.key}
        self._key = [n for n, f in enumerate(table.columns) if f.name.casefold() in keys]

    def read(self, messages: Iterable[bytes]) -> None:
        """Messages of whole transactions."""
        for data in messages:
            match understood(data):
                case Begin(lsn, instant):
                    self._read = lsn < self._after
                    if not self._read:
                        self.transactions += 1
                        self.stamp = max(self.stamp, instant)
                case Commit(end):
                    self.end = max(self.end, end)
                case Described() as described:
                    if (described.schema, described.table) == (self._shape.schema, self._shape.table):
                        self._number, self._places = described.number, self._places_of(described)
                case (Inserted() | Updated() | Deleted()) as change if change.number == self._number and not self._read:
                    self._change(change)
                case Truncated(numbers) if self._number in numbers and not self._read:
                    self.parts.append(Emptied(self.stamp))
                case _:
                    pass

    def _change(self, change: Inserted | Updated | Deleted) -> None:
        match change:
            case Inserted(new=new):
                self._add("+", self._row(new))
            case Deleted(old=old, key_only=key_only):
                self._check_identity(key_only)
                self._add("-", self._row(old))
            case Updated(new=new, old=None):
                self._check_identity(key_only=True)
                self._add("u", self._row(new))
            case Updated(new=new, old=old, key_only=key_only) if old is not None:
                self._check_identity(key_only)
                known = (
                    new
                    if key_only
                    else tuple(b if a is Unchanged.UNCHANGED else a for a, b in zip(new, old, strict=True))
                )
                self._update(self._row(old), self._row(known))

    def _check_identity(self, key_only: bool) -> None:
        """Refuses changes of whose old rows not enough is known: this was otherwise when the run began."""
        if key_only and not self._key:
            mend = f"ALTER TABLE {self._shape.name} REPLICA IDENTITY FULL"
            message = (
                f"{self._table.shown} does not tell any more which row has gone, and {self._table.source} has no KEY"
            )
            raise self._table.error("REPLICA_IDENTITY", message, f"{mend}, and start anew", statement=mend)

    def _row(self, texts: Texts) -> Row:
        """The declared columns of a row."""
        return tuple(self._text(texts[place], n) for n, place in enumerate(self._places))

    def _text(self, value: str | Unchanged | None, number: int) -> str | None:
        if isinstance(value, Unchanged):
            name = self._table.columns[number].name
            mend = f"ALTER TABLE {self._shape.name} REPLICA IDENTITY FULL"
            message = f"{self._table.shown} does not tell a long value of {name}, which an update has left as it was"
            raise self._table.error("REPLICA_IDENTITY", message, f"{mend}, and start anew", column=name, statement=mend)
        return value

    def _update(self, old: Row, new: Row) -> None:
        if self._key:
            if all(old[n] == new[n] for n in self._key):
                self._add("u", new)
                return
        elif old == new:
            return
        self._add("-", old)
        self._add("+", new)

    def _add(self, tag: str, row: Row) -> None:
        if not self.parts or isinstance(self.parts[-1], Emptied):
            self.parts.append(Part())
        part = self.parts[-1]
        assert isinstance(part, Part)
        part.rows.append(row)
        part.tags.append(tag)
        part.instants.append(self.stamp)
