"""sqlglot's Spark dialect with the papers' constructs.

All subclasses of sqlglot's classes are in this module and, those of its trees, in :mod:`stream_nodes`.

What is added to SQL: windows after the items of FROM, relation-to-stream operators on a select list or around a
query, and the relational view ℜ of a tagged stream. Functions are left as they are written, under Spark's names.
"""

from __future__ import annotations

import typing as t

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from continua.errors import Diagnostic, ParseError, Span
from continua.lang.places import Positions
from continua.lang.rendering import form_sql, group_sql, list_sql, query_sql, subquery_sql, table_sql
from continua.lang.statements import Name
from continua.lang.stream_nodes import StreamForm, StreamGroup, StreamList, StreamQuery, StreamSubquery, StreamTable

STREAM_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM", "STREAMED", "COMPLETE")
MULTIPLICITIES = {"UNION": "MAX", "EXCEPT": "STRICT"}
"""Words behind set operations that say how often a row is in their result (PIPES 2005, appendix A)."""
FORMS = {"COALESCE": ("UP", "TO"), "SPLIT": ("INTO",)}
"""Words that say in which intervals a stream is handed out (PIPES 2005, 4.2.5), and what stands before a length."""
_SUBQUERY_PREDICATES = {"EXISTS": exp.Exists, "ANY": exp.Any, "SOME": exp.Any, "ALL": exp.All}
_CLAUSES = ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT", ")", "")


