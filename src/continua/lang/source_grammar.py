"""The grammar of sources: the clauses behind the columns of CREATE STREAM and CREATE RELATION, and their values."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

from continua.errors import Span, did_you_mean
from continua.instants import Duration
from continua.lang.statements import ColumnDef, CreateSource, Name, Partitioned, Secret, SourceCall
from continua.lang.window_grammar import parse_duration

if TYPE_CHECKING:
    from continua.lang.dialect import ContinuaParser

POLICIES = ("STRICT", "UPSERT")
"""What a tagged source may do with modifications that do not fit its relation."""


def source_clauses(
    p: ContinuaParser, kind: str, name: Name, columns: tuple[ColumnDef, ...], keyword: str, replace: bool
) -> CreateSource:
    """What stands behind the columns: where the rows come from, and what is known of them."""
    source: SourceCall | None = None
    if p.accept(keyword):
        source = source_call(p)
    order_by: Name | None = None
    slack: Duration | None = None
    slack_span: Span | None = None
    valid: tuple[Name, Name] | None = None
    tagged_by: Name | None = None
    key: tuple[Name, ...] = ()
    skip = False
    statistics: tuple[tuple[Name, object], ...] = ()
    partitioned: Partitioned | None = None
    policy: Name | None = None
    within: Duration | None = None
    within_span: Span | None = None
    refresh: Duration | None = None
    refresh_span: Span | None = None
    position: Name | None = None
    batch: Name | None = None
    while not p.at_end:
        if order_by is None and p.accept("ORDERED", "BY"):
            order_by = p.name("the ordering column")
        elif position is None and p.accept("POSITION"):
            position = p.name("the column with the position")
        elif batch is None and p.accept("BATCH"):
            batch = p.name("the column with the batch")
        elif slack is None and p.accept("SLACK"):
            slack_span = p.here()
            slack = parse_duration(p, "SLACK")
        elif valid is None and p.accept("VALID", "FROM"):
            start = p.name("the column where validity starts")
            p.expect("TO", "after the start column")
            valid = start, p.name("the column where validity ends")
        elif tagged_by is None and p.accept("TAGGED", "BY"):
            tagged_by = p.name("the column with the tag")
        elif not key and (p.accept("PRIMARY KEY") or p.accept("KEY")):
            key = () if p.accept("NULL") else key_columns(p)
            if key and p.accept("CHECKED"):
                p.expect("WITHIN", "after CHECKED")
                within_span = p.here()
                within = parse_duration(p, "CHECKED WITHIN")
        elif policy is None and (found := policy_word(p)) is not None:
            policy = found
        elif not skip and p.accept("ON", "ERROR"):
            p.expect("SKIP", "after ON ERROR")
            skip = True
        elif not statistics and p.accept("STATISTICS"):
            statistics = _statistics(p)
        elif partitioned is None and p.accept("PARTITIONED BY"):
            partitioned = _partitioned(p)
        elif refresh is None and p.accept("REFRESH"):
            p.expect("EVERY", "after REFRESH")
            refresh_span = p.here()
            refresh = parse_duration(p, "REFRESH EVERY")
        else:
            words = (
                *(
                    "ORDERED BY",
                    "POSITION",
                    "BATCH",
                    "SLACK",
                    "PARTITIONED BY",
                    "VALID FROM",
                    "TAGGED BY",
                    *POLICIES,
                    "KEY",
                ),
                *("ON ERROR SKIP", "STATISTICS", "REFRESH EVERY"),
            )
            p.fail(
                "SYNTAX",
                f"{p.found()} does not belong to the definition of {name}",
                hint=did_you_mean(p.word, [*words, keyword]) or f"clauses: {', '.join(words)}",
                expected="a clause",
            )
    return CreateSource(
        kind,
        name,
        columns,
        source,
        order_by,
        slack,
        slack_span,
        valid[0] if valid else None,
        valid[1] if valid else None,
        tagged_by,
        key,
        skip,
        replace=replace,
        statistics=statistics,
        partitioned=partitioned,
        policy=policy,
        within=within,
        within_span=within_span,
        refresh=refresh,
        refresh_span=refresh_span,
        position=position,
        batch=batch,
    )


def policy_word(p: ContinuaParser) -> Name | None:
    """STRICT or UPSERT, if one of them comes next."""
    word = p.word
    return Name(word, p.before()) if word in POLICIES and p.accept(word) else None


def _partitioned(p: ContinuaParser) -> Partitioned:
    """What stands behind PARTITIONED BY: FILE, a column, or a column OFFSET a column."""
    span = p.before()
    if p.accept("FILE"):
        return Partitioned(span)
    column = p.name("FILE or the column that tells the partition")
    offset = p.name("the column with the offset") if p.accept("OFFSET") else None
    return Partitioned(span, column, offset)


def _statistics(p: ContinuaParser) -> tuple[tuple[Name, object], ...]:
    """(rate = 1000, rows = 20000, column = 500)."""
    p.expect("(", "after STATISTICS")
    found: list[tuple[Name, object]] = []
    while not found or p.accept(","):
        name = p.name("rate, rows or a column")
        if not (p.accept("=") or p.accept("=>")):
            p.fail("SYNTAX", f"expected = after {name}, found {p.found()}", expected="=")
        found.append((name, literal(p)))
    p.expect(")", "after the statistics")
    return tuple(found)


def only_names(p: ContinuaParser) -> tuple[Name, ...] | None:
    """(a, b, c) without types; None, at any place, if it is something else."""
    names: list[Name] = []
    p.expect("(", "before the columns")
    while p._curr and p._curr.token_type not in (TokenType.STRING, TokenType.NUMBER, TokenType.L_PAREN):
        names.append(p.name("a column"))
        if p.accept(")"):
            return tuple(names)
        if not p.accept(","):
            return None
    return None


def names_in_parentheses(p: ContinuaParser) -> tuple[Name, ...]:
    """(a, b, c), or nothing."""
    if p.word != "(":
        return ()
    names = only_names(p)
    if names is None:
        p.fail("SYNTAX", f"expected column names, found {p.found()}", expected="column names")
    return names


def key_columns(p: ContinuaParser) -> tuple[Name, ...]:
    """a, b or (a, b)."""
    if p.word == "(":
        return names_in_parentheses(p)
    names = [p.name("a key column")]
    while p.accept(","):
        names.append(p.name("a key column"))
    return tuple(names)


def source_call(p: ContinuaParser) -> SourceCall:
    """f('argument', option => value)."""
    function = p.name("a source")
    arguments: list[object] = []
    options: list[tuple[str, object]] = []
    if p.accept("("):
        while not p.accept(")"):
            if p.next_word in ("=>", "="):
                option = p.name("an option")
                p._advance()
                options.append((option.text.lower(), _option_value(p)))
            else:
                arguments.append(literal(p))
            if not p.accept(",") and p.word != ")":
                p.fail("SYNTAX", f"expected , or ) in {function}(...), found {p.found()}", expected=")")
    return SourceCall(function, tuple(arguments), tuple(options))


def _option_value(p: ContinuaParser) -> object:
    """A literal, or secret('NAME')."""
    if p.word != "SECRET" or p.next_word != "(":
        return literal(p)
    p.accept("SECRET", "(")
    if not p._curr or p._curr.token_type != TokenType.STRING or not p._curr.text:
        p.fail("SYNTAX", f"expected the name of a secret in quotes, found {p.found()}", expected="a name in quotes")
    name = str(p._curr.text)
    p._advance()
    p.expect(")", "after the name of a secret")
    return Secret(name)


def literal(p: ContinuaParser) -> object:
    """A literal, or a bare word taken as text."""
    token = p._curr
    negative = bool(p.accept("-"))
    token = p._curr
    if not token:
        p.fail("SYNTAX", "expected a value, found the end of the statement", expected="a value")
    p._advance()
    if token.token_type == TokenType.NUMBER:
        try:
            number: int | Decimal = int(token.text) if token.text.isdigit() else Decimal(token.text)
        except ArithmeticError:
            p.fail("SYNTAX", f"'{token.text}' is not a number", expected="a number")
        return -number if negative else number
    if token.token_type in (TokenType.TRUE, TokenType.FALSE):
        return token.token_type == TokenType.TRUE
    if token.token_type == TokenType.STRING or token.text.replace("_", "a").isalnum():
        return str(token.text)
    p.fail("SYNTAX", f"expected a value, found '{token.text}'", span=p.before(), expected="a value")
