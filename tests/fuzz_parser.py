"""Fuzzing of the language: whatever the text, it is read, or refused with a clean diagnostic.

    python -m tests.fuzz_parser --inputs 100000 [--seed N]

Each input is made from the seed and its number alone. What is read must also survive being written back, and binding it
must end in an answer or in an error of Continua's own.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from sqlglot import exp

from continua.errors import ContinuaError, Diagnostic
from continua.lang.dialect import render_query
from continua.lang.parse import Script, parse_script
from continua.lang.statements import CreateDerived, CreateSource, Explain, QueryStatement, Statement
from continua.session import Session
from tests.lang.corpus import CORPUS, PRELUDE

LONGEST = 4000
SOFT_LIMIT = 2.0
"""Seconds of processor time that one input may take."""

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\w+|--[^\n]*|/\*.*?\*/|\s+|[<>=!]+|.", re.DOTALL)
_VOCABULARY = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT AS ON USING JOIN LEFT RIGHT FULL OUTER INNER CROSS NATURAL
SEMI ANTI UNION EXCEPT INTERSECT MINUS ALL ANY SOME EXISTS IN NOT AND OR IS NULL TRUE FALSE CASE WHEN THEN ELSE END CAST
BETWEEN LIKE RLIKE WITH RECURSIVE VALUES INTERVAL OVER PARTITION LATERAL VIEW UNNEST GROUPING SETS ROLLUP CUBE FILTER
ISTREAM DSTREAM RSTREAM STREAMED COMPLETE WINDOW RANGE ROWS ROW NOW FIXED LANDMARK SESSION GAP SLIDE LAG EVERY TO
UNBOUNDED PRECEDING CREATE REPLACE STREAM RELATION TABLE FUNCTION AGGREGATE REGISTER SOURCE QUERY INTO DROP IF SHOW
STREAMS INSERT START STOP WATCH AT LATEST CHANGES
DESCRIBE EXPLAIN LOGICAL SET KEY NULL ORDERED SLACK VALID TAGGED ERROR SKIP RETURNS RETURN LANGUAGE PIVOT TABLESAMPLE
FETCH FIRST ASC DESC NULLS LAST INT BIGINT DOUBLE STRING TIMESTAMP DATE DECIMAL ARRAY MAP STRUCT SECONDS MINUTES HOURS
MONTHS 5m 1::s a b c s ts S T R V D Bid clockStr item_id dialect chronon COUNT SUM MAX AVG UPPER EXTRACT TRIM COALESCE
IF ( ) ( ) [ ] [ ] , , , . ; ; * + - / % = <> < <= > >= <=> => == != || :: : ? @ # $ & | ^ ~ ! { } \\ ℜ ℜ_clockStr ∪ ∩
0 1 2 5 10 -1 0.5 1e3 .5 1. 99999999999999999999 1e999 0x1F 'x' '' 'it''s' "q" `a` '2024-01-01' ' " ` -- /* */ \\n
""".split()  # noqa: SIM905 - a list of words reads better


class Slow(BaseException):
    """An input took longer than the limit. Not an Exception, so that nothing on the way can take it for one."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What went wrong, in a few words that stay the same while the input shrinks, and the details."""

    what: str
    detail: str


# Inputs.


def unicode_text(rng: random.Random) -> str:
    """Characters from everywhere, plain ones more often."""
    ranges = ((0x20, 0x7F), (0x20, 0x7F), (0, 0x20), (0x80, 0x2FFF), (0x1F300, 0x1F6FF))
    length = rng.randrange(0, 200)
    return "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(length))


def token_soup(rng: random.Random) -> str:
    """Words of the language in any order, after a beginning that looks like a statement."""
    start = rng.choice(("", "SELECT ", "SELECT a FROM S ", "CREATE ", "CREATE STREAM X ", "SELECT a FROM S [", "SET "))
    words = (rng.choice(_VOCABULARY) for _ in range(rng.randrange(1, 30)))
    return start + " ".join(words).replace("\\n", "\n")


def mutation(rng: random.Random) -> str:
    """A valid script with a few tokens or characters deleted, doubled, swapped or put in."""
    statements = rng.choices(CORPUS, k=rng.choice((1, 1, 1, 2, 3)))
    tokens = _TOKEN.findall(";\n".join(statements))
    for _ in range(rng.randrange(1, 6)):
        _mutate(rng, tokens)
    return "".join(tokens)


def _mutate(rng: random.Random, tokens: list[str]) -> None:
    if not tokens:
        return
    at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    match rng.randrange(7):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, tokens[at])
        case 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3:
            tokens.insert(at, f" {rng.choice(_VOCABULARY)} ")
        case 4:
            tokens[at] = rng.choice(_VOCABULARY)
        case 5:
            first, last = sorted((at, other))
            tokens[at:at] = tokens[first : min(last, first + 20)]
        case _:
            word = tokens[at]
            place = rng.randrange(len(word) + 1)
            tokens[at] = word[:place] + rng.choice(("", chr(rng.randrange(0x20, 0x7F)))) + word[place + 1 :]


