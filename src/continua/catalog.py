"""The catalog: streams, relations, views, functions and windows, and the settings of a session.

Names are found whatever their case. What is declared is plain data; the rows behind it are read elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeAlias

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.schema import Field
from continua.errors import Span
from continua.instants import TimeDomain
from continua.lang.dialect import render_query
from continua.lang.statements import SourceCall, WindowSyntax
from continua.policy import ANYTHING, Policy
from continua.types import DataType, Value
from continua.windows.spec import GenericWindow

DIALECTS = ("cql", "pipes", "sync")


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history a live run keeps: that of so many microseconds, of so many epochs, or all."""

    microseconds: int | None = None
    epochs: int | None = None


DAY = Retention(microseconds=86_400_000_000)
UNLIMITED = Retention()


@dataclass(frozen=True, slots=True)
class Settings:
    """What SET changes."""

    dialect: str = "cql"
    range_bounds: str = "closed"
    chronon: int = 1
    start_time: int = 0
    disabled_rules: frozenset[str] = frozenset()
    """The rewrite rules that are switched off."""
    retention: Retention = DAY
    output_points: str = "all"
    """At which synchronization points queries are refreshed: ``all``, or ``full`` ones alone."""
    slots: int | None = None
    """Into how many slots a checkpoint divides state; None: as many as the engine thinks right."""


@dataclass(frozen=True, slots=True)
class SourcePartitions:
    """Which rows of a source are a sequence of their own: those of a file, or those with one value of a column.

    In each of them a row is late by what came before it there. ``offset`` is the column that orders a partition.
    """

    column: str | None = None
    offset: str | None = None


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """A base stream: its columns, with the ordering column hidden, and where its rows come from."""

    name: str
    columns: tuple[Field, ...]
    domain: TimeDomain
    order_by: str | None = None
    slack: int = 0
    valid: tuple[str, str] | None = None
    key: tuple[str, ...] = ()
    source: SourceCall | None = None
    skip_errors: bool = False
    statistics: tuple[tuple[str, float], ...] = ()
    """What is declared: ``rate``, and columns with their number of different values."""
    partitions: SourcePartitions | None = None
    within: int | None = None
    """For how long the key is checked: a row whose key another row had so shortly before is rejected."""
    position: str | None = None
    """The column by which elements of one instant are in order."""
    batch: str | None = None
    """The column that tells the batches of one instant apart, which are in its order."""


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """A stored relation, static or changed by timestamped, tagged updates."""

    name: str
    columns: tuple[Field, ...]
    key: tuple[str, ...] = ()
    order_by: str | None = None
    tagged_by: str | None = None
    domain: TimeDomain = TimeDomain.TICKS
    slack: int = 0
    source: SourceCall | None = None
    skip_errors: bool = False
    rows: tuple[tuple[Value, ...], ...] | None = None
    statistics: tuple[tuple[str, float], ...] = ()
    """What is declared: ``rows``, the ``rate`` of changes, and columns with their number of different values."""
    partitions: SourcePartitions | None = None
    upsert: bool = False
    """Whether tagged modifications that do not fit its rows are taken for what they can mean, or else rejected."""
    refresh: int | None = None
    """After so many microseconds its source is read again; what has changed happens when that is seen."""


@dataclass(frozen=True, slots=True)
class TaggedInfo:
    """A tagged stream over a raw source (SyncSQL 2.1)."""

    name: str
    over: str
    key: tuple[str, ...]
    upsert: bool = False
    """Whether an element that lasts takes the place of another one of its key, or is rejected."""


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A named query: a relation (VIEW, COMPLETE), a stream (STREAM) or a tagged stream (STREAMED).

    It is bound anew wherever it is used, by the settings in force when it was defined.
    """

    name: str
    kind: str
    plan: Plan
    query: exp.Query
    columns: tuple[str, ...]
    settings: Settings


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A user-defined scalar function: an expression of its parameters, or a Python callable."""

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    returns: DataType | None
    body: exp.Expr | None = None
    python: Callable[..., object] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AggregateInfo:
    """A user-defined aggregate by initializer, merger, evaluator and optional inverse (PIPES 2009, 7.5)."""

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    returns: DataType
    initializer: Callable[..., object] = field(compare=False)
    merger: Callable[..., object] = field(compare=False)
    evaluator: Callable[[object], object] = field(compare=False)
    inverse: Callable[..., object] | None = field(default=None, compare=False)
    order_free: bool = False
    """Whether it is the same in whatever order it gets its rows."""


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """A user-defined window: a window sequence under a name, or a Python function that makes one."""

    name: str
    parameters: tuple[str, ...]
    definition: WindowSyntax | Callable[..., GenericWindow]


Tabular: TypeAlias = StreamInfo | RelationInfo | TaggedInfo | ViewInfo


def is_timed(source: StreamInfo | RelationInfo) -> bool:
    """Whether its rows come in an order of time; others are stored."""
    return isinstance(source, StreamInfo) or source.order_by is not None


def is_flowing(entry: Tabular | None) -> bool:
    """Whether rows come to it, in an order of time."""
    return isinstance(entry, StreamInfo | RelationInfo) and is_timed(entry)