class _TokenError(SqlglotParseError):
    """sqlglot's own error, with the token at which it happened."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.token = token


def _placed(parse: t.Callable[..., exp.Expr]) -> t.Callable[..., exp.Expr]:
    """A parser of constants that keeps their place."""
    return lambda parser, token: parse(parser, token).update_positions(token)


class ContinuaParser(SparkParser):
    """Spark's parser with streams. The statements around queries are in :mod:`continua.lang.grammar`."""

    STRICT_CAST = True
    INTERVAL_SPANS = False
    FUNCTIONS: t.ClassVar[dict[str, t.Any]] = {"ARRAY": lambda args: exp.Array(expressions=args)}
    PRIMARY_PARSERS: t.ClassVar[dict[TokenType, t.Any]] = {
        **SparkParser.PRIMARY_PARSERS,
        **{
            kind: _placed(SparkParser.PRIMARY_PARSERS[kind])
            for kind in (TokenType.TRUE, TokenType.FALSE, TokenType.NULL)
        },
    }
    FUNCTION_PARSERS: t.ClassVar[dict[str, t.Any]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM")
    }
    NO_PAREN_FUNCTION_PARSERS: t.ClassVar[dict[str, t.Any]] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("ANY", "CASE")
    }

    positions: Positions

    def start(self, tokens: list[Token], positions: Positions) -> None:
        """Makes the parser ready for the tokens of one statement; the positions are those of its script."""
        self.reset()
        self.sql = positions.text
        self.positions = positions
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    # The small vocabulary in which the grammar of statements and windows is written.

    @property
    def at_end(self) -> bool:
        """Whether the statement is used up."""
        return not self._curr

    @property
    def word(self) -> str:
        """The text of the current token in upper case; empty at the end."""
        return self._curr.text.upper() if self._curr and self._curr.token_type != TokenType.STRING else ""

    @property
    def next_word(self) -> str:
        """The text of the token after the current one in upper case."""
        return self._next.text.upper() if self._next and self._next.token_type != TokenType.STRING else ""

    def here(self) -> Span:
        """The span of the current token; at the end, of the last one."""
        token = self._curr or self._prev
        return self.positions.span(token.start, token.end) if token else Span(1, 1)

    def before(self) -> Span:
        """The span of the token just read."""
        return self.positions.span(self._prev.start, self._prev.end)

    def accept(self, *texts: str) -> bool:
        """Reads the words if they come next."""
        return self._match_text_seq(*texts)

    def expect(self, text: str, context: str) -> None:
        """Reads a word or fails."""
        if not self.accept(text):
            self.fail("SYNTAX", f"expected {text} {context}, found {self.found()}", expected=text)

    def found(self) -> str:
        """What comes next, for messages."""
        return "the end of the statement" if self.at_end else f"'{self._curr.text}'"

    def name(self, what: str) -> Name:
        """Reads an identifier or fails."""
        token = self._curr
        identifier = self._parse_id_var(any_token=True) if token and token.token_type != TokenType.NUMBER else None
        is_name = token and (token.token_type == TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum())
        if identifier is None or not is_name or token.token_type == TokenType.STRING:
            self.fail("SYNTAX", f"expected {what}, found {self.found()}", expected=what)
        return Name(identifier.name, self.before())

    def fail(
        self, condition: str, message: str, *, span: Span | None = None, hint: str | None = None, **parameters: object
    ) -> t.NoReturn:
        """Raises a syntax error at the current token, or at ``span``."""
        raise ParseError(Diagnostic(condition, message, span or self.here(), hint, parameters))

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """sqlglot's errors, with their token."""
        raise _TokenError(message, token or self._curr or self._prev or Token.string(""))

    def expression_here(self) -> exp.Expr:
        """Reads a scalar expression or fails."""
        parsed = self._parse_disjunction()
        if parsed is None:
            self.fail("SYNTAX", f"expected an expression, found {self.found()}", expected="an expression")
        return parsed

    def query_here(self) -> exp.Query:
        """Reads a query or fails."""
        parsed = self._parse_select(nested=True)
        if isinstance(parsed, StreamForm):
            return parsed
        if isinstance(parsed, exp.Subquery | StreamQuery) and self.word in ("UNION", "EXCEPT", "INTERSECT", "MINUS"):
            parsed = self._parse_set_operations(parsed)
        if isinstance(parsed, exp.Values):
            parsed = exp.Subquery(this=parsed)
        if isinstance(parsed, exp.Query):
            parsed = self._parse_query_modifiers(parsed)
        if not isinstance(parsed, exp.Query):
            self.fail("SYNTAX", f"expected a query, found {self.found()}", expected="a query")
        return parsed

    # Queries.

    def _parse_statement(self) -> exp.Expr | None:
        if self.word in STREAM_OPERATORS and self.next_word in ("SELECT", "(", "WITH"):
            return self._parse_select()
        if self.word in FORMS and self.next_word == "STREAM":
            return self._parse_select()
        return super()._parse_statement()

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        if self.word == "FROM":
            return None  # sqlglot also reads queries that start with FROM
        if self.word in FORMS and self.next_word == "STREAM":
            from continua.lang.from_grammar import form

            return form(self)
        if self.word in STREAM_OPERATORS and self.next_word in ("SELECT", "(", "WITH"):
            operator, span = self.word, self.here()
            self._advance()
            if self.accept("("):
                inner: exp.Expr | None = self.query_here()
                self.expect(")", f"after the query in {operator}(...)")
            else:
                inner = super()._parse_select_query(nested=nested)
            if not isinstance(inner, exp.Query):
                self.fail("SYNTAX", f"expected a query after {operator}", span=span, expected="a query")
            return StreamQuery(this=inner, operator=operator)
        return super()._parse_select_query(nested, table, parse_subquery_alias, parse_set_operation)

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        ends_here = not self._next or self.next_word in (",", "FROM", ".", "AS", ")")
        if self.word not in STREAM_OPERATORS or ends_here:
            projections = super()._parse_projections()
            if not projections[0] or self._prev.token_type == TokenType.COMMA:
                self.fail("SYNTAX", f"expected a select list, found {self.found()}", expected="a select list")
            return projections
        operator, index = self.word, self._index
        self._advance()
        wrapped = self._stream_list_in_parentheses() if self.word == "(" else None
        if wrapped is None:
            self._retreat(index + 1)
            wrapped = (bool(self.accept("DISTINCT")), self._parse_expressions())
        distinct, expressions = wrapped
        if not expressions:
            self.fail("SYNTAX", f"expected a select list after {operator}", expected="a select list")
        return [StreamList(this=operator, expressions=expressions, distinct=distinct)], None

    def _stream_list_in_parentheses(self) -> tuple[bool, list[exp.Expr]] | None:
        """The list of ISTREAM(list), if the parentheses hold the whole select list."""
        self._advance()
        distinct = bool(self.accept("DISTINCT"))
        expressions = self._parse_expressions()
        if self.word != ")":
            return None
        self._advance()
        return (distinct, expressions) if self.word in ("FROM", *_CLAUSES) else None

    def parse_set_operation(
        self, this: exp.Expr | None, consume_pipe: bool = False, intersect_only: bool = False
    ) -> exp.SetOperation | None:
        """Also UNION MAX and EXCEPT STRICT, where ALL or DISTINCT may stand."""
        multiplicity, place = MULTIPLICITIES.get(self.word), self._index + 1
        if multiplicity is None or multiplicity != self.next_word:
            return super().parse_set_operation(this, consume_pipe, intersect_only)
        word = self._tokens[place]
        # to sqlglot it is ALL; the text stays, since it may read these tokens again
        self._tokens[place] = Token(TokenType.ALL, word.text, word.line, word.col, word.start, word.end)
        found = super().parse_set_operation(this, consume_pipe, intersect_only)
        if found is not None:
            found.set("multiplicity", multiplicity)
        return found

    def _parse_function_call(
        self,
        functions: dict[str, t.Any] | None = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        """Also EXISTS ((query) EXCEPT (query)): a set operation that starts with a parenthesis."""
        predicate = _SUBQUERY_PREDICATES.get(self.word)
        if predicate is None or [token.text for token in self._tokens[self._index + 1 : self._index + 3]] != ["(", "("]:
            return super()._parse_function_call(functions, anonymous, optional_parens, any_token)
        self._advance(2)
        query = self.query_here()
        self.expect(")", "after the subquery")
        return predicate(this=query)

    def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
        """Also ``a mod b``, as SyncSQL writes it."""
        left = super()._parse_factor(parse_mod)
        while left is not None and self.word == "MOD" and self.next_word not in ("", ",", ")", "FROM", "AS"):
            self._advance()
            left = exp.Mod(this=left, expression=self._parse_unary())
        return left

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: t.Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        if self.word == ",":
            self._advance()
            if self.word in _CLAUSES:
                return None
            return exp.Join(this=self._parse_table(alias_tokens=alias_tokens))
        return super()._parse_join(skip_join_token, parse_bracket, alias_tokens)

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: t.Collection[TokenType] | None = None,
        parse_bracket: bool = False,  # noqa: ARG002
        is_db_reference: bool = False,
        parse_partition: bool = False,  # noqa: ARG002
        consume_pipe: bool = False,  # noqa: ARG002
    ) -> exp.Expr | None:
        if schema or is_db_reference:
            return super()._parse_table(schema=schema, is_db_reference=is_db_reference)
        item = self._from_item(alias_tokens)
        while self.word in ("∪", "∩"):
            operator = exp.Union if self.word == "∪" else exp.Intersect
            self._advance()
            left, right = (exp.select("*").from_(part) for part in (item, self._from_item(alias_tokens)))
            item = StreamSubquery(this=operator(this=left, expression=right, distinct=False))
        if joins:
            for join in self._parse_joins(alias_tokens=alias_tokens):
                item.append("joins", join)
        return item

    def _from_item(self, alias_tokens: t.Collection[TokenType] | None) -> exp.Expr:
        from continua.lang.from_grammar import group, relational_view, sync_after, window_after

        item: exp.Expr | None
        start, inside = self.here(), self._prev.token_type == TokenType.L_PAREN
        if self.word == "LATERAL" or self.word == "UNNEST":
            self.fail("NOT_SUPPORTED", f"{self.word} is not supported in FROM", feature=self.word)
        item = relational_view(self) or group(self, alias_tokens) or self._parse_derived_table_values()
        if item is None:
            item = self._parse_select(table=True)
            if isinstance(item, exp.Query) and not isinstance(item, exp.Subquery):
                if not inside:
                    self.fail("SYNTAX", "a query in FROM stands in parentheses", span=start, expected="(")
                return item
        if item is None and not self.word.startswith((".", "ℜ")):
            item = self._parse_table_parts()
        if isinstance(item, exp.Table) and not isinstance(item, StreamTable):
            item = StreamTable(**{key: value for key, value in item.args.items() if value})
        elif type(item) is exp.Subquery:
            item = StreamSubquery(**{key: value for key, value in item.args.items() if value})
        if item is None:
            self.fail("SYNTAX", f"expected a stream, relation or subquery, found {self.found()}", expected="a table")
        for _ in range(2):
            window_after(self, item)
            sync_after(self, item)
            if not item.args.get("alias"):
                item.set("alias", self._parse_table_alias(alias_tokens=alias_tokens or self.TABLE_ALIAS_TOKENS))
        window_after(self, item)
        sync_after(self, item)
        if self._prev.token_type == TokenType.ALIAS:
            self.fail("SYNTAX", f"expected an alias after AS, found {self.found()}", expected="an alias")
        if isinstance(item, StreamSubquery) and self.word in ("PIVOT", "UNPIVOT", "TABLESAMPLE"):
            self.fail("NOT_SUPPORTED", f"{self.word} is not supported", feature=self.word)
        return item


