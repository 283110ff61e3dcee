"""What binding carries along: the catalog, the script's text, the errors and notices found so far, fresh names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from sqlglot import exp

from continua.algebra.schema import Field
from continua.catalog import (
    AggregateInfo,
    Catalog,
    Entry,
    FunctionInfo,
    Key,
    Settings,
    Tabular,
    WindowInfo,
    key_of,
)
from continua.errors import BindError, Diagnostic, Span, did_you_mean, listing
from continua.instants import TimeDomain
from continua.lang.places import Positions
from continua.limits import MOST_ITEMS, MOST_JOINED, MOST_NESTED_QUERIES, too_complex


@dataclass(frozen=True)
class Item:
    """An item of FROM: the name that it goes by, and its columns by their short names."""

    alias: str
    fields: tuple[tuple[str, Field], ...]

    def find(self, short: str) -> list[Field]:
        """The columns of a short name, whatever its case."""
        return self._by_name.get(short.casefold(), [])

    @cached_property
    def _by_name(self) -> dict[str, list[Field]]:
        found: dict[str, list[Field]] = {}
        for name, field_ in self.fields:
            found.setdefault(name.casefold(), []).append(field_)
        return found


@dataclass(frozen=True, slots=True)
class Scope:
    """The items that a name can refer to, and the scope of the enclosing query."""

    items: tuple[Item, ...]
    outer: Scope | None = None
    merged: tuple[tuple[str, Field], ...] = ()
    """Columns of USING and NATURAL joins: one name for both sides."""

    def names(self) -> list[str]:
        """All short names, for hints."""
        inner = [name for item in self.items for name, _ in item.fields]
        return inner + (self.outer.names() if self.outer else [])


@dataclass(slots=True)
class Size:
    """How large the query is that is being bound, with all views that it is made of."""

    items: int = 0
    nested: int = 0


@dataclass
class Context:
    """One statement's binding."""

    catalog: Catalog
    positions: Positions
    errors: list[Diagnostic] = field(default_factory=list)
    notices: list[Diagnostic] = field(default_factory=list)
    domain: TimeDomain | None = None
    uses: set[Key] = field(default_factory=set)
    """What the statement uses of the catalog, itself or through views and functions."""
    live: Mapping[str, frozenset[Key]] = field(default_factory=dict)
    """What each live query uses."""
    known: Mapping[Key, Entry] = field(default_factory=dict)
    """The streams and relations that a live run goes by."""
    size: Size = field(default_factory=Size)
    _names: set[str] = field(default_factory=set)

    @property
    def settings(self) -> Settings:
        """The session's settings."""
        return self.catalog.settings

    def table(self, name: str) -> Tabular | None:
        """The stream, relation or view of a name, which counts as used."""
        found = self.catalog.table(name)
        self._note_use(found)
        return found

    def function(self, name: str) -> FunctionInfo | AggregateInfo | None:
        """The user-defined function or aggregate of a name, which counts as used."""
        found = self.catalog.function(name)
        self._note_use(found)
        return found

    def window(self, name: str) -> WindowInfo | None:
        """The user-defined window of a name, which counts as used."""
        found = self.catalog.window(name)
        self._note_use(found)
        return found

    def _note_use(self, entry: Entry | None) -> None:
        if entry is not None:
            self.uses.add(key_of(entry))

    def fresh(self, wish: str) -> str:
        """A name like ``wish`` that this statement has not used yet."""
        wish = re.sub(r"[.\s()]", "_", wish)
        name, count = wish, 1
        while name.casefold() in self._names:
            count += 1
            name = f"{wish}_{count}"
        self._names.add(name.casefold())
        return name

    def count_item(self, node: exp.Expr, joins: int) -> None:
        """Notes an item of FROM, with which so many others are joined; refuses too many."""
        self.size.items += 1
        self.check_joined(node, joins)
        if self.size.items > MOST_ITEMS:
            self.too_complex("items in FROM, with those of views", MOST_ITEMS, node)

    def check_joined(self, node: exp.Expr, joins: int) -> None:
        """Refuses an item with which too many others are joined."""
        if joins >= MOST_JOINED:
            self.too_complex("items in one FROM", MOST_JOINED, node)

    @contextmanager
    def deeper(self, node: exp.Expr) -> Iterator[None]:
        """Within it a query is bound that stands in another one; refuses one that stands too deep."""
        if self.size.nested >= MOST_NESTED_QUERIES:
            self.too_complex("queries in each other", MOST_NESTED_QUERIES, node)
        self.size.nested += 1
        try:
            yield
        finally:
            self.size.nested -= 1

    def too_complex(self, what: str, limit: int, node: exp.Expr, hint: str | None = None) -> NoReturn:
        """Notes that a limit is passed, after which the query cannot be bound."""
        self.errors.append(too_complex(what, limit, self._place(node), hint))
        raise UnbindableError

    def error(
        self,
        condition: str,
        message: str,
        at: exp.Expr | Span | None = None,
        hint: str | None = None,
        **parameters: object,
    ) -> None:
        """Notes a mistake; binding goes on where it can."""
        span = self._place(at) if isinstance(at, exp.Expr) else at
        found = Diagnostic(condition, message, span, hint, parameters)
        if found not in self.errors:
            self.errors.append(found)

    def place_last(self, span: Span) -> None:
        """Gives the last mistake a place, if it has none."""
        if self.errors and self.errors[-1].span is None:
            self.errors[-1] = replace(self.errors[-1], span=span)

    def _place(self, node: exp.Expr | None) -> Span | None:
        """Where a node stands; a node without a place stands where the one around it does."""
        while node is not None:
            found = self.positions.of(node)
            if found is not None:
                return found
            node = node.parent
        return None

    def fail(
        self,
        condition: str,
        message: str,
        at: exp.Expr | Span | None = None,
        hint: str | None = None,
        **parameters: object,
    ) -> NoReturn:
        """Notes a mistake after which this part cannot be bound."""
        self.error(condition, message, at, hint, **parameters)
        raise UnbindableError

    def notice(self, condition: str, message: str, at: Span | None = None, **parameters: object) -> None:
        """Something that the author should know: a default that was applied."""
        self.notices.append(Diagnostic(condition, message, at, parameters=parameters))

    def raise_errors(self) -> None:
        """Raises all mistakes together, if there are any."""
        if self.errors:
            raise BindError(*self.errors)

    def note_domain(self, domain: TimeDomain | None, at: exp.Expr | Span | None) -> None:
        """All inputs of a query share one time domain (CQL 7.3)."""
        if domain is None:
            return
        if self.domain is not None and self.domain is not domain:
            self.error(
                "MIXED_TIME_DOMAINS",
                f"the query mixes inputs timed in {self.domain.value} and in {domain.value}",
                at,
                "all streams of a query need timestamps of one kind: all integers or all timestamps",
                domains=sorted((self.domain.value, domain.value)),
            )
        self.domain = domain