def deep_nesting(rng: random.Random) -> str:
    """Something put into itself, often too often."""
    depth = rng.choice((5, 20, 60, 150, 400, 1000))
    opening, inner, closing = rng.choice(
        (
            ("(", "SELECT 1", ")"),
            ("SELECT (", "1", ")"),
            ("SELECT * FROM (", "SELECT a FROM T", ") x"),
            ("ISTREAM(", "SELECT a FROM T", ")"),
            ("SELECT a FROM T WHERE a IN (", "SELECT 1", ")"),
            ("SELECT a FROM T WHERE EXISTS (", "SELECT 1", ")"),
            ("SELECT a FROM S [RANGE 5] WHERE NOT (", "TRUE", ")"),
            ("SELECT CASE WHEN a = 1 THEN ", "a", " END FROM T"),
            ("[", "NOW", "]"),
            ("CREATE TABLE X (a ARRAY<", "INT", ">)"),
            ("SELECT a UNION ", "SELECT a", ""),
            ("f(", "1", ")"),
        )
    )
    lead = ""
    if opening.startswith(("SELECT (", "SELECT CASE", "SELECT a FROM S [RANGE 5] WHERE NOT", "CREATE")):
        words = opening.rsplit(" ", 1) if not opening.startswith("SELECT CASE") else ["SELECT", opening[7:]]
        lead, opening = words[0] + " ", words[1]
    if opening == "f(":
        lead = "SELECT UPPER"
    if rng.random() < 0.2:
        return lead + opening * depth + inner
    if rng.random() < 0.3:
        operator = rng.choice((" + ", " AND ", " || ", " OR NOT ", ", ", " UNION SELECT ", " = "))
        return ("SELECT a FROM T WHERE " if operator.isalpha() else "SELECT ") + operator.join(["1"] * depth)
    return (lead + opening * depth + inner + closing * depth)[:LONGEST]


GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "unicode": unicode_text,
    "soup": token_soup,
    "mutation": mutation,
    "nesting": deep_nesting,
}
_WEIGHTS = (10, 25, 60, 5)


def make_input(seed: int, number: int, kind: str | None = None) -> str:
    """The input of a number."""
    rng = random.Random(f"{seed}:{number}")
    chosen = kind or rng.choices(list(GENERATORS), _WEIGHTS)[0]
    return GENERATORS[chosen](rng)[:LONGEST]


# What must hold.


def check(text: str) -> Violation | None:
    """What is wrong with how an input is treated; None if nothing is. Slow is what is slow twice."""
    found = _check(text)
    return _check(text) if found is not None and found.what == "slow" else found


def _check(text: str) -> Violation | None:
    doing = "parsing"
    try:
        with time_limit():
            script = parse_script(text)
            found = unclean(script)
            if found:
                return found
            doing = "round trip"
            for statement in script.statements:
                for query in queries_of(statement):
                    if found := _round_trip(query):
                        return found
            if "PYTHON" not in text.upper():
                doing = "binding"
                _bind(text, "")
                doing = "binding with definitions"
                _bind(text, PRELUDE)
    except Slow:
        return Violation("slow", f"more than {SOFT_LIMIT} s in {doing}")
    except Exception as error:  # the point of it all: anything that is not one of ours
        return Violation(f"{type(error).__name__} in {doing}", _place(error))
    return None


def queries_of(statement: Statement) -> list[exp.Expr]:
    """The queries that stand in a statement."""
    match statement.body:
        case QueryStatement(query=query) | Explain(query=query) | CreateDerived(query=query):
            return [query]
        case CreateSource(query=query) if query is not None:
            return [query]
        case _:
            return []


def unclean(script: Script) -> Violation | None:
    """What is wrong with the diagnostics of a script, or with its statements."""
    lines = script.text.split("\n")
    for error in script.errors:
        if not isinstance(error, Diagnostic) or not error.condition.isupper() or not error.message.strip():
            return Violation("diagnostic without condition or message", repr(error))
        if error.span is None:
            return Violation("diagnostic without a place", repr(error))
        line, column = error.span.line, error.span.column
        if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1:
            return Violation("diagnostic outside the text", repr(error))
        if re.search(r"object has no attribute|NoneType|unexpected keyword|not subscriptable", error.message):
            return Violation("diagnostic that speaks of the implementation", error.message)
        error.render(script.text)
    for statement in script.statements:
        if statement.text not in script.text:
            return Violation("statement that is not in the text", statement.text)
    return None


def _round_trip(query: exp.Expr) -> Violation | None:
    once = render_query(query)
    script = parse_script(once)
    if script.errors or len(script.statements) != 1:
        return Violation("rendered query does not parse", f"{once!r}: {[e.message for e in script.errors]}")
    again = [render_query(q) for q in queries_of(script.statements[0])]
    if again != [once]:
        return Violation("round trip changes the query", f"{once!r} becomes {again!r}")
    return None


def _bind(text: str, definitions: str) -> None:
    session = Session()
    if definitions:
        session.execute(definitions)
    try:
        session.execute(text)
    except ContinuaError as error:
        error.render(text)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__}: {error} at {where}"


@contextmanager
def time_limit(seconds: float = SOFT_LIMIT) -> Iterator[None]:
    """Raises :class:`Slow` in the body once it has used more processor time than that."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Slow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def shrink(text: str, violation: Violation, seconds: float = 30.0) -> str:
    """A smaller input with the same violation, by leaving out stretches of tokens while there is time."""
    tokens = _TOKEN.findall(text)
    size = max(len(tokens) // 2, 1)
    end = time.monotonic() + seconds
    while size:
        at = 0
        while at < len(tokens) and time.monotonic() < end:
            fewer = tokens[:at] + tokens[at + size :]
            found = check("".join(fewer))
            if found is not None and found.what == violation.what:
                tokens = fewer
            else:
                at += size
        size //= 2
    return "".join(tokens)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}")
    start = time.monotonic()
    for number in range(options.inputs):
        text = make_input(seed, number)
        violation = check(text)
        if violation is not None:
            print(f"input {number} of seed {seed}: {violation.what}\n{violation.detail}\n{text!r}")
            print(f"shrunk: {shrink(text, violation)!r}")
            return 1
        if (number + 1) % 1000 == 0:
            rate = (number + 1) / (time.monotonic() - start)
            print(f"{number + 1} inputs, {rate:.0f} a second", flush=True)
    print(f"{options.inputs} inputs, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
