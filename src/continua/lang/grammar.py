"""The grammar of statements: what stands around queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from continua.errors import Diagnostic, ParseError, Span, did_you_mean
from continua.lang.data_types import data_type
from continua.lang.live_grammar import (
    AT_HINT,
    parse_insert,
    parse_query,
    parse_start,
    parse_starting_at,
    parse_stop,
    parse_watch,
)
from continua.lang.source_grammar import (
    key_columns,
    literal,
    names_in_parentheses,
    only_names,
    policy_word,
    source_call,
    source_clauses,
)
from continua.lang.statements import (
    ColumnDef,
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    CreateWindow,
    Describe,
    Drop,
    Explain,
    Name,
    Parameter,
    QueryStatement,
    SetOption,
    Show,
    StatementBody,
)
from continua.lang.window_grammar import parse_window
from continua.types import SPELLINGS, DataType

if TYPE_CHECKING:
    from continua.lang.dialect import ContinuaParser

_STAGES = ("LOGICAL", "REWRITES", "PHYSICAL", "SHARING")
_SHOWN = ("STREAMS", "RELATIONS", "TABLES", "VIEWS", "FUNCTIONS", "AGGREGATES", "WINDOWS", "QUERIES", "ALL")
_CREATED = ("STREAM", "RELATION", "TABLE", "VIEW", "FUNCTION", "AGGREGATE", "WINDOW")
_STARTS = (
    "SELECT",
    "WITH",
    "(",
    "ISTREAM",
    "DSTREAM",
    "RSTREAM",
    "STREAMED",
    "COMPLETE",
    "COALESCE",
    "SPLIT",
    "VALUES",
)
_KEYWORDS = ("FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "UNION", "EXCEPT", "INTERSECT")
_ELSEWHERE = ("UPDATE", "DELETE", "MERGE", "ALTER", "TRUNCATE", "COPY")
_STATEMENTS = (
    *("CREATE", "REGISTER", "DROP", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "SELECT", "WITH"),
    *("INSERT", "START", "STOP", "WATCH"),
)

_AT = "SELECT ... AT instant stands on its own: REGISTER QUERY q AS SELECT ..., and then SELECT * FROM q AT instant"
_INTO = "a query that writes somewhere has a name: REGISTER QUERY name AS SELECT ... INTO ..."


def parse_statement(p: ContinuaParser) -> StatementBody:
    """Reads one statement to its end."""
    statement = _statement(p)
    if not p.at_end:
        bare = isinstance(statement, QueryStatement) and statement.name is None
        near = did_you_mean(p._prev.text, _KEYWORDS) if p._prev.text.upper() not in _KEYWORDS else None
        p.fail(
            "SYNTAX",
            f"expected the end of the statement, found {p.found()}",
            hint=_hint_behind(p, bare) or near or did_you_mean(p.word, _KEYWORDS),
            expected="end",
        )
    return statement


def _hint_behind(p: ContinuaParser, bare: bool) -> str | None:
    """What to write in place of words that stand behind a statement; ``bare``: a query and nothing else."""
    if "AT" in (p.word, p._prev.text.upper()):
        return AT_HINT if bare else _AT
    return _INTO if p.word == "INTO" else None


def _statement(p: ContinuaParser) -> StatementBody:
    if p.word in _STARTS:
        return parse_query(p)
    if p.accept("CREATE"):
        return _create(p)
    if p.accept("REGISTER"):
        return _register(p)
    if p.accept("DROP"):
        return _drop(p)
    if p.accept("SHOW"):
        what = p.word
        if what not in _SHOWN:
            hint = did_you_mean(what, _SHOWN) or f"one of {', '.join(_SHOWN)}"
            p.fail("SYNTAX", f"cannot SHOW {p.found()}", hint=hint, expected="what to show")
        p._advance()
        return Show(what)
    if p.accept("DESCRIBE") or p.accept("DESC"):
        return Describe(p.name("a name"))
    if p.accept("EXPLAIN"):
        stage = p.word if p.word in _STAGES else "LOGICAL"
        if p.word in _STAGES:
            p._advance()
        return Explain(stage, p.query_here())
    if p.accept("SET"):
        return _set(p)
    if p.accept("INSERT"):
        return parse_insert(p)
    if p.accept("START"):
        return parse_start(p)
    if p.accept("STOP"):
        return parse_stop(p)
    if p.accept("WATCH"):
        return parse_watch(p)
    if p.word in _ELSEWHERE:
        p.fail(
            "UNKNOWN_STATEMENT",
            f"{p.word} is not a statement of Continua",
            hint="rows come from sources, CREATE STREAM ... SOURCE csv('file.csv'), and by INSERT INTO",
            word=p.word,
        )
    p.fail(
        "UNKNOWN_STATEMENT",
        f"a statement cannot start with {p.found()}",
        hint=did_you_mean(p.word, _STATEMENTS) or f"statements start with {', '.join(_STATEMENTS)}",
        word=p.word,
    )


def _create(p: ContinuaParser) -> StatementBody:
    replace = bool(p.accept("OR", "REPLACE"))
    mode = None
    if p.word in ("STREAMED", "COMPLETE") and p.next_word == "VIEW":
        mode = p.word
        p._advance()
    p.accept("MATERIALIZED")
    kind = p.word
    if kind not in _CREATED:
        hint = did_you_mean(kind, _CREATED) or f"one of {', '.join(_CREATED)}"
        p.fail("SYNTAX", f"cannot CREATE {p.found()}", hint=hint, expected="what to create")
    p._advance()
    name = p.name(f"the name of the {kind.lower()}")
    match kind:
        case "VIEW":
            columns = names_in_parentheses(p)
            p.expect("AS", "before the query of the view")
            return CreateDerived("VIEW", mode, name, columns, p.query_here(), replace)
        case "FUNCTION" | "AGGREGATE":
            return _create_callable(p, kind, name, replace)
        case "WINDOW":
            return _create_window(p, name, replace)
        case "STREAM" if p.accept("OVER"):
            over = p.name("a source")
            p.expect("KEY", "after the source")
            key = () if p.accept("NULL") else key_columns(p)
            return CreateTagged(name, over, key, replace, policy_word(p))
        case _:
            return _create_source(p, kind, name, replace)


def _create_source(p: ContinuaParser, kind: str, name: Name, replace: bool) -> StatementBody:
    """CREATE STREAM | RELATION | TABLE: with typed columns a source, with AS a query."""
    columns: tuple[ColumnDef, ...] = ()
    index = p._index
    if p.word == "(":
        if kind == "STREAM" and (names := only_names(p)) and p.accept("AS"):
            return CreateDerived("STREAM", None, name, names, p.query_here(), replace)
        p._retreat(index)
        columns = _columns(p)
    if p.accept("AS"):
        query = p.query_here()
        if kind == "STREAM":
            return CreateDerived("STREAM", None, name, tuple(c.name for c in columns), query, replace)
        return CreateSource(kind, name, columns, None, query=query, replace=replace)
    if not columns:
        p.fail("SYNTAX", f"expected ( and the columns of {name}, or AS and a query", expected="columns")
    return source_clauses(p, kind, name, columns, "SOURCE", replace)


def _register(p: ContinuaParser) -> StatementBody:
    if p.accept("SOURCE"):
        name = p.name("the name of the source")
        return source_clauses(p, "SOURCE", name, _columns(p), "FROM", False)
    p.expect("QUERY", "or SOURCE after REGISTER")
    name = p.name("the name of the query")
    group = p.name("the name of the group") if p.accept("GROUP") else None
    starting = parse_starting_at(p) if p.accept("STARTING", "AT") else None
    p.expect("AS", "before the query")
    query = p.query_here()
    sink = source_call(p) if p.accept("INTO") else None
    return QueryStatement(name, query, sink, group, starting)


def _drop(p: ContinuaParser) -> Drop:
    kind = p.word
    if kind not in (*_CREATED, "SOURCE", "QUERY"):
        p.fail("SYNTAX", f"cannot DROP {p.found()}", hint=did_you_mean(kind, _CREATED), expected="what to drop")
    p._advance()
    if_exists = bool(p.accept("IF", "EXISTS"))
    return Drop(kind, p.name(f"the name of the {kind.lower()}"), if_exists)


def _set(p: ContinuaParser) -> SetOption:
    name = p.name("the name of a setting")
    if not (p.accept("=") or p.accept("TO")):
        p.fail("SYNTAX", f"expected = after {name}, found {p.found()}", expected="=")
    value = literal(p)
    return SetOption(name, value)


def _create_callable(p: ContinuaParser, kind: str, name: Name, replace: bool) -> CreateFunction | CreateAggregate:
    parameters = _parameters(p)
    returns = _type(p) if p.accept("RETURNS") else None
    if p.accept("LANGUAGE"):
        p.expect("PYTHON", "after LANGUAGE")
        p.expect("AS", "before the Python name")
        python = _python_name(p)
        if returns is None:
            p.fail("SYNTAX", f"{kind.lower()} {name} needs RETURNS and a type", expected="RETURNS")
        if kind == "AGGREGATE":
            return CreateAggregate(name, parameters, returns, python, replace, bool(p.accept("ORDER", "FREE")))
        return CreateFunction(name, parameters, returns, None, python, replace)
    if kind == "AGGREGATE":
        p.fail(
            "SYNTAX",
            f"expected LANGUAGE PYTHON AS 'module:Class' in the definition of aggregate {name}",
            expected="LANGUAGE",
        )
    if not (p.accept("AS") or p.accept("RETURN")):
        p.fail("SYNTAX", f"expected AS and an expression, found {p.found()}", expected="AS")
    return CreateFunction(name, parameters, returns, p.expression_here(), None, replace)


def _create_window(p: ContinuaParser, name: Name, replace: bool) -> CreateWindow:
    parameters = _parameters(p) if p.word == "(" else ()
    if p.accept("LANGUAGE"):
        p.expect("PYTHON", "after LANGUAGE")
        p.expect("AS", "before the Python name")
        return CreateWindow(name, parameters, _python_name(p), replace)
    p.expect("AS", "before the window")
    if p.word != "[" and not (p.word == "WINDOW" and p.next_word == "("):
        p.fail("SYNTAX", f"expected a window, found {p.found()}", expected="a window")
    return CreateWindow(name, parameters, parse_window(p), replace)


def _python_name(p: ContinuaParser) -> str:
    token = p._curr
    if not token or token.token_type != TokenType.STRING or ":" not in token.text:
        p.fail("SYNTAX", f"expected 'module:name', found {p.found()}", expected="'module:name'")
    p._advance()
    return str(token.text)


def _parameters(p: ContinuaParser) -> tuple[Parameter, ...]:
    p.expect("(", "before the parameters")
    parameters: list[Parameter] = []
    while not p.accept(")"):
        name = p.name("a parameter")
        parameters.append(Parameter(name, None if p.word in (",", ")") else _type(p)))
        if not p.accept(",") and p.word != ")":
            p.fail("SYNTAX", f"expected , or ) after parameter {name}, found {p.found()}", expected=")")
    return tuple(parameters)


def _columns(p: ContinuaParser) -> tuple[ColumnDef, ...]:
    p.expect("(", "before the columns")
    columns = [_column(p)]
    while p.accept(","):
        columns.append(_column(p))
    p.expect(")", "after the columns")
    return tuple(columns)


def _column(p: ContinuaParser) -> ColumnDef:
    """``name TYPE``, or SyncSQL's ``type name``."""
    type_first = p.word in SPELLINGS and p.next_word not in (*SPELLINGS, ",", ")", "(", "DECIMAL", "NUMERIC", "")
    if type_first:
        column_type = _type(p)
        name = p.name("a column")
    else:
        name = p.name("a column")
        if p.word in (",", ")", ""):
            p.fail("SYNTAX", f"column {name} has no type", expected="a type")
        column_type = _type(p)
    nullable = not p.accept("NOT", "NULL")
    return ColumnDef(name, column_type, nullable)


def _type(p: ContinuaParser) -> DataType:
    span, word = p.here(), p._curr.text if p._curr else ""
    try:
        parsed = p._parse_types(schema=True)
    except SqlglotError:
        parsed, span, word = None, p.here(), p._curr.text if p._curr else ""
    found = data_type(parsed) if isinstance(parsed, exp.DataType) else None
    if found is None:
        raise ParseError(unknown_type(word, span))
    return found


def unknown_type(word: str, span: Span) -> Diagnostic:
    """A word that is no type."""
    hint = did_you_mean(word, [*SPELLINGS, "DECIMAL", "ARRAY", "MAP", "STRUCT"])
    return Diagnostic("UNKNOWN_TYPE", f"'{word}' is not a type", span, hint, {"type": word})