class UnbindableError(Exception):
    """A part that cannot be bound; the reason is already noted."""


def resolve(context: Context, scope: Scope, node: exp.Column) -> Field | None:
    """The column that a name refers to: in the innermost scope that has it. None if the error is noted."""
    name, table = node.name, node.table
    exact = node.meta.get("field")
    current: Scope | None = scope
    while current is not None:
        found = _in_scope(current, name, table)
        if exact is not None:
            found = [f for item in current.items for _, f in item.fields if f.name == exact]
        if len(found) > 1:
            owners = [i.alias for i in current.items if i.find(name)]
            context.error(
                "AMBIGUOUS_COLUMN",
                f"column {name} is ambiguous: {listing(owners)} have it",
                node,
                "write " + " or ".join(f"{o}.{name}" for o in owners),
                column=name,
                candidates=owners,
            )
            return None
        if found:
            return found[0]
        if table and any(i.alias.casefold() == table.casefold() for i in current.items):
            break
        current = current.outer
    _unknown(context, scope, node)
    return None


def _in_scope(scope: Scope, name: str, table: str) -> list[Field]:
    if not table:
        merged = [f for n, f in scope.merged if n.casefold() == name.casefold()]
        if merged:
            return merged[:1]
    items = [i for i in scope.items if not table or i.alias.casefold() == table.casefold()]
    return [f for item in items for f in item.find(name)]


def _unknown(context: Context, scope: Scope, node: exp.Column) -> None:
    name, table = node.name, node.table
    aliases = [i.alias for s in _chain(scope) for i in s.items]
    if table and table.casefold() not in [a.casefold() for a in aliases]:
        context.error(
            "UNKNOWN_TABLE",
            f"{table} is not in FROM",
            node,
            did_you_mean(table, aliases) or (f"FROM has {listing(aliases)}" if aliases else None),
            table=table,
        )
        return
    candidates = scope.names()
    if table:
        candidates = [n for s in _chain(scope) for i in s.items if i.alias.casefold() == table.casefold()
                      for n, _ in i.fields]  # fmt: skip
    context.error(
        "UNKNOWN_COLUMN",
        f"there is no column {name}" + (f" in {table}" if table else ""),
        node,
        did_you_mean(name, candidates) or (f"there are {listing(candidates)}" if candidates else None),
        column=name,
    )


def _chain(scope: Scope | None) -> list[Scope]:
    return [] if scope is None else [scope, *_chain(scope.outer)]
