"""What stands in FROM: windows over streams and derived streams, relations, tables, named queries."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.properties.sql_grammar import Grammar
from tests.properties.windowed_queries import WindowGrammar
from tests.square.drawing import Chooser
from tests.square.worlds import COLUMNS, World

Columns = dict[str, str]
"""Names of columns and their types."""

MOST_WINDOWS = 3


@dataclass(frozen=True)
class Leaf:
    """An item of FROM without its alias, and its columns."""

    text: str
    columns: Columns


class Windows(Chooser, WindowGrammar):
    """The windows and windowed queries of the other tests, drawn by a random number generator."""


class Leaves(Chooser):
    """Draws items of FROM; behind the third window it repeats those that it has drawn."""

    def __init__(self, rng: random.Random, world: World) -> None:
        super().__init__(rng)
        self.windows = Windows(rng)
        self._world = world
        self._drawn: list[Leaf] = []
        self._count = 0

    def leaf(self) -> Leaf:
        """An item with columns k and x, and maybe others."""
        if self._count >= MOST_WINDOWS:
            return self.pick(self._drawn)
        streams = (self._stream, self._stream, self._stream, self._stream, self._derived, self._derived)
        kind = self.pick((*streams, self._stored, self._stored, self._named, self._named, self._view))
        found = kind()
        self._drawn.append(found)
        return found

    def _stream(self) -> Leaf:
        self._count += 1
        name = self.pick(("S", "S", "S", "P", "P", "L"))
        return Leaf(f"{name} {self.windows.window()}", COLUMNS[name])

    def _derived(self) -> Leaf:
        """A window over the stream of a relation: its elements of one instant are in the order of their values."""
        operator = self.pick(("ISTREAM", "ISTREAM", "DSTREAM", "RSTREAM"))
        if self.chance(30):
            below = Leaf(self._momentary(operator), {"k": "INT", "x": "INT"})
        else:
            below = self._projection(operator)
        return Leaf(f"({operator}({below.text})) {self.windows.window()}", below.columns)

    def _projection(self, operator: str) -> Leaf:
        """Some columns of a window, or of a relation."""
        if operator == "RSTREAM":
            self._count += 1
            below = Leaf(f"S [{self._short()}]", COLUMNS["S"])
        else:
            below = self._stream() if self.chance(80) else self._stored()
        others = [c for c in below.columns if c not in ("k", "x")]
        chosen = ["k", "x", *self.rng.sample(others, min(len(others), self.number(0, 2)))]
        where = self.pick(("", "", " WHERE x > 0", " WHERE k IS NOT NULL"))
        return Leaf(f"SELECT {', '.join(chosen)} FROM {below.text}{where}", {c: below.columns[c] for c in chosen})

    def _short(self) -> str:
        """A window that is empty again soon, so that its content can be listed point by point."""
        return self.pick(("NOW", "NOW", f"RANGE {self.number(1, 5)} SLIDE {self.number(1, 4)}"))

    def _momentary(self, operator: str) -> str:
        """A relation whose rows come together, leave one by one, or are taken back."""
        self._count += 1
        window = self._short() if operator == "RSTREAM" else f"RANGE {self.number(0, 5)}"
        other = f"P [{window}]" if self.chance(60) else "R"
        return self.pick(
            (
                f"SELECT DISTINCT k, x FROM S [{window}]",
                f"SELECT k, COUNT(*) AS x FROM S [{window}] GROUP BY k",
                f"SELECT i.k, j.x FROM S [{window}] AS i LEFT JOIN {other} AS j ON i.k = j.k",
                f"SELECT k, x FROM S [{window}] WHERE k NOT IN (SELECT x FROM {other})",
                f"SELECT k, x FROM S [{window}] ORDER BY x LIMIT 1",
            )
        )

    def _stored(self) -> Leaf:
        name = self.pick(("R", "K", "C"))
        return Leaf(name, COLUMNS[name])

    def _named(self) -> Leaf:
        """A view or a derived stream of the world, if it has any."""
        if not self._world.named:
            return self._stored()
        name = self.pick([n for n in self._world.named if not n.startswith("T")] or ["C"])
        if name == "C":
            return self._stored()
        columns = self._world.named[name]
        if name.startswith("D"):
            self._count += 1
            return Leaf(f"{name} {self.windows.window()}", columns)
        return Leaf(name, columns)

    def _view(self) -> Leaf:
        """The relation of a tagged stream or of the updates that a stream stands for, at all instants or at some."""
        tagged = [n for n in self._world.named if n.startswith("T")]
        name = self.pick(("R", "K", "S", *tagged, *tagged))
        columns = self._world.named.get(name) or COLUMNS[name]
        points = ", Every" if not self._world.timestamps and self.chance(40) else ""
        return Leaf(f"RELATION({name}{points})", {**columns, "TS": "TIMESTAMP" if self._world.timestamps else "BIGINT"})


class NestedSql(Chooser, Grammar):
    """The plain SQL of the other tests, over windows instead of tables."""

    def __init__(self, rng: random.Random, leaves: Leaves) -> None:
        super().__init__(rng)
        self.aliases = 0
        self._leaves = leaves

    def item(self, depth: int) -> tuple[str, list[str]]:
        """A subquery, or a window with its columns k and x."""
        alias = self.alias()
        if depth > 0 and self.chance(20):
            width = self.pick((1, 2))
            return f"({self.query(depth - 1, width)}) AS {alias}", [f"{alias}.k{i}" for i in range(width)]
        return f"{self._leaves.leaf().text} AS {alias}", [f"{alias}.k", f"{alias}.x"]
