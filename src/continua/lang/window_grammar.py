"""The grammar of windows: CQL 6.1, figure 5 of PIPES 2009, Astral's sequences, in brackets or after WINDOW."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from continua.errors import Span, did_you_mean
from continua.instants import TICK, UNITS, Duration, unit_named
from continua.lang.statements import (
    START,
    UNBOUNDED,
    BoundSyntax,
    ClauseSyntax,
    LoopSyntax,
    Name,
    RatesSyntax,
    RateSyntax,
    SampleSyntax,
    WindowSyntax,
)
from continua.windows.kinds import KINDS
from continua.windows.spec import GenericWindow, WindowSpec
from continua.windows.spelling import Clause, Spelling, Takes

if TYPE_CHECKING:
    from continua.lang.dialect import ContinuaParser

_Spelled: TypeAlias = tuple[type[WindowSpec], Spelling]
_NUMBER_WITH_UNIT = re.compile(r"(\d+)([A-Za-z]+)$")
_PERCENT = re.compile(r"\d+(\.\d*)?$|\.\d+$")
_QUOTED = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*$")
_TYPE_SUFFIXES = {"S": "SECOND", "D": "DAY"}
_SPELLINGS = tuple((kind, spelling) for kind in KINDS for spelling in kind.spellings)
_WORDS = tuple(dict.fromkeys(spelling.word for _, spelling in _SPELLINGS))
_AFTER_A_DURATION = frozenset(
    (
        *(word for _, spelling in _SPELLINGS for word in spelling.words),
        *("PRECEDING", "ROW", "PARTITION"),
        *(
            "WHEN",
            "ELSE",
            "END",
            "KEY",
            "TAGGED",
            "VALID",
            "ORDERED",
            "SLACK",
            "ON",
            "STATISTICS",
            "PARTITIONED",
            "STRICT",
        ),
        *("UPSERT", "SAMPLE"),
    )
)
"""Words that may follow a length of time and are no units."""


def parse_window(p: ContinuaParser) -> WindowSyntax:
    """Reads ``[...]`` or ``WINDOW(...)``."""
    start, first = p.here(), p._index
    form = "bracket" if p.word == "[" else "window"
    p._advance(1 if form == "bracket" else 2)
    close = "]" if form == "bracket" else ")"
    window = replace(_body(p, form, start), sample=_sample(p))
    if p.word != close:
        p.fail(
            "SYNTAX",
            f"expected {close} at the end of the window, found {p.found()}",
            hint=(did_you_mean(window.name.text, _WORDS) if window.name else None)
            or did_you_mean(p.word, sorted(_AFTER_A_DURATION))
            or f"a window is one of {', '.join(_WORDS)} and the parts that belong to it",
            expected=close,
        )
    p._advance()
    return replace(window, span=start.to(p.before()), text=_text(p, first))


def _sample(p: ContinuaParser) -> SampleSyntax | None:
    """SAMPLE percent PERCENT [REPEATABLE (seed)], at the end of a window."""
    start = p.here()
    if not p.accept("SAMPLE"):
        return None
    token = p._curr
    if not token or token.token_type != TokenType.NUMBER or not _PERCENT.match(token.text):
        p.fail("SYNTAX", f"expected a number of percent after SAMPLE, found {p.found()}", expected="a number")
    percent = Decimal(token.text)
    if not 0 < percent <= 100:
        p.fail("BAD_PERCENT", f"a sample has more than 0 and at most 100 percent, not {percent}", amount=percent)
    p._advance()
    p.expect("PERCENT", "after the number")
    seed = None
    if p.accept("REPEATABLE"):
        p.expect("(", "after REPEATABLE")
        seed = _integer(p, "REPEATABLE (")
        if seed >= 1 << 63:
            p.fail("BAD_SEED", f"a seed is below 2 to the power of 63, not {seed}", span=p.before(), amount=seed)
        p.expect(")", "after the seed")
    return SampleSyntax(percent, seed, start.to(p.before()))


def _text(p: ContinuaParser, first: int) -> str:
    """The window as it was written, but for comments and white space."""
    text, end = "", p._tokens[first].start - 1
    for token in p._tokens[first : p._index]:
        if token.start > end:
            text += (" " if token.start > end + 1 else "") + p.sql[token.start : token.end + 1]
            end = token.end
    return text


def _body(p: ContinuaParser, form: str, start: Span) -> WindowSyntax:
    partition = _partition(p)
    spelled = [(k, s) for k, s in _SPELLINGS if s.word == p.word and (s.partitioned or not partition)]
    if spelled:
        return _spelled(p, form, start, partition, spelled)
    if not partition and p._curr and p._curr.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        return _user_defined(p, form, start)
    p.fail(
        "SYNTAX",
        f"expected a window, found {p.found()}",
        hint=f"a window starts with {', '.join(_WORDS)}, PARTITION BY or the name of a user-defined window",
        expected="a window",
    )


def _spelled(
    p: ContinuaParser, form: str, start: Span, partition: tuple[Name, ...], spelled: Sequence[_Spelled]
) -> WindowSyntax:
    """Reads the clauses of spellings that begin alike, as far as one of them goes on."""
    clauses: list[tuple[str, ClauseSyntax]] = []
    reading = [(kind, spelling, 0) for kind, spelling in spelled]
    while going_on := [(k, s, place) for k, s, at in reading if (place := s.place_of(p.word, at)) is not None]:
        _, spelling, place = going_on[0]
        clause = spelling.clauses[place]
        p._advance()
        clauses.append((clause.word, _clause(p, clause, form)))
        reading = [(k, s, at + 1) for k, s, at in going_on]
    whole = [(kind, spelling) for kind, spelling, at in reading if spelling.is_whole(at)]
    if not whole:
        _, spelling, at = reading[0]
        word = spelling.following(at)[-1]
        p.fail("SYNTAX", f"expected {word} in the window, found {p.found()}", expected=word)
    kind, spelling = whole[0]
    clauses += _options(p, spelling, form)
    if not partition and spelled[0][1].partitioned:
        partition = _partition(p)
        clauses += _options(p, spelling, form)
    return WindowSyntax(kind, form, start, tuple(clauses), partition)


def _options(p: ContinuaParser, spelling: Spelling, form: str) -> list[tuple[str, ClauseSyntax]]:
    """Reads what may stand behind the clauses of a window."""
    found: dict[str, ClauseSyntax] = {}
    while (option := spelling.option(p.word)) is not None and option.word not in found:
        p._advance()
        found[option.word] = _clause(p, option, form)
    return list(found.items())


def _clause(p: ContinuaParser, clause: Clause, form: str) -> ClauseSyntax:
    """What stands behind a word; PRECEDING is accepted behind RANGE and ROWS and means nothing."""
    match clause.takes:
        case Takes.NOTHING:
            return None
        case Takes.RANGE | Takes.ROWS if p.accept("UNBOUNDED"):
            p.accept("PRECEDING")
            return UNBOUNDED
        case Takes.RANGE | Takes.ROWS:
            found = _duration(p, clause.word, form) if clause.takes is Takes.RANGE else _count(p, clause.word)
            p.accept("PRECEDING")
            return found
        case Takes.LENGTH:
            return _positive(p, clause.word)
        case Takes.DELAY:
            return _duration(p, clause.word, form)
        case Takes.TIME_RATE if p.word == "CASE":
            return _rates(p, clause.word)
        case Takes.TIME_RATE | Takes.ROW_RATE:
            return _rate(p, clause.word, bare_rows=clause.takes is Takes.ROW_RATE)
        case Takes.INSTANT:
            return p.expression_here()
        case Takes.ALIGNMENT:
            p.expect("TO", "after ALIGNED")
            return START if p.accept("START") else p.expression_here()
        case Takes.BOUND:
            return _bound(p)
        case Takes.TWO_BOUNDS:
            return _two_bounds(p)
        case Takes.LOOP:
            return _loop(p)


def _partition(p: ContinuaParser) -> tuple[Name, ...]:
    if p._match(TokenType.PARTITION_BY):
        names = [_column(p)]
        while p.accept(","):
            names.append(_column(p))
        return tuple(names)
    return ()


def _column(p: ContinuaParser) -> Name:
    name = p.name("a column to partition by")
    while p.accept("."):
        last = p.name("a column")
        name = Name(last.text, name.span.to(last.span))
    return name


def _rate(p: ContinuaParser, word: str, bare_rows: bool) -> RateSyntax:
    """A duration with its unit, or a number of rows with ROWS; ``bare_rows``: a bare number counts rows."""
    span = p.here()
    length = _duration(p, word, "bracket")
    counts_rows = p.accept("ROWS") or p.accept("ROW") or (length.unit is None and bare_rows)
    _at_least_one(p, length.amount, word, span)
    return RateSyntax(length.amount if counts_rows else length)


def _rates(p: ContinuaParser, word: str) -> RatesSyntax:
    p._advance()
    cases: list[tuple[exp.Expr, Duration]] = []
    while p.accept("WHEN"):
        condition = p.expression_here()
        p.expect("THEN", "after the condition")
        cases.append((condition, _positive(p, word)))
    p.expect("ELSE", "and a rate: the window always has one")
    otherwise = _positive(p, word)
    p.expect("END", "after the rates")
    return RatesSyntax(tuple(cases), otherwise)


def _two_bounds(p: ContinuaParser) -> tuple[BoundSyntax, BoundSyntax]:
    p.expect("(", "before the bounds")
    first = _bound(p)
    p.expect(",", "between the bounds")
    second = _bound(p)
    p.expect(")", "after the bounds")
    return first, second


def _loop(p: ContinuaParser) -> LoopSyntax:
    p.expect("(", "before the loop")
    begin = _assigned(p)
    p.expect(";", "after the begin of the loop")
    condition = p.expression_here()
    p.expect(";", "after the condition of the loop")
    following = _assigned(p)
    p.expect(")", "after the loop")
    return LoopSyntax(begin, condition, following)


def _assigned(p: ContinuaParser) -> BoundSyntax:
    p.expect("T", "at the beginning of an assignment")
    p.expect("=", "after t")
    return _bound(p)


def _bound(p: ContinuaParser) -> BoundSyntax:
    start = p.here()
    expression = p._parse_bitwise()
    if expression is None:
        p.fail("SYNTAX", f"expected a bound of the window, found {p.found()}", expected="a bound")
    unit: str | None = None
    if p.accept("ROWS") or p.accept("ROW"):
        unit = "ROWS"
    elif unit_named(p.word):
        unit = unit_named(p.word)
        p._advance()
    return BoundSyntax(expression, unit, start.to(p.before()))


def _user_defined(p: ContinuaParser, form: str, start: Span) -> WindowSyntax:
    name = p.name("a window")
    arguments: list[Duration] = []
    if p.accept("("):
        while not p.accept(")"):
            arguments.append(_duration(p, name.text, "bracket"))
            p.accept(",")
            if p.at_end:
                p.fail("SYNTAX", "expected ) after the arguments of the window", expected=")")
    return WindowSyntax(GenericWindow, form, start, name=name, arguments=tuple(arguments))


def _positive(p: ContinuaParser, what: str) -> Duration:
    span = p.here()
    duration = _duration(p, what, "bracket")
    _at_least_one(p, duration.amount, what, span)
    return duration


def _count(p: ContinuaParser, what: str) -> int:
    span = p.here()
    amount = _integer(p, what)
    return _at_least_one(p, amount, what, span)


def _at_least_one(p: ContinuaParser, amount: int, what: str, span: Span) -> int:
    if amount < 1:
        p.fail("NOT_POSITIVE", f"{what} must be at least 1, not {amount}", span=span, what=what, amount=amount)
    return amount


def _integer(p: ContinuaParser, what: str) -> int:
    span = p.here()
    negative = p.accept("-")
    token = p._curr
    if not token or token.token_type != TokenType.NUMBER or not token.text.isdigit():
        p.fail("SYNTAX", f"expected a whole number after {what}, found {p.found()}", expected="a whole number")
    p._advance()
    if negative:
        p.fail(
            "NEGATIVE_RANGE",
            f"{what} must not be negative: -{token.text}",
            span=span.to(p.before()),
            what=what,
            amount=-int(token.text),
        )
    return int(token.text)


def parse_duration(p: ContinuaParser, what: str) -> Duration:
    """Reads a length of time outside a window (SLACK 5 SECONDS)."""
    return _duration(p, what, "bracket")


def _duration(p: ContinuaParser, what: str, form: str) -> Duration:
    """A number with an optional unit, several of them added up (1 HOUR 30 MINUTES), or 5m in one word."""
    span = p.here()
    p.accept("INTERVAL")
    total = _one_duration(p, what)
    while total.unit and p._curr and p._curr.token_type == TokenType.NUMBER:
        total = _add(total, _one_duration(p, what))
    if form == "window" and total.amount < 1:
        p.fail(
            "NOT_POSITIVE",
            f"{what} must be at least 1 in WINDOW(...), not {total.amount}",
            span=span,
            hint="the bracket form [RANGE 0] is the now-window",
            what=what,
            amount=total.amount,
        )
    return total


def _one_duration(p: ContinuaParser, what: str) -> Duration:
    token = p._curr
    if token and token.token_type == TokenType.VAR and (found := _NUMBER_WITH_UNIT.match(token.text)):
        p._advance()
        return Duration(int(found[1]), _unit(p, found[2]))
    if token and token.token_type == TokenType.STRING and (found := _QUOTED.match(token.text)):
        p._advance()
        return Duration(int(found[1]), _unit(p, found[2]))
    if token and token.token_type == TokenType.STRING and token.text.isdigit():
        p._advance()
        amount = int(token.text)
    else:
        amount = _integer(p, what)
    if p._curr and p._curr.token_type == TokenType.DCOLON and p.next_word in _TYPE_SUFFIXES:
        unit = _TYPE_SUFFIXES[p.next_word]
        p._advance(2)
        return Duration(amount, unit)
    is_word = p._curr and (p._curr.token_type == TokenType.VAR or unit_named(p.word))
    if is_word and p.word not in _AFTER_A_DURATION:
        unit = _unit(p, p._curr.text)
        p._advance()
        return Duration(amount, unit)
    return Duration(amount)


def _unit(p: ContinuaParser, word: str) -> str:
    unit = TICK if word.upper() in ("TICK", "TICKS") else unit_named(word)
    if unit is None:
        calendar = word.upper().removesuffix("S") in ("MONTH", "QUARTER", "YEAR")
        hint = "months, quarters and years have no fixed length: use days" if calendar else None
        words = [*UNITS, *(u + "S" for u in UNITS), *sorted(_AFTER_A_DURATION)]
        p.fail(
            "BAD_UNIT",
            f"'{word}' is not a unit of time",
            hint=hint or did_you_mean(word, words) or f"units: {', '.join(UNITS)}",
            unit=word,
        )
    return unit


def _add(left: Duration, right: Duration) -> Duration:
    if TICK in (left.unit, right.unit):
        return Duration(left.amount + right.amount, TICK)
    units = UNITS[left.unit or "SECOND"], UNITS[right.unit or "SECOND"]
    micros = left.amount * units[0] + right.amount * units[1]
    for unit in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        if micros % UNITS[unit] == 0:
            return Duration(micros // UNITS[unit], unit)
    return Duration(micros, "MICROSECOND")
