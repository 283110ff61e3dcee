"""What the trees of queries have that SQL has not: windows, relation-to-stream operators, relational views."""

from __future__ import annotations

import typing as t

import sqlglot.parser
from sqlglot import exp


def check_build() -> None:
    """Fails with an explanation when sqlglot's compiled build is installed: its classes cannot be extended."""
    module = getattr(sqlglot.parser, "__file__", "") or ""
    if not module.endswith(".py"):
        raise ImportError(
            "Continua extends sqlglot's parser, which the compiled build (sqlglotc) forbids. "
            "Uninstall it with `pip uninstall sqlglotc`; plain sqlglot stays."
        )


check_build()


class StreamTable(exp.Table):
    """A stream or relation in FROM, with its window and, for ℜ(S), its relational view."""

    arg_types: t.ClassVar[dict[str, bool]] = {**exp.Table.arg_types, "window": False, "view": False, "sync": False}


class StreamSubquery(exp.Subquery):
    """A parenthesised subquery in FROM with a window."""

    arg_types: t.ClassVar[dict[str, bool]] = {**exp.Subquery.arg_types, "window": False}


class StreamGroup(exp.Expression):
    """GROUP(item, function, j OF k): the j-th of the k groups into which a function divides a relation in FROM."""

    arg_types: t.ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "function", "index", "count"), True),
        **dict.fromkeys(("alias", "joins"), False),
    }


class StreamList(exp.Expression):
    """A select list under a relation-to-stream operator: SELECT ISTREAM(list)."""

    arg_types: t.ClassVar[dict[str, bool]] = {"this": True, "expressions": True, "distinct": False}


class StreamQuery(exp.Expression, exp.Query):
    """A relation-to-stream operator around a query: ISTREAM(SELECT ...)."""

    arg_types: t.ClassVar[dict[str, bool]] = {"this": True, "operator": True, "with_": False, "alias": False}

    @property
    def selects(self) -> list[exp.Expr]:
        """The select list of the query inside."""
        return t.cast(exp.Query, self.this).selects

    @property
    def named_selects(self) -> list[str]:
        """The names of that list."""
        return t.cast(exp.Query, self.this).named_selects

    @property
    def is_star(self) -> bool:
        """Whether the query inside selects everything."""
        return t.cast(exp.Query, self.this).is_star


class StreamForm(exp.Expression, exp.Query):
    """COALESCE STREAM (query) UP TO length, SPLIT STREAM name INTO length: the elements of a stream, cut otherwise."""

    arg_types: t.ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("this", "operator"), True),
        **dict.fromkeys(("length", "with_", "alias"), False),
    }

    @property
    def selects(self) -> list[exp.Expr]:
        """The select list of the query inside; of a stream that is named, none."""
        return self.this.selects if isinstance(self.this, exp.Query) else []

    @property
    def named_selects(self) -> list[str]:
        """The names of that list."""
        return self.this.named_selects if isinstance(self.this, exp.Query) else []

    @property
    def is_star(self) -> bool:
        """Whether all is selected."""
        return not isinstance(self.this, exp.Query) or self.this.is_star
