"""Joins: the algorithm by the predicate (PIPES 2009, 8.2), and the other kinds of join from two operators.

An inner join pairs rows; a gate lets left rows through while their key has a partner, or none. All kinds are made of
these: an outer join is the inner join and the rows without partner, a mark join is two gates, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from continua.algebra.base import Plan
from continua.algebra.expr import (
    FALSE,
    TRUE,
    Call,
    Cast,
    Expr,
    Literal,
    Now,
    columns_of,
    conjunction,
    conjuncts,
    equal,
    walk,
)
from continua.algebra.identity import identity
from continua.algebra.relational import Filter, Join, JoinKind
from continua.algebra.schema import Field
from continua.physical import nodes
from continua.physical.distribution import Anywhere, ByKey, Distribution
from continua.physical.join_distribution import MANY, level_and_distribution, sent_everywhere, weight
from continua.physical.leading import leading
from continua.physical.relation import Relation, null_of, schema_of
from continua.physical.times import is_known, is_null
from continua.types import BOOLEAN, common_type


@dataclass(frozen=True)
class Keys:
    """The equalities of a join predicate, and what is left of it."""

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    null_safe: tuple[bool, ...]
    residual: Expr | None

    @property
    def plain(self) -> bool:
        """Whether the equalities are all there is, and NULL equals nothing in them (or everywhere itself)."""
        return self.residual is None and bool(self.left) and len(set(self.null_safe)) == 1


def equalities_of(predicate: Expr | None, left: Relation, right: Relation) -> Keys:
    """Splits a join predicate into equalities between the sides and the rest."""
    pairs: list[tuple[Expr, Expr, bool]] = []
    rest: list[Expr] = []
    for part in conjuncts(predicate):
        sides = _equality(part, left, right)
        if sides is None:
            rest.append(part)
        else:
            pairs.append((*sides, isinstance(part, Call) and part.function == "<=>"))
    pairs.sort(key=lambda pair: (identity(left.placed(pair[0])), identity(right.placed(pair[1])), pair[2]))
    lefts, rights, safe = zip(*pairs, strict=True) if pairs else ((), (), ())
    return Keys(tuple(lefts), tuple(rights), tuple(safe), conjunction(rest))


def _equality(part: Expr, left: Relation, right: Relation) -> tuple[Expr, Expr] | None:
    if not isinstance(part, Call) or part.function not in ("=", "<=>"):
        return None
    a, b = part.arguments
    mine, theirs = set(left.names), set(right.names)
    if columns_of(a) <= theirs and columns_of(b) <= mine:
        a, b = b, a
    if not (columns_of(a) <= mine and columns_of(b) <= theirs and columns_of(a) and columns_of(b)):
        return None
    common = common_type(a.type, b.type)
    if common is None:
        return None
    return _as(a, common), _as(b, common)


def _as(expr: Expr, data_type: object) -> Expr:
    return expr if expr.type == data_type else Cast(expr, data_type)  # type: ignore[arg-type]


def with_conditions(plan: Join, conditions: tuple[Expr, ...]) -> tuple[Join, list[Expr]]:
    """An inner join with the conditions of a filter above it, each where its columns are; and what stays above.

    So a comma between two streams and a condition in WHERE is a join by that condition, and a window by predicate on
    one side bounds what is kept of it. Conditions on NOW and both sides stay, and so do other conditions on one side,
    unless that is itself a join: to bring them down further is a matter of rules.
    """
    above: list[Expr] = []
    sides: tuple[list[Expr], list[Expr]] = [], []
    between = list(conjuncts(plan.predicate))
    for condition in conditions:
        names = columns_of(condition)
        timed = any(isinstance(part, Now) for part in walk(condition))
        own = [names <= set(side.schema.names) for side in (plan.left, plan.right)]
        joined = any(mine and _is_join(side) for mine, side in zip(own, (plan.left, plan.right), strict=True))
        if any(own) and (timed or joined):
            sides[0 if own[0] else 1].append(condition)
        elif timed or any(own):
            above.append(condition)
        else:
            between.append(condition)
    left, right = (_filtered(side, parts) for side, parts in zip((plan.left, plan.right), sides, strict=True))
    return replace(plan, left=left, right=right, predicate=conjunction(between)), above


def _is_join(plan: Plan) -> bool:
    return isinstance(plan, Join) and plan.join is JoinKind.INNER


def _filtered(plan: Plan, parts: list[Expr]) -> Plan:
    predicate = conjunction(parts)
    return plan if predicate is None else Filter(plan, predicate)


def join(plan: Join, left: Relation, right: Relation) -> Relation:
    """The physical operators of a join."""
    match plan.join:
        case JoinKind.INNER:
            return inner(left, right, plan.predicate)
        case JoinKind.SEMI:
            return _semi(left, right, plan.predicate, "SEMI")
        case JoinKind.ANTI:
            return _semi(left, right, plan.predicate, "ANTI")
        case JoinKind.NULL_AWARE_ANTI:
            return _null_aware(plan, left, right)
        case JoinKind.MARK:
            return _mark(plan, left, right)
        case JoinKind.LEFT:
            return _outer(plan, left, right, both_sides=False)
        case JoinKind.FULL:
            return _outer(plan, left, right, both_sides=True)
        case JoinKind.RIGHT:
            flipped = replace(plan, join=JoinKind.LEFT, left=plan.right, right=plan.left)
            turned = _outer(flipped, right, left, both_sides=False)
            return turned.picked([turned.place(n) for n in plan.schema.names]).named(plan.schema)
        case JoinKind.SINGLE:
            guarded = _semi(left, right, plan.predicate, "ANTI", limit_one=True)
            return _with_nulls(plan, _from_left(left, right, plan.predicate)[0], guarded, right)


def inner(left: Relation, right: Relation, predicate: Expr | None) -> Relation:
    """The pairs that satisfy a predicate: by equal keys where there are equalities, else of all pairs.

    Whichever side was written first, equal joins are one node: the sides have an order of their own.
    """
    first, second = sorted((left, right), key=lambda side: side.node.id)
    pairs = _inner(first, second, predicate)
    heavy, light = sorted((first, second), key=weight, reverse=True)
    if sent_everywhere(heavy, light, pairs.node):
        first, pairs = heavy, _inner(heavy, light, predicate, everywhere=True)
    if first is left:
        return pairs
    width = len(right.fields)
    return pairs.picked([*range(width, width + len(left.fields)), *range(width)])


def _from_left(left: Relation, right: Relation, predicate: Expr | None) -> tuple[Relation, bool]:
    """The same pairs, and whether they are where their left rows are: if the right side is not too large for that."""
    if right.load.size > MANY and weight(right) > weight(left):
        return inner(left, right, predicate), False
    pairs = _inner(left, right, predicate)
    stay = sent_everywhere(left, right, pairs.node)
    return (_inner(left, right, predicate, everywhere=True) if stay else pairs), stay


def _inner(left: Relation, right: Relation, predicate: Expr | None, everywhere: bool = False) -> Relation:
    keys = equalities_of(predicate, left, right)
    matched = [i for i, safe in enumerate(keys.null_safe) if not safe]
    first, left_keys = _keyed(left, keys.left, matched)
    second, right_keys = _keyed(right, keys.right, matched)
    fields = left.fields + right.fields
    schema = schema_of([f.type for f in fields])
    node = nodes.Join(schema, (first, second), left_keys, right_keys, len(left.fields), None, everywhere)
    pairs = Relation(node, fields)
    if keys.residual is None:
        return pairs
    asked = pairs.filtered(keys.residual).node
    assert isinstance(asked, nodes.Evaluate)
    return Relation(replace(node, residual=asked.steps[0]), fields)


def _keyed(side: Relation, keys: tuple[Expr, ...], never_null: list[int]) -> tuple[nodes.Node, tuple[int, ...]]:
    """A side with its key columns behind the others where they are not among them, and their places."""
    places: list[int] = []
    extra: list[tuple[Field, Expr]] = []
    for number, key in enumerate(keys):
        name = getattr(key, "name", None)
        if name in side.names:
            places.append(side.place(name))
        else:
            places.append(len(side.fields) + len(extra))
            extra.append((Field(f"#key{number}", key.type), key))
    kept = [keys[i] for i in never_null if keys[i].nullable]
    return side.extended(extra, [is_known(k) for k in kept]).node, tuple(places)


def _semi(
    left: Relation,
    right: Relation,
    predicate: Expr | None,
    mode: str,
    limit_one: bool = False,
    pairs: Relation | None = None,
) -> Relation:
    """Left rows with a partner, or without one; ``pairs`` are the pairs of both where these are known."""
    keys = equalities_of(predicate, left, right)
    if predicate is None or keys.plain or (not keys.left and keys.residual is None):
        return _gate(left, right, keys, mode, limit_one)
    # any other predicate: the left rows of the pairs that satisfy it are the partners of equal left rows
    first = replace(left, node=nodes.Multiplicity(left.node.schema, (left.node,), "DISTINCT")) if limit_one else left
    found, stay = _from_left(first, right, predicate) if pairs is None else (pairs, False)
    matches = found.picked([found.place(name) for name in left.names])
    columns = tuple(f.column for f in left.fields)
    renamed = replace(matches, fields=tuple(replace(f, name=f"#{f.name}") for f in matches.fields))
    others = tuple(f.column for f in renamed.fields)
    same = Keys(columns, others, tuple(True for _ in columns), None)
    return _gate(left, renamed, same, mode, limit_one, _together(matches.node, stay and not limit_one))


def _together(matches: nodes.Node, stay: bool) -> Distribution | None:
    """Where rows meet those of the pairs that were made from them: where these are, as rows that are equal are there.

    ``stay``: whether the pairs are where the rows were.
    """
    found = level_and_distribution(matches).distribution
    return found if isinstance(found, ByKey) or (stay and isinstance(found, Anywhere)) else None


def _gate(
    left: Relation,
    right: Relation,
    keys: Keys,
    mode: str,
    limit_one: bool,
    together: Distribution | None = None,
) -> Relation:
    null_safe = all(keys.null_safe)
    first, left_keys = _keyed(left, keys.left, [])
    second, right_keys = _keyed(right, keys.right, [i for i, safe in enumerate(keys.null_safe) if not safe])
    if mode == "SEMI" and not limit_one and not any(keys.null_safe):
        first = leading(first, left_keys, second, right_keys)
    node = nodes.Gate(first.schema, (first, second), mode, left_keys, right_keys, null_safe, limit_one)
    if together is not None:
        node = replace(node, together=together)
    elif sent_everywhere(left, right, node):
        node = replace(node, everywhere=True)
    extra = tuple(Field(f"#key{i}", key.type) for i, key in enumerate(keys.left) if i < len(first.schema))
    fields = left.fields + extra[: len(first.schema) - len(left.fields)]
    return Relation(node, fields, left.load).picked(range(len(left.fields)))


def _outer(plan: Join, left: Relation, right: Relation, both_sides: bool) -> Relation:
    pairs, _ = _from_left(left, right, plan.predicate)
    result = _with_nulls(plan, pairs, _semi(left, right, plan.predicate, "ANTI"), right)
    if not both_sides:
        return result
    lonely = _semi(right, left, plan.predicate, "ANTI", pairs=pairs)
    outputs = [null_of(f) for f in left.fields] + [f.column for f in lonely.fields]
    return union(result, lonely.computed(outputs, plan.schema.fields))


def _with_nulls(plan: Join, pairs: Relation, lonely: Relation, right: Relation) -> Relation:
    outputs = [f.column for f in lonely.fields] + [null_of(f) for f in right.fields]
    return union(pairs.named(plan.schema), lonely.computed(outputs, plan.schema.fields))


def union(*parts: Relation) -> Relation:
    """The rows of all parts, which have like columns."""
    first = parts[0]
    inputs = sorted((p.node for p in parts), key=lambda node: node.id)
    return Relation(nodes.Union(first.node.schema, tuple(inputs)), first.fields)


def _null_aware(plan: Join, left: Relation, right: Relation) -> Relation:
    """NOT IN: no right row for which the predicate holds and every pair is equal, or may be."""
    if len(plan.null_aware) == 1 and plan.predicate in (None, TRUE):
        return _not_in(*plan.null_aware[0], left, right)
    parts = [] if plan.predicate is None else [plan.predicate]
    for a, b in plan.null_aware:
        parts.append(Call("COALESCE", (equal(a, b), TRUE), BOOLEAN, False))
    return _semi(left, right, conjunction(parts), "ANTI")


def _not_in(value: Expr, other: Expr, left: Relation, right: Relation) -> Relation:
    """x NOT IN S: no s equal to x, no NULL in S, and no S at all where x is NULL."""
    kept = _semi(left, right, equal(value, other), "ANTI")
    if other.nullable:
        kept = _semi(kept, right.filtered(is_null(other)), None, "ANTI")
    if not value.nullable:
        return kept
    known = kept.filtered(is_known(value))
    unknown = _semi(left.filtered(is_null(value)), right, None, "ANTI")
    return union(known, unknown)


def _mark(plan: Join, left: Relation, right: Relation) -> Relation:
    """Left rows with TRUE where a partner satisfies the predicate, NULL where one may, else FALSE."""
    predicate = plan.predicate or TRUE
    rest = _semi(left, right, predicate, "ANTI")
    parts = [_marked(plan, _semi(left, right, predicate, "SEMI"), TRUE)]
    if predicate.nullable:
        unknown = is_null(predicate)
        parts.append(_marked(plan, _semi(rest, right, unknown, "SEMI"), Literal(None, BOOLEAN)))
        rest = _semi(rest, right, unknown, "ANTI")
    return union(*parts, _marked(plan, rest, FALSE))


def _marked(plan: Join, rows: Relation, mark: Expr) -> Relation:
    return rows.computed([*(f.column for f in rows.fields), mark], plan.schema.fields)
