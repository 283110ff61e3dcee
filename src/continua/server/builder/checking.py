"""What is wrong with a graph, operator by operator, and what each of them yields."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError

from continua.algebra.base import Plan
from continua.algebra.leaves import Source, TaggedSource
from continua.algebra.relational import Project, Window
from continua.algebra.traverse import nodes_of
from continua.binding.context import Context, UnbindableError
from continua.binding.queries import QueryBinder
from continua.catalog import Catalog
from continua.errors import BindError, ContinuaError, Diagnostic, ParseError
from continua.instants import TimeDomain
from continua.lang.dialect import ContinuaDialect
from continua.lang.parse import parse_script
from continua.lang.places import Positions
from continua.lang.statements import QueryStatement
from continua.lang.stream_nodes import StreamList
from continua.server.builder.graph import KINDS, Graph, Node
from continua.server.builder.to_sql import Written, probe_sql, written

_TEXTS = {"predicate": "WHERE {}", "on": "WHERE {}", "columns": "{}", "keys": "GROUP BY {}", "order": "ORDER BY {}",
          "limit": "LIMIT {}", "offset": "LIMIT 1 OFFSET {}", "window": "{}"}  # fmt: skip
_PARTS = {"predicate": "where", "on": "where", "keys": "group", "order": "order", "limit": "limit", "offset": "offset"}
_WORDS = {
    "join": ("", ",", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "SEMI",
             "ANTI", "LEFT SEMI", "LEFT ANTI", "NATURAL", "NATURAL LEFT", "NATURAL RIGHT"),
    "rows": ("", "ALL", "DISTINCT", "MAX", "STRICT"),
    "operator": ("ISTREAM", "DSTREAM", "RSTREAM", "STREAMED", "COMPLETE"),
}  # fmt: skip


@dataclass
class Checked:
    """What is known of an operator."""

    errors: list[Diagnostic] = field(default_factory=list)
    plan: Plan | None = None
    kind: str = ""
    """``stream``, ``relation``, ``tagged stream`` or ``groups``; empty where it is not known."""
    domain: TimeDomain | None = None
    written: Written | None = None

    @property
    def is_right(self) -> bool:
        """Whether others can be built on it."""
        return bool(self.kind)


def bound(catalog: Catalog, text: str) -> tuple[Plan, Context]:
    """The plan of a query without the defaults of the outermost operator; errors are raised."""
    script = parse_script(text).checked()
    body = script.statements[0].body if len(script.statements) == 1 else None
    if not isinstance(body, QueryStatement):
        raise ParseError(Diagnostic("SYNTAX", "this is not one query", parameters={"expected": "a query"}))
    context = Context(catalog, Positions(text))
    try:
        plan = QueryBinder(context).query(body.query, None, None)
    except UnbindableError:
        context.raise_errors()
        raise BindError(Diagnostic("UNKNOWN_NAME", "it uses a name whose definition failed")) from None
    context.raise_errors()
    return plan, context


def check(graph: Graph, catalog: Catalog) -> dict[str, Checked]:
    """Every operator of a graph; one that reads something wrong is not looked at further."""
    found: dict[str, Checked] = {}
    for node in graph.in_order():
        found[node.id] = _checked(graph, node, catalog, found)
    return found


def _checked(graph: Graph, node: Node, catalog: Catalog, others: dict[str, Checked]) -> Checked:
    mine = Checked(errors=_own_errors(node))
    if None in node.inputs:
        number = node.inputs.index(None) + 1
        which = "its input" if len(node.inputs) == 1 else f"input {number}"
        mine.errors.append(_at(node, "NOT_CONNECTED", f"{which} is not connected"))
    read = [others[i.node] for i in node.inputs if i is not None]
    if mine.errors or not all(r.is_right for r in read):
        return mine
    if node.kind not in ("filter", "aggregate") and any(r.kind == "groups" for r in read):
        mine.errors.append(
            _at(node, "GROUPS_WITHOUT_AGGREGATION", "groups are filtered or aggregated before anything else")
        )
        return mine
    query = written(graph, node)
    try:
        mine.plan, context = bound(catalog, probe_sql(query))
    except ContinuaError as error:
        mine.errors += [_told(node, d) for d in error.diagnostics]
        return mine
    if node.kind == "source":
        mine.plan = _base(mine.plan)
    mine.kind = "groups" if query.is_grouped else mine.plan.yields.value
    mine.domain, mine.written = context.domain, query
    if query.is_grouped:
        mine.plan = read[0].plan
    return mine


def _base(plan: Plan) -> Plan:
    """A stream itself, and not the relation that it is taken for where it has no window."""
    leaves = [leaf for leaf in nodes_of(plan) if isinstance(leaf, Source | TaggedSource)]
    whole = isinstance(plan, Project) and isinstance(plan.input, Window) and plan.input.input in leaves
    return leaves[0] if whole else plan


def _own_errors(node: Node) -> list[Diagnostic]:
    """What is wrong with the properties of an operator by themselves."""
    kind = KINDS[node.kind]
    found = []
    for name in kind.properties:
        text = node[name]
        if not text:
            if name not in kind.optional:
                found.append(_at(node, "MISSING", f"{_a(name)} is missing", property=name))
        elif name in _WORDS and text.upper() not in _WORDS[name]:
            choices = ", ".join(word for word in _WORDS[name] if word)
            found.append(_at(node, "SYNTAX", f"{text} is not one of {choices}", property=name))
        elif name in _TEXTS and (wrong := _wrong_text(name, text)) is not None:
            found.append(replace(wrong, span=None, parameters={**wrong.parameters, "node": node.id, "property": name}))
    if node.kind == "sink" and any(node.properties.values()) and not node["name"]:
        found.append(_at(node, "MISSING", "the name is missing", property="name"))
    if node.kind == "first" and not any(map(node.__getitem__, kind.properties)):
        found.append(_at(node, "MISSING", "an order or a limit is missing", property="order"))
    return found


def _a(name: str) -> str:
    return {"keys": "the key", "columns": "the list of columns", "sql": "the query"}.get(name, f"the {name}")


def _wrong_text(name: str, text: str) -> Diagnostic | None:
    """Why a text is not the clause, whole and alone, that it stands for."""
    clause = _TEXTS[name].format(text)
    sql = f"SELECT {clause} FROM x" if name == "columns" else f"SELECT 1 FROM x {clause}"
    try:
        tokens = ContinuaDialect().tokenize(text)
    except SqlglotError:
        return Diagnostic("SYNTAX", "a quote is opened and never closed")
    if any(token.comments for token in tokens) or text.rstrip().endswith("--"):
        return Diagnostic("SYNTAX", "comments have no place here")
    script = parse_script(sql)
    if script.errors:
        return script.errors[0]
    body = script.statements[0].body if len(script.statements) == 1 else None
    tree = body.query if isinstance(body, QueryStatement) else None
    allowed = {"expressions", "from_", _PARTS.get(name, ""), *(["limit"] if name == "offset" else [])}
    if not isinstance(tree, exp.Select) or {k for k, v in tree.args.items() if v} - allowed or _is_more(tree, name):
        return Diagnostic("SYNTAX", f"this is more than {_a(name)}")
    return None


def _is_more(tree: exp.Select, name: str) -> bool:
    """Whether a text has brought into its clause what belongs elsewhere."""
    if name == "columns":
        return any(isinstance(item, StreamList) for item in tree.expressions)
    item = tree.args["from_"].this
    return name == "window" and {k for k, v in item.args.items() if v} != {"this", "window"}


def _told(node: Node, found: Diagnostic) -> Diagnostic:
    """An error of the query that an operator ends, as one of the operator."""
    return Diagnostic(found.condition, found.message, None, found.hint, {**found.parameters, "node": node.id})


def _at(node: Node, condition: str, message: str, hint: str | None = None, **parameters: object) -> Diagnostic:
    return Diagnostic(condition, message, None, hint, {"node": node.id, **parameters})
