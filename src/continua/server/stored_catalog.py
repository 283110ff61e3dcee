"""The statements that define what a server serves, kept as text in its store.

What is read back is SQL, which the same parser reads as it did when it was typed; nothing else of it is executed. A
statement that a later one takes back is kept only as long as others mention what it has defined.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass

from continua.answers.outcome import Outcome
from continua.lang.statements import (
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Drop,
    Name,
    QueryStatement,
    SetOption,
    Start,
    Stop,
)
from continua.runtime.checkpoint.store import MemoryStore, SealedStore

FOLDER = "statements"
_SPACES = {"FUNCTION": "function", "AGGREGATE": "function", "WINDOW": "window", "QUERY": "query"}
"""Among what the names are of what is dropped; all others are those of tables."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A statement that was kept."""

    number: int
    kind: str
    """define, drop, set, start or stop."""
    space: str
    """Among what its name is one: table, function, window, query or setting."""
    name: str
    text: str
    by: str = ""
    """Who has had it run."""


class StoredCatalog:
    """Keeps statements in their order."""

    def __init__(self, store: SealedStore | MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept = sorted((_read(store, name) for name in store.names(FOLDER)), key=lambda k: k.number)
        self._last = self._kept[-1].number if self._kept else 0

    @property
    def statements(self) -> list[Kept]:
        """All that are kept, in their order."""
        with self._lock:
            return list(self._kept)

    def text_of(self, space: str, name: str) -> str:
        """The statement that has defined a name last, or nothing."""
        with self._lock:
            found = (k.text for k in reversed(self._kept) if k.kind == "define" and (k.space, k.name) == (space, name))
            return next(found, "")

    def stopped(self) -> set[str]:
        """The queries that were stopped and not started again."""
        found: set[str] = set()
        for kept in self.statements:
            if kept.kind == "stop":
                found.add(kept.name)
            elif kept.space == "query":
                found.discard(kept.name)
        return found

    def queries_of(self, by: str) -> int:
        """How many queries somebody has registered."""
        return sum(k.kind == "define" and k.space == "query" and k.by == by for k in self.statements)

    def keep(self, outcome: Outcome, by: str) -> Kept | None:
        """Keeps the statement of an outcome, if it is to be known after a restart."""
        told = _told(outcome)
        return None if told is None else self.add(*told, by)

    def add(self, kind: str, space: str, name: str, text: str, by: str = "") -> Kept:
        """Keeps a statement."""
        with self._lock:
            self._last += 1
            new = Kept(self._last, kind, space, name, text, by)
            content = json.dumps(
                {"kind": kind, "space": space, "name": name, "text": text, "by": by}, ensure_ascii=False
            ).encode()
            self._store.put(f"{FOLDER}/{new.number:010}", content, durable=True)
            self._kept.append(new)
            self._tidy(new)
            return new

    def take_back(self, kept: Kept) -> None:
        """What a statement has defined could not begin: it is as if it had never been made."""
        with self._lock:
            self._remove({kept.number})

    def _tidy(self, new: Kept) -> None:
        """Removes what is superseded: statements about a query that is gone or was told again, and what was dropped."""
        mine = (new.space, new.name.casefold())
        same = [k for k in self._kept[:-1] if (k.space, k.name.casefold()) == mine]
        match new.kind:
            case "start" | "stop":
                stale = {k.number for k in same if k.kind in ("start", "stop")}
            case "set":
                stale = {k.number for k in self._kept[-2:-1] if k in same}
            case "drop":
                begun = [k.number for k in same if k.kind == "define"]
                after = [k for k in self._kept if begun and k.number > begun[0] and k not in (*same, new)]
                word = re.compile(rf"\b{re.escape(new.name)}\b", re.IGNORECASE)
                if any(word.search(k.text) for k in after):
                    return
                stale = {k.number for k in (*same, new)}
            case _:
                return
        self._remove(stale)

    def _remove(self, numbers: set[int]) -> None:
        # in their order, so that what is left after a crash in between is a DROP of what is not there: see `replayed`
        self._kept = [k for k in self._kept if k.number not in numbers]
        for number in sorted(numbers):
            self._store.delete(f"{FOLDER}/{number:010}")


def _read(store: SealedStore | MemoryStore, name: str) -> Kept:
    told = json.loads(store.get(name))
    return Kept(int(name.rpartition("/")[2]), told["kind"], told["space"], told["name"], told["text"], told["by"])


def _told(outcome: Outcome) -> tuple[str, str, str, str] | None:
    """What is kept of a statement: its kind, the name that it is about and among what, and its text."""
    text = outcome.statement.text
    match outcome.statement.body:
        case CreateSource(name=name) | CreateTagged(name=name) | CreateDerived(name=name):
            return "define", "table", name.text, text
        case CreateFunction(name=name) | CreateAggregate(name=name):
            return "define", "function", name.text, text
        case CreateWindow(name=name):
            return "define", "window", name.text, text
        case QueryStatement(name=None) if outcome.query is not None:
            free = outcome.query.name
            return "define", "query", free, f"REGISTER QUERY `{free}` AS {text}"
        case QueryStatement(name=Name() as name):
            return "define", "query", name.text, text
        case Drop(kind=kind, name=name):
            return "drop", _SPACES.get(kind, "table"), name.text, text
        case SetOption(name=name):
            return "set", "setting", name.text.lower(), text
        case Start(name=name):
            return "start", "query", name.text, text
        case Stop(name=name):
            return "stop", "query", name.text, text
        case _:
            return None
