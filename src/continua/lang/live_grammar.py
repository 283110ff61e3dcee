"""The grammar of what is said to live queries: INSERT, START, STOP, WATCH, and SELECT ... AT an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from continua.errors import did_you_mean
from continua.instants import Duration
from continua.lang.source_grammar import names_in_parentheses
from continua.lang.statements import Insert, Name, QueryStatement, SelectAt, Start, StartingAt, Stop, Watch
from continua.lang.window_grammar import parse_duration

if TYPE_CHECKING:
    from continua.lang.dialect import ContinuaParser

LATEST, EARLIEST = "LATEST", "EARLIEST"
AT_HINT = "AT is followed by an instant: AT 5, AT '2024-01-31T12:00:00Z' or AT LATEST"
STARTING_HINT = "STARTING AT EARLIEST, STARTING AT 5 or STARTING AT '2024-01-31T12:00:00Z'"
_LENGTH_OF_AT = 3
"""So many words an instant has at most, with AT before it."""


def parse_insert(p: ContinuaParser) -> Insert:
    """INTO name [(columns)] VALUES (...), (...)."""
    p.expect("INTO", "after INSERT")
    p.accept("TABLE")
    name = p.name("a stream or relation")
    columns = names_in_parentheses(p)
    if p.word != "VALUES":
        derives = "CREATE STREAM ... AS SELECT derives a stream from others" if p.word in ("SELECT", "WITH") else None
        hint = derives or did_you_mean(p.word, ["VALUES"]) or f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')"
        p.fail("SYNTAX", f"expected VALUES and rows for {name}, found {p.found()}", hint=hint, expected="VALUES")
    start, query = p.here(), p.query_here()
    values = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(values, exp.Values) or values.args.get("alias") or _more_than_values(query):
        p.fail("SYNTAX", "INSERT takes VALUES and nothing else", span=start, expected="VALUES")
    return Insert(name, columns, values)


def _more_than_values(query: exp.Query) -> bool:
    """Whether something stands behind the rows, such as LIMIT."""
    return isinstance(query, exp.Subquery) and any(value for part, value in query.args.items() if part != "this")


def parse_start(p: ContinuaParser) -> Start:
    """[QUERY] name."""
    return Start(_query_name(p))


def parse_stop(p: ContinuaParser) -> Stop:
    """[QUERY] name."""
    return Stop(_query_name(p))


def _query_name(p: ContinuaParser) -> Name:
    p.accept("QUERY")
    return p.name("the name of a query")


def parse_watch(p: ContinuaParser) -> Watch:
    """[name, ...] [FOR duration | FOR n CHANGES]."""
    names: list[Name] = []
    if not p.at_end and p.word != "FOR":
        names.append(p.name("the name of a query"))
        while p.accept(","):
            names.append(p.name("the name of a query"))
    if not p.accept("FOR"):
        return Watch(tuple(names))
    token = p._curr
    if token and token.token_type == TokenType.NUMBER and token.text.isdigit() and p.next_word in ("CHANGES", "CHANGE"):
        p._advance(2)
        return Watch(tuple(names), changes=int(token.text))
    span, length = p.here(), parse_duration(p, "FOR")
    if length.amount < 1:
        p.fail("NOT_POSITIVE", "FOR takes some time, or some changes", span=span, what="FOR", amount=length.amount)
    return Watch(tuple(names), length=Duration(length.amount, length.unit or "SECOND"))


def parse_starting_at(p: ContinuaParser) -> StartingAt:
    """EARLIEST, or an instant."""
    span, word = p.here(), p.word
    tokens = [token for token in p._tokens[p._index : p._index + 2] if token.text.upper() != "AS"]
    for length in (1, 2):
        some = tokens[:length]
        if len(some) == length and word != LATEST and (_is_instant(some) or (length == 1 and word == EARLIEST)):
            p._advance(length)
            return StartingAt(_instant(some), span)
    p.fail("SYNTAX", f"expected EARLIEST or an instant, found {p.found()}", hint=STARTING_HINT, expected="an instant")


def parse_query(p: ContinuaParser) -> QueryStatement | SelectAt:
    """A bare query, or one AT an instant."""
    place = _place_of_at(p)
    if place is None:
        return QueryStatement(None, p.query_here())
    # without what stands behind it, for AT could be an alias
    tokens, p._tokens, p._tokens_size = p._tokens, p._tokens[:place], place
    p._retreat(p._index)
    query = p.query_here()
    if p._index < place:
        return QueryStatement(None, query)
    p._tokens, p._tokens_size = tokens, len(tokens)
    p._index = place - 1
    p._advance(2)
    span = p.here()
    instant = _instant(tokens[place + 1 :])
    p._advance(len(tokens) - place - 1)
    return SelectAt(query, instant, span)


def _place_of_at(p: ContinuaParser) -> int | None:
    """Where AT stands with an instant behind it, at the end of the statement."""
    tokens = p._tokens
    for place in range(len(tokens) - 2, max(p._index, len(tokens) - _LENGTH_OF_AT - 1), -1):
        token = tokens[place]
        if token.text.upper() == "AT" and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            return place if _is_instant(tokens[place + 1 :]) else None
    return None


def _is_instant(tokens: list[Token]) -> bool:
    kinds = [token.token_type for token in tokens]
    match kinds:
        case [TokenType.NUMBER]:
            return tokens[0].text.isdigit()
        case [TokenType.DASH, TokenType.NUMBER]:
            return tokens[1].text.isdigit()
        case [TokenType.STRING]:
            return True
        case [_, TokenType.STRING]:
            return tokens[0].text.upper() == "TIMESTAMP"
        case [_]:
            return tokens[0].text.upper() == LATEST and kinds[0] != TokenType.IDENTIFIER
        case _:
            return False


def _instant(tokens: list[Token]) -> int | str | None:
    """The number, or the text of a timestamp; None for the latest."""
    last = tokens[-1]
    if last.token_type == TokenType.NUMBER:
        return int(last.text) * (1 if len(tokens) == 1 else -1)
    return str(last.text) if last.token_type == TokenType.STRING else None
