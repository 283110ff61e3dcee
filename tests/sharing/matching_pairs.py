"""Random pairs of a view and a query: contained, nearly contained, or drawn without regard to each other.

A contained query is made of its view by two or more compensations on top of each other, each written in a way of its
own. A nearly contained one is made in the same way, and then one thing is changed that the view has not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from continua.answers.query import Query
from continua.reference.semantics import Reference
from continua.session import Session

KINDS = ("filter", "projection", "grouping", "regrouping", "distinct", "having", "synchronization", "joins", "average")
"""The compensations, as recall is told for each."""

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, y INT, z STRING, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, w INT, v STRING, ts BIGINT) ORDERED BY ts;
REGISTER SOURCE Rooms (k INT, x INT, y INT, z STRING, ts BIGINT) ORDERED BY ts;
CREATE STREAM T OVER Rooms KEY NULL;
"""
_SYNC = "CREATE STREAMED VIEW Sync{0} AS SELECT C.Timepoint FROM ℜ(clockStr) C WHERE C.Timepoint % {0} = 0;"
SYNCHRONIZATIONS = (2, 3, 4, 6, 8, 12)
NUMBERS, TEXTS = ("x", "y", "k"), ("z",)
LETTERS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Condition:
    """A condition on one column: what its values are compared with. ``word`` is an operator, IN, NOT IN, IS or JOIN."""

    column: str
    word: str
    values: tuple[object, ...] = ()

    def text(self, chance: random.Random) -> str:
        """It in SQL, in one of several ways."""
        c, one = self.column, _literal(self.values[0]) if self.values else ""
        match self.word:
            case "IN" | "NOT IN":
                listed = list(self.values)
                chance.shuffle(listed)
                if self.word == "IN" and chance.random() < 0.3:
                    return "(" + " OR ".join(f"{c} = {_literal(v)}" for v in listed) + ")"
                return f"{c} {self.word} ({', '.join(map(_literal, listed))})"
            case "BETWEEN":
                low, high = map(_literal, self.values)
                ways = [f"{c} BETWEEN {low} AND {high}", f"{c} >= {low} AND {high} >= {c}"]
                return chance.choice(ways)
            case "IS NULL" | "IS NOT NULL":
                return f"{c} {self.word}"
            case "JOIN":
                a, b = (c, str(self.values[0])) if chance.random() < 0.5 else (str(self.values[0]), c)
                return f"{a} = {b}"
            case "%":
                return f"{c} % {self.values[0]} = {self.values[1]}"
            case word:
                turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
                opposite = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
                ways = [f"{c} {word} {one}", f"{one} {turned[word]} {c}"]
                return chance.choice([*ways, f"NOT ({c} {opposite[word]} {one})"] if word in opposite else ways)


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


@dataclass(frozen=True)
class Shape:
    """A query, before it is written."""

    inputs: tuple[tuple[str, str, int], ...]
    """Streams, their aliases, and the sizes of their windows; of T there is none."""
    every: int = 1
    """The synchronization of all inputs."""
    conditions: tuple[Condition, ...] = ()
    columns: tuple[str, ...] = ()
    """What is shown of rows, or grouped by."""
    calls: tuple[str, ...] | None = None
    """Aggregates, if rows are grouped."""
    having: tuple[tuple[str, int], ...] = ()
    """Aggregates, and what they are greater than."""
    distinct: bool = False

    def text(self, chance: random.Random) -> str:
        """It in SQL, in one of several ways."""
        inputs, conditions = list(self.inputs), list(self.conditions)
        chance.shuffle(inputs)
        chance.shuffle(conditions)
        items = ", ".join(self._item(*item) for item in inputs)
        shown = [*self.columns, *(self.calls or ())]
        chance.shuffle(shown)
        outputs = ", ".join(f"{e} AS {_name(e)}" for e in shown)
        tests = " AND ".join(c.text(chance) for c in conditions)
        text = f"SELECT {'DISTINCT ' if self.distinct else ''}{outputs} FROM {items}"
        text += f" WHERE {tests}" if tests else ""
        text += f" GROUP BY {', '.join(self.columns)}" if self.calls is not None and self.columns else ""
        return text + (f" HAVING {' AND '.join(f'{c} > {n}' for c, n in self.having)}" if self.having else "")

    def _item(self, stream: str, alias: str, size: int) -> str:
        if stream == "T":
            return f"ℜ{'' if self.every == 1 else f'_Sync{self.every}'}(T) {alias}"
        return f"{stream} [RANGE {size}{'' if self.every == 1 else f' SLIDE {self.every}'}] {alias}"