class ContinuaGenerator(SparkGenerator):
    """Queries back to text, with windows and operators: what a user is shown as the expanded query."""

    def set_operation(self, expression: exp.SetOperation) -> str:
        """With the word for its multiplicities."""
        multiplicity = expression.args.get("multiplicity")
        return f"{expression.key.upper()} {multiplicity}" if multiplicity else super().set_operation(expression)

    TRANSFORMS: t.ClassVar[dict[t.Any, t.Any]] = {
        **SparkGenerator.TRANSFORMS,
        StreamTable: table_sql,
        StreamSubquery: subquery_sql,
        StreamGroup: group_sql,
        StreamList: list_sql,
        StreamQuery: query_sql,
        StreamForm: form_sql,
    }


class ContinuaDialect(Spark):
    """Spark SQL with streams."""

    class Tokenizer(Spark.Tokenizer):
        """EXPLAIN and SHOW are ordinary words here, not commands that swallow the rest of the line.

        A doubled quote in a string is a quote, as in Spark 4.
        """

        STRING_ESCAPES: t.ClassVar[list[str]] = ["\\", "'"]

        COMMANDS: t.ClassVar[set[TokenType]] = set()
        KEYWORDS: t.ClassVar[dict[str, TokenType]] = {
            **{word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if kind != TokenType.COMMAND},
            "≤": TokenType.LTE,
            "≥": TokenType.GTE,
            "≠": TokenType.NEQ,
        }

    Parser = ContinuaParser
    Generator = ContinuaGenerator


def render_query(query: exp.Expr) -> str:
    """The text of a query, on one line."""
    return query.sql(dialect=ContinuaDialect, normalize_functions=False, comments=False)
