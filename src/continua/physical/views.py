"""Views of tagged streams: which modifications make the relation, and at which points they take effect."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import Cast, Expr
from continua.algebra.instant_rows import has_moments
from continua.algebra.leaves import Clock, Source, TaggedSource
from continua.algebra.schema import Field
from continua.algebra.streaming import RelationalView, Tag
from continua.algebra.synchronization import points_of_sync
from continua.instants import TimeDomain
from continua.physical import nodes, point_nodes, view_nodes
from continua.physical.carried_leaves import leaf_key
from continua.physical.joins import union
from continua.physical.query_parameters import Plans
from continua.physical.relation import Relation, cannot, schema_of
from continua.physical.sources import TAG, carried_content, tagged_source, unit_source
from continua.physical.steps import OLD_END, OLD_START, ROW_WEIGHT
from continua.physical.times import compared, instant, is_known, later, microseconds, rounded_up, unless_endless
from continua.types import BIGINT, STRING, TIMESTAMP
from continua.windows.change_points import Points
from continua.windows.periodic import Periodic


def held(relation: Relation) -> Relation:
    """Rows that start behind the epoch wait for theirs."""
    return replace(relation, node=nodes.Hold(relation.node.schema, (relation.node,)))


def rounded(relation: Relation, step: int, offset: int) -> Relation:
    """Both ends rounded up to the next point; what begins and ends at one point vanishes."""
    start = rounded_up(OLD_START, step, offset)
    end = unless_endless(OLD_END, rounded_up(OLD_END, step, offset))
    return held(relation.kept([compared(start, "<", end)], start, end))


def view(plans: Plans, plan: RelationalView) -> Relation:
    """The relation that a tagged stream modifies, at once or at the points of a synchronization stream."""
    if isinstance(plan.input, Clock):
        return _clock(plans, plan)
    content = _modified(plans, plan).named(plan.schema)
    if plan.sync is None:
        return content
    match points_of_sync(plan.sync, plans.parameters.chronon):
        case Points(step=step, offset=offset):
            return rounded(content, step, offset)
        case Periodic() as points:
            return held(replace(content, node=point_nodes.ToPoints(content.node.schema, (content.node,), points)))
    below = content.node, sync_points(plans, plan.sync).node
    return replace(content, node=point_nodes.RoundUp(content.node.schema, below))


def sync_points(plans: Plans, sync: Plan) -> Relation:
    """The time points of a synchronization stream: the rows of one column that come into its relation."""
    rows = plans.synchronization(sync)
    column = rows.fields[0].column
    point: Expr = microseconds(column) if column.type == TIMESTAMP else Cast(column, BIGINT)
    appears = [is_known(point), compared(ROW_WEIGHT, ">", 0)]
    return rows.computed([point], [Field("point", BIGINT, False)], appears)


def _modified(plans: Plans, plan: RelationalView) -> Relation:
    tagged = plan.input
    key = tuple(tagged.schema.names.index(k) for k in getattr(tagged, "key", ()))
    match tagged:
        case TaggedSource():
            start, carried = plans.parameters.start, leaf_key(plan) in plans.parameters.carried
            content = _tagged_view(plans, plan, tagged_source(plans.parameters, tagged), key, "TAGS")
            if carried:
                new = content.kept([compared(OLD_START, ">=", start)], OLD_START, OLD_END)
                return union(carried_content(plans.parameters, plan), new)
            if start <= 0:
                return content
            return held(content.kept([compared(OLD_END, ">", start)], later(OLD_START, instant(start)), OLD_END))
        case Tag(input=below) if below.yields is Kind.STREAM:
            return _tagged_view(plans, plan, _elements(plans, tagged), key, "ELEMENTS")
        case Tag(input=below):
            relation = _visible(plans.changing(below))
            if not key and plan.timestamp is None:
                return relation
            changes = nodes.Changes(relation.node.schema, (relation.node,), "NET", plans.parameters.chronon)
            return _tagged_view(plans, plan, replace(relation, node=changes), key, "CHANGES")
        case other:
            raise cannot(f"a view of {type(other).__name__}")


def _tagged_view(plans: Plans, plan: RelationalView, rows: Relation, key: tuple[int, ...], origin: str) -> Relation:
    parameters = plans.parameters
    schema = schema_of(plan.schema.types)
    stamped = plan.timestamp is not None
    node = view_nodes.TaggedView(schema, (rows.node,), key, stamped, origin, parameters.chronon)
    return Relation(node, plan.schema.fields)


def _elements(plans: Plans, tagged: Tag) -> Relation:
    """The elements that a tagger reads."""
    stream = tagged.input
    if not isinstance(stream, Source) and not has_moments(stream, plans.parameters.chronon):
        raise cannot("a tagged stream of an RSTREAM whose rows last")
    return _visible(plans.stream(stream))


def _visible(relation: Relation) -> Relation:
    shown = [i for i, f in enumerate(relation.fields) if not f.hidden]
    return relation if len(shown) == len(relation.fields) else relation.picked(shown)


def modifications(plans: Plans, plan: Plan) -> Relation:
    """The modifications of a tagged stream as they are; the last column is the tag."""
    match plan:
        case TaggedSource():
            return tagged_source(plans.parameters, plan)
        case Tag(input=below, key=names) if below.yields is Kind.STREAM:
            rows = _elements(plans, plan)
            key = tuple(plan.schema.names.index(k) for k in names)
            schema = schema_of([*plan.schema.types, STRING])
            node = view_nodes.Tagger(schema, (rows.node,), key, plans.parameters.chronon)
            return Relation(node, (*plan.schema.fields, TAG))
        case other:
            raise cannot(f"{type(other).__name__} as a tagged stream")


def _clock(plans: Plans, plan: RelationalView) -> Relation:
    """All instants since the start; at the end of the input it goes on a little."""
    parameters = plans.parameters
    time = TIMESTAMP if parameters.domain is TimeDomain.MICROSECONDS else BIGINT
    schema = schema_of([time for _ in plan.schema])
    followed = plans.clock_followed_until()
    below = followed.inputs or (unit_source(parameters),)
    node = point_nodes.Clock(
        schema, below, parameters.start, parameters.chronon, followed.least, plans.further * parameters.chronon
    )
    return Relation(node, plan.schema.fields)
