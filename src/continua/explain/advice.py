"""What the author of a query should know before it runs for a year: state that grows, work that cannot be divided."""

from __future__ import annotations

from collections.abc import Iterator

from continua.algebra.base import Plan
from continua.algebra.expr import Call, conjuncts
from continua.algebra.leaves import Source
from continua.algebra.printer import describe, window_text
from continua.algebra.relational import Join, JoinKind, Window
from continua.algebra.state_bounds import unbounded_state
from continua.algebra.streaming import RelationalView
from continua.algebra.traverse import nodes_of, origin
from continua.errors import Diagnostic
from continua.physical import check_nodes, nodes
from continua.physical.distribution import Alone
from continua.physical.placement import in_order


def advice(plan: Plan, graph: nodes.QueryResult | None = None) -> list[Diagnostic]:
    """Notices about a query's plan and, where the engine runs it, its graph."""
    found = [*_unbounded(plan), *_products(plan), *_unbounded_with_relation(plan)]
    found += [] if graph is None else list(_physical(graph))
    return list({n.message: n for n in found}.values())


def _unbounded(plan: Plan) -> Iterator[Diagnostic]:
    for node, what in unbounded_state(plan):
        operator = describe(node)[0]
        message = f"the state of {operator} has no bound: it keeps {what}"
        yield Diagnostic("UNBOUNDED_STATE", message, parameters={"operator": operator, "keeps": what})


def _products(plan: Plan) -> Iterator[Diagnostic]:
    for node in nodes_of(plan):
        if isinstance(node, Join) and node.join is JoinKind.INNER and not _equates(node):
            kind = "has no condition" if node.predicate is None else "has no equality"
            message = f"a join {kind}: every row meets every row that is valid at the same time"
            yield Diagnostic("PRODUCT_OVER_TIME", message, hint="join on equal columns, or make the windows small")


def _equates(join: Join) -> bool:
    return any(isinstance(part, Call) and part.function in ("=", "<=>") for part in conjuncts(join.predicate))


def _unbounded_with_relation(plan: Plan) -> Iterator[Diagnostic]:
    """CQL 6.5: with an unbounded window every change of the relation meets all elements there ever were."""
    for node in nodes_of(plan):
        if not isinstance(node, Join) or node.join is not JoinKind.INNER:
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            found = [stream for part in nodes_of(side) if (stream := _unbounded_stream(part)) is not None]
            relations = [p for p in nodes_of(other) if isinstance(p, RelationalView)]
            if found and relations and not any(isinstance(p, Window) for p in nodes_of(other)):
                name, window = found[0]
                message = f"{name} {window} is joined with a relation: all its elements are kept for that"
                hint = f"{name} [NOW] joins each element with the relation as it is when the element comes"
                yield Diagnostic("UNBOUNDED_WITH_RELATION", message, hint=hint, parameters={"stream": name})


def _unbounded_stream(plan: Plan) -> tuple[str, str] | None:
    """The stream of a window that never forgets, and the window."""
    match plan:
        case Window(input=stream, spec=spec) if spec.never_forgets:
            source = origin(stream)
            return (source.name, window_text(spec)) if isinstance(source, Source) else None
        case _:
            return None


def _physical(graph: nodes.QueryResult) -> Iterator[Diagnostic]:
    for node in in_order([graph]):
        if isinstance(node, nodes.Chronons):
            message = "a window over a derived stream: what lasts in it is cut into chronons"
            yield Diagnostic(
                "SPLIT_TO_CHRONONS", message, hint="a slide, or ISTREAM instead of RSTREAM, needs no cutting"
            )
        if any(isinstance(r, Alone) for r in node.requires):
            why = "keeps rows in their order" if isinstance(node, check_nodes.Checked) else "has no key"
            message = f"{node.title} {why}: it runs on one partition"
            yield Diagnostic("ONE_PARTITION", message, parameters={"operator": node.title})
