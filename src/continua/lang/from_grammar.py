"""The grammar of what streams have in FROM: relational views, synchronizations, windows, groups."""

from __future__ import annotations

import typing as t

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from continua.lang.dialect import FORMS
from continua.lang.statements import Name
from continua.lang.stream_nodes import StreamForm, StreamGroup, StreamSubquery, StreamTable
from continua.lang.window_grammar import parse_duration, parse_window

if t.TYPE_CHECKING:
    from continua.lang.dialect import ContinuaParser


def relational_view(p: ContinuaParser) -> StreamTable | None:
    """ℜ(S), ℜ_Sync(S), ℜ[Sync](S); R(S), R(S, Sync) and RELATION in place of R."""
    token = p._curr
    text = token.text if token and token.token_type == TokenType.VAR else ""
    sync: Name | None = None
    if text.startswith("ℜ"):
        p._advance()
        if text.startswith("ℜ_") and len(text) > 2:
            sync = Name(text[2:], p.before())
        elif p.accept("["):
            sync = p.name("a synchronization stream")
            p.expect("]", "after the synchronization stream")
    elif text.upper() in ("RELATION", "R") and p.next_word == "(":
        p._advance()
    else:
        return None
    p.expect("(", f"after {text}")
    stream = p._parse_id_var(any_token=True)
    if stream is None:
        p.fail("SYNTAX", f"expected a tagged stream, found {p.found()}", expected="a tagged stream")
    if sync is None and p.accept(","):
        sync = p.name("a synchronization stream")
    p.expect(")", "after the tagged stream")
    return StreamTable(this=stream, view=True, sync=sync)


def group(p: ContinuaParser, alias_tokens: t.Collection[TokenType] | None) -> StreamGroup | None:
    """GROUP(item, function, j OF k)."""
    if p.word != "GROUP" or p.next_word != "(":
        return None
    p._advance(2)
    inner = p._from_item(alias_tokens)
    p.expect(",", "behind what is divided into groups")
    function = p.expression_here()
    p.expect(",", "behind the function that divides")
    index = _whole_number(p, "the number of a group")
    p.expect("OF", "and how many groups there are")
    count = _whole_number(p, "how many groups there are")
    p.expect(")", "behind the group")
    return StreamGroup(this=inner, function=function, index=index, count=count)


def form(p: ContinuaParser) -> StreamForm:
    """COALESCE STREAM (query) [UP TO length], SPLIT STREAM name [INTO length]."""
    operator = p.word
    p._advance(2)
    inner: exp.Expr
    if p.accept("("):
        inner = p.query_here()
        p.expect(")", f"after the query in {operator} STREAM (...)")
    else:
        name = p.name(f"a stream, or a query in parentheses, behind {operator} STREAM")
        inner = StreamTable(this=exp.to_identifier(name.text)).update_positions(p._prev)
    words = FORMS[operator]
    if p.word == words[0] and (operator == "COALESCE" or (p._next and p._next.token_type == TokenType.NUMBER)):
        for word in words:
            p.expect(word, "before the length of an element")
        span = p.here()
        length = parse_duration(p, "the length of an element")
        if length.amount < 1:
            p.fail("NOT_POSITIVE", "an element has at least one instant", span=span, value=length.amount)
        return StreamForm(this=inner, operator=operator, length=length)
    return StreamForm(this=inner, operator=operator)


def _whole_number(p: ContinuaParser, what: str) -> exp.Literal:
    token = p._curr
    if not token or token.token_type != TokenType.NUMBER or not token.text.isdigit():
        p.fail("SYNTAX", f"expected {what}, found {p.found()}", expected="a whole number")
    p._advance()
    return exp.Literal(this=token.text, is_string=False)


def sync_after(p: ContinuaParser, item: exp.Expr) -> None:
    """S SYNC BY Sync: the relational view, refreshed at the points of a synchronization stream."""
    if p.word != "SYNC" or p.next_word != "BY":
        return
    span = p.here()
    p._advance(2)
    if not isinstance(item, StreamTable) or item.args.get("sync"):
        p.fail("SYNTAX", "SYNC BY stands once behind a tagged stream", span=span, expected="a tagged stream")
    item.set("view", True)
    item.set("sync", p.name("a synchronization stream"))


def window_after(p: ContinuaParser, item: exp.Expr) -> None:
    """A window, if one comes next."""
    if p.word != "[" and not (p.word == "WINDOW" and p.next_word == "("):
        return
    window = parse_window(p)
    if not isinstance(item, StreamTable | StreamSubquery):
        p.fail("WINDOW_OVER_VALUES", "a window stands after a stream or a subquery", span=window.span)
    if item.args.get("window"):
        p.fail("SYNTAX", "a second window on one stream", span=window.span, expected="one window")
    item.set("window", window)
