"""What is known of a row that meets conditions, and which other conditions it then meets: implication of predicates.

A condition is met where it is true, so that a row that meets ``x > 5`` has an x that is not NULL. Where it is not sure
that a condition follows, it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from continua.algebra.expr import Call, Cast, Column, Expr, InList, Literal, conjuncts, negation, rebuild
from continua.algebra.identity import identity
from continua.sharing.value_ranges import ANY, Range, equals, range_of
from continua.types import BOOLEAN

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
_WEAKER = {"<": ("<=", "<>"), ">": (">=", "<>"), "=": ("<=", ">=")}
_MOST_CASES = 8
"""So many cases of conditions with OR are told apart, and no more."""


@dataclass(slots=True)
class Known:
    """Conditions that a row meets, in a form that answers questions."""

    conditions: tuple[Expr, ...]
    impossible: bool = False
    """Whether no row can meet them."""
    _parents: dict[str, str] = field(default_factory=dict)
    _ranges: dict[str, Range] = field(default_factory=dict)
    _present: set[str] = field(default_factory=set)
    """Terms that are not NULL."""
    _met: set[str] = field(default_factory=set)
    """Conditions as they are, as texts."""
    _choices: list[tuple[Expr, tuple[Expr, ...]]] = field(default_factory=list)
    """Conditions with OR, and their parts."""

    @classmethod
    def of(cls, conditions: Iterable[Expr]) -> Known:
        """What follows from conditions that are met together."""
        parts = tuple(part for condition in conditions for part in _parts(condition))
        known = cls(parts)
        for part in parts:
            known._equate(part)
        for part in parts:
            known._learn(part)
        return known

    # What is known.

    def text(self, expr: Expr) -> str:
        """An expression as a text that is the same for expressions that are equal in such a row."""
        return identity(_ordered(self._by_roots(expr)))

    def constant(self, column: Column) -> Literal | None:
        """The value that a column has in every such row."""
        found = self._ranges.get(self.text(column), ANY).only
        for part in self.conditions:
            match part:
                case (
                    Call(function="=", arguments=(a, Literal() as value))
                    | Call(function="=", arguments=(Literal() as value, a))
                ):
                    same_type = value.type == column.type and value.value is not None
                    if same_type and self.text(a) == self.text(column) and equals(found, value, column.type):
                        return value
                case _:
                    pass
        return None

    def implies(self, condition: Expr) -> bool:
        """Whether a condition is met by every row that meets those that are known."""
        return all(self._implies(part, _MOST_CASES) for part in _parts(condition))

    def is_present(self, term: Expr) -> bool:
        """Whether a term is not NULL."""
        return not term.nullable or self.text(term) in self._present

    # How it is found.

    def _implies(self, part: Expr, cases: int) -> bool:
        if self.impossible or self._follows(part):
            return True
        for choice, options in self._choices:
            if len(options) <= cases:
                others = [c for c in self.conditions if c is not choice]
                if all(Known.of([*others, option])._implies(part, cases // len(options)) for option in options):
                    return True
        return False

    def _follows(self, part: Expr) -> bool:
        if self.text(part) in self._met:
            return True
        match part:
            case Literal(value=value):
                return value is True
            case Call(function="AND", arguments=arguments):
                return all(map(self._follows, arguments))
            case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(term,)),)):
                return self.is_present(term)
            case Call(function="OR"):
                return self._meets_some(part)
            case _:
                return self._is_compared(part)

    def _meets_some(self, part: Expr) -> bool:
        options = list(_options(part))
        if any(all(map(self._follows, conjuncts(option))) for option in options):
            return True
        for term, found in self._ranges.items():
            if found.values is not None and len(found.values) <= _MOST_CASES:
                pinned = [self._with(term, value) for value in found.values]
                if all(any(p._follows(option) for option in options) for p in pinned):
                    return True
        return False

    def _with(self, term: str, value: Any) -> Known:
        """The same of a row in which a term has one value."""
        ranges = {**self._ranges, term: replace(self._ranges[term], values=frozenset((value,)))}
        return replace(self, _ranges=ranges, _choices=[])

    def _is_compared(self, part: Expr) -> bool:
        wanted = range_of(part)
        if wanted is not None:
            term, allowed = wanted
            key = self.text(term)
            return key in self._ranges and self._ranges[key].within(allowed) and self.is_present(term)
        match part:
            case Call(function=function, arguments=(left, right)) if function in _TURNED:
                return self._are_compared(function, left, right)
            case _:
                return False

    def _are_compared(self, function: str, left: Expr, right: Expr) -> bool:
        """Whether two terms compare as they should."""
        a, b = self.text(left), self.text(right)
        if a == b and function in ("=", "<=", ">=") and self.is_present(left):
            return True
        if left.type != right.type and not (left.type.is_integer and right.type.is_integer):
            return False
        one, other = self._ranges.get(a, ANY), self._ranges.get(b, ANY)
        return one.compares(function, other) and self.is_present(left) and self.is_present(right)

    # How conditions are taken in.

    def _root(self, name: str) -> str:
        while name in self._parents:
            name = self._parents[name]
        return name

    def _by_roots(self, expr: Expr) -> Expr:
        if not self._parents:
            return expr
        if isinstance(expr, Column):
            return Column(self._root(expr.name), expr.type)
        return rebuild(expr, self._by_roots)

    def _equate(self, part: Expr) -> None:
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)) if are_alike(a, b):
                one, other = self._root(a.name), self._root(b.name)
                if one != other:
                    self._parents[max(one, other)] = min(one, other)
            case _:
                pass

    def _learn(self, part: Expr) -> None:
        self._met.add(self.text(part))
        found = range_of(part)
        if found is not None:
            term, allowed = found
            key = self.text(term)
            self._present.add(key)
            self._ranges[key] = self._ranges.get(key, ANY).and_also(allowed)
            self.impossible = self.impossible or self._ranges[key].is_empty
            return
        match part:
            case Literal(value=False | None):
                self.impossible = True
            case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(term,)),)):
                self._present.add(self.text(term))
            case Call(function="OR"):
                self._choices.append((part, tuple(_options(part))))
            case Call(function=function, arguments=(left, right)) if function in _TURNED:
                self._present |= {self.text(left), self.text(right)}
                self._met |= {self.text(Call(weaker, (left, right), BOOLEAN)) for weaker in _WEAKER.get(function, ())}
            case _:
                pass


@lru_cache(maxsize=1024)
def known_of(conditions: tuple[Expr, ...]) -> Known:
    """What follows from conditions that are met together: of a query it is asked for many views."""
    return Known.of(conditions)


def are_alike(a: Expr, b: Expr) -> bool:
    """Whether equal values of two expressions are the same value: one may stand for the other."""
    return a.type == b.type and (a.type.is_integer or a.type.name in ("STRING", "BOOLEAN", "DATE", "TIMESTAMP"))


def _parts(condition: Expr) -> Iterator[Expr]:
    """The parts of a conjunction in the form in which they are compared."""
    for part in conjuncts(condition):
        match part:
            case Call(function="NOT", arguments=(Call(function="OR", arguments=arguments),)):
                for argument in arguments:
                    yield from _parts(negation(argument))
            case Call(function="NOT", arguments=(Call(function=function) as below,)) if function in _TURNED:
                yield negation(below)
            case Call(function="NOT", arguments=(Call(function="NOT", arguments=(below,)),)):
                yield from _parts(below)
            case Call(function="OR"):
                yield _as_list(part)
            case _:
                yield part


def _options(part: Expr) -> Iterator[Expr]:
    if isinstance(part, Call) and part.function == "OR":
        for argument in part.arguments:
            yield from _options(argument)
    else:
        yield part


def _as_list(part: Expr) -> Expr:
    """``x = 1 OR x IN (2, 3)`` as ``x IN (1, 2, 3)``; other conditions as they are."""
    operand: Expr | None = None
    items: list[Expr] = []
    for option in _options(part):
        match option:
            case (
                Call(function="=", arguments=(Literal() as value, term))
                | Call(function="=", arguments=(term, Literal() as value))
            ):
                more: tuple[Expr, ...] = (value,)
            case InList(operand=term, items=more):
                pass
            case _:
                return part
        if operand is not None and term != operand:
            return part
        operand = term
        items += more
    return part if operand is None else InList(operand, tuple(items))


def _ordered(expr: Expr) -> Expr:
    """An expression with the sides of what may be turned round in one order."""
    expr = rebuild(expr, _ordered)
    match expr:
        case Call(function=">" | ">=" as function, arguments=(left, right)):
            return replace(expr, function=_TURNED[function], arguments=(right, left))
        case Call(function="=" | "<>" | "AND" | "OR" | "+" | "*" | "<=>"):
            return replace(expr, arguments=tuple(sorted(expr.arguments, key=identity)))
        case InList(items=items):
            return replace(expr, items=tuple(sorted(items, key=identity)))
        case Cast(operand=operand, type=kind) if operand.type == kind:
            return operand
        case _:
            return expr