def _name(expr: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in expr).strip("_").lower() or "e"


@dataclass(frozen=True)
class Pair:
    """A view, a query, how they were made, and what must compensate."""

    view: str
    query: str
    relation: str
    """contained, nearly or not"""
    kinds: tuple[str, ...]


class World:
    """A few rows of all inputs, over which several pairs are asked."""

    def __init__(self, chance: random.Random) -> None:
        self.session = Session(dialect="sync")
        self.session.execute(DEFINITIONS + "".join(map(_SYNC.format, SYNCHRONIZATIONS)))
        for name, columns in (("S", 3), ("Rooms", 3), ("P", 2)):
            self.session.insert(name, _rows(columns, chance))
        self._references: dict[frozenset[str], Reference] = {}

    def queries(self, pair: Pair) -> tuple[Query, Query]:
        """The view and the query of a pair, defined."""
        self.session.queries.clear()
        self.session.execute(f"REGISTER QUERY view AS {pair.view}; REGISTER QUERY query AS {pair.query}")
        return self.session.queries["view"], self.session.queries["query"]

    def reference(self, query: Query) -> Reference:
        """The judge over the inputs of a query."""
        sources = frozenset(source.name for source in query.sources)
        if sources not in self._references:
            self._references[sources] = self.session.reference([query])[query.name]
        return self._references[sources]


def _rows(columns: int, chance: random.Random) -> list[tuple[object, ...]]:
    def some(value: object) -> object:
        return None if chance.random() < 0.12 else value

    rows: list[tuple[object, ...]] = []
    now = 0
    for _ in range(chance.randrange(4, 15)):
        now += chance.choice((0, 0, 1, 1, 2))
        rows.append((*(some(chance.randrange(-1, 6)) for _ in range(columns)), some(chance.choice(LETTERS)), now))
    return rows


# Drawing.


def pair(seed: int) -> Pair:
    """The pair of a seed."""
    chance = random.Random(seed)
    made = chance.choice(("contained", "contained", "nearly", "not"))
    view = _view(chance)
    if made == "not":
        other = _view(chance)
        return Pair(view.text(chance), other.text(chance), made, ())
    query, kinds = _contained(view, chance)
    if made == "nearly":
        query = _spoiled(view, query, chance)
    return Pair(view.text(chance), query.text(chance), made, tuple(sorted(kinds)))


def _view(chance: random.Random) -> Shape:
    if chance.random() < 0.25:
        inputs: tuple[tuple[str, str, int], ...] = (("T", "a", 0),)
    elif chance.random() < 0.35:
        second = ("P", "b", chance.choice((3, 5)))
        inputs = (("S", "a", chance.choice((4, 7))), second)
    else:
        inputs = (("S", "a", chance.choice((2, 4, 7))),)
    conditions = tuple(_condition(chance) for _ in range(chance.choice((0, 1, 1, 2))))
    if len(inputs) > 1:
        conditions += (Condition("a.k", "JOIN", ("b.k",)),)
    every = chance.choice((1, 1, 2, 3, 4))
    shown = ["a.k", "a.x", "a.y", "a.z", *(["b.w"] if len(inputs) > 1 else [])]
    if chance.random() < 0.5:
        return Shape(inputs, every, conditions, tuple(shown))
    count = chance.choice((1, 2, 2, 3))
    keys = tuple(chance.sample(["a.k", "a.x", "a.z"], count))
    calls = ["COUNT(*)", "COUNT(a.y)", "SUM(a.y)", *chance.sample(["MIN(a.y)", "MAX(a.y)", "MIN(a.z)"], 2)]
    return Shape(inputs, every, conditions, keys, tuple(calls))


