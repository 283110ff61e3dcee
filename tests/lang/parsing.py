"""Short ways to read one statement, query or item of FROM."""

from __future__ import annotations

from sqlglot import exp

from continua.errors import Diagnostic, Span
from continua.lang.parse import parse_script
from continua.lang.statements import Explain, Name, QueryStatement, StatementBody, WindowSyntax


def statement(text: str) -> StatementBody:
    """The only statement of a text that has no mistakes."""
    script = parse_script(text).checked()
    assert len(script.statements) == 1
    return script.statements[0].body


def query(text: str) -> exp.Query:
    """The query of a text."""
    body = statement(text)
    assert isinstance(body, QueryStatement | Explain)
    return body.query


def from_item(text: str) -> exp.Expr:
    """What stands first after FROM in ``SELECT * FROM text``."""
    item = query(f"SELECT * FROM {text}").args["from_"].this
    assert isinstance(item, exp.Expr)
    return item


def window(text: str) -> WindowSyntax:
    """The window in ``SELECT * FROM S text``."""
    found = from_item(f"S {text}").args.get("window")
    assert isinstance(found, WindowSyntax)
    return found


def mistake(text: str) -> Diagnostic:
    """The only mistake of a text."""
    errors = parse_script(text).errors
    assert len(errors) == 1, errors
    return errors[0]


def name(text: str, line: int, column: int) -> Name:
    """A name of one word at a place."""
    return Name(text, Span(line, column, len(text)))
