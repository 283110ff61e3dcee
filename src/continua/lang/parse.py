"""Scripts to statements. Each statement is read on its own, so that one mistake does not hide the next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from continua.errors import Diagnostic, ParseError, Span
from continua.lang.dialect import ContinuaDialect, ContinuaParser, _TokenError
from continua.lang.grammar import parse_statement, unknown_type
from continua.lang.nesting import LEVELS, too_deep, too_deep_a_tree
from continua.lang.places import Positions
from continua.lang.statements import Statement, StatementBody
from continua.lang.supported import unsupported
from continua.limits import MOST_NESTED, too_complex


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of a script that could be read, and what is wrong with the others."""

    text: str
    statements: tuple[Statement, ...]
    errors: tuple[Diagnostic, ...]
    failed: tuple[str, ...] = ()
    """The names that the unreadable statements would have defined."""

    def checked(self) -> Script:
        """Itself, or an error that reports everything that is wrong."""
        if self.errors:
            raise ParseError(*self.errors)
        return self


def parse_script(text: str) -> Script:
    """Reads all statements of a script; mistakes are collected, not raised."""
    dialect = ContinuaDialect()
    positions = Positions(text)
    try:
        tokens = dialect.tokenize(text)
    except TokenError as error:
        return Script(text, (), (_token_diagnostic(error, positions),))
    statements: list[Statement] = []
    errors: list[Diagnostic] = []
    failed: list[str] = []
    for chunk in _chunks(tokens):
        span = positions.span(chunk[0].start, chunk[-1].end)
        parser = ContinuaParser(dialect=dialect)
        parser.start(chunk, positions)
        if (deep := too_deep(chunk, positions)) is not None:
            errors.append(deep)
            failed += _defined_name(chunk)
            continue
        try:
            body = parse_statement(parser)
            refused = [d for tree in _trees(body) for d in _refused(tree, positions, span)]
            if not refused:
                statements.append(Statement(body, span, text[chunk[0].start : chunk[-1].end + 1]))
                continue
            errors += refused
        except ParseError as error:
            errors.extend(error.diagnostics)
        except _TokenError as error:
            where = positions.span(error.token.start, error.token.end) if error.token.text else span
            message = _sentence(str(error))
            if message.lower().startswith("expected type after"):
                errors.append(unknown_type(error.token.text, where))
                failed += _defined_name(chunk)
                continue
            if message.startswith("required"):
                message = f"expected an expression, found {parser.found()}"
            errors.append(Diagnostic("SYNTAX", message, where, parameters={"expected": ""}))
        except RecursionError:
            errors.append(too_complex(LEVELS, MOST_NESTED, span))
        except (SqlglotError, ValueError, AttributeError, TypeError, IndexError, KeyError, ArithmeticError) as error:
            # sqlglot's parser fails in many ways on text that is no SQL: to the user they are all one.
            detail = _sentence(str(error).splitlines()[0] if str(error) else type(error).__name__)
            where = parser.here() if not parser.at_end else span
            errors.append(Diagnostic("SYNTAX", f"cannot read this: {detail}", where, parameters={"expected": ""}))
        failed += _defined_name(chunk)
    return Script(text, tuple(statements), tuple(errors), tuple(failed))


def _trees(body: StatementBody) -> list[exp.Expr]:
    """The syntax trees in a statement."""
    found = (getattr(body, part, None) for part in ("query", "body"))
    return [tree for tree in found if isinstance(tree, exp.Expr)]


def _refused(tree: exp.Expr, positions: Positions, statement: Span) -> list[Diagnostic]:
    """What is beyond a limit, or else what SQL has and Continua has not."""
    deep = too_deep_a_tree(tree, positions)
    return unsupported(tree, positions, statement) if deep is None else [deep]


def _defined_name(chunk: list[Token]) -> list[str]:
    """The name after CREATE STREAM, REGISTER SOURCE and the like."""
    if chunk[0].text.upper() not in ("CREATE", "REGISTER"):
        return []
    words = [token.text for token in chunk]
    kinds = ("STREAM", "RELATION", "TABLE", "VIEW", "SOURCE", "FUNCTION", "AGGREGATE", "WINDOW")
    return [name for kind, name in pairwise(words) if kind.upper() in kinds][:1]


_IN_A_LOOP = 2
"""So many semicolons stand in the parentheses of a loop."""


def _chunks(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement; the semicolons of a loop, FOR (t = 0; t < 9; t = t + 2), end none."""
    chunks: list[list[Token]] = [[]]
    opened, left = 0, 0
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON and not left:
            chunks.append([])
            continue
        before = chunks[-1][-1].text.upper() if chunks[-1] else ""
        chunks[-1].append(token)
        if left:
            opened += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            left = 0 if opened < 1 else left - (token.token_type == TokenType.SEMICOLON)
        elif token.token_type == TokenType.L_PAREN and before == "FOR":
            opened, left = 1, _IN_A_LOOP
    return [chunk for chunk in chunks if chunk]


def _sentence(message: str) -> str:
    message = message.strip().rstrip(".")
    return message[:1].lower() + message[1:]


def _token_diagnostic(error: TokenError, positions: Positions) -> Diagnostic:
    """sqlglot says where tokenizing failed only in its text; an open quote is found by looking for it."""
    text = positions.text
    for quote in ("'", '"', "`"):
        if text.count(quote) % 2:
            at = text.rfind(quote)
            return Diagnostic("OPEN_QUOTE", f"a {quote} is opened and never closed", positions.span(at, at))
    return Diagnostic("SYNTAX", _sentence(str(error).splitlines()[0]), positions.span(len(text) - 1, len(text)))