def _condition(chance: random.Random) -> Condition:
    column = f"a.{chance.choice(('x', 'y', 'x', 'z', 'k'))}"
    if column == "a.z":
        return chance.choice(
            (
                Condition(column, "IN", tuple(chance.sample(LETTERS, 3))),
                Condition(column, ">=", (chance.choice("ab"),)),
                Condition(column, "IS NOT NULL"),
                Condition(column, "NOT IN", (chance.choice(LETTERS),)),
            )
        )
    word = chance.choice((">", ">=", "<", "<=", "IN", "BETWEEN", "IS NOT NULL", "NOT IN", "%"))
    match word:
        case "IN":
            return Condition(column, word, tuple(sorted(chance.sample(range(6), 4))))
        case "NOT IN":
            return Condition(column, word, tuple(chance.sample(range(6), 2)))
        case "BETWEEN":
            return Condition(column, word, (chance.randrange(2), chance.randrange(4, 6)))
        case "IS NOT NULL":
            return Condition(column, word)
        case "%":
            return Condition(column, word, (2, chance.randrange(2)))
        case ">" | ">=":
            return Condition(column, word, (chance.randrange(3),))
        case _:
            return Condition(column, word, (chance.randrange(3, 6),))


def _stronger(condition: Condition, chance: random.Random) -> tuple[Condition, ...]:
    """Conditions that together imply another one."""
    column, values = condition.column, condition.values
    match condition.word:
        case "IN":
            fewer = tuple(chance.sample(values, chance.randrange(1, len(values))))
            return (Condition(column, "=", fewer),) if len(fewer) == 1 else (Condition(column, "IN", fewer),)
        case "NOT IN":
            left = [v for v in (LETTERS if isinstance(values[0], str) else range(6)) if v not in values]
            more = chance.choice(
                (Condition(column, "NOT IN", (*values, left[0])), Condition(column, "IN", tuple(left)))
            )
            return (more,)
        case "BETWEEN":
            low, high = values
            assert isinstance(low, int) and isinstance(high, int)
            return chance.choice(
                (
                    (Condition(column, "BETWEEN", (low + 1, high)),),
                    (Condition(column, ">", (low,)), Condition(column, "<", (high,))),
                    (Condition(column, "=", (low + 1,)),),
                    (Condition(column, "IN", (low, high)),),
                )
            )
        case "IS NOT NULL":
            if column == "a.z":
                return (Condition(column, ">=", ("a",)),)
            return (Condition(column, chance.choice((">", "<=")), (3,)),)
        case "%":
            return (condition, Condition(column, ">", (0,)))
        case ">" | ">=" if isinstance(values[0], int):
            return chance.choice(
                (
                    (Condition(column, ">", (values[0] + 1,)),),
                    (Condition(column, "IN", (values[0] + 1, values[0] + 2)),),
                    (Condition(column, "BETWEEN", (values[0] + 1, 5)),),
                )
            )
        case "<" | "<=" if isinstance(values[0], int):
            return chance.choice(
                (
                    (Condition(column, "<", (values[0] - 1,)),),
                    (Condition(column, "IN", (values[0] - 1, values[0] - 2)),),
                )
            )
        case _ if column == "a.z":
            return (condition, Condition(column, "IN", ("b", "c")))
        case _:
            return (condition, Condition(column, "<>", (7,)))


def _contained(view: Shape, chance: random.Random) -> tuple[Shape, set[str]]:
    """A query made of a view by two or more compensations."""
    query, kinds = view, set[str]()
    while len(kinds) < chance.choice((2, 2, 3)):
        step = chance.choice(_STEPS)
        made = step(view, query, chance)
        if made is not None:
            query, kind = made
            kinds.add(kind)
            if len(view.inputs) > 1:
                kinds.add("joins")
    return query, kinds


Made = tuple[Shape, str] | None


def _filtered(view: Shape, query: Shape, chance: random.Random) -> Made:
    """Stronger conditions, and more of them, on columns that the view shows."""
    if query.having:
        return None
    shown = [c for c in view.columns if c != "b.w"]
    mine = [c for c in query.conditions if c.column in shown and c.word != "JOIN"]
    if mine and chance.random() < 0.7:
        weak = chance.choice(mine)
        others = tuple(c for c in query.conditions if c is not weak)
        return replace(query, conditions=(*others, *_stronger(weak, chance))), "filter"
    column = chance.choice(shown)
    new = Condition(column, "IN", ("a", "c")) if column == "a.z" else Condition(column, chance.choice("<>"), (2,))
    return replace(query, conditions=(*query.conditions, new)), "filter"


