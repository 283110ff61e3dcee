"""Rows are grouped before they are joined (PIPES 2009, figure 9 and example 10; eager aggregation in general).

Where the group tells which row of the other side is meant, nothing is left to do above the join:

>>> from continua.rules.examples import shown
>>> from continua.rules.statistics import Statistics
>>> known = Statistics({"bid": 1000.0, "close": 1.0}, {}, {("bid", "item_id"): 50.0})
>>> text = '''SELECT Close.item_id, MAX(price) FROM Bid [RANGE 99 SLIDE 10], Close [RANGE 99]
...           WHERE Bid.item_id = Close.item_id GROUP BY Close.item_id'''
>>> print(shown(RULE, text, known))
Grouping MAX(Bid.price) AS max BY Close.item_id
└─ Filter Bid.item_id = Close.item_id
   └─ Product
      ├─ Window [RANGE 99 SLIDE 10]
      │  └─ Source Bid
      └─ Window [RANGE 99]
         └─ Source Close KEY Close.item_id
becomes
Map Close.item_id, max
└─ Join Bid.item_id = Close.item_id
   ├─ Grouping MAX(Bid.price) AS max BY Bid.item_id
   │  └─ Window [RANGE 99 SLIDE 10]
   │     └─ Source Bid
   └─ Window [RANGE 99]
      └─ Source Close KEY Close.item_id

Otherwise what was grouped below is put together above: counts and sums are added up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from continua.algebra.aggregate_facts import extreme_of, of_nothing
from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall, Call, Column, Expr, columns_of, conjunction
from continua.algebra.keys import keys
from continua.algebra.relational import Aggregate, Join, JoinKind, Project
from continua.algebra.safety import cannot_fail
from continua.functions.aggregates import AGGREGATES
from continua.rules.cost import pays, work
from continua.rules.join_graph import JoinGraph, flatten, is_tree
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered
from continua.types import BIGINT, DataType, common_type

MOST_INPUTS = 6
"""A join of more inputs is left alone: each of them would have to be tried."""
_INEXACT = ("FLOAT", "DOUBLE", "ARRAY", "MAP", "STRUCT")
"""Types of which equal values can look different."""
_PART = "part of "


@dataclass(frozen=True)
class _Sides:
    """A join whose side ``grouped`` is to be grouped before it meets ``other``, by these conditions."""

    grouped: Plan
    other: Plan
    between: tuple[Expr, ...]
    turned: bool

    @property
    def linking(self) -> tuple[Column, ...]:
        """The columns of the grouped side by which rows meet."""
        used = {name for part in self.between for name in columns_of(part)}
        return tuple(f.column for f in self.grouped.schema if f.name in used)

    def joined(self, grouped: Plan) -> Plan:
        """The join, with the grouped side in its place."""
        left, right = (self.other, grouped) if self.turned else (grouped, self.other)
        return Join(JoinKind.INNER, left, right, conjunction(self.between))


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    if not isinstance(plan, Aggregate) or not is_tree(plan.input):  # (1)
        return None
    inputs: list[Plan] = []
    conditions: list[Expr] = []
    flatten(plan.input, inputs, conditions)  # (4): a join whose own condition can fail counts as one input
    if not 2 <= len(inputs) <= MOST_INPUTS or not all(map(columns_of, conditions)):  # (6)
        return None
    tried = (_grouped_first(plan, sides) for sides in _sides(inputs, conditions, facts))
    found = [after for after in tried if after is not None and pays(plan, after, facts)]  # (8)
    return min(found, key=lambda after: work(after, facts), default=None)


def _sides(inputs: list[Plan], conditions: list[Expr], facts: Facts) -> Iterable[_Sides]:
    """Each input against all others, and these against it."""
    for number, one in enumerate(inputs):
        others = inputs[:number] + inputs[number + 1 :]
        own = frozenset(one.schema.names)
        their = frozenset(name for other in others for name in other.schema.names)
        among = [c for c in conditions if columns_of(c) <= their]
        graph = JoinGraph(others, among, facts)
        if not graph.is_linked:  # (6)
            continue
        single = filtered(one, [c for c in conditions if columns_of(c) <= own])
        rest = graph.built(graph.best())
        between = tuple(c for c in conditions if columns_of(c) & own and columns_of(c) & their)
        yield _Sides(single, rest, between, number > 0)
        yield _Sides(rest, single, between, number == 0)


def _grouped_first(plan: Aggregate, sides: _Sides) -> Plan | None:
    """The plan with one side grouped below the join; None where that would not be the same."""
    own, their = frozenset(sides.grouped.schema.names), frozenset(sides.other.schema.names)
    by: dict[str, Expr] = {c.name: c for c in sides.linking}
    outputs: list[tuple[str, Expr]] = []
    for name, key in plan.keys:
        if columns_of(key) <= their:
            outputs.append((name, key))
        elif columns_of(key) <= own and cannot_fail(key):  # (1), (4)
            short = key.name if isinstance(key, Column) else name
            if by.setdefault(short, key) != key and not isinstance(key, Column):  # (7)
                return None
            outputs.append((name, Column(short, key.type, key.nullable)))
        else:
            return None
    taken = {*by, *(name for name, _ in plan.aggregates)}
    if not by or taken & their:  # (1), (7)
        return None
    if any(key.type.name in _INEXACT for key in by.values()):  # (5)
        return None
    groups = tuple(by.items())
    if _tell_all(plan, sides):  # (2)
        return _whole(plan, sides, groups, outputs, own)
    return _in_parts(plan, sides, groups, outputs, own)


# The first case: the groups are those of the result.


def _tell_all(plan: Aggregate, sides: _Sides) -> bool:
    """Whether the keys tell by which values rows meet, and which row of the other side they meet."""
    known = {key.name for _, key in plan.keys if isinstance(key, Column)}
    theirs = keys(sides.other)
    size = -1
    while size < len(known):
        size = len(known)
        known |= {b.name for part in sides.between for a, b in _equated(part) if a.name in known}
        if any(key <= known for key in theirs):
            known |= set(sides.other.schema.names)
    return any(key <= known for key in theirs) and all(c.name in known for c in sides.linking)  # (2)


def _equated(part: Expr) -> Iterable[tuple[Column, Column]]:
    """Columns of which the first one tells the second."""
    match part:
        case Call(function="=" | "<=>", arguments=(Column() as a, Column() as b)):
            yield from ((one, two) for one, two in ((a, b), (b, a)) if _tells(one.type, two.type))
        case _:
            return


def _tells(one: DataType, two: DataType) -> bool:
    """Whether a value of the first type has one equal of the second at most."""
    if one.name in _INEXACT or two.name in _INEXACT:
        return False
    return (one.is_integer and two.is_integer) or common_type(one, two) == two


def _whole(
    plan: Aggregate,
    sides: _Sides,
    groups: tuple[tuple[str, Expr], ...],
    outputs: list[tuple[str, Expr]],
    own: frozenset[str],
) -> Plan | None:
    """A map over the join of the groups with the other side."""
    if not all(_has_value(call, own) for _, call in plan.aggregates):  # (1), (4)
        return None
    if plan.scalar and plan.empty_row:  # (3)
        return None
    below = replace(plan, input=sides.grouped, keys=groups)
    results = [(name, Column(name, call.type, call.nullable)) for name, call in plan.aggregates]
    return Project(sides.joined(below), (*outputs, *results))


def _has_value(call: AggregateCall, own: frozenset[str]) -> bool:
    """Whether an aggregate of one side has a value for any of its rows, those included that meet no other."""
    declared = AGGREGATES.get(call.function)
    parts = call.asked
    if declared is None or not declared.before_join or not all(columns_of(p) <= own and cannot_fail(p) for p in parts):
        return False  # (1), (4)
    return not declared.can_overflow or _cannot_overflow(call.arguments[0].type)  # (4)


def _cannot_overflow(number: DataType) -> bool:
    """Whether a sum fits its type, however many rows a window can hold."""
    return number.name in ("TINYINT", "SMALLINT", "INT", "FLOAT", "DOUBLE")


# The second case: the groups are parts of those of the result.


def _in_parts(
    plan: Aggregate,
    sides: _Sides,
    groups: tuple[tuple[str, Expr], ...],
    outputs: list[tuple[str, Expr]],
    own: frozenset[str],
) -> Plan | None:
    """A grouping of the join of smaller groups with the other side."""
    below: list[tuple[str, AggregateCall]] = []
    above: list[tuple[str, AggregateCall]] = []
    for name, call in plan.aggregates:
        parts = call.asked
        if parts and extreme_of(call) and not any(columns_of(p) & own for p in parts):  # (1)
            above.append((name, call))  # however often a value stands there, the least and the greatest are the same
            continue
        merged = _merged(call, f"{_PART}{name}") if _has_value(call, own) else None  # (1), (2), (4)
        if merged is None:
            return None
        below.append((f"{_PART}{name}", call))
        above.append((name, merged))
    grouped = Aggregate(sides.grouped, groups, tuple(below), plan.empty_row)
    if {name for name, _ in below} & {*sides.other.schema.names, *(name for name, _ in groups)}:  # (7)
        return None
    result: Plan = replace(plan, input=sides.joined(grouped), keys=tuple(outputs), aggregates=tuple(above))
    return _with_zeros(plan, result) if plan.scalar and plan.empty_row else result  # (3)


def _merged(call: AggregateCall, part: str) -> AggregateCall | None:
    """The aggregate of partial results; None if they do not tell it."""
    declared = AGGREGATES.get(call.function)
    if declared is None or declared.merged_by is None:
        return None
    if declared.extreme is None and (call.distinct or call.type != BIGINT):
        return None  # (2): different values of the parts may be equal, and sums of other types are rounded
    value = Column(part, call.type, call.nullable)
    return AggregateCall(declared.merged_by, (value,), call.type, nullable=call.nullable)


def _with_zeros(plan: Aggregate, result: Plan) -> Plan:
    """The result with zero for a count of no rows: as a sum of no counts it would be NULL."""
    outputs: list[tuple[str, Expr]] = []
    for (name, call), field in zip(plan.aggregates, result.schema, strict=True):
        value: Expr = Column(field.name, field.type, True)
        if (nothing := of_nothing(call)) is not None:
            value = Call("COALESCE", (value, nothing), call.type, False)
        outputs.append((name, value))
    return Project(result, tuple(outputs))


RULE = Rule(
    "aggregation_below_join",
    "PIPES 2009 figure 9, lemma 6.7",
    (
        "1. The aggregates are of columns of one side of an inner join. That side is grouped first, by what it "
        "contributes to the groups and by what it is joined by, which is one column at least. MIN and MAX of the other "
        "side can be taken above.",
        "2. If the grouping columns tell the columns that are joined by and a key of the other side, a group meets one "
        "row of it, and the groups are those of the result. Else COUNT, SUM, MIN and MAX (not DISTINCT ones, nor sums "
        "of doubles, which are exact only as a whole) are put together above the join.",
        "3. A scalar aggregation that has a row for no rows is put together above the join: nothing may meet there.",
        "4. Rows that meet no other are aggregated too: nothing that is computed can fail, and no sum can overflow.",
        "5. Equal values look alike: no column that is grouped by is a floating-point number, or nested.",
        f"6. There are {MOST_INPUTS} inputs at most. Every condition uses a column, and conditions link all inputs of "
        "a side.",
        "7. No column that is grouped by, and no aggregate, has the name of another column.",
        "8. The estimated work drops by a tenth at least.",
    ),
    _rewrite,
    tops=(Aggregate,),
    conventional=True,
)
