"""What of SQL a query may use. sqlglot reads far more than any one system means; the rest is refused by name."""

from __future__ import annotations

from sqlglot import exp

from continua.errors import Diagnostic
from continua.lang.dialect import StreamList, StreamQuery, StreamSubquery, StreamTable
from continua.lang.text import Positions

_ALLOWED: frozenset[type[exp.Expr]] = frozenset(
    {
        # queries
        exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit,
        exp.Offset, exp.Distinct, exp.Union, exp.Except, exp.Intersect, exp.Subquery, exp.With, exp.CTE, exp.Values,
        exp.Table, exp.TableAlias, StreamList, StreamQuery, StreamSubquery, StreamTable,
        # names and constants
        exp.Identifier, exp.Column, exp.Star, exp.Alias, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Interval,
        exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.CurrentTimestamp,
        # operators
        exp.Paren, exp.Tuple, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE,
        exp.NullSafeEQ, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Between,
        exp.In, exp.Exists, exp.Any, exp.All, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Case, exp.If,
        exp.Cast, exp.TryCast, exp.Extract, exp.Trim, exp.Bracket, exp.Array, exp.Dot, exp.Anonymous, exp.Filter,
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

_FLAGS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Select: ("kind", "hint", "operation_modifiers", "exclude"),
    exp.With: ("recursive",),
    exp.Star: ("except_", "replace", "rename"),
    exp.Distinct: ("on",),
    exp.Join: ("hint", "match_condition", "directed"),
    exp.Union: ("by_name", "side", "kind", "on"),
    exp.Except: ("by_name", "side", "kind", "on"),
    exp.Intersect: ("by_name", "side", "kind", "on"),
    StreamTable: ("only", "hints", "system_time", "version", "format", "pattern", "when", "partition"),
    exp.Group: ("all", "totals"),
    exp.Limit: ("limit_options", "expressions"),
}
_FLAG_NAMES = {"recursive": "WITH RECURSIVE", "except_": "* EXCEPT", "replace": "* REPLACE", "on": "DISTINCT ON"}


def unsupported(tree: exp.Expr, positions: Positions) -> list[Diagnostic]:
    """What a query uses and Continua does not have, each told once."""
    found: list[Diagnostic] = []
    for node in tree.walk():
        problem = _problem(node)
        if problem is None:
            continue
        feature, hint = problem
        if not any(d.parameters["feature"] == feature for d in found):
            span = positions.of(node) or positions.of(tree)
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
    for flag in _FLAGS.get(kind, ()):
        if node.args.get(flag):
            return _FLAG_NAMES.get(flag, flag.strip("_").upper().replace("_", " ")), None
    return None
