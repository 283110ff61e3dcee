"""Queries of many sessions in one run: their sources and they themselves get names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import pyarrow as pa

from continua.algebra.leaves import BaseRelation, Source, TaggedSource
from continua.answers.query import Query
from continua.instants import TimeDomain
from continua.rules.order import optimize
from continua.rules.rule import Facts
from continua.runtime.fingerprints import Function
from continua.sources.given import FileInput, Given
from tests.acceptance.asked import Arrived, Asked
from tests.spark.in_files import Files


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A plan, or anything that holds plans, with other names for its sources."""
    if type(value) is tuple:
        parts = tuple(renamed(part, names) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed: dict[str, object] = {}
    for each in fields(value):
        before = getattr(value, each.name, None)
        after = renamed(before, names)
        if after is not before and each.init:
            changed[each.name] = after
    if isinstance(value, Source | BaseRelation | TaggedSource):
        changed["name"] = names[value.name.casefold()]
    return replace(value, **changed) if changed else value


@dataclass
class Gathered:
    """Queries of one time domain that run together, what they read, and which question each of them answers."""

    domain: TimeDomain
    asked: dict[str, Asked] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    _names: dict[tuple[object, ...], str] = field(default_factory=dict)
    _sources: dict[str, tuple[Arrived, int]] = field(default_factory=dict)
    """By name the sources, each with the instant before which it has no rows."""

    def takes(self, asked: Asked) -> bool:
        """Whether a query can run along with the others: its functions must not be others of the same names."""
        mine = self.functions
        return asked.query.domain is self.domain and all(_same(mine.get(f.name, f), f) for f in asked.functions)

    def add(self, asked: Asked) -> None:
        """Adds a query."""
        names = {source.info.name.casefold(): self._source(asked, source) for source in asked.sources}
        bound = renamed(asked.query.bound, names)
        off = frozenset[str]() if asked.query.rewritten is None else asked.query.rewritten.disabled
        rewritten = optimize(bound.plan, Facts(asked.query.chronon), off)
        name = f"{len(self.queries)} {asked.test}"
        self.asked[name] = asked
        self.queries.append(replace(asked.query, name=name, bound=bound, rewritten=rewritten, sources=()))
        self.functions |= {f.name: f for f in asked.functions}

    def given(self, files: Files) -> Given:
        """What all queries read; rows are written to files."""
        tables: dict[str, pa.Table] = {}
        written: dict[str, FileInput] = {}
        for name, (source, first) in self._sources.items():
            if source.table is not None:
                tables[name] = source.table
            elif source.file is not None:
                written[name] = files.again(source.file, name)
            else:
                written[name] = files.write(source.info, source.rows, first, name)
        return Given(tables, written)

    def _source(self, asked: Asked, source: Arrived) -> str:
        """The name of a source in the run; sources that are the same have one."""
        key = (source.info, source.rows, id(source.table), id(source.file), asked.first)
        if key not in self._names:
            self._names[key] = f"s{len(self._names)}"
            self._sources[self._names[key]] = (source, asked.first)
        return self._names[key]


def _same(one: Function, other: Function) -> bool:
    """Whether functions do the same: their declarations are equal, and so is the code behind them."""
    code = ("python", "initializer", "merger", "evaluator", "inverse")
    return one == other and all(getattr(one, part, None) == getattr(other, part, None) for part in code)


def gathered(asked: Iterable[Asked], most: int) -> list[Gathered]:
    """Queries in as few runs as possible, of at most so many each; those over the same sources are together."""
    found: list[Gathered] = []
    for each in sorted(asked, key=lambda a: str([(s.info, s.rows) for s in a.sources])):
        group = next((g for g in found if len(g.queries) < most and g.takes(each)), None)
        if group is None:
            group = Gathered(each.query.domain)
            found.append(group)
        group.add(each)
    return found
