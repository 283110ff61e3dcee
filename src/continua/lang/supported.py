"""What of SQL a query may use. sqlglot reads far more than any one system means; the rest is refused by name."""

from __future__ import annotations

import re

from sqlglot import exp

from continua.errors import Diagnostic, Span
from continua.lang.places import Positions
from continua.lang.stream_nodes import StreamForm, StreamGroup, StreamList, StreamQuery, StreamSubquery, StreamTable

_ALLOWED: frozenset[type[exp.Expr]] = frozenset(
    {
        # queries
        exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit,
        exp.Offset, exp.Distinct, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.With, exp.CTE, exp.Values,
        exp.Table, exp.TableAlias, StreamForm, StreamGroup, StreamList, StreamQuery, StreamSubquery, StreamTable,
        # names and constants
        exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Interval,
        exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.CurrentTimestamp,
        # operators
        exp.Paren, exp.Tuple, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE,
        exp.NullSafeEQ, exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe,
        exp.Between, exp.In, exp.Exists, exp.Any, exp.All, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Case,
        exp.If, exp.Cast, exp.TryCast, exp.Extract, exp.Trim, exp.Bracket, exp.Array, exp.Dot, exp.Anonymous,
        exp.Filter,
    }
)  # fmt: skip

_OVER_HINT = "put the window after the stream: FROM Bid [PARTITION BY item ROWS 5]"

_NAMES: dict[type[exp.Expr], tuple[str, str | None]] = {
    exp.Window: ("OVER", _OVER_HINT),
    exp.WindowSpec: ("OVER", _OVER_HINT),
    exp.Lateral: ("LATERAL", None),
    exp.Unnest: ("UNNEST", None),
    exp.Rollup: ("ROLLUP", "write one query for each grouping, and UNION ALL them"),
    exp.Cube: ("CUBE", "write one query for each grouping, and UNION ALL them"),
    exp.GroupingSets: ("GROUPING SETS", "write one query for each grouping, and UNION ALL them"),
    exp.Qualify: ("QUALIFY", None),
    exp.Sort: ("SORT BY", "ORDER BY ... LIMIT"),
    exp.Cluster: ("CLUSTER BY", None),
    exp.Distribute: ("DISTRIBUTE BY", None),
    exp.Into: ("SELECT INTO", "REGISTER QUERY ... INTO sink(...)"),
    exp.Fetch: ("FETCH", "LIMIT n"),
    exp.Pivot: ("PIVOT", None),
    exp.TableSample: ("TABLESAMPLE", None),
    exp.WithinGroup: ("WITHIN GROUP", None),
    exp.Escape: ("ESCAPE", None),
}

_QUERY = {"with_", "order", "limit", "offset", "laterals"}
_PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"expressions", "distinct", "from_", "joins", "where", "group", "having"} | _QUERY,
    exp.Union: {"this", "expression", "distinct", "multiplicity"} | _QUERY,
    exp.Except: {"this", "expression", "distinct", "multiplicity"} | _QUERY,
    exp.Intersect: {"this", "expression", "distinct"} | _QUERY,
    exp.Subquery: {"this", "alias"} | _QUERY,
    exp.Join: {"this", "on", "using", "side", "kind", "method"},
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Distinct: {"expressions"},
    exp.CTE: {"this", "alias"},
    exp.TableAlias: {"this", "columns"},
    exp.Values: {"expressions", "alias"},
    exp.Alias: {"this", "alias"},
    exp.Identifier: {"this", "quoted"},
    exp.Column: {"this", "table", "db"},
    exp.Limit: {"expression"},
    exp.Literal: {"this", "is_string"},
    exp.Interval: {"this", "unit"},
    exp.DataType: {"this", "expressions", "nested", "kind"},
    exp.ColumnDef: {"this", "kind"},
    exp.In: {"this", "expressions", "query"},
    exp.Between: {"this", "low", "high"},
    exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"},
    exp.Is: {"this", "expression", "negate"},
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"},
    exp.Cast: {"this", "to"},
    exp.TryCast: {"this", "to", "safe", "requires_string"},
    exp.Trim: {"this"},
    StreamQuery: {"this", "operator", "with_"},
    StreamForm: {"this", "operator", "length"},
    StreamGroup: {"this", "function", "index", "count", "alias", "joins"},
    StreamList: {"this", "expressions", "distinct"},
    StreamTable: {"this", "alias", "joins", "window", "view", "sync", "db"},
    StreamSubquery: {"this", "alias", "joins", "window"} | _QUERY,
}
_USUAL = {"this", "expression", "expressions", "safe", "typed"}
_PART_NAMES = {
    "recursive": "WITH RECURSIVE",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "on": "DISTINCT ON",
    "kind": "SELECT AS",
    "all": "GROUP BY ALL",
}
_JOINS = {"", "NATURAL"}
_NUMBER_AND_UNIT = re.compile(r"\s*-?\d+\s+\w+\s*$")


def unsupported(tree: exp.Expr, positions: Positions, statement: Span) -> list[Diagnostic]:
    """What a query uses and Continua does not have, each told once, at its place or at that of the statement."""
    found: list[Diagnostic] = []
    for node in tree.walk():
        problem = _problem(node)
        if problem is None:
            continue
        feature, hint = problem
        if not any(d.parameters["feature"] == feature for d in found):
            span = positions.of(node) or positions.of(tree) or statement
            message = f"{feature} is not supported"
            found.append(Diagnostic("NOT_SUPPORTED", message, span, hint, {"feature": feature}))
    return found


def _problem(node: exp.Expr) -> tuple[str, str | None] | None:
    kind = type(node)
    if kind not in _ALLOWED:
        return _NAMES.get(kind) or (kind.__name__.upper(), None)
    if isinstance(node, exp.Select) and node.args.get("joins") and not node.args.get("from_"):
        return "JOIN without FROM", None
    if isinstance(node, exp.Dot) and isinstance(node.args["expression"], exp.Star):
        return "* after a value", None
    if isinstance(node, exp.Exists | exp.Any | exp.All) and not isinstance(node.this, exp.Query):
        return f"{node.key.upper()} without a subquery", None
    if isinstance(node, exp.Join) and (reason := _join_problem(node)):
        return reason, None
    if isinstance(node, exp.Interval) and not node.args.get("unit") and not _NUMBER_AND_UNIT.match(_text_of(node)):
        return "INTERVAL without a whole number and a unit", "INTERVAL 5 MINUTES"
    if isinstance(node, exp.Bracket) and len(node.expressions) != 1:
        return "a subscript of several values", None
    if isinstance(node, exp.With) and len({c.alias.casefold() for c in node.expressions}) < len(node.expressions):
        return "a name twice in WITH", None
    for part, value in node.args.items():
        if value and part not in _PARTS.get(kind, _USUAL):
            return _PART_NAMES.get(part, part.strip("_").upper().replace("_", " ")), None
    return None


def _text_of(node: exp.Interval) -> str:
    return node.this.name if isinstance(node.this, exp.Literal) else ""


def _join_problem(node: exp.Join) -> str | None:
    method = node.args.get("method") or ""
    if method not in _JOINS:
        return f"{method} JOIN"
    if method == "NATURAL" and (node.args.get("on") or node.args.get("using")):
        return "NATURAL JOIN with a condition"
    return None
