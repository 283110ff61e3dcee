"""Trees of inner joins, seen as inputs and as conditions between them that can be asked in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Expr, columns_of, conjunction, conjuncts
from continua.algebra.relational import Filter, Join, JoinKind
from continua.algebra.safety import cannot_fail
from continua.rules.cost import Estimate, estimate, paired
from continua.rules.rule import Facts
from continua.rules.selectivity import selectivity
from continua.rules.substitution import filtered

MOST_INPUTS = 8
"""So many inputs are put in order by trying all trees; more of them greedily."""

Order: TypeAlias = "int | tuple[Order, Order]"
"""The number of an input, or two that are joined."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree of joins that was tried: its inputs, a bit for each, their order, and what the tree would cost."""

    inputs: int
    order: Order
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on several inputs: ``reads`` has a bit for each; of an equality ``sides`` has those on each side."""

    part: Expr
    reads: int
    sides: tuple[int, int] | None

    def applies(self, one: int, other: int) -> bool:
        """Whether it can be asked when two trees are joined, and not before."""
        return not self.reads & ~(one | other) and bool(self.reads & one) and bool(self.reads & other)

    def hashes(self, one: int, other: int) -> bool:
        """Whether two trees can be joined by it as an equality."""
        if self.sides is None:
            return False
        a, b = self.sides
        return bool(a and b) and ((not a & ~one and not b & ~other) or (not a & ~other and not b & ~one))


def flatten(plan: Plan, inputs: list[Plan], conditions: list[Expr]) -> None:
    """The inputs of a tree of inner joins with filters among them, from the left, and all conditions."""
    match plan:
        case Join(join=JoinKind.INNER, left=left, right=right, predicate=predicate) if movable(predicate):
            flatten(left, inputs, conditions)
            flatten(right, inputs, conditions)
            conditions += conjuncts(predicate)
        case Filter(input=below, predicate=predicate) if movable(predicate) and is_tree(below):
            flatten(below, inputs, conditions)
            conditions += conjuncts(predicate)
        case _:
            inputs.append(plan)


def is_tree(plan: Plan) -> bool:
    """Whether it is an inner join, or filters over one."""
    while isinstance(plan, Filter):
        plan = plan.input
    return isinstance(plan, Join) and plan.join is JoinKind.INNER


def movable(predicate: Expr | None) -> bool:
    """Whether its conditions depend on the rows alone, and have a value for every row."""
    return all(map(cannot_fail, conjuncts(predicate)))


class JoinGraph:
    """Inputs that are to be joined, and the conditions between them."""

    def __init__(self, inputs: list[Plan], conditions: list[Expr], facts: Facts) -> None:
        self._names = [frozenset(i.schema.names) for i in inputs]
        own: list[list[Expr]] = [[] for _ in inputs]
        self._above: list[Expr] = []
        """Conditions that use no input at all: they stand above the whole tree."""
        self._between: list[_Condition] = []
        """Conditions on several inputs. Those on one stand over it."""
        for part in conditions:
            names = columns_of(part)
            reads = self._reads(names)
            if reads.bit_count() > 1:
                self._between.append(_Condition(part, reads, self._sides(part)))
            else:
                (own[reads.bit_length() - 1] if reads else self._above).append(part)
        self._inputs = [filtered(i, parts) for i, parts in zip(inputs, own, strict=True)]
        self._leaves = [_Tree(1 << n, n, estimate(i, facts)) for n, i in enumerate(self._inputs)]
        distinct = {name: number for leaf in self._leaves for name, number in leaf.estimate.distinct.items()}
        measured = facts.statistics.conditions
        self._passes = [selectivity(condition.part, distinct, measured) for condition in self._between]

    def _reads(self, names: frozenset[str]) -> int:
        return sum(1 << number for number, known in enumerate(self._names) if names & known)

    def _sides(self, part: Expr) -> tuple[int, int] | None:
        """The inputs on both sides of an equality."""
        match part:
            case Call(function="=" | "<=>", arguments=(a, b)):
                return self._reads(columns_of(a)), self._reads(columns_of(b))
            case _:
                return None

    def best(self) -> Order:
        """The cheapest tree; a product only where no condition links what it joins."""
        parts = [self._best_of(part) for part in self._linked()]
        while len(parts) > 1:
            parts.sort(key=lambda tree: tree.estimate.size)
            parts[:2] = [self._join(parts[0], parts[1])]
        return parts[0].order

    @property
    def is_linked(self) -> bool:
        """Whether conditions link all inputs. Those that would link a product may stand further up in the plan."""
        return len(self._linked()) == 1

    def _linked(self) -> list[list[_Tree]]:
        """The inputs, divided into groups that conditions link."""
        groups = [leaf.inputs for leaf in self._leaves]
        for condition in self._between:
            touched = [g for g in groups if g & condition.reads]
            groups = [g for g in groups if not g & condition.reads] + [sum(touched)]
        return [[leaf for leaf in self._leaves if leaf.inputs & group] for group in groups]

    def _best_of(self, leaves: list[_Tree]) -> _Tree:
        if len(leaves) > MOST_INPUTS:
            return self._greedy(leaves)
        return self._dynamic(leaves, linked=True) or self._dynamic(leaves, linked=False) or self._greedy(leaves)

    def _dynamic(self, leaves: list[_Tree], linked: bool) -> _Tree | None:
        """All trees, from small to large: the cheapest one of each set of inputs."""
        best: dict[int, _Tree] = {leaf.inputs: leaf for leaf in leaves}
        bits = [leaf.inputs for leaf in leaves]
        subsets = sorted(
            (sum(b for i, b in enumerate(bits) if chosen >> i & 1) for chosen in range(1, 1 << len(bits))),
            key=int.bit_count,
        )
        for whole in subsets:
            part = (whole - 1) & whole
            while part:
                left, right = best.get(part), best.get(whole ^ part)
                if left and right and part & whole & -whole and (not linked or self._links(part, whole ^ part)):
                    tree = self._join(left, right)
                    if whole not in best or tree.estimate.work < best[whole].estimate.work:
                        best[whole] = tree
                part = (part - 1) & whole
        return best.get(sum(bits))

    def _greedy(self, leaves: list[_Tree]) -> _Tree:
        """Joins the two trees that give the fewest rows, again and again."""
        trees = list(leaves)
        while len(trees) > 1:
            pairs = [(a, b) for i, a in enumerate(trees) for b in trees[i + 1 :]]
            pairs = [(a, b) for a, b in pairs if self._links(a.inputs, b.inputs)] or pairs
            chosen = min((self._join(a, b) for a, b in pairs), key=lambda t: (t.estimate.rate, t.estimate.size))
            trees = [t for t in trees if not t.inputs & chosen.inputs] + [chosen]
        return trees[0]

    def _links(self, one: int, other: int) -> bool:
        return any(condition.applies(one, other) for condition in self._between)

    def _join(self, one: _Tree, other: _Tree) -> _Tree:
        """The join of two trees; the one with the first input stands on the left."""
        if other.inputs & -other.inputs < one.inputs & -one.inputs:
            one, other = other, one
        hashed = rest = 1.0
        for condition, passes in zip(self._between, self._passes, strict=True):
            if condition.hashes(one.inputs, other.inputs):
                hashed *= passes
            elif condition.applies(one.inputs, other.inputs):
                rest *= passes
        found = paired(one.estimate, other.estimate, hashed, hashed * rest)
        return _Tree(one.inputs | other.inputs, (one.order, other.order), found)

    def built(self, order: Order) -> Plan:
        """The plan of a tree."""
        return filtered(self._built(order)[0], self._above)

    def _built(self, order: Order) -> tuple[Plan, int]:
        if isinstance(order, int):
            return self._inputs[order], 1 << order
        (left, one), (right, other) = map(self._built, order)
        predicate = conjunction([c.part for c in self._between if c.applies(one, other)])
        return Join(JoinKind.INNER, left, right, predicate), one | other
