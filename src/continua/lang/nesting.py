"""How deep a statement nests: found out before it is parsed, and again from its syntax tree, without going deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from continua.errors import Diagnostic
from continua.lang.places import Positions
from continua.limits import MOST_NESTED, MOST_NESTED_QUERIES, too_complex

LEVELS = "levels of nesting"
QUERIES = "queries in each other"

_OPENS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSES = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)
_SIGNS = (TokenType.DASH, TokenType.PLUS, TokenType.NOT, TokenType.TILDE)
_CHAINS = (exp.And, exp.Or, exp.SetOperation)
_OUTSIDE = (exp.Paren, exp.If, exp.Column, exp.Identifier, exp.Literal)


def too_deep(tokens: Sequence[Token], positions: Positions) -> Diagnostic | None:
    """What is wrong with tokens that open more parentheses, or write more signs in a row, than may be."""
    opened = signs = 0
    for token in tokens:
        kind = token.token_type
        opened += (kind in _OPENS) - (kind in _CLOSES)
        signs = signs + 1 if kind in _SIGNS else 0
        if opened + signs > MOST_NESTED:
            return too_complex(LEVELS, MOST_NESTED, positions.span(token.start, token.end))
    return None


def too_deep_a_tree(tree: exp.Expr, positions: Positions) -> Diagnostic | None:
    """What is wrong with a syntax tree in which expressions, or queries, stand too deep in each other.

    Of ``a AND b AND c``, and of a chain of UNIONs, all parts are equally deep.
    """
    ahead: list[tuple[exp.Expr, int, int]] = [(tree, 0, 0)]
    while ahead:
        node, depth, queries = ahead.pop()
        if depth > MOST_NESTED:
            return too_complex(LEVELS, MOST_NESTED, positions.of(node))
        if queries > MOST_NESTED_QUERIES:
            return too_complex(QUERIES, MOST_NESTED_QUERIES, positions.of(node))
        if isinstance(node, exp.Select | exp.SetOperation):
            ahead += [(part, 0, queries + (not _goes_on(node, part))) for part in _parts(node)]
            continue
        ahead += [(part, depth + _counts(node, part), queries) for part in _parts(node)]
    return None


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    return node.iter_expressions()


def _goes_on(node: exp.Expr, part: exp.Expr) -> bool:
    """Whether a part is the rest of a chain."""
    return isinstance(node, _CHAINS) and type(part) is type(node) and part is node.this


def _counts(node: exp.Expr, part: exp.Expr) -> bool:
    return not isinstance(part, _OUTSIDE) and not _goes_on(node, part)