def is_by_file(source: StreamInfo | RelationInfo) -> bool:
    """Whether each of its files is a sequence of its own."""
    return source.partitions is not None and source.partitions.column is None


def is_by_arrival(source: StreamInfo | RelationInfo) -> bool:
    """Whether its rows have no time of their own: they are stamped when they arrive."""
    return isinstance(source, StreamInfo) and source.order_by is None and source.valid is None


LOG_TIME, LOG_TAG = "#time", "#tag"
"""The hidden columns of a relation whose changes are asked for and logged: when, and what."""


def is_logged(source: StreamInfo | RelationInfo) -> bool:
    """Whether a relation is asked for its changes, which are logged before any run works on them."""
    return isinstance(source, RelationInfo) and source.tagged_by == LOG_TAG


Entry: TypeAlias = Tabular | FunctionInfo | AggregateInfo | WindowInfo
Key: TypeAlias = tuple[str, str]
"""What an entry goes by: the space of names that it is in, and its name whatever the case."""


def key_of(entry: Entry) -> Key:
    """Names of streams, relations and views are apart from those of functions and from those of windows."""
    match entry:
        case FunctionInfo() | AggregateInfo():
            return "FUNCTION", entry.name.casefold()
        case WindowInfo():
            return "WINDOW", entry.name.casefold()
        case _:
            return "TABLE", entry.name.casefold()


def same(one: Entry, other: Entry) -> bool:
    """Whether two entries say the same, wherever they stand in their scripts."""
    return type(one) is type(other) and _content(one) == _content(other)


def _content(value: object) -> object:
    """A value for comparing: of queries their text, without places; a view's plan follows from its query."""
    match value:
        case Span():
            return None
        case exp.Expr():
            return render_query(value)
        case tuple():
            return tuple(map(_content, value))
        case ViewInfo():
            return (value.name, value.kind, _content(value.query), value.columns, value.settings)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return tuple(_content(getattr(value, f.name)) for f in fields(value))
        case _:
            return value


class Catalog:
    """Everything that is registered, by kind and by name, and the settings."""

    def __init__(self, policy: Policy = ANYTHING) -> None:
        """``policy``: what the scripts may do that register things here."""
        self.policy = policy
        self.settings = Settings()
        self.broken: set[str] = set()
        """Names whose definition failed: using them is not a second error."""
        self.row_functions: dict[str, Callable[..., Iterable[object]]] = {}
        """By their names in lower case, functions registered from Python that sources may name."""
        self.converters: dict[str, Callable[[object], object]] = {}
        """The same of functions that make rows of what these give."""
        self._entries: dict[Key, Entry] = {}

    def copy(self) -> Catalog:
        """A catalog with the same entries and settings, that changes on its own."""
        other = Catalog(self.policy)
        other.restore(self)
        return other

    def restore(self, saved: Catalog) -> None:
        """Makes this catalog what ``saved`` is."""
        self.settings, self._entries = saved.settings, dict(saved._entries)
        self.row_functions, self.converters = dict(saved.row_functions), dict(saved.converters)

    def table(self, name: str) -> Tabular | None:
        """The stream, relation or view of a name."""
        found = self._entries.get(("TABLE", name.casefold()))
        return found if isinstance(found, Tabular) else None

    def function(self, name: str) -> FunctionInfo | AggregateInfo | None:
        """The user-defined function or aggregate of a name."""
        found = self._entries.get(("FUNCTION", name.casefold()))
        return found if isinstance(found, FunctionInfo | AggregateInfo) else None

    def window(self, name: str) -> WindowInfo | None:
        """The user-defined window of a name."""
        found = self._entries.get(("WINDOW", name.casefold()))
        return found if isinstance(found, WindowInfo) else None

    def add(self, entry: Entry) -> None:
        """Registers an entry, in place of one of the same name."""
        self._entries[key_of(entry)] = entry

    def has(self, entry: Entry) -> bool:
        """Whether the entry's name is taken among its kind."""
        return key_of(entry) in self._entries

    def entry(self, like: Entry) -> Entry | None:
        """The entry that has the name of another one, among its kind."""
        return self._entries.get(key_of(like))

    def find(self, kind: str, name: str) -> Entry | None:
        """The entry that goes by a name among those of a kind."""
        space = {"FUNCTION": "FUNCTION", "AGGREGATE": "FUNCTION", "WINDOW": "WINDOW"}.get(kind, "TABLE")
        return self._entries.get((space, name.casefold()))

    def drop(self, entry: Entry) -> None:
        """Removes an entry."""
        del self._entries[key_of(entry)]

    def entries(self) -> Iterator[Entry]:
        """Everything, kind by kind, in order of registration."""
        for wanted in ("TABLE", "FUNCTION", "WINDOW"):
            yield from (entry for (space, _), entry in self._entries.items() if space == wanted)

    def table_names(self) -> list[str]:
        """The names of streams, relations and views."""
        return self._names("TABLE")

    def function_names(self) -> list[str]:
        """The names of user-defined functions and aggregates."""
        return self._names("FUNCTION")

    def window_names(self) -> list[str]:
        """The names of user-defined windows."""
        return self._names("WINDOW")

    def _names(self, wanted: str) -> list[str]:
        return [entry.name for (space, _), entry in self._entries.items() if space == wanted]