def _projected(view: Shape, query: Shape, chance: random.Random) -> Made:  # noqa: ARG001
    if query.calls is None:
        kept = tuple(chance.sample(query.columns, max(1, len(query.columns) - 1)))
        return replace(query, columns=kept), "projection"
    if not query.calls:
        return None
    kept = tuple(chance.sample(query.calls, max(1, len(query.calls) - 1)))
    return replace(query, calls=kept), "projection"


def _grouped(view: Shape, query: Shape, chance: random.Random) -> Made:
    """Groups of a view's rows."""
    if view.calls is not None or query.calls is not None or query.distinct:
        return None
    keys = tuple(chance.sample([c for c in view.columns if c != "b.w"], chance.choice((0, 1, 2))))
    calls = tuple(chance.sample(["COUNT(*)", "SUM(a.x)", "AVG(a.y)", "MIN(a.z)", "COUNT(DISTINCT a.x)"], 2))
    return replace(query, columns=keys, calls=calls), "grouping"


def _regrouped(view: Shape, query: Shape, chance: random.Random) -> Made:
    """Coarser groups of a view's groups."""
    if view.calls is None or query.having or not query.columns:
        return None
    keys = tuple(chance.sample(query.columns, len(query.columns) - 1))
    of_keys = [f"COUNT(DISTINCT {c})" for c in view.columns] + [f"MAX({c})" for c in view.columns]
    calls = tuple(chance.sample([*view.calls, *of_keys], 3))
    return replace(query, columns=keys, calls=calls), "regrouping"


def _distinct(view: Shape, query: Shape, chance: random.Random) -> Made:  # noqa: ARG001
    if query.calls is not None or query.distinct:
        return None
    return replace(query, distinct=True), "distinct"


def _having(view: Shape, query: Shape, chance: random.Random) -> Made:  # noqa: ARG001
    if not query.calls or query.having or not query.columns:
        return None
    counted = [c for c in query.calls if c.startswith(("COUNT", "SUM", "MAX(a.y"))]
    return (replace(query, having=((chance.choice(counted), 1),)), "having") if counted else None


def _slower(view: Shape, query: Shape, chance: random.Random) -> Made:
    """A coarser synchronization."""
    coarser = [n for n in SYNCHRONIZATIONS if n % view.every == 0 and n > view.every]
    return (replace(query, every=chance.choice(coarser)), "synchronization") if query.every == view.every else None


def _averaged(view: Shape, query: Shape, chance: random.Random) -> Made:  # noqa: ARG001
    """An average by a sum and a count."""
    if view.calls is None or query.calls is None or "AVG(a.y)" in query.calls:
        return None
    return replace(query, calls=(*query.calls, "AVG(a.y)")), "average"


Step = Callable[[Shape, Shape, random.Random], Made]
_STEPS: tuple[Step, ...] = (
    _filtered,
    _filtered,
    _projected,
    _grouped,
    _regrouped,
    _distinct,
    _having,
    _slower,
    _averaged,
)


def _spoiled(view: Shape, query: Shape, chance: random.Random) -> Shape:
    """One thing changed that the view has not."""
    ways: list[Shape] = [replace(query, inputs=tuple((s, a, n + 1 if s != "T" else n) for s, a, n in query.inputs))]
    if view.conditions:
        weak = chance.choice(list(query.conditions))
        ways.append(replace(query, conditions=tuple(c for c in query.conditions if c is not weak)))
        ways.append(replace(query, conditions=tuple(_weaker(c) for c in query.conditions)))
    if view.calls is not None:
        ways.append(replace(query, columns=(*query.columns, "a.y"), calls=query.calls or ()))
        ways.append(replace(query, calls=(*(query.calls or ()), "SUM(a.x * 2)", "MAX(a.k)")))
        ways.append(replace(query, conditions=(*query.conditions, Condition("a.y", ">", (2,)))))
    finer = [n for n in (1, *SYNCHRONIZATIONS) if n % view.every]
    if finer:
        ways.append(replace(query, every=chance.choice(finer)))
    return chance.choice(ways)


def _weaker(condition: Condition) -> Condition:
    match condition:
        case Condition(word=">" | ">=" | "<" | "<=", values=(int(value),)):
            return replace(condition, values=(value + (-1 if condition.word[0] == ">" else 1),))
        case Condition(word="IN", values=values):
            return replace(condition, values=(*values, "d" if isinstance(values[0], str) else 9))
        case _:
            return condition
