"""How the nodes that are added to sqlglot's are written."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from continua.lang.statements import WindowSyntax


def table_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """A stream or relation with its window."""
    body = generator.sql(node, "this")
    if node.args.get("view"):
        sync = node.args.get("sync")
        body = f"ℜ_{sync}({body})" if sync else f"ℜ({body})"
    return _with_window(generator, body, node)


def _joins_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    return "".join(generator.sql(join) for join in node.args.get("joins") or [])


def subquery_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """A subquery with its window."""
    return _with_window(generator, f"({generator.sql(node, 'this')})", node)


def group_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """GROUP(item, function, j OF k)."""
    parts = ", ".join(generator.sql(node, part) for part in ("this", "function", "index"))
    return _with_window(generator, f"GROUP({parts} OF {generator.sql(node, 'count')})", node)


def list_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """ISTREAM(list)."""
    distinct = "DISTINCT " if node.args.get("distinct") else ""
    return f"{node.this}({distinct}{generator.expressions(node, flat=True)})"


def query_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """ISTREAM(query)."""
    return f"{node.args['operator']}({generator.sql(node, 'this')})"


def form_sql(generator: SparkGenerator, node: exp.Expr) -> str:
    """COALESCE STREAM (query) UP TO length."""
    body = generator.sql(node, "this")
    length = node.args.get("length")
    ends = "" if length is None else f" {'UP TO' if node.args['operator'] == 'COALESCE' else 'INTO'} {length}"
    return f"{node.args['operator']} STREAM {f'({body})' if isinstance(node.this, exp.Query) else body}{ends}"


def _with_window(generator: SparkGenerator, body: str, node: exp.Expr) -> str:
    window: WindowSyntax | None = node.args.get("window")
    alias = generator.sql(node, "alias")
    text = f"{body} {window.text}" if window else body
    return (f"{text} AS {alias}" if alias else text) + _joins_sql(generator, node)
