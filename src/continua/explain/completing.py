"""What the word before the cursor can become: keywords, and names from the live catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from continua.binding.settings import SETTINGS
from continua.catalog import DIALECTS, Catalog, RelationInfo, StreamInfo, TaggedInfo, ViewInfo
from continua.explain.show import kind_name
from continua.functions.aggregates import AGGREGATES
from continua.functions.scalars import SCALARS
from continua.lang.words import KEYWORDS, SHOWN, UNITS

_BUILT_IN = {*KEYWORDS, *UNITS, *SHOWN, *SCALARS, *AGGREGATES}
_WORD = re.compile(r"[\w\\?]*$")
_QUALIFIED = re.compile(r"(\w+)\.\w*$")
_SETTING = re.compile(r"(\w+)\s*=\s*'?$")
_ALIAS = re.compile(r"(?:\bFROM|\bJOIN|,)\s+(\w+)\s*(?:\[[^\]]*\])?\s*(?:AS\s+)?(\w+)", re.IGNORECASE)
_TABLE_BEFORE = {"FROM", "JOIN", "OVER", "INTO", "DESCRIBE", "DESC", "\\D"}
_QUERY_BEFORE = {"WATCH", "START", "STOP", "QUERY", "FROM", "JOIN"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion and what it is."""

    text: str
    kind: str


def candidates(
    catalog: Catalog, text: str, after: str = "", commands: Iterable[str] = (), queries: Iterable[str] = ()
) -> list[Candidate]:
    """The completions of the last word before the cursor; ``after`` may say which table an alias stands for."""
    word = word_before(text)
    before = text[: len(text) - len(word)]
    if qualified := _QUALIFIED.search(text):
        fitting = _columns(catalog, _table_of(text + after, qualified[1]))
    else:
        fitting = _fitting(catalog, before, word, commands, queries)
    found = {c.text: c for c in map(_in_case_of(word), fitting) if c.text.casefold().startswith(word.casefold())}
    return sorted(found.values(), key=lambda c: (c.kind == "keyword", c.text.casefold()))


def _in_case_of(word: str) -> Callable[[Candidate], Candidate]:
    """What belongs to the language in lower case for those who type so; names stay as they were declared."""
    lower = word.islower()
    return lambda c: Candidate(c.text.lower(), c.kind) if lower and c.text in _BUILT_IN else c


def word_before(text: str) -> str:
    """The word that a text ends in."""
    found = _WORD.search(text)
    return found[0] if found else ""


def _fitting(
    catalog: Catalog, before: str, word: str, commands: Iterable[str], queries: Iterable[str]
) -> Iterator[Candidate]:
    """What makes sense at the place, by what stands before it."""
    if word.startswith("\\") and not before.strip():
        yield from (Candidate(command, "command") for command in commands)
        return
    words = before.upper().split()
    last = words[-1] if words else ""
    if last == "SHOW":
        yield from (Candidate(what, "keyword") for what in SHOWN)
    elif last == "\\DIALECT":
        yield from (Candidate(name, "dialect") for name in DIALECTS)
    elif last == "SET":
        yield from (Candidate(name, "setting") for name in SETTINGS)
    elif words[:1] == ["SET"] and (setting := _SETTING.search(before)) and setting[1].lower() in SETTINGS:
        yield from (Candidate(value, "value") for value in SETTINGS[setting[1].lower()].examples)
    elif last in _TABLE_BEFORE | _QUERY_BEFORE:
        if last in _TABLE_BEFORE:
            yield from _tables(catalog)
        if last in _QUERY_BEFORE:
            yield from (Candidate(name, "query") for name in queries)
    else:
        yield from _everything(catalog)


def _everything(catalog: Catalog) -> Iterator[Candidate]:
    for entry in catalog.entries():
        yield Candidate(entry.name, kind_name(entry))
    for name in catalog.table_names():
        yield from _columns(catalog, name)
    yield from (Candidate(name, "function") for name in SCALARS)
    yield from (Candidate(name, "aggregate") for name in AGGREGATES)
    yield from (Candidate(word, "keyword") for word in KEYWORDS)
    yield from (Candidate(unit, "unit") for unit in UNITS)


def _tables(catalog: Catalog) -> Iterator[Candidate]:
    for name in catalog.table_names():
        entry = catalog.table(name)
        if entry is not None:
            yield Candidate(name, kind_name(entry))


def _columns(catalog: Catalog, table: str) -> Iterator[Candidate]:
    entry = catalog.table(table)
    match entry:
        case StreamInfo(columns=columns) | RelationInfo(columns=columns):
            names = [f.name for f in columns]
        case TaggedInfo(over=over):
            source = catalog.table(over)
            names = [f.name for f in source.columns] if isinstance(source, StreamInfo) else []
        case ViewInfo(plan=plan):
            names = [f.short for f in plan.schema]
        case None:
            names = []
    yield from (Candidate(name, f"column of {table}") for name in names)


def _table_of(text: str, qualifier: str) -> str:
    """The table that a qualifier names: itself, or the one that has it as alias."""
    aliases = {alias.casefold(): table for table, alias in _ALIAS.findall(text)}
    return str(aliases.get(qualifier.casefold(), qualifier))
